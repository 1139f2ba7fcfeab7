// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What a measurement has left on a server that is not its own.
namespace holdfast::app {

/// Removes the keys, also those that a command makes that is still on its way: whoever sent it is
/// gone already. Does nothing if the server is gone too.
void remove_keys(const std::string& url, const std::vector<std::string>& keys);

}  // namespace holdfast::app
