// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

/// Where Job and Comet write what they do.
///
/// The texts of a Job are the source's, word for word, each begins with `[Consumer i] `:
///
///     Received PushMsg: R                       info
///     Message distributed: sent=N               info     N connections
///     Duplicate message skipped: ID             warning
///     Room in cooldown, skipping: R             info     mode drop
///     Room in cooldown, deferred: R             info     modes coalesce and latest
///     Lock acquired: lock:broadcast:R           info
///     Lock released                             info
///     Another consumer is processing room: R    info
///     Broadcast failed                          error    ": " and the reason follow
namespace holdfast::push {

enum class log_level : std::uint8_t { info, warning, error };

/// Called on threads of Job and Comet, several at a time: must be thread-safe and short. The text
/// is valid for the time of the call only. An empty function: nobody listens.
using log_sink = std::function<void(log_level level, std::string_view text)>;

}  // namespace holdfast::push
