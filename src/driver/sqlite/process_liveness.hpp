// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Tells which of the processes that use a file still live.
///
/// Each holds a lock on a byte of an empty file beside it, and the kernel drops that lock when the
/// process ends, however it ends. So a waiter that was killed costs the others nothing. It works
/// across containers that share the file, where process ids say nothing. A child that was forked
/// and never called exec keeps its parent's lock: then its parent's waiters time out instead.
///
/// One more byte, the first, is locked by all that use the file's clock. As long as anybody does,
/// that clock is not replaced (clock_choice.hpp).
namespace holdfast::sqlite {

/// Thread safety: one thread at a time.
class process_liveness {
public:
    process_liveness() = default;
    process_liveness(const process_liveness&) = delete;
    process_liveness& operator=(const process_liveness&) = delete;
    ~process_liveness() { close(); }

    /// The number of this process; above 0.
    void announce(std::int64_t process) noexcept { process_ = process; }

    /// Shows that this process lives, to all who have the database open. Answers 0, or the errno
    /// of what kept it from that.
    [[nodiscard]] int open(const std::string& database);
    void close() noexcept;

    [[nodiscard]] bool may_live(std::int64_t process) const noexcept;

    /// Whether others use the clock. True if nobody can say.
    [[nodiscard]] bool others_use_clock() const noexcept { return may_live(clock_byte); }
    /// Shows that this one does too, until close(). False if that cannot be done.
    /// Requires: the database's write lock is held, for both.
    [[nodiscard]] bool use_clock() const noexcept;

private:
    static constexpr std::int64_t clock_byte = 0;  // the numbers of processes are above it

    std::optional<std::int64_t> process_;
    int file_ = -1;
};

}  // namespace holdfast::sqlite
