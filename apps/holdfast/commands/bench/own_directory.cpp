// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/own_directory.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::app {
namespace {

// A server that is just being killed may write once more.
void remove_tree(const std::filesystem::path& place) {
    std::error_code ignored;
    for (int i = 0; i < 50 && std::filesystem::exists(place, ignored); ++i) {
        std::filesystem::remove_all(place, ignored);
        if (std::filesystem::exists(place, ignored)) ::poll(nullptr, 0, 20);
    }
}

}  // namespace

result<own_directory> own_directory::make(const std::filesystem::path& within) {
    std::string pattern = within / "holdfast-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        return fail(errc::unavailable,
                    fmt::format("cannot make a directory for the measurement in {}: {}",
                                within.string(), std::generic_category().message(errno)));
    }
    own_directory made{std::filesystem::path(pattern)};
    made.cleanup_process_ =
        cleanup_process(cleanup_process::after::us, [&path = made.path_] { remove_tree(path); });
    return made;
}

// The cleanup process, which goes next, finds nothing any more.
own_directory::~own_directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::app
