// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/doctor/finding.hpp"

#include <holdfast/client.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What one Redis server says of itself, and what that means for locks. Pure: asking is elsewhere.
namespace holdfast::app {

/// How the servers are meant to work together.
enum class redis_shape : std::uint8_t { alone, sentinel, cluster, member };

struct redis_facts {
    std::string where;  ///< Its address, for people.
    redis_shape shape = redis_shape::alone;
    bool loopback = false;  ///< Or a unix socket: nobody else can listen in.
    bool tls = false;
    bool verified = true;  ///< The certificate is checked.
    duration quarantine{};
    std::uint32_t replicas = 0;  ///< That must confirm a grant.

    std::map<std::string, std::string, std::less<>> info;  ///< Of INFO.
    std::optional<std::string> fsync;                      ///< appendfsync, if we may know it.
    std::optional<bool> no_password;                       ///< Of our user, if we may know it.
    std::optional<bool> may_do_all;                        ///< The same.
    std::optional<bool> all_keys;                          ///< The same.
    std::optional<clock_comparison> clock;                 ///< If it tells its time.
};

/// The lines of INFO: "role:master" and so on.
[[nodiscard]] std::map<std::string, std::string, std::less<>> parse_info(std::string_view text);

/// Everything that the facts say.
[[nodiscard]] findings judge(const redis_facts& facts);

}  // namespace holdfast::app
