// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <cstdio>
#include <cstdlib>

namespace holdfast::detail {

void requirement_broken(const char* contract, const std::source_location& where) {
    std::fprintf(stderr, "holdfast: a contract was broken: %s (%s:%u, %s)\n", contract,
                 where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
    std::abort();
}

}  // namespace holdfast::detail
