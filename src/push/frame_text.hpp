// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/frame.hpp>

#include <optional>
#include <string>
#include <string_view>

/// Frames and messages as texts: what is stored, what is published, what a viewer reads.
///
///     stored body:  {"id":"…","userId":123,"userName":"Ann","content":"…"}
///     published:    hf1 EPOCH FIRST LAST
///                   OFFSET CLASS BODY          one line for each message
///     to viewers:   see frame.hpp
namespace holdfast::push {

/// The body that is stored of a message.
[[nodiscard]] std::string message_body(const post& p, const message& m, std::string_view id);

/// The body with its offset in front: as viewers see it.
[[nodiscard]] std::string with_offset(std::string_view body, std::uint64_t offset);

/// 0, 1 or 2.
[[nodiscard]] std::string_view class_text(message_class kind) noexcept;
[[nodiscard]] message_class class_of(std::string_view text) noexcept;

/// A published frame of that room; nothing if it is not one.
[[nodiscard]] std::optional<shared_frame> parse_published(const std::string& room,
                                                          std::string_view payload);

/// Decimal digits only; nothing for other text.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

}  // namespace holdfast::push
