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
namespace holdfast::sqlite {

/// Thread safety: one thread at a time.
class life_signs {
public:
    life_signs() = default;
    life_signs(const life_signs&) = delete;
    life_signs& operator=(const life_signs&) = delete;
    ~life_signs() { close(); }

    /// The number of this process; above 0.
    void announce(std::int64_t process) noexcept { process_ = process; }

    /// Shows that this process lives, to all who have the database open. If that cannot be done
    /// everybody counts as living.
    void open(const std::string& database);
    void close() noexcept;

    [[nodiscard]] bool may_live(std::int64_t process) const noexcept;

private:
    std::optional<std::int64_t> process_;
    int file_ = -1;
};

}  // namespace holdfast::sqlite
