// SPDX-License-Identifier: Apache-2.0
#include "support/temporary_directory.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::test {

temporary_directory::temporary_directory() {
    std::string pattern = std::filesystem::temp_directory_path() / "holdfast-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), "cannot make " + pattern);
    }
    path_ = pattern;
}

temporary_directory::~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::test
