// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/server.hpp"
#include "net/worker_pool.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

/// One thread with its connections.
namespace holdfast::net {

class connection;
using shared_connection = std::shared_ptr<connection>;

/// What all connections of a server share.
struct shared_parts {
    server_options options;
    application* app;
    clock* time;
    server_counters counts;
    std::unique_ptr<worker_pool> workers;
    std::atomic<bool> draining = false;
};

class event_loop {
public:
    event_loop(shared_parts& parts, std::size_t number);
    ~event_loop();

    void start();
    /// Drops all connections and ends the thread.
    void stop();
    void drain();

    /// Any thread.
    void post(std::move_only_function<void()> work);

    /// The loop's thread: the connection's turn_end() is called at the end of this turn.
    void at_turn_end(shared_connection one);

    void add(const shared_connection& one);
    void remove(const shared_connection& one);

    [[nodiscard]] shared_parts& parts() noexcept { return parts_; }
    [[nodiscard]] std::size_t number() const noexcept { return number_; }
    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
    [[nodiscard]] time_point now() const noexcept { return parts_.time->now(); }

    /// Where every connection of this loop reads into: an idle one needs no buffer.
    std::array<char, 64 * 1024> scratch;

    /// The last text that was compressed here: all viewers of a frame come one after the other.
    shared_text last_plain;
    shared_text last_packed;

private:
    void tick();
    [[nodiscard]] std::vector<shared_connection> all() const;

    shared_parts& parts_;
    std::size_t number_;
    boost::asio::io_context context_{1};
    boost::asio::steady_timer timer_{context_};
    std::unordered_set<shared_connection> connections_;
    std::vector<shared_connection> turn_;
    std::jthread thread_;
};

}  // namespace holdfast::net
