// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

/// A TCP proxy on loopback that stands between a client and a server, and breaks on command.
namespace holdfast::test {

/// Each member that changes the behaviour applies to the connections that exist and to those to
/// come, and has taken effect when it returns. Starts in pass().
///
/// A TCP stream has no holes: a connection that lost bytes to drop_replies() or black_hole() is
/// reset when the proxy goes on to pass(), delay() or cut_replies_after().
/// Thread safety: all members may be called from any thread.
class fault_proxy {
public:
    /// Proxies a free port of its own to `server_port`. Throws std::system_error.
    explicit fault_proxy(std::uint16_t server_port);
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    ~fault_proxy();

    [[nodiscard]] std::uint16_t port() const noexcept;

    void pass();          ///< Carries everything, both ways.
    void drop_replies();  ///< The server gets the requests; its answers are lost.
    void delay(std::chrono::milliseconds by);  ///< Replies arrive later by that.
    /// Carries `bytes` more of each connection's replies, then closes it: mid-frame if they end so.
    void cut_replies_after(std::size_t bytes);
    /// What the clients of the connections that exist say from now on is kept, and delivered when
    /// the proxy goes on to something else: also if the client is gone by then. New connections
    /// pass.
    void stall_requests();
    void reset();       ///< Every connection is reset (RST), new ones as soon as they are accepted.
    void black_hole();  ///< Accepts, and swallows everything both ways.
    void refuse();      ///< Nobody listens; existing connections are reset.

    /// How many connections were accepted so far, and how many are open now.
    [[nodiscard]] std::size_t accepted() const;
    [[nodiscard]] std::size_t open() const;
    /// How many bytes reached the server, and how many were taken from it.
    [[nodiscard]] std::uint64_t bytes_to_server() const;
    [[nodiscard]] std::uint64_t bytes_from_server() const;
    /// How many round trips there were: how often a client spoke, counted once until the server
    /// has said something to it.
    [[nodiscard]] std::uint64_t trips() const;

private:
    class loop;
    std::unique_ptr<loop> loop_;
};

}  // namespace holdfast::test
