// SPDX-License-Identifier: Apache-2.0
//
// One thread and poll(2). All sockets and buffers belong to that thread; the public members only
// hand it a new behaviour and wait until it has taken it over. Buffers are bounded: a side that
// does not read makes the proxy stop reading from the other, as a real network would.
#include "support/fault_proxy.hpp"

#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using steady = std::chrono::steady_clock;
constexpr std::size_t buffer_limit = 1 << 20;

enum class mode : std::uint8_t { pass, drop_replies, delay, cut, stall, reset, black_hole, refuse };

struct behaviour {
    mode what = mode::pass;
    std::chrono::milliseconds late{0};
    std::size_t bytes = 0;
};

bool carries(mode m) {
    return m == mode::pass || m == mode::delay || m == mode::cut || m == mode::stall;
}

struct chunk {
    std::string bytes;
    steady::time_point due;
};

// What goes through the proxy for one client.
struct link {
    int client = -1;
    int server = -1;
    std::string to_server{};
    std::deque<chunk> to_client{};
    std::size_t held = 0;       // bytes in to_client
    std::size_t allowance = 0;  // bytes of replies that a cut still lets through
    bool answered = true;       // the server spoke last, or nobody has yet
    bool holed = false;         // bytes were swallowed: the stream cannot go on
    bool stalled = false;       // what the client says is kept until it is let go
    bool client_ended = false;  // it has sent its FIN
    bool server_ended = false;
    bool dead = false;
};

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

void close_hard(int fd) {
    if (fd < 0) return;
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(fd);
}

void close_soft(int fd) {
    if (fd >= 0) ::close(fd);
}

int listen_on(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = loopback(port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 128) != 0) {
        const int why = errno;
        close_soft(fd);
        throw std::system_error(why, std::generic_category(), "fault_proxy: cannot listen");
    }
    return fd;
}

// Loopback answers a connect at once, also when the server is stopped: blocking is harmless.
int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close_soft(fd);
        return -1;
    }
    return fd;
}

void no_delay(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

class fault_proxy::loop {
public:
    explicit loop(std::uint16_t server_port)
        : server_port_(server_port),
          port_(free_port()),
          listener_(listen_on(port_)),
          wake_(::eventfd(0, EFD_CLOEXEC)),
          thread_([this] { run(); }) {}
    ~loop() {
        stop_ = true;
        ring();
        thread_.join();
        for (link& l : links_) close_hard(l.client), close_hard(l.server);
        close_soft(listener_);
        close_soft(wake_);
    }

    void behave(behaviour wanted) {
        std::unique_lock guard(mutex_);
        wanted_ = wanted;
        const auto version = ++wanted_version_;
        ring();
        taken_.wait(guard, [&] { return taken_version_ >= version; });
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    std::atomic<std::size_t> accepted{0};
    std::atomic<std::size_t> open{0};
    std::atomic<std::uint64_t> bytes_to_server{0};
    std::atomic<std::uint64_t> bytes_from_server{0};
    std::atomic<std::uint64_t> trips{0};

private:
    void ring() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
    }

    void run();
    void take_over();
    [[nodiscard]] int patience() const;
    void accept_one();
    void serve(link& l, short client_events, short server_events);
    void read_client(link& l);
    void read_server(link& l);
    void flush(link& l);
    void kill_link(link& l) {
        close_hard(l.client), close_hard(l.server);
        l.dead = true;
    }

    const std::uint16_t server_port_;
    const std::uint16_t port_;
    int listener_;
    const int wake_;
    std::list<link> links_;
    behaviour now_;

    std::mutex mutex_;
    std::condition_variable taken_;
    behaviour wanted_;
    std::uint64_t wanted_version_ = 0;
    std::uint64_t taken_version_ = 0;
    std::atomic<bool> stop_{false};
    std::thread thread_;  // last: it uses all the others
};

void fault_proxy::loop::take_over() {
    const std::scoped_lock guard(mutex_);
    if (taken_version_ == wanted_version_) return;
    now_ = wanted_;
    for (link& l : links_) {
        l.allowance = now_.bytes;
        l.stalled = now_.what == mode::stall;
        const bool lost = now_.what == mode::reset || now_.what == mode::refuse;
        if (lost || (l.holed && carries(now_.what))) kill_link(l);
    }
    links_.remove_if([](const link& l) { return l.dead; });
    open = links_.size();
    if (now_.what == mode::refuse) {
        close_soft(listener_);
        listener_ = -1;
    } else if (listener_ < 0) {
        listener_ = listen_on(port_);
    }
    taken_version_ = wanted_version_;
    taken_.notify_all();
}

// How long poll may sleep: until the first delayed bytes are due.
int fault_proxy::loop::patience() const {
    auto first = steady::time_point::max();
    for (const link& l : links_) {
        if (!l.to_client.empty()) first = std::min(first, l.to_client.front().due);
    }
    if (first == steady::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - steady::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void fault_proxy::loop::run() {
    std::vector<pollfd> set;
    while (!stop_) {
        take_over();
        set.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
        const auto now = steady::now();
        for (const link& l : links_) {
            const bool due = !l.to_client.empty() && l.to_client.front().due <= now;
            const bool room_up = l.to_server.size() < buffer_limit && !l.client_ended;
            const bool room_down = l.held < buffer_limit && !l.server_ended;
            const int client_events = (room_up ? POLLIN : 0) | (due ? POLLOUT : 0);
            const bool words = !l.to_server.empty() && !l.stalled;
            const int server_events = (room_down ? POLLIN : 0) | (words ? POLLOUT : 0);
            set.push_back({l.client, static_cast<short>(client_events), 0});
            set.push_back({l.server, static_cast<short>(server_events), 0});
        }
        if (::poll(set.data(), set.size(), patience()) < 0 && errno != EINTR) return;
        if ((set[0].revents & POLLIN) != 0) {
            std::uint64_t count = 0;
            [[maybe_unused]] const auto got = ::read(wake_, &count, sizeof count);
            take_over();  // closes links, so the rest of this round's events is stale
            continue;
        }
        std::size_t at = 2;
        for (link& l : links_) {
            serve(l, set[at].revents, set[at + 1].revents);
            at += 2;
        }
        links_.remove_if([](const link& l) { return l.dead; });
        if ((set[1].revents & POLLIN) != 0) accept_one();
        open = links_.size();
    }
}

void fault_proxy::loop::accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    ++accepted;
    no_delay(client);
    link l{.client = client, .allowance = now_.bytes};
    if (now_.what == mode::black_hole) {
        l.holed = true;
    } else if (now_.what != mode::reset) {
        l.server = connect_to(server_port_);
    }
    if (l.server < 0 && !l.holed) {
        close_hard(client);
        return;
    }
    if (l.server >= 0) no_delay(l.server);
    links_.push_back(std::move(l));
}

void fault_proxy::loop::serve(link& l, short client_events, short server_events) {
    constexpr short readable = POLLIN | POLLHUP | POLLERR;
    if ((client_events & readable) != 0) read_client(l);
    if (!l.dead && (server_events & readable) != 0) read_server(l);
    if (!l.dead) flush(l);
}

void fault_proxy::loop::read_client(link& l) {
    std::array<char, 65536> room;
    const ssize_t got = ::recv(l.client, room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 && l.stalled) {  // what it has said is still on its way
        close_hard(std::exchange(l.client, -1));
        l.client_ended = true;
        return;
    }
    if (got < 0) return kill_link(l);
    if (got == 0) {
        if (l.client_ended || l.server < 0) return kill_link(l);
        l.client_ended = true;
        return;
    }
    if (std::exchange(l.answered, false)) ++trips;
    if (now_.what == mode::black_hole) {
        l.holed = true;
    } else {
        l.to_server.append(room.data(), static_cast<std::size_t>(got));
    }
}

void fault_proxy::loop::read_server(link& l) {
    std::array<char, 65536> room;
    const ssize_t got = ::recv(l.server, room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return kill_link(l);
    if (got == 0) {
        if (l.server_ended) return kill_link(l);
        l.server_ended = true;
        return;
    }
    bytes_from_server += static_cast<std::uint64_t>(got);
    l.answered = true;
    if (l.client < 0) return;
    if (!carries(now_.what)) {
        l.holed = true;
        return;
    }
    const auto late = now_.what == mode::delay ? now_.late : std::chrono::milliseconds(0);
    l.to_client.push_back({{room.data(), static_cast<std::size_t>(got)}, steady::now() + late});
    l.held += static_cast<std::size_t>(got);
}

void fault_proxy::loop::flush(link& l) {
    while (!l.to_server.empty() && l.server >= 0 && !l.stalled) {
        const ssize_t put =
            ::send(l.server, l.to_server.data(), l.to_server.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EAGAIN) break;
        if (put < 0) return kill_link(l);
        bytes_to_server += static_cast<std::uint64_t>(put);
        l.to_server.erase(0, static_cast<std::size_t>(put));
    }
    while (!l.to_client.empty() && l.to_client.front().due <= steady::now()) {
        std::string& bytes = l.to_client.front().bytes;
        const bool cutting = now_.what == mode::cut;
        const std::size_t size = cutting ? std::min(bytes.size(), l.allowance) : bytes.size();
        const ssize_t put =
            size == 0 ? 0 : ::send(l.client, bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EAGAIN) break;
        if (put < 0) return kill_link(l);
        l.held -= static_cast<std::size_t>(put);
        bytes.erase(0, static_cast<std::size_t>(put));
        if (cutting) l.allowance -= static_cast<std::size_t>(put);
        if (cutting && l.allowance == 0) {  // the client shall see an orderly end after its bytes
            close_soft(l.client), close_hard(l.server);
            l.dead = true;
            return;
        }
        if (bytes.empty()) l.to_client.pop_front();
    }
    if (l.client_ended && l.to_server.empty()) ::shutdown(l.server, SHUT_WR);
    if (l.server_ended && l.to_client.empty()) {
        close_soft(l.client), close_soft(l.server);
        l.dead = true;
    }
}

fault_proxy::fault_proxy(std::uint16_t server_port) : loop_(std::make_unique<loop>(server_port)) {}
fault_proxy::~fault_proxy() = default;

std::uint16_t fault_proxy::port() const noexcept {
    return loop_->port();
}
void fault_proxy::pass() {
    loop_->behave({.what = mode::pass});
}
void fault_proxy::drop_replies() {
    loop_->behave({.what = mode::drop_replies});
}
void fault_proxy::delay(std::chrono::milliseconds by) {
    loop_->behave({.what = mode::delay, .late = by});
}
void fault_proxy::cut_replies_after(std::size_t bytes) {
    loop_->behave({.what = mode::cut, .bytes = bytes});
}
void fault_proxy::stall_requests() {
    loop_->behave({.what = mode::stall});
}
void fault_proxy::reset() {
    loop_->behave({.what = mode::reset});
}
void fault_proxy::black_hole() {
    loop_->behave({.what = mode::black_hole});
}
void fault_proxy::refuse() {
    loop_->behave({.what = mode::refuse});
}

std::size_t fault_proxy::accepted() const {
    return loop_->accepted;
}
std::size_t fault_proxy::open() const {
    return loop_->open;
}
std::uint64_t fault_proxy::bytes_to_server() const {
    return loop_->bytes_to_server;
}
std::uint64_t fault_proxy::bytes_from_server() const {
    return loop_->bytes_from_server;
}
std::uint64_t fault_proxy::trips() const {
    return loop_->trips;
}

}  // namespace holdfast::test
