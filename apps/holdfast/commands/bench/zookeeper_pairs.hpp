// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/raw_pairs.hpp"

#include <string>

/// A lock in ZooKeeper as one would write it by hand, from the recipe of its documentation: make an
/// ephemeral sequential node, list the children, see that ours is the first, delete it. Blocking
/// calls of the same client library; no keeper, no loss, nothing for a lost reply.
namespace holdfast::bench {

/// A session for each thread, on the ensemble of the URL.
/// Errors: as open() of that URL.
[[nodiscard]] result<pairs_result> pairs_by_zookeeper(const std::string& url,
                                                      const pairs_options& options);

}  // namespace holdfast::bench
