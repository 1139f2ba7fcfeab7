// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/command_engine.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/lease_store.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Leases on whatever speaks Redis commands.
///
/// Each request is one script, so it is atomic and takes one trip. A waiter's grant comes as a message
/// on this client's own channel, sent by the script that released: a wake means owned. The message is
/// only the fast way: a waiter that misses it looks again within a second.
namespace holdfast {

struct command_lease_options {
    /// Before every name, so that `lock:N` is the key. May be empty.
    std::string prefix = "lock:";
    /// How long a hand-over stays the waiter's own without a word from it. Longer than the longest
    /// look, so that a live waiter always learns in time; short, because a dead one blocks that long.
    duration claim = std::chrono::seconds(2);
    /// How long a place in line is kept without a look.
    duration place = std::chrono::seconds(3);
    /// How many may wait for one name.
    std::uint32_t most_waiters = 1000;
};

/// The command that must come first on every new connection to a server that can lose writes or its
/// data (a restart, a failover): it raises the fence counter to the server's clock, so that numbers
/// which were given and then forgotten are not given again.
[[nodiscard]] std::vector<std::string> raise_fence_command();

class command_lease_store final : public lease_store {
public:
    command_lease_store(std::shared_ptr<command_engine> engine, entropy& chance,
                        command_lease_options options = {});
    ~command_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;

private:
    struct prepared;

    void prepare(const lease_request& request, prepared& out) const;
    void hear_pushes(std::span<const lease_request> requests, time_point give_up);
    void heard(const push_event& event);
    result<std::vector<std::string>> scan(const std::string& pattern, time_point give_up);

    const std::shared_ptr<command_engine> engine_;
    const command_lease_options options_;
    const std::string channel_;
    push_handler handler_;
    std::mutex subscribing_;
    std::unique_ptr<subscription> subscription_;
    std::atomic<bool> hearing_ = false;
};

}  // namespace holdfast
