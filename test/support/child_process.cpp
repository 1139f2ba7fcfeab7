// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.hpp"

#include "support/wait_for.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace holdfast::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& s : strings) list.push_back(s.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> joined_environment(const std::vector<std::string>& more) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view ours = *entry;
        const auto name = ours.substr(0, ours.find('=') + 1);
        bool replaced = false;
        for (const std::string& m : more) replaced = replaced || m.starts_with(name);
        if (!replaced) all.emplace_back(ours);
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// Between fork and exec only system calls: another thread of ours may hold any lock.
[[noreturn]] void become(char* const* argv, char* const* envp, int output, const char* directory,
                         pid_t parent, int report) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // we were orphaned before the line above
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (*directory == '\0' || ::chdir(directory) == 0) ::execvpe(argv[0], argv, envp);
    const int why = errno;
    [[maybe_unused]] const ssize_t told = ::write(report, &why, sizeof why);
    ::_exit(127);
}

}  // namespace

child_process::child_process(process_options options) : options_(std::move(options)) {
    auto environment = joined_environment(options_.environment);
    const auto argv = pointers(options_.argv);
    const auto envp = pointers(environment);
    const std::string directory = options_.directory;
    const char* file = options_.output.empty() ? "/dev/null" : options_.output.c_str();
    const int output = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    std::array<int, 2> report{-1, -1};
    if (output < 0 || ::pipe2(report.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("cannot start " + command_line() + ": " + std::strerror(errno));
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(argv.data(), envp.data(), output, directory.c_str(), parent, report[1]);
    int why = pid_ < 0 ? errno : 0;
    ::close(report[1]);
    ::close(output);
    const bool failed = ::read(report[0], &why, sizeof why) == sizeof why || pid_ < 0;
    ::close(report[0]);
    if (failed) {
        if (pid_ > 0) reap(0);
        throw std::runtime_error("cannot start " + command_line() + ": " + std::strerror(why));
    }
}

child_process::~child_process() {
    kill();
}

void child_process::reap(int flags) {
    if (exit_ || pid_ <= 0) return;
    int status = 0;
    pid_t seen = 0;
    do {
        seen = ::waitpid(pid_, &status, flags);
    } while (seen < 0 && errno == EINTR);
    if (seen != pid_) return;
    exit_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_process::running() {
    reap(WNOHANG);
    return !exit_;
}

void child_process::signal(int number) {
    if (running()) ::kill(pid_, number);
}

std::optional<int> child_process::wait(std::chrono::milliseconds at_most) {
    try {
        wait_for("the end of " + command_line(), [&] { return !running(); }, at_most);
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
    return exit_;
}

void child_process::kill() {
    signal(SIGKILL);
    reap(0);
}

std::string child_process::log_tail(std::size_t max_bytes) const {
    std::ifstream file(options_.output, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.size() <= max_bytes ? text : "…" + text.substr(text.size() - max_bytes);
}

std::string child_process::command_line() const {
    std::string text;
    for (const std::string& word : options_.argv) {
        if (!text.empty()) text += ' ';
        text += word.empty() ? "''" : word;
    }
    return text;
}

void run_to_success(process_options options, std::chrono::milliseconds at_most) {
    child_process child(std::move(options));
    const auto code = child.wait(at_most);
    if (code == 0) return;
    throw std::runtime_error(child.command_line() +
                             (code ? " ended with " + std::to_string(*code)
                                   : " did not end in " + std::to_string(at_most.count()) + " ms") +
                             "; its output:\n" + child.log_tail());
}

}  // namespace holdfast::test
