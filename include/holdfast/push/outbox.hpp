// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What waits for one connection, bounded: the rules for slow viewers. No I/O, no clock.
///
/// While little waits, frames are passed on as they are, and the text of one is shared by all
/// connections. From a quarter of the bound on, frames of one room that wait are merged into one.
/// From half of it on, messages below `important` are shed, and the merged frame counts them. When
/// even so the bound would be passed, the connection must be closed; its resume hint says where it
/// is in each room.
namespace holdfast::push {

struct outbox_limits {
    std::size_t bytes = 1 << 20;
    std::size_t frames = 256;
};

/// Thread safety: none.
class outbox {
public:
    enum class outcome : std::uint8_t { queued, overflow };

    explicit outbox(outbox_limits limits = {}) : limits_(limits) {}

    /// A frame for this connection. `overflow`: it was not taken; close the connection.
    [[nodiscard]] outcome put(const shared_frame& f);

    /// A control text (an answer, a pong). In front of no frame that waits already. Same outcomes.
    [[nodiscard]] outcome put(shared_text text);

    /// The next text to write; null if there is none.
    [[nodiscard]] shared_text next();

    /// Forgets the frames of a room that the connection has left.
    void forget(const std::string& room);

    /// Up to where the texts that next() gave out go, for each room.
    [[nodiscard]] const std::map<std::string, position>& written() const noexcept {
        return written_;
    }
    /// The connection joined the room there.
    void start_at(const std::string& room, position at);

    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t shed() const noexcept { return shed_; }
    [[nodiscard]] std::uint64_t merged() const noexcept { return merged_; }

private:
    struct item {
        shared_text text;                  // a control text, or null
        std::vector<shared_frame> frames;  // of one room, in order
        std::size_t bytes = 0;
    };
    [[nodiscard]] std::size_t count() const noexcept { return items_.size(); }
    bool above(std::size_t quarters) const noexcept;
    item* last_of(const std::string& room) noexcept;
    void shed_all();

    outbox_limits limits_;
    std::deque<item> items_;
    std::map<std::string, position> written_;
    std::size_t bytes_ = 0;
    std::uint64_t shed_ = 0;
    std::uint64_t merged_ = 0;
};

}  // namespace holdfast::push
