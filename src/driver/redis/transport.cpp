// SPDX-License-Identifier: Apache-2.0
//
// Plain connections: the socket calls and nothing else.
#include "driver/redis/transport.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holdfast::redis {
namespace {

std::string reason_of(int code) {
    return std::generic_category().message(code);
}

std::unexpected<error> no_connection(const std::string& reason) {
    return fail(errc::unavailable, "connect: " + reason);
}

// Small requests must not wait for the acknowledgement of earlier ones; a peer that vanished
// silently must be noticed although nothing is being sent.
void prepare(int fd, sa_family_t family) noexcept {
    if (family == AF_UNIX) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    const int idle = 15;
    const int every = 5;
    const int tries = 3;
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

result<void> await_connection(int fd, time_point deadline, clock& time, const patience& go_on) {
    while (true) {
        const time_point now = time.now();
        if (now >= deadline) return no_connection("no answer in time");
        pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};
        const timespec slice = timeout_until(deadline, now, patience_slice);
        if (::ppoll(&one, 1, &slice, nullptr) > 0) {
            int code = 0;
            socklen_t size = sizeof code;
            ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
            if (code != 0) return no_connection(reason_of(code));
            return {};
        }
        if (!go_on()) return no_connection("given up");
    }
}

result<int> connect_one(const socket_address& where, time_point deadline, clock& time,
                        const patience& go_on) {
    const int fd = ::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return no_connection(reason_of(errno));
    prepare(fd, where.storage.ss_family);
    const auto* address = reinterpret_cast<const sockaddr*>(&where.storage);
    result<void> done;
    if (::connect(fd, address, where.size) != 0) {
        // A unix socket whose backlog is full says EAGAIN, and poll() would never tell.
        if (errno == EINPROGRESS) {
            done = await_connection(fd, deadline, time, go_on);
        } else {
            done = no_connection(reason_of(errno));
        }
    }
    if (done) return fd;
    ::close(fd);
    return std::unexpected(done.error());
}

}  // namespace

result<std::unique_ptr<transport>> transport::open(const server_address& address,
                                                   const redis_tls& rules,
                                                   const std::shared_ptr<tls_context>& tls,
                                                   time_point deadline, clock& time,
                                                   const patience& go_on) {
    auto places = resolve(address, deadline, time, go_on);
    if (!places) return std::unexpected(places.error());
    result<int> fd = no_connection("the name has no address");
    for (std::size_t i = 0; i < places->size() && !fd; ++i) {
        // Each address gets its share of what is left, so that a dead first one leaves time for the
        // others.
        const time_point now = time.now();
        const auto shares = static_cast<duration::rep>(places->size() - i);
        fd = connect_one((*places)[i], now + (deadline - now) / shares, time, go_on);
    }
    if (!fd) return std::unexpected(fd.error());
    std::unique_ptr<transport> made(new transport(*fd));
    if (tls) {
        made->context_ = tls;
        if (auto done = made->shake_hands(address, rules, deadline, time, go_on); !done) {
            return std::unexpected(done.error());
        }
    }
    return made;
}

transport::~transport() {
    if (tls_ != nullptr) ::SSL_free(tls_);
    ::close(fd_);
}

void transport::shut_down() noexcept {
    ::shutdown(fd_, SHUT_RDWR);
}

void transport::drop_unsent() noexcept {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

io_step transport::read(std::span<char> into) {
    if (tls_ != nullptr) {
        const std::scoped_lock guard(tls_mutex_);
        std::size_t got = 0;
        ::ERR_clear_error();  // the program's own use of OpenSSL on this thread may have left one
        const int outcome = ::SSL_read_ex(tls_, into.data(), into.size(), &got);
        if (outcome == 1) return {io_step::kind::moved, got, {}};
        return tls_step(outcome, 0);
    }
    while (true) {
        const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
        if (got > 0) return {io_step::kind::moved, static_cast<std::size_t>(got), {}};
        if (got == 0) return {io_step::kind::ended, 0, {}};
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
        return {io_step::kind::failed, 0, reason_of(errno)};
    }
}

io_step transport::write(std::span<const char> from) {
    if (tls_ != nullptr) {
        const std::scoped_lock guard(tls_mutex_);
        std::size_t put = 0;
        ::ERR_clear_error();
        const int outcome = ::SSL_write_ex(tls_, from.data(), from.size(), &put);
        if (outcome == 1) return {io_step::kind::moved, put, {}};
        return tls_step(outcome, from.size());
    }
    while (true) {
        const ssize_t put = ::send(fd_, from.data(), from.size(), MSG_NOSIGNAL);
        if (put >= 0) return {io_step::kind::moved, static_cast<std::size_t>(put), {}};
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
        return {io_step::kind::failed, 0, reason_of(errno)};
    }
}

}  // namespace holdfast::redis
