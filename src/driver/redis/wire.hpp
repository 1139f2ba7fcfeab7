// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/reply_reader.hpp"
#include "driver/redis/transport.hpp"

#include <holdfast/redis/redis.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// One connection that has been greeted: logged in, named, on its database, ready for commands.
namespace holdfast::redis {

/// What every connection to a server has in common.
struct profile {
    redis_options options;
    std::shared_ptr<tls_context> tls;  ///< Null without TLS.
    std::string expected_role;         ///< "master": verified by ROLE at every connect. Empty: any.
    /// A subscriber's alone: the server tells it of changes of the keys with this prefix.
    std::optional<std::string> tracked_prefix{};
};

/// Thread safety: as transport.
class wire {
public:
    /// Errors: unavailable, denied; the detail names server, phase and time taken, no secrets.
    [[nodiscard]] static result<std::unique_ptr<wire>> open(const server_address& address,
                                                            const profile& p, time_point deadline,
                                                            clock& time, const patience& go_on);

    [[nodiscard]] transport& stream() noexcept { return *stream_; }
    [[nodiscard]] reply_reader& replies() noexcept { return replies_; }
    [[nodiscard]] const server_address& address() const noexcept { return address_; }

    /// What the server calls this connection: both name it in CLIENT KILL, and no other connection
    /// in the server's life. Empty if it did not say so (before Redis 6.2, or not permitted).
    struct server_side {
        std::string id;
        std::string address;
    };
    [[nodiscard]] const server_side& known_as() const noexcept { return known_as_; }
    /// As CLIENT INFO answers: "id=3 addr=127.0.0.1:50000 …".
    void set_known_as(std::string_view info);

    /// How far a pipeline came.
    struct progress {
        std::size_t written = 0;   ///< Bytes that may have reached the server.
        std::size_t answered = 0;  ///< Replies.
        bool late = false;         ///< The deadline passed.
        std::string problem;       ///< Empty if all were answered.
    };

    /// Writes `bytes` and reads one reply for each element of `answers`, on this thread.
    [[nodiscard]] progress pipeline(std::string_view bytes, std::span<reply> answers,
                                    time_point deadline, clock& time, const patience& go_on);

private:
    wire(server_address address, std::unique_ptr<transport> stream, std::size_t max_reply_bytes)
        : address_(std::move(address)), stream_(std::move(stream)), replies_(max_reply_bytes) {}

    void write_some(std::string_view bytes, progress& at);
    void read_some(std::span<reply> answers, progress& at);

    server_address address_;
    server_side known_as_;
    std::unique_ptr<transport> stream_;
    reply_reader replies_;
};

}  // namespace holdfast::redis
