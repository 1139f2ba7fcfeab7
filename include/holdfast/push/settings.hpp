// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What can be set of live push. One value for Logic, Job and Comet: all processes of one system
/// must use the same windows, rules, prefix and partitions.
namespace holdfast::push {

/// What happens to a message that comes while its room's cooldown runs.
enum class mode : std::uint8_t {
    coalesce,  ///< It waits; all of the window travel in one frame when the window ends.
    drop,      ///< It is skipped, unless it is important: the source's behaviour.
    latest,    ///< As coalesce, but only the newest and the important ones travel.
    none       ///< There is no cooldown: every message goes at once.
};

[[nodiscard]] std::string_view to_string(mode m) noexcept;
/// Errors: invalid_argument; the detail lists the words.
[[nodiscard]] result<mode> parse_mode(std::string_view word);

/// Rooms whose name matches `pattern` (`*` any text, `?` one character) have these values; what is
/// not set is the system's. The first rule that matches counts.
struct room_rule {
    std::string pattern;
    std::optional<push::mode> mode = {};
    std::optional<bool> require_ids = {};
    std::optional<duration> cooldown = {};
};

/// What the rules say of one room.
struct room_policy {
    push::mode mode = push::mode::coalesce;
    bool require_ids = false;
    duration cooldown = std::chrono::seconds(1);
};

/// Sizes beyond which a post is refused. In bytes of UTF-8.
struct size_limits {
    std::size_t room = 128;
    std::size_t user = 128;
    std::size_t user_name = 256;
    std::size_t message_id = 128;
    std::size_t content = 4096;
    std::size_t messages = 100;  ///< Messages in one post.
};

struct settings {
    /// How long an id is remembered. 1 ms to 24 h.
    duration dedup = std::chrono::seconds(60);
    /// At most one broadcast of a room in this time. 1 ms to 1 h.
    duration cooldown = std::chrono::seconds(1);
    /// After this time the room of a consumer that died is free. 100 ms to 1 h.
    duration lock_life = std::chrono::seconds(5);

    push::mode mode = push::mode::coalesce;
    /// Refuse messages without an id: the same words twice are then two messages.
    bool require_ids = false;
    std::vector<room_rule> rules = {};

    /// A room keeps this many messages for resume and paging, and none older than `history_age`.
    std::size_t history_length = 1000;
    duration history_age = std::chrono::minutes(5);
    /// A room that is silent for so long is forgotten: its next message begins a new epoch.
    duration room_age = std::chrono::hours(24);

    /// Consumers of a Job process, numbered from 0.
    std::size_t consumers = 4;
    /// Entries in the queue, all rooms together, beyond which a post is refused (`queue_full`).
    std::size_t queue_length = 100'000;
    /// What one frame holds at most; what is beyond follows at once in the next frame. Large enough
    /// for a second of a hot room.
    std::size_t frame_messages = 5000;
    std::size_t frame_bytes = 1 << 20;

    /// How long a Comet's entries outlive it. Renewed at a third of it.
    duration presence_life = std::chrono::seconds(30);
    /// How often a Comet compares each of its rooms with the engine, in case a frame was lost and
    /// none came after it.
    duration tail_check = std::chrono::seconds(5);

    /// Before every key; empty, so that keys are exactly the source's.
    std::string prefix = {};
    /// Only with `tagged`: into how many hash slots rooms are spread. A Job needs at least one
    /// consumer for each.
    std::size_t partitions = 4;
    /// For Redis Cluster: keys of a room end in the tag of its partition, `{push3}`, because one
    /// script uses several of them. Elsewhere keys are exactly the source's.
    bool tagged = false;

    size_limits sizes = {};
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(3);
};

/// Errors: invalid_argument; the detail names the setting and what it takes.
[[nodiscard]] result<void> check(const settings& s);

/// What the settings say of a room.
[[nodiscard]] room_policy policy_of(const settings& s, std::string_view room);

/// Does an engine of this URL need `tagged`? True for redis-cluster: and rediss-cluster:.
[[nodiscard]] bool needs_tags(std::string_view url) noexcept;

}  // namespace holdfast::push
