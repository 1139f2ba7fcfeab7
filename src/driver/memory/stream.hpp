// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// A stream: entries in the order of their ids, and the groups of consumers that read it.
///
/// Unlike the other containers a stream may be empty and stay: it remembers the last id that it
/// gave, and its groups. An entry that was delivered to a consumer is pending in its group until it
/// is acknowledged, also if the entry itself is deleted meanwhile.
///
/// How many entries a group has read is a count that Redis keeps only as long as it can be exact:
/// deleted entries ahead of the group, or a group that was set to an id in the middle, make it
/// unknown until the group reaches the end. The rules here are Redis's.
namespace holdfast::memory {

struct stream_id {
    std::uint64_t ms = 0;
    std::uint64_t seq = 0;

    auto operator<=>(const stream_id&) const = default;

    /// Nothing if there is none: it is the last id, or the first.
    [[nodiscard]] std::optional<stream_id> next() const noexcept;
    [[nodiscard]] std::optional<stream_id> previous() const noexcept;
};

inline constexpr stream_id first_stream_id{};
inline constexpr stream_id last_stream_id{UINT64_MAX, UINT64_MAX};

/// "1526919030474-55"
[[nodiscard]] std::string to_string(const stream_id& id);

class stream {
public:
    /// Field, value, field, value …
    using fields = std::vector<std::string>;
    using entry_map = std::map<stream_id, fields>;

    struct pending {
        std::string consumer;
        std::int64_t delivered_ms = 0;
        std::int64_t deliveries = 1;
    };

    struct consumer {
        std::int64_t seen_ms = 0;
        std::set<stream_id> pending{};
    };

    struct group {
        stream_id last{};                            ///< Of those that were delivered.
        std::optional<std::int64_t> entries_read{};  ///< Nothing: unknown.
        std::map<stream_id, stream::pending> pending{};
        std::map<std::string, stream::consumer, std::less<>> consumers{};

        /// The consumer, made if it is new.
        stream::consumer& join(std::string_view name, std::int64_t now_ms);
        /// Notes the entry as delivered to the consumer just now, for the first time.
        void deliver(const stream_id& id, std::string_view to, std::int64_t now_ms);
        /// Hands a pending entry to another consumer; its times stay.
        void pass(std::map<stream_id, stream::pending>::iterator which, std::string_view to);
        /// False if it was not pending.
        bool acknowledge(const stream_id& id);
        /// Forgets the consumer and all that is pending for it; answers how much that was.
        std::size_t dismiss(std::string_view name);
    };

    [[nodiscard]] const entry_map& entries() const noexcept { return entries_; }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] bool contains(const stream_id& id) const { return entries_.contains(id); }
    /// Zero if it is empty.
    [[nodiscard]] stream_id first_id() const noexcept;
    /// The largest that was ever added, or that it was set to.
    [[nodiscard]] const stream_id& last_id() const noexcept { return last_; }
    [[nodiscard]] const stream_id& max_deleted_id() const noexcept { return max_deleted_; }
    [[nodiscard]] std::uint64_t entries_added() const noexcept { return added_; }

    /// Requires: id > last_id().
    void append(const stream_id& id, fields what);
    /// False if there is no such entry.
    bool erase(const stream_id& id);
    /// Removes the oldest; both answer how many.
    std::size_t trim_to(std::size_t most);
    std::size_t trim_below(const stream_id& least);
    void set_last(const stream_id& last) noexcept { last_ = last; }
    void set_added(std::uint64_t added) noexcept { added_ = added; }
    void set_max_deleted(const stream_id& id) noexcept { max_deleted_ = id; }

    [[nodiscard]] std::map<std::string, group, std::less<>>& groups() noexcept { return groups_; }
    [[nodiscard]] const std::map<std::string, group, std::less<>>& groups() const noexcept {
        return groups_;
    }
    [[nodiscard]] group* find_group(std::string_view name);

    /// The group has got this entry, which is past its last one.
    void advance(group& g, const stream_id& id) const;
    /// How many entries the group has not got yet; nothing if that is unknown.
    [[nodiscard]] std::optional<std::int64_t> lag(const group& g) const;

private:
    [[nodiscard]] bool deleted_after(const stream_id& from) const noexcept;
    [[nodiscard]] std::optional<std::int64_t> count_up_to(const stream_id& id) const noexcept;

    entry_map entries_;
    stream_id last_;
    stream_id max_deleted_;
    std::uint64_t added_ = 0;
    std::map<std::string, group, std::less<>> groups_;
};

}  // namespace holdfast::memory
