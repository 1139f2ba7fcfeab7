// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/server.hpp"

#include <holdfast/push/viewers.hpp>

#include <memory>
#include <optional>
#include <string>

/// One viewer's WebSocket: what it says goes to the loop's `viewers`, what waits for it there goes
/// out.
///
/// Texts are taken from its outbox only when the kernel has taken what came before. So what a slow
/// viewer has not read stays where the rules for slow viewers see it.
namespace holdfast::app {

class viewer_session final : public net::websocket_handler, public push::viewer {
public:
    struct opening {
        std::string user;
        std::optional<std::string> room;
        std::optional<push::position> resume;
        /// The only room it may join; empty: any.
        std::string only_room;
    };

    viewer_session(push::viewers& of_loop, opening how);
    ~viewer_session() override;

    void opened(const std::shared_ptr<net::websocket_channel>& channel) override;
    void received(std::string_view text) override;
    void pull() override;
    void draining() override;
    void closed() noexcept override;

    void ready() override;
    void too_slow(push::shared_text hint) override;

private:
    void join(const std::string& room, std::optional<push::position> resume);
    void say(std::string text);
    void say_error(std::string_view reason, std::string_view detail);

    push::viewers& viewers_;
    opening how_;
    std::optional<push::viewers::id> id_;
    // Weak: the connection keeps this session.
    std::weak_ptr<net::websocket_channel> channel_;
};

}  // namespace holdfast::app
