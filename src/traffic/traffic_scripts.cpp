// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic_scripts.hpp"

namespace holdfast::detail {

const traffic_scripts& traffic_scripts::all() {
    static const traffic_scripts scripts{
        .cooldown = script(
#include "scripts/cooldown.inc"
            ),
        .cooldown_clear = script(
#include "scripts/cooldown_clear.inc"
            ),
        .enter = script(
#include "scripts/enter.inc"
            ),
        .latch = script(
#include "scripts/latch.inc"
            ),
        .latch_end = script(
#include "scripts/latch_end.inc"
            ),
        .once_forget = script(
#include "scripts/once_forget.inc"
            ),
        .once_record = script(
#include "scripts/once_record.inc"
            ),
        .stay = script(
#include "scripts/stay.inc"
            ),
        .take_fixed_window = script(
#include "scripts/take_fixed_window.inc"
            ),
        .take_gcra = script(
#include "scripts/take_gcra.inc"
            ),
        .take_several = script(
#include "scripts/take_several.inc"
            ),
        .take_sliding_counter = script(
#include "scripts/take_sliding_counter.inc"
            ),
        .take_sliding_log = script(
#include "scripts/take_sliding_log.inc"
            ),
    };
    return scripts;
}

}  // namespace holdfast::detail
