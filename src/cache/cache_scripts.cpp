// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_scripts.hpp"

namespace holdfast::detail {

const cache_scripts& cache_scripts::all() {
    static const cache_scripts scripts{
        .abandon = script(
#include "scripts/cache_abandon.inc"
            ),
        .bloom = script(
#include "scripts/bloom.inc"
            ),
        .bloom_swap = script(
#include "scripts/bloom_swap.inc"
            ),
        .channel_publish = script(
#include "scripts/channel_publish.inc"
            ),
        .claim = script(
#include "scripts/cache_claim.inc"
            ),
        .invalidate = script(
#include "scripts/cache_invalidate.inc"
            ),
        .leaky_leave = script(
#include "scripts/leaky_leave.inc"
            ),
        .leaky_put = script(
#include "scripts/leaky_put.inc"
            ),
        .leaky_take = script(
#include "scripts/leaky_take.inc"
            ),
        .pending_add = script(
#include "scripts/pending_add.inc"
            ),
        .pending_take = script(
#include "scripts/pending_take.inc"
            ),
        .session_create = script(
#include "scripts/session_create.inc"
            ),
        .session_end = script(
#include "scripts/session_end.inc"
            ),
        .session_read = script(
#include "scripts/session_read.inc"
            ),
        .session_rotate = script(
#include "scripts/session_rotate.inc"
            ),
        .session_write = script(
#include "scripts/session_write.inc"
            ),
        .stock_take = script(
#include "scripts/stock_take.inc"
            ),
        .store = script(
#include "scripts/cache_store.inc"
            ),
    };
    return scripts;
}

}  // namespace holdfast::detail
