// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/stream.hpp"

#include "core/require.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::memory {

std::optional<stream_id> stream_id::next() const noexcept {
    if (seq != UINT64_MAX) return stream_id{ms, seq + 1};
    if (ms != UINT64_MAX) return stream_id{ms + 1, 0};
    return std::nullopt;
}

std::optional<stream_id> stream_id::previous() const noexcept {
    if (seq != 0) return stream_id{ms, seq - 1};
    if (ms != 0) return stream_id{ms - 1, UINT64_MAX};
    return std::nullopt;
}

std::string to_string(const stream_id& id) {
    return fmt::format("{}-{}", id.ms, id.seq);
}

stream::consumer& stream::group::join(std::string_view name, std::int64_t now_ms) {
    auto found = consumers.find(name);
    if (found == consumers.end()) {
        found = consumers.emplace(name, stream::consumer{.seen_ms = now_ms}).first;
    }
    return found->second;
}

void stream::group::deliver(const stream_id& id, std::string_view to, std::int64_t now_ms) {
    const auto [which, fresh] =
        pending.try_emplace(id, stream::pending{std::string(to), now_ms, 1});
    if (!fresh) {  // the group was set back, and delivers it once more
        pass(which, to);
        which->second.delivered_ms = now_ms;
        which->second.deliveries = 1;
        return;
    }
    consumers.find(to)->second.pending.insert(id);
}

void stream::group::pass(std::map<stream_id, stream::pending>::iterator which,
                         std::string_view to) {
    if (which->second.consumer == to) return;
    const auto old = consumers.find(which->second.consumer);
    if (old != consumers.end()) old->second.pending.erase(which->first);
    which->second.consumer = to;
    consumers.find(to)->second.pending.insert(which->first);
}

bool stream::group::acknowledge(const stream_id& id) {
    const auto found = pending.find(id);
    if (found == pending.end()) return false;
    const auto holder = consumers.find(found->second.consumer);
    if (holder != consumers.end()) holder->second.pending.erase(id);
    pending.erase(found);
    return true;
}

std::size_t stream::group::dismiss(std::string_view name) {
    const auto found = consumers.find(name);
    if (found == consumers.end()) return 0;
    for (const stream_id& id : found->second.pending) pending.erase(id);
    const std::size_t count = found->second.pending.size();
    consumers.erase(found);
    return count;
}

stream_id stream::first_id() const noexcept {
    return entries_.empty() ? first_stream_id : entries_.begin()->first;
}

void stream::append(const stream_id& id, fields what) {
    detail::require(id > last_, "id > last_id()");
    entries_.emplace_hint(entries_.end(), id, std::move(what));
    last_ = id;
    ++added_;
}

bool stream::erase(const stream_id& id) {
    if (entries_.erase(id) == 0) return false;
    if (id > max_deleted_) max_deleted_ = id;
    return true;
}

std::size_t stream::trim_to(std::size_t most) {
    std::size_t removed = 0;
    for (; entries_.size() > most; ++removed) entries_.erase(entries_.begin());
    return removed;
}

std::size_t stream::trim_below(const stream_id& least) {
    std::size_t removed = 0;
    for (; !entries_.empty() && entries_.begin()->first < least; ++removed) {
        entries_.erase(entries_.begin());
    }
    return removed;
}

stream::group* stream::find_group(std::string_view name) {
    const auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
}

// Was an entry deleted at or after this id, and not before the first that is left?
bool stream::deleted_after(const stream_id& from) const noexcept {
    if (entries_.empty() || max_deleted_ == first_stream_id) return false;
    return from <= max_deleted_ && first_id() <= max_deleted_;
}

// How many entries there ever were up to this id, where that can be told.
std::optional<std::int64_t> stream::count_up_to(const stream_id& id) const noexcept {
    const auto all = static_cast<std::int64_t>(added_);
    if (added_ == 0) return 0;
    if (entries_.empty() && id <= last_) return all;
    if (id == last_) return all;
    if (id > last_) return std::nullopt;
    if (max_deleted_ != first_stream_id && max_deleted_ >= first_id()) return std::nullopt;
    const auto before = all - static_cast<std::int64_t>(entries_.size());
    if (id < first_id()) return before;
    if (id == first_id()) return before + 1;
    return std::nullopt;
}

void stream::advance(group& g, const stream_id& id) const {
    if (id <= g.last) return;
    if (g.entries_read && !deleted_after(id)) {
        ++*g.entries_read;
    } else if (added_ != 0) {
        g.entries_read = count_up_to(id);
    }
    g.last = id;
}

std::optional<std::int64_t> stream::lag(const group& g) const {
    if (added_ == 0) return 0;
    const bool exact = g.entries_read && !deleted_after(g.last);
    const auto read = exact ? g.entries_read : count_up_to(g.last);
    if (!read) return std::nullopt;
    return static_cast<std::int64_t>(added_) - *read;
}

}  // namespace holdfast::memory
