// SPDX-License-Identifier: Apache-2.0
#include "commands/load/load_senders.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <iterator>
#include <utility>

namespace holdfast::app {
namespace {

void rest_until(time_point when) {
    std::mutex mutex;
    std::condition_variable nobody;
    std::unique_lock held(mutex);
    while (system_clock().now() < when) system_clock().wait_until(held, nobody, when);
}

}  // namespace

result<plain_answer> ask_over(int socket, const std::string& request) {
    std::string_view rest = request;
    while (!rest.empty()) {
        const ssize_t went = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (went <= 0) return fail(errc::unavailable, "the server closed");
        rest.remove_prefix(static_cast<std::size_t>(went));
    }
    std::string text;
    std::array<char, 16 * 1024> buffer{};
    std::size_t body = std::string::npos;
    std::size_t length = 0;
    while (body == std::string::npos || text.size() < body + length) {
        const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (got <= 0) return fail(errc::unavailable, "the server closed");
        text.append(buffer.data(), static_cast<std::size_t>(got));
        const auto end = text.find("\r\n\r\n");
        if (body != std::string::npos || end == std::string::npos) continue;
        body = end + 4;
        constexpr std::string_view field = "Content-Length: ";
        const auto at = text.find(field);
        if (at == std::string::npos || at > end) return fail(errc::unavailable, "no length");
        std::from_chars(text.data() + at + field.size(), text.data() + end, length);
    }
    plain_answer out;
    std::from_chars(text.data() + std::min<std::size_t>(9, text.size()), text.data() + text.size(),
                    out.status);
    out.body = text.substr(body, length);
    return out;
}

load_senders::load_senders(swarm_target to, sending how, std::vector<std::string> rooms,
                           std::string run)
    : to_(std::move(to)), how_(how), rooms_(std::move(rooms)), run_(std::move(run)) {}

load_senders::~load_senders() {
    stop();
}

void load_senders::start() {
    for (std::size_t i = 0; i < how_.senders; ++i) {
        threads_.emplace_back([this, i] { run(i); });
    }
}

void load_senders::stop() {
    ending_ = true;
    threads_.clear();
}

std::string load_senders::request_of(std::size_t number, std::uint64_t post,
                                     const std::string& room) const {
    std::string body = fmt::format(R"({{"roomId":"{}","userId":"{}-{}","userName":"load",)"
                                   R"("messages":[)",
                                   room, run_, number + post % 997 * how_.senders);
    for (std::size_t i = 0; i < how_.batch; ++i) {
        std::string content =
            fmt::format("at:{} ", system_clock().now().time_since_epoch().count());
        if (content.size() < how_.size) content.append(how_.size - content.size(), 'x');
        fmt::format_to(std::back_inserter(body),
                       R"({}{{"content":"{}","messageId":"{}-{}-{}-{}"}})", i == 0 ? "" : ",",
                       content, run_, number, post, i);
    }
    body += "]}";
    std::string head = fmt::format(
        "POST /logic/send HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n",
        to_.host, to_.port, body.size());
    if (!to_.bearer.empty()) head += fmt::format("Authorization: Bearer {}\r\n", to_.bearer);
    return head + "\r\n" + body;
}

void load_senders::note(const std::string& room, std::string_view body) {
    std::uint64_t highest = 0;
    for (std::size_t at = 0; (at = body.find("\"offset\":", at)) != std::string_view::npos; ++at) {
        highest = std::max(highest, number_in(body, "offset", at).value_or(0));
    }
    const std::scoped_lock guard(mutex_);
    last_[room] = std::max(last_[room], highest);
}

bool load_senders::send_one(int socket, std::size_t number, std::uint64_t post) {
    const std::string& room = rooms_[(number + post) % rooms_.size()];
    const auto answer = ask_over(socket, request_of(number, post, room));
    if (!answer) return false;
    if (answer->status == 200) {
        sent_ += how_.batch;
        note(room, answer->body);
    } else {
        refused_ += how_.batch;
    }
    return true;
}

void load_senders::run(std::size_t number) {
    const double posts =
        how_.rate / static_cast<double>(how_.senders) / static_cast<double>(how_.batch);
    const auto gap =
        posts > 0 ? std::chrono::duration_cast<duration>(std::chrono::duration<double>(1 / posts))
                  : duration::zero();
    time_point next =
        system_clock().now() + gap / static_cast<int>(how_.senders) * static_cast<int>(number);
    int socket = -1;
    for (std::uint64_t post = 0; !ending_; ++post) {
        if (gap > duration::zero()) rest_until(next);
        next += gap;
        if (socket < 0) {
            const auto made = connect_to(to_);
            if (!made) {
                rest_until(system_clock().now() + std::chrono::milliseconds(50));
                continue;
            }
            socket = *made;
        }
        if (!ending_ && !send_one(socket, number, post)) {
            ++refused_;
            ::close(std::exchange(socket, -1));
        }
    }
    if (socket >= 0) ::close(socket);
}

void load_senders::report(load_figures& into) const {
    into.sent = sent_;
    into.refused = refused_;
}

std::map<std::string, std::uint64_t> load_senders::last_offsets() const {
    const std::scoped_lock guard(mutex_);
    return last_;
}

}  // namespace holdfast::app
