// SPDX-License-Identifier: Apache-2.0
#include "cache/board_scripts.hpp"

namespace holdfast::detail {

const board_scripts& board_scripts::all() {
    static const board_scripts scripts{
        .begin = script(
#include "scripts/board_begin.inc"
            ),
        .end = script(
#include "scripts/board_end.inc"
            ),
        .give = script(
#include "scripts/board_give.inc"
            ),
        .map = script(
#include "scripts/board_map.inc"
            ),
        .place = script(
#include "scripts/board_place.inc"
            ),
        .read = script(
#include "scripts/board_read.inc"
            ),
        .settle = script(
#include "scripts/board_settle.inc"
            ),
        .take = script(
#include "scripts/board_take.inc"
            ),
        .write = script(
#include "scripts/board_write.inc"
            ),
    };
    return scripts;
}

}  // namespace holdfast::detail
