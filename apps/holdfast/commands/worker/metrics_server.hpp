// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// GET /metrics of a program that serves nothing else, on loopback.
namespace holdfast::app {

class metrics_server {
public:
    /// What Prometheus is to read; called on a thread of the server.
    using source = std::function<std::string()>;

    /// Listens on "127.0.0.1:9464"; port 0: any. Without a token it must be loopback.
    /// Errors: invalid_argument, unavailable; unsupported in a build without the server.
    [[nodiscard]] static result<std::unique_ptr<metrics_server>> start(std::string_view listen,
                                                                       source text);
    virtual ~metrics_server() = default;
    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
};

}  // namespace holdfast::app
