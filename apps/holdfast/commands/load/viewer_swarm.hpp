// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/load/load_figures.hpp"
#include "net/websocket_frames.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// Many viewers on one thread: plain sockets and epoll, so that ten thousand cost little.
///
/// Each checks the offsets of what it gets; a few of them also read the times in the messages.
namespace holdfast::app {

struct swarm_target {
    std::string host;
    std::uint16_t port = 0;
    /// "/comet/ws"; room and user are put behind it.
    std::string path = "/comet/ws";
    /// Empty: no header.
    std::string bearer = {};
};

/// Of "http://host:port". Errors: invalid_argument.
[[nodiscard]] result<swarm_target> parse_target(std::string_view url);

/// A socket that is connected to it. Errors: unavailable.
[[nodiscard]] result<int> connect_to(const swarm_target& to);

/// The next number behind `"name":` in a text of ours, from `from` on.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text, std::string_view name,
                                                     std::size_t from = 0);

class viewer_swarm {
public:
    /// Viewers are spread over the rooms in turns.
    viewer_swarm(swarm_target to, std::size_t viewers, std::vector<std::string> rooms);
    ~viewer_swarm();

    /// Opens all of them. Errors: unavailable: one could not be opened; the detail says why.
    [[nodiscard]] result<void> open();

    /// Begins to count.
    void start();
    /// Ends, when every viewer has the last offset of its room or `patience` is over.
    void finish(const std::map<std::string, std::uint64_t>& last_offsets, duration patience);

    /// Adds what was seen. Requires: finish() has returned.
    void report(load_figures& into);

    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }

private:
    struct viewer;

    void run();
    void read(viewer& one);
    void hear(viewer& one, std::string_view text);
    void sample(std::string_view text);
    [[nodiscard]] bool all_have(const std::map<std::string, std::uint64_t>& last) const;

    swarm_target to_;
    std::vector<std::string> rooms_;
    std::vector<std::unique_ptr<viewer>> viewers_;
    int epoll_ = -1;
    std::atomic<bool> counting_ = false;
    std::atomic<bool> ending_ = false;
    std::atomic<std::uint64_t> delivered_ = 0;
    std::atomic<std::uint64_t> frames_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t doubled_ = 0;
    std::uint64_t out_of_order_ = 0;
    std::uint64_t shed_ = 0;
    std::atomic<std::uint64_t> closed_ = 0;
    std::vector<double> delays_ms_;
    std::vector<std::uint64_t> each_second_;
    time_point began_;
    std::jthread thread_;
};

}  // namespace holdfast::app
