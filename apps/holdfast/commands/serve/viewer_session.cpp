// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/viewer_session.hpp"

#include "commands/serve/json_input.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::app {
namespace {

// So much is with the connection at a time: enough to fill a system call, little enough that the
// rest waits in the outbox.
constexpr std::size_t in_hand = 64 * 1024;

template <class... Case>
struct cases : Case... {
    using Case::operator()...;
};

}  // namespace

viewer_session::viewer_session(push::viewers& of_loop, opening how)
    : viewers_(of_loop), how_(std::move(how)) {}

viewer_session::~viewer_session() = default;

void viewer_session::opened(const std::shared_ptr<net::websocket_channel>& channel) {
    channel_ = channel;
    id_ = viewers_.open(*this, how_.user);
    const push::connection_name* const name = viewers_.name_of(*id_);
    say(fmt::format(R"({{"type":"welcome","connection":{}}})",
                    net::quoted_json(name == nullptr ? "" : name->value)));
    if (how_.room && id_) join(*how_.room, std::move(how_.resume));
    how_.room.reset();
}

void viewer_session::join(const std::string& room, std::optional<push::position> resume) {
    if (!how_.only_room.empty() && room != how_.only_room) {
        return say_error("forbidden_room", "the token is for another room");
    }
    switch (viewers_.join(*id_, room, std::move(resume))) {
        case push::join_outcome::joining: break;
        case push::join_outcome::already_there:
            say_error("already_there", "the room is viewed already");
            break;
        case push::join_outcome::too_many_rooms:
            say_error("too_many_rooms", "leave another room first");
            break;
        case push::join_outcome::bad_name:
            say_error("room_characters", "no room can have that name");
            break;
    }
}

void viewer_session::received(std::string_view text) {
    if (!id_) return;
    const auto read = parse_viewer_message(text);
    if (!read) return say_error(read.error().reason, read.error().detail);
    std::visit(cases{[this](const join_room& asked) { join(asked.room, asked.resume); },
                     [this](const leave_room& asked) {
                         if (!viewers_.leave(*id_, asked.room)) {
                             say_error("not_there", "the room is not viewed");
                         }
                     },
                     [this](const ping_server&) { say(R"({"type":"pong"})"); }},
               *read);
}

void viewer_session::say(std::string text) {
    if (id_) viewers_.say(*id_, std::make_shared<const std::string>(std::move(text)));
}

void viewer_session::say_error(std::string_view reason, std::string_view detail) {
    say(fmt::format(R"({{"type":"error","reason":{},"detail":{}}})", net::quoted_json(reason),
                    net::quoted_json(detail)));
}

void viewer_session::ready() {
    if (const auto channel = channel_.lock()) channel->pull_later();
}

void viewer_session::pull() {
    const auto channel = channel_.lock();
    if (!channel) return;
    while (id_ && channel->queued_bytes() < in_hand) {
        auto text = viewers_.next(*id_);
        if (!text) return;
        channel->send(std::move(text));
    }
}

void viewer_session::too_slow(push::shared_text hint) {
    id_.reset();
    const auto channel = channel_.lock();
    if (!channel) return;
    channel->send(std::move(hint));
    channel->close(net::close_code::slow, "too slow: come again with the last epoch and offset");
}

void viewer_session::draining() {
    const auto channel = channel_.lock();
    if (!channel || !id_) return;
    pull();
    channel->send(viewers_.closing_text(*id_, "drain"));
    viewers_.close(*std::exchange(id_, std::nullopt));
    channel->close(net::close_code::drained,
                   "this server ends: come again with the last epoch and offset");
}

void viewer_session::closed() noexcept {
    if (id_) viewers_.close(*std::exchange(id_, std::nullopt));
}

}  // namespace holdfast::app
