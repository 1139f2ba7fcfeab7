// SPDX-License-Identifier: Apache-2.0
#include "traffic/token_blocks.hpp"

#include "core/validity.hpp"

#include <algorithm>

namespace holdfast::detail {

token_blocks::token_blocks(std::uint64_t block, std::size_t most_keys, clock& time)
    : block_(block),
      most_per_shard_(std::max<std::size_t>(1, most_keys / shard_count)),
      time_(time) {}

token_blocks::shard& token_blocks::of(std::string_view key) noexcept {
    return shards_[(text_hash{}(key) >> 48) % shards_.size()];
}

// The entry of a key, or none if there is no room: an entry that someone fetches for must stay.
token_blocks::entry* token_blocks::open(shard& in, std::string_view key, time_point now) {
    if (const auto found = in.entries.find(key); found != in.entries.end()) return &found->second;
    if (in.entries.size() >= most_per_shard_) {
        const auto idle = std::ranges::find_if(in.entries, [&](const auto& pair) {
            return !pair.second.fetching && (pair.second.left == 0 || pair.second.until <= now);
        });
        if (idle == in.entries.end()) return nullptr;
        in.entries.erase(idle);
    }
    return &in.entries.try_emplace(std::string(key)).first->second;
}

decision token_blocks::serve(entry& from, std::uint64_t n, time_point now) const {
    from.left -= n;
    decision made = from.answer;
    made.allowed = true;
    made.remaining += from.left;
    made.reset_after = from.reset_at > now ? from.reset_at - now : duration::zero();
    made.source = decided_by::block;
    return made;
}

token_blocks::outcome token_blocks::take(std::string_view key, std::uint64_t n,
                                         time_point give_up) {
    if (n > block_) return {step::alone};
    shard& in = of(key);
    std::unique_lock held(in.mutex);
    for (;;) {
        const time_point now = time_.now();
        entry* const e = open(in, key, now);
        if (e == nullptr || now >= give_up) return {step::alone};
        if (e->left >= n && now < e->until) return {step::served, serve(*e, n, now)};
        if (now < e->not_before) return {step::alone};
        if (!e->fetching) {
            e->fetching = true;
            // What is past its time must not go back: the bucket has refilled, the window is over.
            const std::uint64_t leftover = now < e->until ? e->left : 0;
            e->left = 0;
            return {.next = step::fetch, .leftover = leftover, .leftover_end = e->server_end};
        }
        time_.wait_until(held, e->arrived, give_up);
    }
}

void token_blocks::finish(std::string_view key, const fetched& got) {
    shard& in = of(key);
    const std::scoped_lock guard(in.mutex);
    const auto found = in.entries.find(key);
    if (found == in.entries.end()) return;
    entry& e = found->second;
    e.fetching = false;
    e.not_before = got.not_before;
    if (got.granted > 0) {
        e.left = got.granted - got.spent;
        e.until = got.until;
        e.server_end = got.server_end;
        e.answer = got.answer;
        e.reset_at = later(time_.now(), got.answer.reset_after);
    }
    e.arrived.notify_all();
}

std::vector<token_blocks::rest> token_blocks::drain() {
    std::vector<rest> out;
    const time_point now = time_.now();
    for (shard& in : shards_) {
        const std::scoped_lock guard(in.mutex);
        for (auto& [key, e] : in.entries) {
            if (e.left > 0 && now < e.until) out.push_back({key, e.left, e.server_end});
            e.left = 0;
        }
    }
    return out;
}

}  // namespace holdfast::detail
