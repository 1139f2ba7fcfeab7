// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_request.hpp>

/// What holders say of themselves, as keys beside their locks: `{lock:N}:note:OWNER`.
///
/// A note is only for people, so it is no part of the lease's own commands. It is written when a
/// grant or a renewal was answered, and deleted when the lease was given back, each by one command
/// that nobody waits for. A lease without a note costs nothing, and a note that could not be
/// written keeps nobody from a lease. Its key expires with the lease.
namespace holdfast {

/// Does this request have a note to write or to forget?
[[nodiscard]] bool has_note(const lease_request& request) noexcept;

/// Does it, after the answer. Requires: has_note(request).
void keep_note(command_engine& engine, const command_lease_options& options,
               const lease_request& request, const result<lease_reply>& answer);

}  // namespace holdfast
