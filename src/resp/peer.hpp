// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/connection.hpp"
#include "driver/memory/message_hub.hpp"
#include "resp/reply_writer.hpp"
#include "resp/request_reader.hpp"

#include <holdfast/clock.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

/// One client of the server: what it sent, what it is to be sent, and what it has asked for.
namespace holdfast::resp {

using listener_map =
    std::map<std::string, std::shared_ptr<memory::message_hub::listener>, std::less<>>;

struct peer {
    explicit peer(const request_limits& limits) : reader(limits) {}

    memory::connection link;  ///< As the engine sees it.
    request_reader reader;
    std::string out;
    std::size_t sent = 0;  ///< Of `out`.

    std::string address;  ///< "127.0.0.1:50100", or the path of the unix socket.
    std::string local;    ///< The server's side of it.
    int descriptor = -1;
    time_point since{};
    time_point last_used{};
    std::string last_command{};

    protocol speaks = protocol::resp2;
    bool known = true;     ///< No password is needed, or it was given.
    bool monitor = false;  ///< Hears every command.
    bool ending = false;   ///< Ends when all is sent.
    bool broken = false;   ///< Ends at once.
    bool noted = false;    ///< It is among those to look at.
    bool paused = false;   ///< It has requests that wait for room in `out`.
    enum class replies : std::uint8_t { on, off, skip_next, skip } reply_mode = replies::on;

    listener_map channels;
    listener_map patterns;
    listener_map shard_channels;

    /// What it waits for; it is carried out nothing else meanwhile.
    std::unique_ptr<memory::key_wait> waiting{};
    time_point waits_until = time_point::max();
    bool waits_for_streams = false;

    [[nodiscard]] std::size_t unsent() const noexcept { return out.size() - sent; }
    [[nodiscard]] std::size_t subscriptions() const noexcept {
        return channels.size() + patterns.size() + shard_channels.size();
    }
};

}  // namespace holdfast::resp
