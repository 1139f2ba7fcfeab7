// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// A connection whose session can hold locks of the server: the driver's half of mode=session.
///
/// The server drops the locks when the session ends, however it ends. So a connection that is
/// closed, or lost, holds nothing; and a request that failed has closed it.
namespace holdfast::session {

/// All deadlines are by the machine's clock.
/// Thread safety: one thread at a time.
class session_connection {
public:
    virtual ~session_connection() = default;

    /// Connects, if it is not connected.
    /// Errors: whatever keeps the server from being used; the detail is one sentence.
    [[nodiscard]] virtual result<void> open(time_point deadline) = 0;
    [[nodiscard]] virtual bool is_open() const noexcept = 0;
    virtual void close() noexcept = 0;

    /// Takes the lock of the name, once; waits for it on the server, for up to `wait`. False: it
    /// is another session's.
    [[nodiscard]] virtual result<bool> lock(std::string_view name, duration wait,
                                            time_point deadline) = 0;
    [[nodiscard]] virtual result<void> unlock(std::string_view name, time_point deadline) = 0;

    /// Asks whether the server is still there.
    [[nodiscard]] virtual result<void> probe(time_point deadline) = 0;

    /// False: the server has said something to an idle connection, which is that it ends it.
    [[nodiscard]] virtual bool is_quiet() const = 0;
    [[nodiscard]] virtual int socket() const noexcept = 0;

    /// Whatever is waited for is given up, as at its deadline, once `fd` can be read.
    virtual void give_up_by(int fd) noexcept = 0;
    /// In a child of fork(): leaves the socket to the parent.
    virtual void forget() noexcept = 0;
};

/// Makes one that is not connected yet.
using connection_maker = std::function<std::unique_ptr<session_connection>()>;

}  // namespace holdfast::session
