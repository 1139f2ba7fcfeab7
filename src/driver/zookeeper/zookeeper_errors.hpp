// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <string_view>

namespace holdfast::zookeeper {

struct answered;

/// What a request that was not carried out is answered with. `asked` says what it was for.
[[nodiscard]] error to_error(const answered& said, std::string_view servers);
/// The same for a request that changes nothing: its outcome is never in doubt.
[[nodiscard]] error read_error(const answered& said, std::string_view servers);

}  // namespace holdfast::zookeeper
