// SPDX-License-Identifier: Apache-2.0
#include "cache/local_cache.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::detail {
namespace {

std::uint32_t ghost_of(std::string_view key) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(key) >> 20U) | 1U;
}

}  // namespace

local_cache::local_cache(std::size_t bytes)
    : limit_(bytes / shards), shards_(std::make_unique<std::array<shard, shards>>()) {}

local_cache::shard& local_cache::shard_of(std::string_view key) const {
    return (*shards_)[std::hash<std::string_view>{}(key) % shards];
}

bool local_cache::find(std::string_view key, time_point oldest, reader read, void* to) {
    if (!enabled()) return false;
    shard& in = shard_of(key);
    const std::scoped_lock guard(in.mutex);
    const auto found = in.index.find(key);
    if (found == in.index.end() || found->second->put < oldest) return false;
    entry& seen = *found->second;
    if (seen.reads < 3) ++seen.reads;
    read(to, seen.value, seen.absent);
    return true;
}

std::uint64_t local_cache::mark(std::string_view key) const {
    const shard& in = shard_of(key);
    const std::scoped_lock guard(in.mutex);
    return in.mark;
}

void local_cache::put(std::string_view key, std::string_view value, bool absent, time_point now,
                      std::uint64_t mark) {
    if (!enabled() || key.size() + value.size() + overhead > limit_ / 2) return;
    shard& in = shard_of(key);
    const std::scoped_lock guard(in.mutex);
    if (in.mark != mark) return;
    std::uint8_t reads = 0;
    if (const auto old = in.index.find(key); old != in.index.end()) {
        reads = std::max<std::uint8_t>(old->second->reads, 1);
        remove(in, old->second);
    }
    std::uint32_t& ghost = in.ghosts[ghost_of(key) % in.ghosts.size()];
    const bool known = reads > 0 || ghost == ghost_of(key);
    if (known) ghost = 0;
    chain& into = known ? in.main : in.small;
    into.push_front({std::string(key), std::string(value), absent, reads,
                     known ? queue::main : queue::small, now});
    (known ? in.main_bytes : in.small_bytes) += into.front().cost();
    in.index.emplace(into.front().key, into.begin());
    make_room(in);
}

void local_cache::remove(shard& in, chain::iterator at) {
    const bool small = at->where == queue::small;
    (small ? in.small_bytes : in.main_bytes) -= at->cost();
    in.index.erase(at->key);
    (small ? in.small : in.main).erase(at);
}

void local_cache::make_room(shard& in) {
    while (in.small_bytes + in.main_bytes > limit_) {
        const bool small = in.small_bytes > limit_ / 10 || in.main.empty();
        const bool left = small ? demote_small(in) : demote_main(in);
        if (!left) continue;
        chain& from = small ? in.small : in.main;
        if (small) {
            const std::uint32_t ghost = ghost_of(from.back().key);
            in.ghosts[ghost % in.ghosts.size()] = ghost;
        }
        remove(in, std::prev(from.end()));
    }
}

// True: the last of the queue must leave. False: it was moved, look again.
bool local_cache::demote_small(shard& in) {
    const auto last = std::prev(in.small.end());
    if (last->reads == 0) return true;
    last->reads = 0;
    last->where = queue::main;
    in.small_bytes -= last->cost();
    in.main_bytes += last->cost();
    in.main.splice(in.main.begin(), in.small, last);
    return false;
}

bool local_cache::demote_main(shard& in) {
    const auto last = std::prev(in.main.end());
    if (last->reads == 0) return true;
    --last->reads;
    in.main.splice(in.main.begin(), in.main, last);
    return false;
}

void local_cache::erase(std::string_view key) {
    shard& in = shard_of(key);
    const std::scoped_lock guard(in.mutex);
    ++in.mark;
    if (const auto found = in.index.find(key); found != in.index.end()) remove(in, found->second);
}

void local_cache::clear() {
    for (shard& in : *shards_) {
        const std::scoped_lock guard(in.mutex);
        ++in.mark;
        in.index.clear();
        in.small.clear();
        in.main.clear();
        in.small_bytes = in.main_bytes = 0;
    }
}

void local_cache::refuse_fetched() {
    for (shard& in : *shards_) {
        const std::scoped_lock guard(in.mutex);
        ++in.mark;
    }
}

std::size_t local_cache::bytes() const {
    std::size_t sum = 0;
    for (const shard& in : *shards_) {
        const std::scoped_lock guard(in.mutex);
        sum += in.small_bytes + in.main_bytes;
    }
    return sum;
}

std::size_t local_cache::entries() const {
    std::size_t sum = 0;
    for (const shard& in : *shards_) {
        const std::scoped_lock guard(in.mutex);
        sum += in.index.size();
    }
    return sum;
}

}  // namespace holdfast::detail
