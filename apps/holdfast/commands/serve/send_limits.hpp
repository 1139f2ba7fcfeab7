// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/serve_settings.hpp"
#include "net/http_message.hpp"

#include <holdfast/rate_limiter.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

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

    /// A limit and what it has done so far, for people.
    struct figures {
        std::string name;
        std::string rate;  ///< "50/s"; "off".
        std::uint64_t allowed = 0;
        std::uint64_t refused = 0;
    };
    [[nodiscard]] std::vector<figures> read() const;

private:
    struct counted_limit {
        std::string name;
        std::string rate;
        std::optional<rate_limiter> by;
        std::atomic<std::uint64_t> allowed = 0;
        std::atomic<std::uint64_t> refused = 0;
    };

    static std::optional<net::http_response> refuse(counted_limit& by, const std::string& key,
                                                    std::size_t amount,
                                                    std::vector<net::header>* headers);

    counted_limit user_;
    counted_limit room_;
    counted_limit address_;
};

}  // namespace holdfast::app
