// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/raw_pairs.hpp"

#include <string>

/// A lock in etcd as one would write it by hand: one lease for all names, kept alive beside; a
/// transaction that makes the key if it is absent, and one that deletes it. No queue, no keeper of
/// each lock.
namespace holdfast::bench {

/// A client for each thread, on the cluster of the URL.
/// Errors: as open() of that URL.
[[nodiscard]] result<pairs_result> pairs_by_etcd(const std::string& url,
                                                 const pairs_options& options);

}  // namespace holdfast::bench
