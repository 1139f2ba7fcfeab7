// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "terminal.hpp"

#include <string>
#include <vector>

/// Rows of text under headings, each column as wide as it must be.
namespace holdfast::app {

class table {
public:
    explicit table(std::vector<std::string> headings) : rows_{std::move(headings)} {}

    /// Requires: as many as there are headings.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    /// Lines that end in a newline. The headings are bold where that can be.
    [[nodiscard]] std::string text(const terminal& out) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::app
