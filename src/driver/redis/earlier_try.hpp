// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/reply.hpp>
#include <holdfast/error.hpp>

#include <utility>

/// What may be said of a command that was sent more than once.
namespace holdfast::redis {

/// So often a command is sent again of which nothing was written, because the connection broke.
inline constexpr int most_unsent_tries = 2;

/// An earlier try of it may have been carried out. No later failure can make that untrue, and
/// neither can a server that answers that it cannot do it now (it has no memory left, it loads):
/// then the outcome is unknown.
inline void keep_in_doubt(result<reply>& answer) {
    if (!answer) {
        answer.error().code = errc::outcome_unknown;
        return;
    }
    if (!answer->is_error()) return;
    error refusal = to_error(*answer);
    if (refusal != errc::unavailable) return;
    refusal.code = errc::outcome_unknown;
    answer = std::unexpected(std::move(refusal));
}

}  // namespace holdfast::redis
