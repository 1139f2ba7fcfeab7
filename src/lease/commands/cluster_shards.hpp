// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <string>
#include <vector>

/// Which master of a Cluster serves which slots, as the Cluster says.
namespace holdfast {

struct slot_range {
    unsigned first = 0;
    unsigned last = 0;
    std::string master;   ///< The node's id …
    std::string address;  ///< … and where it says that it is: "10.0.0.1:6379".
};

/// Errors: unavailable, corrupt, …
[[nodiscard]] result<std::vector<slot_range>> read_shards(command_engine& engine,
                                                          time_point give_up);

}  // namespace holdfast
