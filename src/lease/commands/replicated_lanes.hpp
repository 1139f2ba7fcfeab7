// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/cluster_shards.hpp"
#include "lease/commands/known_servers.hpp"
#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

/// Lease requests that count only when replicas have them.
///
/// WAIT speaks of the writes of its own connection, so these requests travel on connections of
/// their own: a lane for each master, with a thread. Whatever has gathered while a lane was out is
/// sent together and confirmed by one WAIT (group commit), so many callers share its price. A grant
/// or a renewal that too few replicas confirm in time is outcome_unknown: who asked asks again, and
/// leaves in the end. A master that is cut off from its replicas cannot keep a lease alive.
///
/// Each master is apart: one that hangs holds up its own lane only.
namespace holdfast {

class replicated_lanes {
public:
    using completion = std::function<void(result<lease_reply>)>;

    replicated_lanes(std::shared_ptr<command_engine> engine, const command_lease_options& options,
                     known_servers& servers);
    /// What is still queued is answered `cancelled`.
    ~replicated_lanes();

    /// `done` is called once, on the lane's thread or on this one.
    void submit(lease_request request, std::string_view channel, time_point give_up,
                completion done);

private:
    struct job {
        lease_request request;
        std::string channel;
        time_point give_up;
        completion done;
    };
    class lane;

    [[nodiscard]] lane& lane_for(std::string_view lock, time_point give_up);
    [[nodiscard]] std::string master_of(unsigned slot, time_point give_up);
    void distrust_slots();
    void read_slots_again();

    const std::shared_ptr<command_engine> engine_;
    const command_lease_options& options_;
    known_servers& servers_;
    std::mutex mutex_;
    std::vector<slot_range> slots_;
    time_point slots_read_{};
    std::map<std::string, std::unique_ptr<lane>> lanes_;  // by master; they use all of the above
};

}  // namespace holdfast
