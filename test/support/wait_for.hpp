// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

/// Waiting for something outside of our process to become true.
namespace holdfast::test {

/// Looks at `condition` every few milliseconds of real time until it holds. Only for tests against
/// real processes, which cannot be told to signal us; everything else runs on a virtual clock.
/// Throws std::runtime_error "waited 5000 ms for <what>" when it does not hold by then, which
/// fails a test. An exception of `condition` counts as "not yet", and the last one's text is added.
void wait_for(std::string_view what, const std::function<bool()>& condition,
              std::chrono::milliseconds at_most = std::chrono::seconds(10));

}  // namespace holdfast::test
