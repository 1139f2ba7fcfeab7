// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/access_rules.hpp"
#include "net/http_message.hpp"
#include "net/http_reader.hpp"
#include "net/websocket_frames.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// An HTTP and WebSocket server: one listener, one loop for each core, bounded in everything.
///
/// A connection belongs to one loop for its life. What waits for an engine runs on worker threads;
/// a loop never waits. Asio and Beast stay inside of the .cpp files.
namespace holdfast::net {

using shared_text = std::shared_ptr<const std::string>;

struct server_options {
    listen_address listen = {};
    http_limits http = {};
    websocket_limits websocket = {};
    /// Compress for clients that can.
    compression offered = compression::none;

    /// 0: as many as there are cores.
    std::size_t loops = 0;
    std::size_t workers = 8;
    /// Requests that wait for a worker; more are answered 503.
    std::size_t waiting_requests = 1000;
    std::size_t connections = 20'000;

    /// From the first byte of a request to its last, and from accept to the first one.
    duration request_deadline = std::chrono::seconds(10);
    /// How long a connection may be idle between requests.
    duration keep_alive = std::chrono::seconds(60);
    /// A WebSocket that was silent for so long is pinged …
    duration ping_after = std::chrono::seconds(20);
    /// … and one that stays silent for so long is closed.
    duration ping_timeout = std::chrono::seconds(50);
    /// How long written bytes may stay unacknowledged by the other end's window.
    duration write_timeout = std::chrono::seconds(30);
    /// Messages and control frames that one WebSocket may send in a second, and at once.
    std::size_t messages_per_second = 20;
    std::size_t message_burst = 60;
};

/// A WebSocket as the application sees it.
/// Thread safety: only on its loop's thread.
class websocket_channel {
public:
    virtual ~websocket_channel() = default;

    /// Queues a text message. The bytes are shared, never copied; what is queued in one turn of the
    /// loop leaves with as few system calls as possible.
    virtual void send(shared_text text) = 0;

    /// Bytes that are queued and not yet with the kernel.
    [[nodiscard]] virtual std::size_t queued_bytes() const noexcept = 0;

    /// Says goodbye after what is queued. Further messages are not read.
    virtual void close(close_code code, std::string_view reason) = 0;

    /// Has the loop call websocket_handler::pull() at the end of this turn, once for any number of
    /// calls before it.
    virtual void pull_later() = 0;
};

/// What the application does with one WebSocket. Called on the loop's thread: must not wait.
class websocket_handler {
public:
    virtual ~websocket_handler() = default;
    /// The channel lives as long as someone keeps it; after closed() it does nothing.
    virtual void opened(const std::shared_ptr<websocket_channel>& channel) = 0;
    virtual void received(std::string_view text) = 0;
    /// pull_later() was called, or everything that was queued is with the kernel: more may be sent.
    virtual void pull() = 0;
    /// The server is about to end.
    virtual void draining() = 0;
    /// The last call.
    virtual void closed() noexcept = 0;
};

struct upgrade {
    /// Why there is no WebSocket.
    std::optional<http_response> refused;
    std::unique_ptr<websocket_handler> handler;
};

/// What a server serves.
class application {
public:
    virtual ~application() = default;
    /// Called on a loop's thread, so it must not wait: an answer, or nothing if answer() shall.
    [[nodiscard]] virtual std::optional<http_response> answer_at_once(const http_request& r) = 0;
    /// Called on a worker's thread.
    [[nodiscard]] virtual http_response answer(const http_request& r) = 0;
    /// Called on the thread of a loop, whose number it is told, for a well-formed request for a
    /// WebSocket.
    [[nodiscard]] virtual upgrade open_websocket(const http_request& r, std::size_t loop) = 0;
};

/// Thread safety: any thread may read and add.
struct server_counters {
    std::atomic<std::uint64_t> accepted{};
    std::atomic<std::uint64_t> turned_away{};  ///< Too many connections, or too many requests.
    std::atomic<std::uint64_t> connections{};  ///< Now.
    std::atomic<std::uint64_t> websockets{};   ///< Now.
    std::atomic<std::uint64_t> requests{};
    std::atomic<std::uint64_t> refused{};  ///< Requests answered 4xx, and violations of protocols.
    std::atomic<std::uint64_t> timed_out{};
    std::atomic<std::uint64_t> bytes_out{};
    std::atomic<std::uint64_t> send_calls{};
    std::atomic<std::uint64_t> frames_out{};
};

class server {
public:
    /// Requires: `app` outlives this.
    server(server_options options, application& app, clock& time = system_clock());
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Listens and starts the loops.
    /// Errors: unavailable: the address cannot be had; the detail says why.
    [[nodiscard]] result<void> start();

    /// The port; of interest if 0 was asked for.
    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Loops are numbered from 0.
    [[nodiscard]] std::size_t loops() const noexcept;

    /// Calls `work` soon on the loop's thread, in the order of the calls. Nothing is called any
    /// more after stop().
    void post(std::size_t loop, std::move_only_function<void()> work);

    /// Accepts no more connections, ends idle ones, and has every WebSocket's handler told.
    void drain();

    /// Connections that are still there.
    [[nodiscard]] std::size_t open_connections() const noexcept;

    /// Ends everything at once. Called by the destructor.
    void stop();

    [[nodiscard]] const server_counters& counts() const noexcept;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::net
