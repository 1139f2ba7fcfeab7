// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

/// What the error numbers of MariaDB and MySQL mean to us: one code, and one sentence that says
/// what to do. It ends with the server's own words in brackets, for whoever searches a fault.
namespace holdfast::mysql {

/// What the server, or its client library, said.
struct complaint {
    unsigned number = 0;  ///< 2000 to 2999 and 5000 to 5999: the library's.
    std::string words{};
};

inline constexpr unsigned no_such_table = 1146;
inline constexpr unsigned was_interrupted = 1317;

/// The connection is gone, or an answer did not come.
[[nodiscard]] bool is_lost(unsigned number);

/// Lost a conflict with another transaction: the same again may succeed.
[[nodiscard]] bool is_conflict(unsigned number);

/// A statement that the server refused: it was not carried out. `label` is how errors call the
/// database.
[[nodiscard]] error refused(const complaint& said, std::string_view label);

/// A connection that could not be made.
[[nodiscard]] error cannot_connect(const complaint& said, std::string_view label);

/// The tables could not be made. `said` is why.
[[nodiscard]] error cannot_create(const complaint& said, std::string_view label);

}  // namespace holdfast::mysql
