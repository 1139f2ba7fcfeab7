// SPDX-License-Identifier: Apache-2.0
//
// The sockets of the server: one thread, one epoll.
//
// A round takes what happened, reads from each client at most one buffer, carries out what is
// whole, and then sends what there is to send. A client is read only while everything before was
// carried out and its answers are being taken; so what lies in the process for one client is
// bounded, and nobody can keep the others waiting.
#include "resp/resp_server.hpp"

#include "driver/memory/memory_engine.hpp"
#include "process/descriptor.hpp"
#include "resp/listen_socket.hpp"
#include "resp/service.hpp"

#include <fmt/format.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

namespace holdfast {
namespace {

using app::descriptor;
using resp::listen_socket;
using resp::peer;

constexpr int longest_round_ms = 1000;
// How often another's clock is looked at, which may be moved by whoever has it.
constexpr int foreign_clock_ms = 5;

class epoll_server final : public resp_server {
public:
    epoll_server(std::shared_ptr<memory_engine> engine, const resp_server_options& options)
        : engine_(std::move(engine)),
          options_(options),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)),
          bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          service_(engine_->core(), options, [this] { wake(); }) {}
    ~epoll_server() override { stop(); }
    epoll_server(const epoll_server&) = delete;
    epoll_server& operator=(const epoll_server&) = delete;

    [[nodiscard]] result<void> open();
    void stop() override;
    [[nodiscard]] std::uint16_t port() const noexcept override { return listeners_.front().port; }

private:
    struct client {
        descriptor fd;
        peer& who;
        std::uint32_t interest = EPOLLIN;
    };
    using client_map = std::unordered_map<peer*, std::unique_ptr<client>>;

    void wake() noexcept;
    void loop() noexcept;
    [[nodiscard]] int patience() const;
    void handle(const epoll_event& e);
    void accept_all(const listen_socket& from);
    void admit(descriptor fd, const listen_socket& by);
    void read(client& c);
    void settle();
    void settle(client& c);
    [[nodiscard]] static bool send_out(client& c);
    void follow(client& c);
    void end(client& c);
    void watch(int fd, void* what, std::uint32_t interest, int act) const;
    void pause_accepting(bool is);

    std::shared_ptr<memory_engine> engine_;
    resp_server_options options_;
    descriptor epoll_;
    descriptor bell_;
    std::atomic<bool> stopping_ = false;
    std::atomic<std::thread::id> at_work_{};
    resp::service service_;
    std::vector<listen_socket> listeners_;
    bool accepts_ = true;
    client_map clients_;
    std::thread thread_;
};

result<void> epoll_server::open() {
    auto tcp = resp::listen_on_loopback(options_.port);
    if (!tcp) return std::unexpected(std::move(tcp.error()));
    listeners_.push_back(std::move(*tcp));
    if (!options_.unix_socket.empty()) {
        auto local = resp::listen_on_path(options_.unix_socket);
        if (!local) return std::unexpected(std::move(local.error()));
        listeners_.push_back(std::move(*local));
    }
    if (!epoll_.is_open() || !bell_.is_open()) {
        return fail(errc::unavailable, "no file descriptor is left for the server");
    }
    watch(bell_.get(), &bell_, EPOLLIN, EPOLL_CTL_ADD);
    for (listen_socket& l : listeners_) watch(l.fd.get(), &l, EPOLLIN, EPOLL_CTL_ADD);
    thread_ = std::thread([this] { loop(); });
    return {};
}

void epoll_server::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    wake();
    thread_.join();
    for (const listen_socket& l : listeners_) {
        if (!l.path.empty()) ::unlink(l.path.c_str());
    }
    while (!clients_.empty()) end(*clients_.begin()->second);
    for (listen_socket& l : listeners_) l.fd.close();
}

// Our own thread looks at the mailbox at the end of each round by itself.
void epoll_server::wake() noexcept {
    if (at_work_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto rung = ::write(bell_.get(), &one, sizeof(one));
}

void epoll_server::watch(int fd, void* what, std::uint32_t interest, int act) const {
    epoll_event e{};
    e.events = interest;
    e.data.ptr = what;
    ::epoll_ctl(epoll_.get(), act, fd, &e);
}

int epoll_server::patience() const {
    const time_point until = service_.next_deadline();
    if (until == time_point::max()) return longest_round_ms;
    if (&service_.time() != &system_clock()) return foreign_clock_ms;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - service_.time().now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, longest_round_ms));
}

void epoll_server::loop() noexcept {
    at_work_ = std::this_thread::get_id();
    std::array<epoll_event, 128> happened;
    while (!stopping_) {
        const int count = ::epoll_wait(epoll_.get(), happened.data(),
                                       static_cast<int>(happened.size()), patience());
        for (int i = 0; i < count; ++i) handle(happened[static_cast<std::size_t>(i)]);
        if (count == 0) {
            engine_->tend();
            if (!accepts_) pause_accepting(false);
        }
        settle();
    }
}

void epoll_server::handle(const epoll_event& e) {
    if (e.data.ptr == &bell_) {
        std::uint64_t rings = 0;
        [[maybe_unused]] const auto heard = ::read(bell_.get(), &rings, sizeof(rings));
        return;
    }
    for (const listen_socket& l : listeners_) {
        if (e.data.ptr == &l) return accept_all(l);
    }
    auto& c = *static_cast<client*>(e.data.ptr);
    service_.note(c.who);
    if ((e.events & (EPOLLERR | EPOLLHUP)) != 0) {
        c.who.broken = true;
    } else if ((e.events & EPOLLIN) != 0) {
        read(c);
    } else if ((e.events & EPOLLRDHUP) != 0) {
        c.who.broken = true;  // it is not read from, so this is how we hear of it
    }
}

void epoll_server::accept_all(const listen_socket& from) {
    constexpr int at_once = 64;
    for (int i = 0; i < at_once; ++i) {
        bool out_of_files = false;
        descriptor fd = resp::accept_client(from, out_of_files);
        if (out_of_files) return pause_accepting(true);
        if (!fd.is_open()) return;
        admit(std::move(fd), from);
    }
}

// Without descriptors nobody can be accepted, and epoll would say again and again that they wait.
void epoll_server::pause_accepting(bool is) {
    accepts_ = !is;
    for (listen_socket& l : listeners_) {
        watch(l.fd.get(), &l, is ? 0U : EPOLLIN, EPOLL_CTL_MOD);
    }
}

void epoll_server::admit(descriptor fd, const listen_socket& by) {
    if (clients_.size() >= options_.connections) {
        constexpr std::string_view full = "-ERR max number of clients reached\r\n";
        ::send(fd.get(), full.data(), full.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    peer& who = service_.admit(resp::remote_address(fd, by), resp::local_address(by), fd.get());
    auto made = std::make_unique<client>(client{std::move(fd), who});
    watch(made->fd.get(), made.get(), made->interest, EPOLL_CTL_ADD);
    clients_.emplace(&who, std::move(made));
}

void epoll_server::read(client& c) {
    const auto space = c.who.reader.space();
    const auto got = ::recv(c.fd.get(), space.data(), space.size(), 0);
    if (got > 0) {
        c.who.reader.filled(static_cast<std::size_t>(got));
        service_.work(c.who);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        c.who.broken = true;
    }
}

// Until nothing is left to do: an answer that was sent may let its client go on, and what it does
// may concern others.
void epoll_server::settle() {
    service_.tend();
    for (auto noted = service_.take_noted(); !noted.empty(); noted = service_.take_noted()) {
        for (peer* p : noted) {
            if (const auto found = clients_.find(p); found != clients_.end()) {
                settle(*found->second);
            }
        }
        service_.tend();
    }
}

void epoll_server::settle(client& c) {
    if (c.who.broken || !send_out(c) || (c.who.ending && c.who.unsent() == 0)) return end(c);
    const bool all_sent = c.who.unsent() == 0;
    if (all_sent && c.who.waiting == nullptr && c.who.paused) {
        c.who.paused = false;
        service_.work(c.who);
    }
    follow(c);
}

// False: the connection is gone.
bool epoll_server::send_out(client& c) {
    constexpr std::size_t kept = std::size_t{64} * 1024;
    peer& p = c.who;
    while (p.unsent() > 0) {
        const auto sent =
            ::send(c.fd.get(), p.out.data() + p.sent, p.unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN) return false;
            if (p.sent > kept) p.out.erase(0, std::exchange(p.sent, 0));
            return true;
        }
        p.sent += static_cast<std::size_t>(sent);
    }
    p.out.clear();
    p.sent = 0;
    if (p.out.capacity() > kept) p.out.shrink_to_fit();
    return true;
}

// What epoll is to say of it from now on.
void epoll_server::follow(client& c) {
    const peer& p = c.who;
    std::uint32_t interest = p.unsent() > 0 ? EPOLLOUT : 0U;
    const bool takes_more = p.waiting == nullptr && !p.ending && !p.paused;
    interest |= takes_more ? EPOLLIN : EPOLLRDHUP;
    if (interest == c.interest) return;
    c.interest = interest;
    watch(c.fd.get(), &c, interest, EPOLL_CTL_MOD);
}

void epoll_server::end(client& c) {
    peer& who = c.who;
    clients_.erase(&who);  // closes the socket, which takes it out of epoll
    service_.dismiss(who);
    if (!accepts_) pause_accepting(false);
}

}  // namespace

result<std::unique_ptr<resp_server>> resp_server::start(
    const std::shared_ptr<command_engine>& engine, const resp_server_options& options) {
    auto embedded = std::dynamic_pointer_cast<memory_engine>(engine);
    if (embedded == nullptr) {
        return fail(errc::unsupported, "only the embedded engine, memory:, can be served as Redis");
    }
    auto made = std::make_unique<epoll_server>(std::move(embedded), options);
    if (const auto opened = made->open(); !opened) return std::unexpected(opened.error());
    return made;
}

}  // namespace holdfast
