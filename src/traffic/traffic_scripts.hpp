// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

/// The scripts of traffic control, as a server gets them: comments dropped, includes expanded.
namespace holdfast::detail {

struct traffic_scripts {
    script cooldown;
    script cooldown_clear;
    script enter;
    script latch;
    script latch_end;
    script once_forget;
    script once_record;
    script stay;
    script take_fixed_window;
    script take_gcra;
    script take_several;
    script take_sliding_counter;
    script take_sliding_log;

    [[nodiscard]] static const traffic_scripts& all();
};

}  // namespace holdfast::detail
