// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "push/consumer_plan.hpp"
#include "push/push_scripts.hpp"

#include <holdfast/client.hpp>
#include <holdfast/push/job.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// One consumer of a Job: does what its plan says, on a thread of its own.
namespace holdfast::push {

class consumer {
public:
    /// Requires: what is referred to outlives this.
    consumer(client& hf, const settings& s, std::size_t number, std::string node, log_sink log,
             counters& counts, const job_options& options);

    /// Runs until stop() was called, or a test's step has thrown.
    void run();
    /// From any thread; run() returns soon after.
    void stop();

private:
    [[nodiscard]] bool stopping();
    void pause(duration how_long);
    [[nodiscard]] time_point give_up() const;
    [[nodiscard]] result<reply> ask(const owned_call& call);
    void step(job_step at, std::string_view room) const;
    bool open();
    void turn();
    void take(const reply& list, bool claimed);
    void read();
    void claim();
    void look(std::span<const std::string> rooms);
    void work_on(const std::string& room);
    void broadcast(const std::string& room, std::uint64_t fence);
    void acknowledge();
    void hand_on();

    client& hf_;
    command_engine& engine_;
    clock& time_;
    const settings& settings_;
    const std::size_t number_;
    const std::string name_;   // in the consumer group
    const std::string queue_;  // of its partition
    const job_options& options_;
    counters& counts_;
    consumer_plan plan_;
    std::unique_ptr<command_session> session_;
    std::optional<lease> held_;
    time_point next_claim_{};
    std::string claim_from_ = "0-0";
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
};

}  // namespace holdfast::push
