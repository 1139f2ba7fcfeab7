// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/serve_settings.hpp"
#include "net/http_message.hpp"

#include <holdfast/rate_limiter.hpp>

#include <optional>
#include <string>

/// How many messages a user, a room and an address may send: our own rate limiters.
namespace holdfast::app {

class send_limits {
public:
    send_limits(const command_access& where, const serve_settings& settings);

    /// The request's right to come at all, by its address. Nothing if it may.
    /// Blocks: a trip at most.
    [[nodiscard]] std::optional<net::http_response> refuse_address(const std::string& address);

    struct outcome {
        std::optional<net::http_response> refused;
        /// RateLimit and RateLimit-Policy of the user's limit, for the answer.
        std::vector<net::header> headers;
    };

    /// A post of so many messages.
    /// Blocks: a trip for each limit at most.
    [[nodiscard]] outcome take(const std::string& user, const std::string& room,
                               std::size_t messages);

private:
    std::optional<rate_limiter> user_;
    std::optional<rate_limiter> room_;
    std::optional<rate_limiter> address_;
};

}  // namespace holdfast::app
