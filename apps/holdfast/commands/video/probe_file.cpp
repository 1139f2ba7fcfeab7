// SPDX-License-Identifier: Apache-2.0
#include "commands/video/probe_file.hpp"

#include "printable.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

extern "C" char** environ;

namespace holdfast::app {
namespace {

constexpr std::size_t most_output = 64 * 1024;

/// The reading end of a pipe; the other end is the child's.
struct pipe_ends {
    int read = -1;
    int write = -1;
    pipe_ends() {
        std::array<int, 2> both{-1, -1};
        if (::pipe2(both.data(), O_CLOEXEC) == 0)
            std::tie(read, write) = std::pair(both[0], both[1]);
    }
    ~pipe_ends() {
        close(read);
        close(write);
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    static void close(int& fd) {
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
};

/// Starts it with standard output and error in the pipes. 0, or errno.
int spawn_tool(const std::vector<std::string>& words, pipe_ends& out, pipe_ends& err, pid_t& pid) {
    std::vector<char*> argv;
    for (const std::string& one : words) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t ends;
    ::posix_spawn_file_actions_init(&ends);
    ::posix_spawn_file_actions_addopen(&ends, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&ends, out.write, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&ends, err.write, STDERR_FILENO);
    const int why = ::posix_spawnp(&pid, argv[0], &ends, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&ends);
    pipe_ends::close(out.write);
    pipe_ends::close(err.write);
    return why;
}

/// Takes what is there; closes the pipe at its end. What is beyond the bound is dropped.
void take_bytes(pipe_ends& from, std::string& to) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(from.read, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return pipe_ends::close(from.read);
    const std::size_t room = most_output - std::min(most_output, to.size());
    to.append(bytes.data(), std::min(room, static_cast<std::size_t>(got)));
}

struct tool_end {
    bool in_time = true;
    int status = 0;
    std::string out;
    std::string err;
};

tool_end wait_for_tool(pid_t pid, pipe_ends& out, pipe_ends& err, time_point give_up) {
    tool_end end;
    while (out.read >= 0 || err.read >= 0) {
        const time_point now = system_clock().now();
        if (now >= give_up) {
            end.in_time = false;
            ::kill(pid, SIGKILL);
            break;
        }
        std::array<pollfd, 2> both{pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(give_up - now).count();
        ::poll(both.data(), both.size(), static_cast<int>(ms));
        if (both[0].revents != 0) take_bytes(out, end.out);
        if (both[1].revents != 0) take_bytes(err, end.err);
    }
    while (::waitpid(pid, &end.status, 0) < 0 && errno == EINTR) {
    }
    return end;
}

}  // namespace

result<video_facts> probe_file(const std::string& file, duration at_most) {
    pipe_ends out;
    pipe_ends err;
    if (out.read < 0 || err.read < 0) return fail(errc::unavailable, "no pipe can be made");
    pid_t pid = -1;
    const int why = spawn_tool(probe_command(file), out, err, pid);
    if (why == ENOENT) return fail(errc::unsupported, "ffprobe is not installed here");
    if (why != 0) return fail(errc::unavailable, "ffprobe cannot be started");
    tool_end end = wait_for_tool(pid, out, err, system_clock().now() + at_most);
    if (!end.in_time) return fail(errc::unavailable, "ffprobe did not end in time");
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0) return read_probe(end.out);
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 1) {
        while (end.err.ends_with('\n')) end.err.pop_back();
        return fail(errc::invalid_argument,
                    fmt::format("this is no video: {}",
                                printable(end.err.substr(end.err.rfind('\n') + 1))));
    }
    return fail(errc::unavailable, "ffprobe was ended by a signal");
}

}  // namespace holdfast::app
