// SPDX-License-Identifier: Apache-2.0
#include "bench/own_directory.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace holdfast::app {

result<own_directory> own_directory::make(const std::filesystem::path& within) {
    std::string pattern = within / "holdfast-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) return own_directory(pattern);
    return fail(errc::unavailable,
                fmt::format("cannot make a directory for the measurement in {}: {}",
                            within.string(), std::generic_category().message(errno)));
}

own_directory::~own_directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::app
