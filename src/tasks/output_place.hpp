// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/names.hpp>

#include <string>
#include <string_view>

/// Where the files of a task are made, and how they are published: a directory beside the final
/// place, and one rename.
///
/// The directory's name has the fence of the claim, so two workers never share one. A rename does
/// not replace what is there: a place is published once.
namespace holdfast::detail {

/// Makes an empty directory for the output that will be at `place`, and removes what earlier claims
/// of the same task left beside it.
/// Errors: invalid_argument (no usable path, or something is there), unavailable.
[[nodiscard]] result<std::string> stage_output(std::string_view place, std::string_view id,
                                               fencing_token fence);

/// What moving found.
enum class move_result : std::uint8_t {
    moved,
    there,  ///< It had been moved before.
    gone,   ///< Neither is there.
    taken,  ///< Something else is at the place.
};

/// Writes the files to the disk, and renames the directory. It may be repeated.
/// Errors: unavailable.
[[nodiscard]] result<move_result> move_into_place(const std::string& staged,
                                                  const std::string& place);

/// Removes a directory that is not published.
void discard_output(const std::string& staged) noexcept;

}  // namespace holdfast::detail
