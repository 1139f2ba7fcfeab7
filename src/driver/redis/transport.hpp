// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/deadline_wait.hpp"
#include "driver/redis/resolve.hpp"

#include <holdfast/redis/redis.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

struct ssl_st;
struct ssl_ctx_st;

/// A connected byte stream to a server, plain or TLS, that never blocks.
///
/// Whoever waits does so with poll() on fd(): a caller that reads its own reply takes the
/// connection over for the time of a call, which an event loop that owns its sockets could not
/// lend.
namespace holdfast::redis {

/// What one try to read or write has done.
struct io_step {
    enum class kind : std::uint8_t { moved, again, ended, failed };
    kind what = kind::again;
    std::size_t bytes = 0;  ///< moved: how many. failed: how many may have left nevertheless.
    std::string reason;     ///< failed: why.
};

/// The certificates and rules of a TLS client, read once and shared by its connections.
class tls_context {
public:
    /// Errors: invalid_argument, if a file cannot be read.
    [[nodiscard]] static result<std::shared_ptr<tls_context>> make(const redis_tls& rules);
    ~tls_context();
    tls_context(const tls_context&) = delete;
    tls_context& operator=(const tls_context&) = delete;

    [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_; }

private:
    explicit tls_context(ssl_ctx_st* context) noexcept : context_(context) {}
    ssl_ctx_st* context_;
};

/// Thread safety: one reader and one writer at a time; shut_down() from anywhere.
class transport {
public:
    /// Resolves, connects and shakes hands. `tls` is null for a plain connection.
    /// Errors: unavailable, denied (the certificate is not trusted). The detail begins with the
    /// phase: "resolve: …", "connect: …", "handshake: …".
    [[nodiscard]] static result<std::unique_ptr<transport>> open(
        const server_address& address, const redis_tls& rules,
        const std::shared_ptr<tls_context>& tls, time_point deadline, clock& time,
        const patience& go_on);

    ~transport();
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] io_step read(std::span<char> into);
    [[nodiscard]] io_step write(std::span<const char> from);

    /// Ends both directions: a reader sees the end at once.
    void shut_down() noexcept;

    /// When it is closed, what the kernel has not delivered yet is dropped (the peer sees a reset)
    /// instead of being delivered later.
    void drop_unsent() noexcept;

private:
    explicit transport(int fd) noexcept : fd_(fd) {}
    result<void> shake_hands(const server_address& address, const redis_tls& rules,
                             time_point deadline, clock& time, const patience& go_on);
    [[nodiscard]] io_step tls_step(int outcome, std::size_t attempted);

    int fd_;
    std::shared_ptr<tls_context> context_;
    ssl_st* tls_ = nullptr;
    std::mutex tls_mutex_;  ///< An SSL object may not be read and written at the same time.
};

}  // namespace holdfast::redis
