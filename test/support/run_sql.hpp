// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// A SQLite file as another program sees it.
namespace holdfast::test {

/// Runs one statement; the first column of each row that it answers.
/// Throws std::runtime_error when SQLite refuses it.
std::vector<std::string> run_sql(const std::filesystem::path& file, const std::string& text);

}  // namespace holdfast::test
