// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <system_error>

/// What the std faces throw when a thread asks for a lock that it has not locked.
namespace holdfast::detail {

[[noreturn]] inline void raise_not_locked(std::string_view member) {
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            fmt::format("holdfast::{}(): this thread has not locked it", member));
}

}  // namespace holdfast::detail
