// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/settings.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// The Redis keys of live push: the only place that puts them together.
///
///     room:cooldown:video_123              the source's names
///     room:cooldown:video_123{push2}:...   … in a Cluster: the partition's tag behind the room
///
/// A room's name has no colon and no brace, so a key can be read back, and the tag is the first
/// pair of braces in it. All keys of a room, and the queue of its partition, share a slot: one
/// script uses them together. docs/internals/push_format.md lists them.
namespace holdfast::push {

class room_keys {
public:
    room_keys(const settings& s, std::string_view room);

    [[nodiscard]] const std::string& room() const noexcept { return room_; }
    [[nodiscard]] std::string cooldown() const { return key("room:cooldown:"); }
    [[nodiscard]] std::string connections() const { return key("room:connections:"); }
    [[nodiscard]] std::string meta() const { return key("push:room:"); }
    [[nodiscard]] std::string history() const { return key("push:history:"); }
    [[nodiscard]] std::string comets() const { return key("push:comets:"); }
    [[nodiscard]] std::string channel() const { return key("push:frames:"); }
    [[nodiscard]] std::string processed(std::string_view id) const {
        return key("msg:processed:") + ":" + std::string(id);
    }
    [[nodiscard]] std::string place(std::string_view id) const {
        return key("push:offset:") + ":" + std::string(id);
    }
    [[nodiscard]] std::string queue() const { return prefix_ + "push:queue" + tag_; }
    [[nodiscard]] std::string rooms() const { return prefix_ + "push:rooms" + tag_; }
    /// The name of the lease; `lock:` comes before it.
    [[nodiscard]] std::string lock() const { return key("broadcast:"); }

private:
    [[nodiscard]] std::string key(std::string_view kind) const {
        std::string text;
        text.reserve(prefix_.size() + kind.size() + room_.size() + tag_.size());
        return text.append(prefix_).append(kind).append(room_).append(tag_);
    }

    const std::string& prefix_;
    std::string room_;
    std::string tag_;
};

/// How many partitions there are: 1 where keys have no tags.
[[nodiscard]] std::size_t partition_count(const settings& s) noexcept;
[[nodiscard]] std::string partition_queue(const settings& s, std::size_t partition);
[[nodiscard]] std::string partition_rooms(const settings& s, std::size_t partition);

[[nodiscard]] std::string connection_key(const settings& s, std::string_view connection);
[[nodiscard]] std::string user_key(const settings& s, std::string_view user);

/// The consumer group of the Job.
inline constexpr std::string_view job_group = "job";

}  // namespace holdfast::push
