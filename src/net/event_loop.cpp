// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.hpp"

#include "net/connection.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace holdfast::net {
namespace {

// How exactly deadlines are kept.
constexpr auto tick_interval = std::chrono::milliseconds(100);

}  // namespace

event_loop::event_loop(shared_parts& parts, std::size_t number) : parts_(parts), number_(number) {}

event_loop::~event_loop() {
    stop();
}

void event_loop::start() {
    tick();
    thread_ = std::jthread([this] { context_.run(); });
}

std::vector<shared_connection> event_loop::all() const {
    return {connections_.begin(), connections_.end()};
}

void event_loop::stop() {
    if (!thread_.joinable()) return;
    boost::asio::post(context_, [this] {
        timer_.cancel();
        for (const auto& one : all()) one->drop();
        context_.stop();
    });
    thread_.join();
}

void event_loop::drain() {
    boost::asio::post(context_, [this] {
        for (const auto& one : all()) one->drain();
    });
}

void event_loop::post(std::move_only_function<void()> work) {
    boost::asio::post(context_, std::move(work));
}

void event_loop::at_turn_end(shared_connection one) {
    turn_.push_back(std::move(one));
    if (turn_.size() > 1) return;
    boost::asio::post(context_, [this] {
        std::vector<shared_connection> ended;
        ended.swap(turn_);
        for (const auto& each : ended) each->turn_end();
        // What it took to hold a large room is kept for the next broadcast.
        if (turn_.empty()) {
            ended.clear();
            turn_.swap(ended);
        }
    });
}

void event_loop::add(const shared_connection& one) {
    connections_.insert(one);
}

void event_loop::remove(const shared_connection& one) {
    connections_.erase(one);
}

void event_loop::tick() {
    timer_.expires_after(tick_interval);
    timer_.async_wait([this](boost::system::error_code cancelled) {
        if (cancelled) return;
        const time_point at = now();
        std::vector<shared_connection> due;
        for (const auto& one : connections_) {
            if (one->due() <= at) due.push_back(one);
        }
        for (const auto& one : due) one->run_deadline(at);
        tick();
    });
}

}  // namespace holdfast::net
