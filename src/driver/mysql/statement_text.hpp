// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_connection.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The text of a statement with ?1, ?2 … for its values, as MySQL takes it.
///
/// A prepared statement has a plain ? for each place, in their order. A statement that travels
/// with others in one round trip has its values in the text: a number as its digits, a text as
/// X'6a6f62', its bytes in hexadecimal. So nothing of a value is ever read as SQL, and nothing
/// needs to be escaped.
namespace holdfast::mysql {

class statement_text {
public:
    explicit statement_text(std::string_view text);

    /// For the server to prepare.
    [[nodiscard]] const std::string& prepared() const noexcept { return prepared_; }
    /// Which value stands at each ?, from 0.
    [[nodiscard]] std::span<const std::size_t> places() const noexcept { return places_; }
    /// How many statements it is; they are separated by ';'.
    [[nodiscard]] std::size_t statements() const noexcept { return statements_; }

    /// Appends it with its values. Requires: as many values as it has numbers.
    void append_to(std::string& out, std::span<const sql::value> values) const;

private:
    std::vector<std::string> parts_;  // one more than places
    std::vector<std::size_t> places_;
    std::string prepared_;
    std::size_t statements_ = 1;
};

}  // namespace holdfast::mysql
