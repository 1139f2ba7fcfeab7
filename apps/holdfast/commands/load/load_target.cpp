// SPDX-License-Identifier: Apache-2.0
#include "commands/load/load_target.hpp"

#include "commands/load/load_senders.hpp"
#include "process/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace holdfast::app {
namespace {

struct line_ends {
    descriptor read;
    descriptor write;
};

result<line_ends> make_line() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errc::unavailable, "no pipe");
    return line_ends{descriptor(ends[0]), descriptor(ends[1])};
}

// In the child: ends when its parent does.
void live_no_longer_than(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
}

}  // namespace

load_process::load_process(load_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), target_(std::move(other.target_)) {}

load_process::~load_process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

result<load_process> load_process::serve(const std::vector<std::string>& words) {
    auto line = make_line();
    if (!line) return std::unexpected(line.error());
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail(errc::unavailable, "no process to be had");
    if (pid == 0) {
        live_no_longer_than(parent);
        ::dup2(line->write.get(), STDOUT_FILENO);
        ::execv("/proc/self/exe", argv.data());
        ::_exit(127);
    }
    load_process made(pid, {});
    line->write = descriptor();
    std::string url;
    char one = 0;
    while (::read(line->read.get(), &one, 1) == 1 && one != '\n') url += one;
    auto target = parse_target(url);
    if (!target) return fail(errc::unavailable, "the server did not start");
    made.target_ = std::move(*target);
    return made;
}

result<load_process> load_process::fork_to(const std::function<void(int tell)>& work) {
    auto line = make_line();
    if (!line) return std::unexpected(line.error());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail(errc::unavailable, "no process to be had");
    if (pid == 0) {
        live_no_longer_than(parent);
        work(line->write.get());
        ::_exit(0);
    }
    load_process made(pid, {.host = "127.0.0.1"});
    line->write = descriptor();
    if (::read(line->read.get(), &made.target_.port, 2) != 2) {
        return fail(errc::unavailable, "the minimal loop did not start");
    }
    return made;
}

std::optional<double> resident_kib(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/status", pid));
    std::string word;
    while (in >> word) {
        double value = 0;
        if (word == "VmRSS:" && in >> value) return value;
    }
    return std::nullopt;
}

std::optional<double> metric(const swarm_target& of, std::string_view name) {
    const auto socket = connect_to(of);
    if (!socket) return std::nullopt;
    std::string request = fmt::format("GET /metrics HTTP/1.1\r\nHost: {}:{}\r\n", of.host, of.port);
    if (!of.bearer.empty()) request += fmt::format("Authorization: Bearer {}\r\n", of.bearer);
    const auto answer = ask_over(*socket, request + "\r\n");
    ::close(*socket);
    if (!answer || answer->status != 200) return std::nullopt;
    const auto at = answer->body.find(fmt::format("\n{} ", name));
    if (at == std::string::npos) return std::nullopt;
    return std::strtod(answer->body.c_str() + at + name.size() + 2, nullptr);
}

}  // namespace holdfast::app
