// SPDX-License-Identifier: Apache-2.0
//
// A free port that stays ours.
//
// Binding port 0 would hand out ephemeral ports, and any client's outgoing connection could take
// such a port between our look and the server's bind. So ports are drawn from below the ephemeral
// range (32768 up), and each is reserved among test processes by the name of an abstract unix
// socket: the kernel gives a name once, and takes it back when the process ends, however it ends.
#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace holdfast::test {
namespace {

constexpr int first_port = 10'000;
constexpr int last_port = 22'000;
constexpr int bus_offset = 10'000;

bool can_bind(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                       ::listen(fd, 1) == 0;
    ::close(fd);
    return bound;
}

// The descriptor stays open on purpose: it is the reservation.
bool reserve(int port) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "holdfast-test-port-" + std::to_string(port);
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // leading NUL: abstract
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return true;
    ::close(fd);
    return false;
}

}  // namespace

std::uint16_t free_port() {
    static thread_local std::mt19937 draw{std::random_device{}()};
    std::uniform_int_distribution<int> any(first_port, last_port);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int port = any(draw);
        if (!reserve(port)) continue;
        if (can_bind(port) && can_bind(port + bus_offset)) return static_cast<std::uint16_t>(port);
    }
    throw std::runtime_error("no free port found between 10000 and 22000 in 1000 attempts");
}

}  // namespace holdfast::test
