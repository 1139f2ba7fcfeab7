// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/load/load_figures.hpp"
#include "commands/load/viewer_swarm.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// Senders of a load run: each a thread with one connection that is kept.
namespace holdfast::app {

struct sending {
    std::size_t senders = 4;
    /// Messages a second, all senders together; 0: as fast as they are taken.
    double rate = 100;
    /// Messages in one post.
    std::size_t batch = 1;
    /// Bytes of a message's content.
    std::size_t size = 64;
};

class load_senders {
public:
    /// `run` makes ids that no other run makes.
    load_senders(swarm_target to, sending how, std::vector<std::string> rooms, std::string run);
    ~load_senders();

    void start();
    void stop();

    void report(load_figures& into) const;
    /// The highest offset that the server has answered, for each room.
    [[nodiscard]] std::map<std::string, std::uint64_t> last_offsets() const;
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

private:
    void run(std::size_t number);
    /// False: the connection is of no further use.
    bool send_one(int socket, std::size_t number, std::uint64_t post);
    [[nodiscard]] std::string request_of(std::size_t number, std::uint64_t post,
                                         const std::string& room) const;
    void note(const std::string& room, std::string_view body);

    swarm_target to_;
    sending how_;
    std::vector<std::string> rooms_;
    std::string run_;
    std::atomic<bool> ending_ = false;
    std::atomic<std::uint64_t> sent_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    mutable std::mutex mutex_;
    std::map<std::string, std::uint64_t> last_;
    std::vector<std::jthread> threads_;
};

/// The status and the body of one response. Errors: unavailable: the connection ended.
struct plain_answer {
    int status = 0;
    std::string body;
};
[[nodiscard]] result<plain_answer> ask_over(int socket, const std::string& request);

}  // namespace holdfast::app
