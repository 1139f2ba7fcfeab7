// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "push/room_commands.hpp"

#include <holdfast/push/comet.hpp>
#include <holdfast/push/frame.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Where a Comet is in a room: makes frames that may be lost, late or doubled into a sequence
/// without a hole. No I/O, no clock.
///
/// While frames follow each other they are passed on. Any doubt (a hole, another epoch, a new
/// connection to the engine, a look now and then) is settled by reading behind the last offset that
/// was passed on; what is heard meanwhile is in what is read, or is read next.
namespace holdfast::push {

/// What follows from something that happened; in this order.
struct track_step {
    std::vector<shared_frame> deliver = {};
    std::optional<position> ready = {};   // the position is known, for the first time
    std::optional<read_order> read = {};  // to be answered by room_track::read() or read_failed()
    bool retry = false;                   // call doubt() a little later
};

class room_track {
public:
    room_track(std::string room, std::size_t most_read)
        : room_(std::move(room)), most_read_(most_read) {}

    /// The room is subscribed to: finds out where it is.
    [[nodiscard]] track_step start();
    /// A frame was heard.
    [[nodiscard]] track_step hear(const shared_frame& f);
    /// Something may have been missed.
    [[nodiscard]] track_step doubt();
    [[nodiscard]] track_step read(read_answer answer);
    [[nodiscard]] track_step read_failed();

    [[nodiscard]] bool ready() const noexcept { return ready_; }
    [[nodiscard]] const position& at() const noexcept { return at_; }
    [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
    [[nodiscard]] std::uint64_t repaired() const noexcept { return repaired_; }

private:
    [[nodiscard]] track_step ask();

    std::string room_;
    std::size_t most_read_;
    position at_;
    position heard_;  // the newest that was heard while reading
    bool ready_ = false;
    bool reading_ = false;
    bool again_ = false;
    std::uint64_t gaps_ = 0;
    std::uint64_t repaired_ = 0;
};

/// What a viewer that asks for more behind `after` is answered.
[[nodiscard]] room_history to_history(const std::string& room, const position& after,
                                      std::uint64_t ticket, read_answer answer);

}  // namespace holdfast::push
