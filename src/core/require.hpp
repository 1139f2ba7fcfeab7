// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

/// Checks what a contract states under `Requires:`, in every build.
///
/// A caller that breaks a contract has a bug, and what would follow (a read past an array, a lock
/// that excludes nobody) is worse than an end. So the program ends, with one line on stderr that
/// says which contract was broken and where it was checked. What depends on a server, a file or an
/// operator is never checked by this: that is an error, and is returned.
namespace holdfast::detail {

[[noreturn]] void requirement_broken(const char* contract, const std::source_location& where);

/// `contract` is the sentence that holds if `kept` is true.
constexpr void require(bool kept, const char* contract,
                       const std::source_location& where = std::source_location::current()) {
    if (!kept) [[unlikely]]
        requirement_broken(contract, where);
}

}  // namespace holdfast::detail
