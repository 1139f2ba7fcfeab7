// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/own_server.hpp"

#include "commands/bench/server_account.hpp"

#include <holdfast/clock.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

// Somebody else may take it before the server does; then the server is not ours, and start() sees
// it.
std::uint16_t free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(fd, any, size) == 0 && ::getsockname(fd, any, &size) == 0;
    ::close(fd);
    return bound ? ntohs(address.sin_port) : std::uint16_t{0};
}

// Between fork and exec only system calls: another thread of ours may hold any lock.
[[noreturn]] void become(char* const* argv, int log, pid_t parent, int told) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execvp(argv[0], argv);
    const int why = errno;
    [[maybe_unused]] const ssize_t sent = ::write(told, &why, sizeof why);
    ::_exit(127);
}

}  // namespace

result<std::unique_ptr<own_server>> own_server::start() {
    auto place = own_directory::make(std::filesystem::temp_directory_path());
    if (!place) return std::unexpected(std::move(place.error()));
    std::unique_ptr<own_server> made(new own_server(free_port(), std::move(*place)));
    if (const auto spawned = made->spawn(); !spawned) return std::unexpected(spawned.error());
    if (const auto up = made->wait_until_it_serves(); !up) return std::unexpected(up.error());
    return made;
}

result<void> own_server::spawn() {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no",
                                   "--dir",
                                   directory_.path().string()};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log_name = directory_.path() / "log";
    const int log = ::open(log_name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    std::array<int, 2> told{-1, -1};
    if (log < 0 || ::pipe2(told.data(), O_CLOEXEC) != 0) {
        return fail(errc::unavailable, std::string("cannot start redis-server: no files left"));
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(argv.data(), log, parent, told[1]);
    ::close(log);
    ::close(told[1]);
    int why = pid_ < 0 ? errno : 0;
    const bool failed = ::read(told[0], &why, sizeof why) == sizeof why || pid_ < 0;
    ::close(told[0]);
    if (!failed) return {};
    return fail(errc::unavailable,
                fmt::format("the measurement needs redis-server on the PATH to compare with ({}); "
                            "Debian has it in the package redis-server",
                            std::generic_category().message(why)));
}

result<void> own_server::wait_until_it_serves() {
    const time_point give_up = system_clock().now() + 10s;
    while (system_clock().now() < give_up) {
        const auto seen = server_account::read({"127.0.0.1", port_});
        if (seen && seen->process_id == pid_) return {};
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            break;
        }
        std::this_thread::sleep_for(10ms);
    }
    return fail(errc::unavailable,
                fmt::format("redis-server did not start on port {}; try again", port_));
}

own_server::~own_server() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);  // nothing is stored: there is nothing to end in order
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

}  // namespace holdfast::app
