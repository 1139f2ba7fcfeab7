// SPDX-License-Identifier: Apache-2.0
#include "net/connection.hpp"

#include "net/deflate.hpp"
#include "net/websocket_handshake.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::net {
namespace {

using boost::asio::ip::tcp;

// How long the other end has to read our last words and to close.
constexpr duration goodbye = std::chrono::seconds(2);
// Below this, compression costs more than it saves.
constexpr std::size_t worth_packing = 256;

}  // namespace

connection::connection(event_loop& loop, tcp::socket socket, std::string peer)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      http_(std::make_unique<http_part>(loop.parts().options.http)) {
    ++counts().connections;
}

connection::~connection() {
    --counts().connections;
}

void connection::start() {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    due_ = loop_.now() + options().request_deadline;
    loop_.add(shared_from_this());
    arm_read();
}

void connection::drop() {
    if (phase_ == phase::dropped) return;
    phase_ = phase::dropped;
    due_ = time_point::max();
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (websocket_) {
        --counts().websockets;
        websocket_->handler->closed();
        websocket_.reset();
    }
    http_.reset();
    queue_ = {};
    loop_.remove(shared_from_this());
}

void connection::drain() {
    if (phase_ == phase::websocket) {
        websocket_->handler->draining();
    } else if (phase_ == phase::reading && !http_->reader.started() && queue_.empty()) {
        drop();
    }
}

void connection::run_deadline(time_point now) {
    if (phase_ == phase::websocket) {
        const time_point silent = websocket_->heard + options().ping_timeout;
        if (write_armed_ && now >= due_ && websocket_->pinged) {
            ++counts().timed_out;
            return drop();
        }
        if (now >= silent) {
            ++counts().timed_out;
            return close(close_code::silent, "no answer to pings");
        }
        if (now >= websocket_->heard + options().ping_after && !websocket_->pinged) {
            websocket_->pinged = true;
            queue_.push_frame(opcode::ping, std::make_shared<const std::string>());
            due_ = silent;
            return flush();
        }
        due_ = websocket_->pinged ? silent : websocket_->heard + options().ping_after;
        return;
    }
    if (phase_ == phase::reading && http_->reader.started()) {
        ++counts().timed_out;
        respond(problem(408, "too_slow", "the request took too long to arrive"),
                after_response::close);
        return;
    }
    drop();
}

// ---- reading

void connection::arm_read() {
    if (read_armed_ || phase_ == phase::dropped) return;
    read_armed_ = true;
    socket_.async_wait(tcp::socket::wait_read,
                       [self = shared_from_this()](boost::system::error_code failed) {
                           self->read_armed_ = false;
                           if (failed) return self->drop();
                           self->on_readable();
                       });
}

void connection::on_readable() {
    if (phase_ == phase::dropped || phase_ == phase::answering) return;
    const ssize_t got =
        ::recv(socket_.native_handle(), loop_.scratch.data(), loop_.scratch.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return arm_read();
    if (got <= 0) return drop();
    const std::string_view bytes(loop_.scratch.data(), static_cast<std::size_t>(got));
    if (phase_ == phase::websocket) {
        read_websocket(bytes);
    } else if (phase_ == phase::reading) {
        read_http(bytes);
    }
    if (phase_ != phase::answering) arm_read();
}

void connection::read_http(std::string_view bytes) {
    const bool first = !http_->reader.started();
    http_->input.append(bytes);
    if (first) due_ = loop_.now() + options().request_deadline;
    read_requests();
}

void connection::read_requests() {
    while (phase_ == phase::reading && !http_->input.empty()) {
        switch (http_->reader.feed(http_->input)) {
            case http_reader::state::more: return;
            case http_reader::state::refused:
                ++counts().refused;
                return respond(http_->reader.refusal(), after_response::close);
            case http_reader::state::complete: handle(http_->reader.take()); break;
        }
    }
}

void connection::handle(http_request request) {
    request.peer = peer_;
    ++counts().requests;
    const bool keep = request.keep_alive && !loop_.parts().draining;
    const after_response then = keep ? after_response::keep_alive : after_response::close;
    const bool head_only = request.method == "HEAD";
    if (asks_for_websocket(request)) return open_websocket(request);
    if (auto at_once = loop_.parts().app->answer_at_once(request)) {
        return respond(*at_once, then, head_only);
    }
    phase_ = phase::answering;
    due_ = time_point::max();
    const bool taken = loop_.parts().workers->offer([self = shared_from_this(), then, head_only,
                                                     asked = std::move(request)]() mutable {
        http_response made = self->loop_.parts().app->answer(asked);
        auto& loop = self->loop_;
        loop.post([self = std::move(self), then, head_only, answer = std::move(made)]() mutable {
            if (self->phase_ != phase::answering) return;
            self->phase_ = phase::reading;
            self->respond(answer, then, head_only);
            if (self->phase_ == phase::reading) self->read_requests();
            if (self->phase_ == phase::reading) self->arm_read();
        });
    });
    if (taken) return;
    ++counts().turned_away;
    phase_ = phase::reading;
    auto busy = problem(503, "overloaded", "too many requests wait already");
    busy.headers.emplace_back("Retry-After", "1");
    respond(busy, then, head_only);
}

void connection::respond(const http_response& response, after_response then, bool head_only) {
    if (response.status >= 400 && response.status < 500) ++counts().refused;
    queue_.push(to_bytes(response, then, head_only));
    due_ = loop_.now() + options().keep_alive;
    if (then == after_response::close) phase_ = phase::closing;
    flush();
}

// ---- WebSocket

void connection::open_websocket(const http_request& request) {
    auto answer = answer_websocket(request, options().offered);
    if (!answer.accepted()) return respond(answer.response, after_response::close);
    upgrade opened = loop_.parts().app->open_websocket(request, loop_.number());
    if (opened.refused) return respond(*opened.refused, after_response::close);
    queue_.push(to_bytes(answer.response, after_response::keep_alive));
    const std::string early = std::move(http_->input);
    http_.reset();
    const time_point now = loop_.now();
    websocket_ = std::make_unique<websocket_part>(std::move(opened.handler), options().websocket,
                                                  answer.how);
    websocket_->heard = now;
    websocket_->counted = now;
    websocket_->allowance = static_cast<double>(options().message_burst);
    phase_ = phase::websocket;
    due_ = now + options().ping_after;
    ++counts().websockets;
    websocket_->handler->opened(shared_from_this());
    flush();
    if (phase_ == phase::websocket && !early.empty()) read_websocket(early);
}

void connection::read_websocket(std::string_view bytes) {
    websocket_->heard = loop_.now();
    websocket_->pinged = false;
    while (phase_ == phase::websocket) {
        const auto event = websocket_->reader.next(bytes);
        if (!event || !on_event(*event)) return;
    }
}

bool connection::within_rate() {
    websocket_part& ws = *websocket_;
    const double passed = std::chrono::duration<double>(ws.heard - ws.counted).count();
    ws.counted = ws.heard;
    ws.allowance =
        std::min(static_cast<double>(options().message_burst),
                 ws.allowance + passed * static_cast<double>(options().messages_per_second));
    if (ws.allowance < 1) return false;
    ws.allowance -= 1;
    return true;
}

bool connection::on_event(const websocket_event& event) {
    using kind = websocket_event::kind;
    if (event.type == kind::violation) {
        ++counts().refused;
        close(event.code, event.payload);
        return false;
    }
    if (event.type == kind::close) {
        close(event.code == close_code::not_said ? close_code::normal : event.code, {});
        return false;
    }
    if (!within_rate()) {
        ++counts().refused;
        close(close_code::policy, "too many messages");
        return false;
    }
    switch (event.type) {
        case kind::text: websocket_->handler->received(event.payload); break;
        case kind::binary: close(close_code::unsupported_data, "only text is read here"); break;
        case kind::ping:
            queue_.push_frame(opcode::pong, std::make_shared<const std::string>(event.payload));
            ask_for_turn_end();
            break;
        default: break;
    }
    return phase_ == phase::websocket;
}

void connection::send(shared_text text) {
    if (phase_ != phase::websocket) return;
    ++counts().frames_out;
    if (websocket_->how == compression::deflated && text->size() >= worth_packing) {
        if (loop_.last_plain != text) {
            loop_.last_packed = std::make_shared<const std::string>(deflate_message(*text));
            loop_.last_plain = std::move(text);
        }
        queue_.push_frame(opcode::text, loop_.last_packed, compression::deflated);
    } else {
        queue_.push_frame(opcode::text, std::move(text));
    }
    ask_for_turn_end();
}

void connection::close(close_code code, std::string_view reason) {
    if (phase_ != phase::websocket) return;
    queue_.push_frame(opcode::close,
                      std::make_shared<const std::string>(close_payload(code, reason)));
    phase_ = phase::closing;
    due_ = loop_.now() + goodbye;
    ask_for_turn_end();
}

void connection::pull_later() {
    pull_asked_ = true;
    ask_for_turn_end();
}

// ---- writing

void connection::ask_for_turn_end() {
    if (std::exchange(turn_asked_, true)) return;
    loop_.at_turn_end(shared_from_this());
}

void connection::turn_end() {
    turn_asked_ = false;
    if (std::exchange(pull_asked_, false) && phase_ == phase::websocket && !write_armed_) {
        websocket_->handler->pull();
    }
    flush();
}

void connection::flush() {
    if (write_armed_ || phase_ == phase::dropped) return;
    while (!queue_.empty()) {
        output_queue::parts parts;
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = queue_.gather(parts);
        const ssize_t sent =
            ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        ++counts().send_calls;
        if (sent >= 0) {
            counts().bytes_out += static_cast<std::uint64_t>(sent);
            queue_.took(static_cast<std::size_t>(sent));
            if (queue_.empty()) on_sent();
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return drop();
        write_armed_ = true;
        socket_.async_wait(tcp::socket::wait_write,
                           [self = shared_from_this()](boost::system::error_code failed) {
                               self->write_armed_ = false;
                               if (failed) return self->drop();
                               self->flush();
                           });
        return;
    }
}

void connection::on_sent() {
    if (phase_ == phase::websocket) {
        websocket_->handler->pull();
    } else if (phase_ == phase::closing) {
        begin_close();
    }
}

// Closing at once would have the kernel throw our last words away if bytes are unread.
void connection::begin_close() {
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    due_ = loop_.now() + goodbye;
    arm_read();
}

}  // namespace holdfast::net
