// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/sessions/session_connection.hpp"

#include <holdfast/names.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

/// One owner's claim to one name, and the connection whose session holds the lock or waits for it.
namespace holdfast::session {

struct seat {
    enum class stand : std::uint8_t { waits, holds, over };

    seat(lock_name of, owner_token whose, std::unique_ptr<session_connection> by)
        : name(std::move(of)),
          owner(std::move(whose)),
          line(std::move(by)),
          stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;
    ~seat() { ::close(stop); }

    /// Makes whoever waits on the connection give up.
    void cancel() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(stop, &one, sizeof one);
    }

    const lock_name name;
    const owner_token owner;

    std::mutex use;  // of the connection, once the seat holds; before, its thread alone uses it
    std::unique_ptr<session_connection> line;
    const int stop;

    // Guarded by the mutex of the desk.
    stand at = stand::waits;
    duration ttl{};
    time_point until;   // by the client's clock: then it is over, unless it is extended
    time_point proven;  // when the server last answered
};

}  // namespace holdfast::session
