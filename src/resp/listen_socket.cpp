// SPDX-License-Identifier: Apache-2.0
#include "resp/listen_socket.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast::resp {
namespace {

constexpr int waiting_line = 511;

std::string reason() {
    return std::generic_category().message(errno);
}

sockaddr* plain(auto& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

std::unexpected<error> no_port(std::uint16_t port) {
    const std::string why = reason();
    return fail(errc::unavailable,
                fmt::format("cannot listen on 127.0.0.1:{}: {}; choose another port", port, why));
}

// A path that a server which is gone has left behind; not one that somebody serves.
void remove_dead_socket(const std::string& path, sockaddr_un address) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return;
    const app::descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool dead = ::connect(probe.get(), plain(address), sizeof(address)) != 0;
    if (dead && errno == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

result<listen_socket> listen_on_loopback(std::uint16_t port) {
    listen_socket made{
        app::descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
    const int on = 1;
    ::setsockopt(made.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (!made.fd.is_open() || ::bind(made.fd.get(), plain(address), length) != 0 ||
        ::listen(made.fd.get(), waiting_line) != 0 ||
        ::getsockname(made.fd.get(), plain(address), &length) != 0) {
        return no_port(port);
    }
    made.port = ntohs(address.sin_port);
    return made;
}

result<listen_socket> listen_on_path(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return fail(errc::invalid_argument, fmt::format("a socket's path has at most {} bytes: {}",
                                                        sizeof(address.sun_path) - 1, path));
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    remove_dead_socket(path, address);
    listen_socket made{
        app::descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), 0};
    // The rights are taken away before anybody can connect: it listens only afterwards.
    if (!made.fd.is_open() || ::bind(made.fd.get(), plain(address), sizeof(address)) != 0 ||
        ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 ||
        ::listen(made.fd.get(), waiting_line) != 0) {
        const std::string why = reason();
        return fail(errc::unavailable, fmt::format("cannot listen on {}: {}", path, why));
    }
    made.path = path;
    return made;
}

app::descriptor accept_client(const listen_socket& from, bool& out_of_files) {
    app::descriptor client(
        ::accept4(from.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    out_of_files = !client.is_open() && (errno == EMFILE || errno == ENFILE);
    if (client.is_open() && from.path.empty()) {
        const int on = 1;
        ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return client;
}

std::string remote_address(const app::descriptor& client, const listen_socket& by) {
    if (!by.path.empty()) return by.path + ":0";
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    ::getpeername(client.get(), plain(address), &length);
    return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

std::string local_address(const listen_socket& by) {
    return by.path.empty() ? fmt::format("127.0.0.1:{}", by.port) : by.path + ":0";
}

}  // namespace holdfast::resp
