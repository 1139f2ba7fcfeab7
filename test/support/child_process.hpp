// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A program that a test runs beside itself.
namespace holdfast::test {

struct process_options {
    std::vector<std::string> argv{};         ///< argv[0] is looked up in PATH.
    std::filesystem::path output{};          ///< Both output streams are appended to this file.
    std::vector<std::string> environment{};  ///< "NAME=value", added to ours.
    std::filesystem::path directory{};       ///< Where it runs; empty: where we do.
};

/// Runs from construction until its end or its destructor, which kills it. If our process dies the
/// kernel kills it too, so a crashed test leaves nothing behind.
/// Requires: the thread that makes it outlives it; the kernel ties the child to that thread.
/// Thread safety: one thread at a time.
class child_process {
public:
    /// Throws std::runtime_error when the program cannot be executed; the text says why.
    explicit child_process(process_options options);
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool running();

    /// Sends a signal; nothing happens when it has ended.
    void signal(int number);

    /// The exit code, or 128 + signal as a shell says it; nothing when it still runs after that.
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds at_most);

    /// SIGKILL, and waits for the end.
    void kill();

    /// The last lines of its output, for an error text.
    [[nodiscard]] std::string log_tail(std::size_t max_bytes = 2000) const;

    /// "redis-server --port 11000 …".
    [[nodiscard]] std::string command_line() const;

private:
    void reap(int flags);

    process_options options_;
    pid_t pid_ = -1;
    std::optional<int> exit_;
};

/// Runs a program to its end. Throws std::runtime_error with its output unless it ends with 0.
void run_to_success(process_options options,
                    std::chrono::milliseconds at_most = std::chrono::seconds(30));

}  // namespace holdfast::test
