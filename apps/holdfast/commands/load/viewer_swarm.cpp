// SPDX-License-Identifier: Apache-2.0
#include "commands/load/viewer_swarm.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace holdfast::app {
namespace {

// One of so many viewers reads the times of messages.
constexpr std::size_t sampled = 50;

std::string why_now() {
    return std::generic_category().message(errno);
}

result<std::string> read_head(int socket) {
    std::string out;
    char one = 0;
    // Byte by byte, because what follows belongs to the frames.
    while (!out.ends_with("\r\n\r\n")) {
        if (out.size() > 8192 || ::recv(socket, &one, 1, 0) != 1) {
            return fail(errc::unavailable, "the server closed while a viewer was opening: " + out);
        }
        out += one;
    }
    return out;
}

}  // namespace

struct viewer_swarm::viewer {
    int socket = -1;
    std::string room;
    std::string epoch;
    std::atomic<std::uint64_t> last = 0;
    bool joined = false;
    bool samples = false;
    net::websocket_reader reader{net::websocket_role::client,
                                 {.message_bytes = 64 << 20, .fragments = 1000}};

    ~viewer() {
        if (socket >= 0) ::close(socket);
    }
};

result<swarm_target> parse_target(std::string_view url) {
    constexpr std::string_view scheme = "http://";
    const auto wrong = [url] {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is no URL of a server; write http://host:8090", url));
    };
    if (!url.starts_with(scheme)) return wrong();
    std::string_view rest = url.substr(scheme.size());
    rest = rest.substr(0, rest.find('/'));
    const auto colon = rest.rfind(':');
    swarm_target out;
    out.host = rest.substr(0, colon);
    out.port = 80;
    if (colon != std::string_view::npos) {
        const std::string_view port = rest.substr(colon + 1);
        const auto read = std::from_chars(port.data(), port.data() + port.size(), out.port);
        if (read.ec != std::errc{} || read.ptr != port.data() + port.size()) return wrong();
    }
    if (out.host.empty()) return wrong();
    return out;
}

result<int> connect_to(const swarm_target& to) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failed =
        ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
    if (failed != 0) {
        return fail(errc::unavailable, fmt::format("{}: {}", to.host, ::gai_strerror(failed)));
    }
    const int made = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
    const bool connected = made >= 0 && ::connect(made, found->ai_addr, found->ai_addrlen) == 0;
    const std::string why = connected ? "" : why_now();
    ::freeaddrinfo(found);
    if (connected) {
        const int on = 1;
        ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return made;
    }
    if (made >= 0) ::close(made);
    return fail(errc::unavailable, fmt::format("{} port {}: {}", to.host, to.port, why));
}

std::optional<std::uint64_t> number_in(std::string_view text, std::string_view name,
                                       std::size_t from) {
    const std::string wanted = fmt::format("\"{}\":", name);
    const auto at = text.find(wanted, from);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(at + wanted.size());
    std::uint64_t out = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (read.ec != std::errc{}) return std::nullopt;
    return out;
}

viewer_swarm::viewer_swarm(swarm_target to, std::size_t viewers, std::vector<std::string> rooms)
    : to_(std::move(to)), rooms_(std::move(rooms)) {
    for (std::size_t i = 0; i < viewers; ++i) {
        viewers_.push_back(std::make_unique<viewer>());
        viewers_.back()->room = rooms_[i % rooms_.size()];
        viewers_.back()->samples = i % sampled == 0;
    }
}

viewer_swarm::~viewer_swarm() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    if (epoll_ >= 0) ::close(epoll_);
}

result<void> viewer_swarm::open() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    thread_ = std::jthread([this] { run(); });
    std::size_t number = 0;
    for (const auto& one : viewers_) {
        auto socket = connect_to(to_);
        if (!socket) return std::unexpected(socket.error());
        one->socket = *socket;
        std::string request = fmt::format(
            "GET {}?room={}&user=viewer{} HTTP/1.1\r\nHost: {}:{}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
            to_.path, one->room, number++, to_.host, to_.port);
        if (!to_.bearer.empty()) request += fmt::format("Authorization: Bearer {}\r\n", to_.bearer);
        request += "\r\n";
        if (::send(*socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
            return fail(errc::unavailable, why_now());
        }
        const auto head = read_head(*socket);
        if (!head) return std::unexpected(head.error());
        if (!head->starts_with("HTTP/1.1 101")) {
            return fail(errc::unavailable, "a viewer was refused: " + head->substr(0, 60));
        }
        epoll_event event{.events = EPOLLIN, .data = {.ptr = one.get()}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, *socket, &event);
    }
    return {};
}

void viewer_swarm::start() {
    began_ = system_clock().now();
    counting_ = true;
}

void viewer_swarm::run() {
    std::array<epoll_event, 256> events{};
    while (!ending_) {
        const int count = ::epoll_wait(epoll_, events.data(), events.size(), 50);
        for (int i = 0; i < count; ++i) {
            read(*static_cast<viewer*>(events[static_cast<std::size_t>(i)].data.ptr));
        }
    }
}

void viewer_swarm::read(viewer& one) {
    static thread_local std::array<char, 256 * 1024> buffer;
    const ssize_t got = ::recv(one.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, one.socket, nullptr);
        if (!ending_) ++closed_;
        return;
    }
    if (counting_) bytes_ += static_cast<std::uint64_t>(got);
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    while (const auto event = one.reader.next(bytes)) {
        if (event->type == net::websocket_event::kind::text) hear(one, event->payload);
        if (event->type != net::websocket_event::kind::ping) continue;
        const std::string pong = net::encode_masked_frame(net::opcode::pong, event->payload, 7);
        std::ignore = ::send(one.socket, pong.data(), pong.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void viewer_swarm::hear(viewer& one, std::string_view text) {
    // The members of a frame stand before its messages, so this finds no words of a sender's.
    const std::string_view head = text.substr(0, std::min<std::size_t>(text.size(), 512));
    if (head.starts_with(R"({"type":"joined")")) {
        one.last = number_in(head, "offset").value_or(0);
        one.joined = true;
        return;
    }
    if (!head.starts_with(R"({"type":"frame")")) return;
    const auto first = number_in(head, "first");
    const auto last = number_in(head, "last");
    const auto count = number_in(head, "count");
    if (!first || !last || !count) return;
    const std::uint64_t before = one.last;
    if (one.joined && *first > before + 1) lost_ += *first - before - 1;
    if (one.joined && *last <= before) {
        ++out_of_order_;
    } else if (one.joined && *first <= before) {
        doubled_ += before - *first + 1;
    }
    one.last = std::max(before, *last);
    if (!counting_) return;
    ++frames_;
    delivered_ += *count;
    shed_ += number_in(head, "shed").value_or(0);
    const auto second =
        static_cast<std::size_t>((system_clock().now() - began_) / std::chrono::seconds(1));
    if (each_second_.size() <= second && second < 100'000) each_second_.resize(second + 1);
    if (second < each_second_.size()) each_second_[second] += *count;
    if (one.samples) sample(text);
}

// A sender puts its time into the content: "at:123456789 …".
void viewer_swarm::sample(std::string_view text) {
    constexpr std::string_view mark = "at:";
    constexpr std::size_t most = 10'000'000;
    const auto now = system_clock().now().time_since_epoch().count();
    for (auto at = text.find(mark); at != std::string_view::npos && delays_ms_.size() < most;
         at = text.find(mark, at + 1)) {
        std::int64_t then = 0;
        const std::string_view rest = text.substr(at + mark.size());
        const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), then);
        if (read.ec == std::errc{}) delays_ms_.push_back(static_cast<double>(now - then) / 1e6);
    }
}

bool viewer_swarm::all_have(const std::map<std::string, std::uint64_t>& last) const {
    return std::ranges::all_of(viewers_, [&](const auto& one) {
        const auto found = last.find(one->room);
        return found == last.end() || one->last >= found->second;
    });
}

void viewer_swarm::finish(const std::map<std::string, std::uint64_t>& last_offsets,
                          duration patience) {
    const time_point end = system_clock().now() + patience;
    while (!all_have(last_offsets) && system_clock().now() < end) {
        std::mutex mutex;
        std::condition_variable nobody;
        std::unique_lock held(mutex);
        system_clock().wait_until(held, nobody,
                                  system_clock().now() + std::chrono::milliseconds(10));
    }
    ending_ = true;
    thread_.join();
    for (const auto& one : viewers_) {
        const auto found = last_offsets.find(one->room);
        if (found != last_offsets.end() && one->last < found->second) {
            lost_ += found->second - one->last;
        }
    }
}

void viewer_swarm::report(load_figures& into) {
    into.viewers = viewers_.size();
    into.rooms = rooms_.size();
    into.frames = frames_;
    into.delivered = delivered_;
    into.bytes = bytes_;
    into.lost = lost_;
    into.doubled = doubled_;
    into.out_of_order = out_of_order_;
    into.shed = shed_;
    into.closed = closed_;
    into.delay = delays_of(delays_ms_);
    into.delivered_each_second = each_second_;
    if (into.seconds > 0 && !viewers_.empty()) {
        into.frames_per_viewer_second =
            static_cast<double>(frames_) / into.seconds / static_cast<double>(viewers_.size());
    }
}

}  // namespace holdfast::app
