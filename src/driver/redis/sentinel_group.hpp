// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/server_link.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// The sentinels of one master, asked all at once.
///
/// Each answers with an address and the epoch of the configuration that it knows it from. The
/// answer of the highest epoch counts: a sentinel that was cut off when the others agreed on a
/// failover still names the old master, with a lower epoch. A majority of answers is waited for,
/// and one is enough when the others stay silent for a moment.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread.
class sentinel_group {
public:
    sentinel_group(const redis_sentinel_target& target, std::shared_ptr<tls_context> tls,
                   clock& time, entropy& chance);

    /// Where the master is. Blocks: at most the sentinels' connect_timeout and reply_timeout.
    /// Errors: unavailable (no sentinel answered, or none knows the name), denied.
    [[nodiscard]] result<server_address> ask(time_point give_up);

    /// `told` is called when a sentinel announces a new master, or when that may have been missed.
    /// A hint: whoever is told asks. Requires: called once.
    void on_switch(const std::function<void()>& told);

    void read(redis_statistics& out) const;

private:
    struct round;

    const std::string master_;
    const duration patience_;
    clock& time_;
    std::vector<std::unique_ptr<server_link>> links_;
    std::vector<std::unique_ptr<subscription>> ears_;  // before links_ in destruction
};

}  // namespace holdfast::redis
