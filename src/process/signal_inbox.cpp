// SPDX-License-Identifier: Apache-2.0
#include "process/signal_inbox.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace holdfast::app {
namespace {

// What is read here. SIGCONT continues us all the same, and is told besides.
constexpr std::array told{SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                          SIGALRM, SIGWINCH, SIGCONT, SIGTSTP, SIGCHLD};

// What is only kept from ending or stopping us: a guardian that is gone, and a terminal that is
// the command's.
constexpr std::array refused{SIGPIPE, SIGTTOU};

}  // namespace

result<signal_inbox> signal_inbox::open() {
    signal_inbox made;
    sigset_t blocked{};
    sigset_t read{};
    ::sigemptyset(&read);
    for (const int one : told) ::sigaddset(&read, one);
    blocked = read;
    for (const int one : refused) ::sigaddset(&blocked, one);
    // Ignored, it would have the kernel bury the command before we saw how it ended.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &made.child_ended_);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &made.mask_);
    made.inbox_ = descriptor(::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK));
    if (made.inbox_.is_open()) return made;
    return fail(errc::unavailable, fmt::format("cannot listen to signals: {}",
                                               std::generic_category().message(errno)));
}

std::optional<int> signal_inbox::next() {
    signalfd_siginfo seen{};
    if (::read(inbox_.get(), &seen, sizeof seen) != sizeof seen) return std::nullopt;
    return static_cast<int>(seen.ssi_signo);
}

void signal_inbox::restore() const noexcept {
    ::sigaction(SIGCHLD, &child_ended_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void signal_inbox::die_of(int signal) const noexcept {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
    ::kill(::getpid(), signal);
    sigset_t only{};
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::_exit(128 + signal);
}

bool asks_to_end(int signal) noexcept {
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

std::string signal_name(int signal) {
    const char* const word = ::sigabbrev_np(signal);
    return word == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", word);
}

}  // namespace holdfast::app
