// SPDX-License-Identifier: Apache-2.0
#include "process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace holdfast::app {
namespace {

/// Everything that the forked child needs, made before the fork.
struct launch {
    char* const* words;
    char* const* environment;
    const signal_inbox* signals;
    pid_t parent;
    int word;         ///< Reads our word.
    int word_writer;  ///< Its copy of our end, which it must not keep open.
    int failure;
    int kept;
};

// glibc's execvpe keeps to the stack, so it may be called here.
[[noreturn]] void become(const launch& it) noexcept {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != it.parent) ::_exit(127);  // gone before the line above
    ::close(it.word_writer);
    char word = 0;
    ssize_t got = 0;
    do {
        got = ::read(it.word, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) ::_exit(127);
    it.signals->restore();
    int failure = it.failure;
    if (it.kept >= 0) {
        if (failure == child::kept_as) failure = ::fcntl(failure, F_DUPFD_CLOEXEC, 10);
        if (it.kept == child::kept_as) {
            ::fcntl(it.kept, F_SETFD, 0);
        } else {
            ::dup2(it.kept, child::kept_as);
        }
    }
    ::execvpe(it.words[0], it.words, it.environment);
    const int why = errno;
    [[maybe_unused]] const ssize_t put = ::write(failure, &why, sizeof why);
    ::_exit(127);
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> made;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view entry(*at);
        const std::string_view name = entry.substr(0, entry.find('='));
        const bool ours = std::ranges::any_of(
            variables, [&](const auto& variable) { return variable.first == name; });
        if (!ours) made.emplace_back(entry);
    }
    for (const auto& [name, value] : variables) made.push_back(fmt::format("{}={}", name, value));
    return made;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> made;
    made.reserve(texts.size() + 1);
    for (std::string& text : texts) made.push_back(text.data());
    made.push_back(nullptr);
    return made;
}

}  // namespace

std::expected<child, child::not_started> child::fork_it(const plan& what,
                                                        const signal_inbox& signals) {
    std::vector<std::string> words = what.words;
    std::vector<std::string> environment = environment_with(what.variables);
    const auto argv = pointers(words);
    const auto envp = pointers(environment);
    std::array<int, 2> word{-1, -1};
    std::array<int, 2> failure{-1, -1};
    if (::pipe2(word.data(), O_CLOEXEC) != 0) return std::unexpected(not_started{errno});
    const descriptor word_reads(word[0]);
    descriptor word_writes(word[1]);
    if (::pipe2(failure.data(), O_CLOEXEC) != 0) return std::unexpected(not_started{errno});
    descriptor failure_reads(failure[0]);
    const descriptor failure_writes(failure[1]);
    const launch it{argv.data(),       envp.data(),          &signals, ::getpid(), word_reads.get(),
                    word_writes.get(), failure_writes.get(), what.kept};
    const pid_t pid = ::fork();
    if (pid == 0) become(it);
    if (pid < 0) return std::unexpected(not_started{errno});
    ::setpgid(pid, pid);  // both do it, so that it is done for whoever comes first
    return child(pid, std::move(word_writes), std::move(failure_reads));
}

std::expected<child, child::not_started> child::go() && {
    const char word = '!';
    [[maybe_unused]] const ssize_t put = ::write(word_.get(), &word, 1);
    word_.close();
    int why = 0;
    ssize_t got = 0;
    do {
        got = ::read(failure_.get(), &why, sizeof why);  // ends by exec, or by its death
    } while (got < 0 && errno == EINTR);
    failure_.close();
    if (got != sizeof why) return std::move(*this);
    bury();
    return std::unexpected(not_started{why});
}

std::optional<child_event> child::look() const {
    siginfo_t seen{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) !=
            0 ||
        seen.si_pid == 0) {
        return std::nullopt;
    }
    switch (seen.si_code) {
        case CLD_EXITED: return child_event{child_event::kind::ended, seen.si_status};
        case CLD_KILLED:
        case CLD_DUMPED: return child_event{child_event::kind::ended, 128 + seen.si_status};
        default: break;
    }
    ::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WNOHANG);  // told once
    return child_event{child_event::kind::stopped, seen.si_status};
}

void child::send(int signal) const noexcept {
    ::kill(-pid_, signal);
}

void child::bury() const noexcept {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool child::leaves_others() const noexcept {
    return ::kill(-pid_, 0) == 0 || errno == EPERM;
}

void child::bury_orphans() const noexcept {
    siginfo_t seen{};
    while (::waitid(P_ALL, 0, &seen, WEXITED | WNOHANG | WNOWAIT) == 0 && seen.si_pid != 0 &&
           seen.si_pid != pid_) {
        ::waitpid(seen.si_pid, nullptr, WNOHANG);
        seen = {};
    }
}

void adopt_orphans() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace holdfast::app
