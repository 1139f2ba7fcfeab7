// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rate_text.hpp"

#include <holdfast/error.hpp>
#include <holdfast/push/outbox.hpp>
#include <holdfast/push/settings.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Everything that can be set of `holdfast serve`, in one table.
///
/// A setting has one name. `lock_life` is the option --lock-life, the variable HOLDFAST_LOCK_LIFE
/// and the line `lock_life = 5s` of the config file. An option counts before a variable, a variable
/// before the file. A secret has no option, since everyone on a machine sees the words of a command
/// line: the option names a file that has it.
namespace holdfast::app {

struct role_set {
    bool logic = true;
    bool job = true;
    bool comet = true;

    [[nodiscard]] bool all() const noexcept { return logic && job && comet; }
};

struct serve_settings {
    role_set roles;
    std::string engine = "memory:";
    std::string listen = "127.0.0.1:8090";
    /// Empty: /ops shows no tasks.
    std::string tasks;
    /// Nothing: the embedded engine is not served to Redis clients.
    std::optional<std::uint16_t> redis_port = {};
    push::settings push;

    /// Nothing: no limit.
    std::optional<rate> user_rate = rate{50, std::chrono::seconds(1)};
    std::optional<rate> room_rate = rate{5000, std::chrono::seconds(1)};
    std::optional<rate> address_rate = rate{5000, std::chrono::seconds(1)};

    std::string token;
    std::string handshake_secret;
    std::vector<std::string> hosts;
    std::vector<std::string> origins;

    std::size_t loops = 0;
    std::size_t workers = 8;
    std::size_t connections = 20'000;
    push::outbox_limits viewer_queue;
    std::size_t viewer_rooms = 64;
    std::size_t viewer_messages = 20;
    duration request_deadline = std::chrono::seconds(10);
    duration ping = std::chrono::seconds(20);
    bool compress = false;
    duration drain = std::chrono::seconds(10);
    std::string log = "auto";
    bool quiet = false;
};

enum class setting_kind : std::uint8_t {
    value,
    list,   ///< May be given several times; in a variable, words with blanks between them.
    secret  ///< No option; the option NAME-file names a file.
};

struct setting {
    std::string_view name;
    std::string_view placeholder;
    std::string_view help;
    setting_kind kind;
    /// Takes a text. Errors: invalid_argument; the detail says what would be right.
    std::function<result<void>(serve_settings&, std::string_view)> read;
    /// What the default is, as read() takes it; empty for none.
    std::function<std::string(const serve_settings&)> show;
};

[[nodiscard]] std::span<const setting> serve_table();

/// "--lock-life"; "--token-file" for a secret.
[[nodiscard]] std::string option_name(const setting& one);
/// "HOLDFAST_LOCK_LIFE"
[[nodiscard]] std::string variable_name(const setting& one);

/// What a table says that was given: by options, one text for each time.
struct given_setting {
    const setting* which;
    std::vector<std::string> texts;
};

/// Reads the file (empty: none), the environment, the options, in this order.
/// Errors: invalid_argument; the detail says where, which and what would be right.
[[nodiscard]] result<serve_settings> read_settings(
    const std::string& file, const std::function<const char*(const char*)>& environment,
    std::span<const given_setting> options);

/// Whether they fit together: a token where others can reach us, an engine that roles can share.
/// Errors: invalid_argument.
[[nodiscard]] result<void> check(const serve_settings& s);

/// The table of docs/reference/serve_settings.md.
[[nodiscard]] std::string settings_page();

}  // namespace holdfast::app
