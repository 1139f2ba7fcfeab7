// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/quorum/quorum_machine.hpp"

#include <span>
#include <string>

/// What each node of a quorum said, in one sentence for a person.
namespace holdfast::detail {

/// "2 of 5 granted: a:6379 granted, b:6379 busy, c:6379 no answer in 500 ms, …", and in the words
/// of the first that failed why it did. Holds no secret: no owner, and no password of a URL.
/// Requires: labels.size() == machine.words().size().
[[nodiscard]] std::string report_of(const quorum_machine& machine,
                                    std::span<const std::string> labels, duration node_timeout);

}  // namespace holdfast::detail
