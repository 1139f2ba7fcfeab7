// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>

/// The scripts of the cache family, as a server gets them: comments dropped, includes expanded.
namespace holdfast::detail {

struct cache_scripts {
    script abandon;
    script bloom;
    script bloom_swap;
    script channel_publish;
    script claim;
    script invalidate;
    script leaky_leave;
    script leaky_put;
    script leaky_take;
    script pending_add;
    script pending_take;
    script session_create;
    script session_end;
    script session_read;
    script session_rotate;
    script session_write;
    script stock_take;
    script store;

    [[nodiscard]] static const cache_scripts& all();
};

}  // namespace holdfast::detail
