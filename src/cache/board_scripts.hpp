// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

/// The scripts of leaderboards, as a server gets them: comments dropped, includes expanded.
namespace holdfast::detail {

struct board_scripts {
    script begin;
    script end;
    script give;
    script map;
    script place;
    script read;
    script settle;
    script take;
    script write;

    [[nodiscard]] static const board_scripts& all();
};

}  // namespace holdfast::detail
