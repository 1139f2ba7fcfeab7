// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/serve_settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How the text of each kind of setting is read and shown. Each has read(target, text) and
/// show(target), and its errors say what would be right.
namespace holdfast::app {

/// "500ms", "0.5s", "2m"; a number alone is seconds.
/// Errors: invalid_argument.
[[nodiscard]] result<duration> parse_seconds(std::string_view text);

struct span_text {
    duration least;
    duration most;
    result<void> read(duration& to, std::string_view text) const;
    [[nodiscard]] std::string show(const duration& from) const;
};

struct whole_text {
    std::size_t least;
    std::size_t most;
    result<void> read(std::size_t& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::size_t& from) const;
};

struct port_text {
    result<void> read(std::optional<std::uint16_t>& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::optional<std::uint16_t>& from) const;
};

struct flag_text {
    result<void> read(bool& to, std::string_view text) const;
    [[nodiscard]] std::string show(const bool& from) const;
};

struct plain_text {
    result<void> read(std::string& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::string& from) const;
};

struct choice_text {
    std::vector<std::string_view> choices;
    result<void> read(std::string& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::string& from) const;
};

/// Never shown.
struct secret_text {
    result<void> read(std::string& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::string& from) const;
};

struct list_text {
    result<void> read(std::vector<std::string>& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::vector<std::string>& from) const;
};

struct rate_setting_text {
    result<void> read(std::optional<rate>& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::optional<rate>& from) const;
};

struct mode_text {
    result<void> read(push::mode& to, std::string_view text) const;
    [[nodiscard]] std::string show(const push::mode& from) const;
};

struct role_text {
    result<void> read(role_set& to, std::string_view text) const;
    [[nodiscard]] std::string show(const role_set& from) const;
};

/// PATTERN:mode=M,cooldown=TIME,require_ids=on
struct rule_text {
    result<void> read(std::vector<push::room_rule>& to, std::string_view text) const;
    [[nodiscard]] std::string show(const std::vector<push::room_rule>& from) const;
};

}  // namespace holdfast::app
