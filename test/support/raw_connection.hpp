// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command.hpp>
#include <holdfast/engine/reply.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct redisContext;

/// One plain hiredis connection: how a test looks at a server independently of our own client.
namespace holdfast::test {

/// Every member throws std::runtime_error when the server cannot be reached or does not answer.
/// Thread safety: one thread at a time.
class raw_connection {
public:
    static constexpr std::chrono::milliseconds default_timeout = std::chrono::seconds(5);

    [[nodiscard]] static raw_connection to_port(
        std::uint16_t port, std::chrono::milliseconds timeout = default_timeout);
    [[nodiscard]] static raw_connection to_socket(
        const std::filesystem::path& path, std::chrono::milliseconds timeout = default_timeout);

    /// Sends a command and waits for its reply. Error replies are replies.
    [[nodiscard]] reply execute(std::span<const std::string_view> args);

    /// `ask("SET", key, 1)`.
    template <class... Words>
    [[nodiscard]] reply ask(const Words&... list) {
        return execute(words(list...).view());
    }

    /// Puts a command into the output buffer: pipelining.
    void append(std::span<const std::string_view> args);
    /// The next reply, after sending what is in the output buffer.
    [[nodiscard]] reply next();

private:
    struct closer {
        void operator()(redisContext* c) const noexcept;
    };
    raw_connection(redisContext* context, std::string where, std::chrono::milliseconds timeout);
    [[noreturn]] void fail_with(std::string_view doing) const;

    std::unique_ptr<redisContext, closer> context_;
    std::string where_;
};

}  // namespace holdfast::test
