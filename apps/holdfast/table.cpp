// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "display_width.hpp"

#include <algorithm>

namespace holdfast::app {

std::string table::text(const terminal& out) const {
    std::vector<int> widths(rows_.front().size(), 0);
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], columns(row[i]));
        }
    }
    std::string text;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i < rows_[r].size(); ++i) {
            const std::string& cell = rows_[r][i];
            line += cell;
            if (i + 1 == rows_[r].size()) break;
            line.append(static_cast<std::size_t>(widths[i] - columns(cell) + 2), ' ');
        }
        text += r == 0 ? out.in(paint::bold, line) : line;
        text += '\n';
    }
    return text;
}

}  // namespace holdfast::app
