// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/run/run_options.hpp"

#include <holdfast/client.hpp>

#include <string>

/// Whether all who run with --semaphore mean the same number.
///
/// An engine lets in as many as the one says who asks. So a script with another number than the
/// others', by mistake or because it is older, would overfill the place or be kept out for no
/// reason that anybody sees. It is refused instead. A number that was set for all by resize() holds
/// whatever anybody says: then it is told so, and goes on.
///
/// It is a look, not a lock: two who begin at the very same moment with different numbers do not
/// see each other.
namespace holdfast::app {

/// Sets the number for all, if that was asked for; otherwise compares it with the others'. Answers
/// what to tell the user: nothing if its number is what holds. Of a name that nobody uses just then
/// an engine does not tell its number: ask again once it is held.
/// Errors: invalid_argument (the detail names both numbers); of a change, the engine's trouble.
[[nodiscard]] result<std::string> agree_on_size(client& on, const run_options& options);

}  // namespace holdfast::app
