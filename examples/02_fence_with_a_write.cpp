// SPDX-License-Identifier: Apache-2.0
//
// The fence travels with the read and the write, so that a write which comes too late is refused.
//
// No lock can stop a write that is already in flight: its sender may have been paused between the
// last check of the lease and the write. The resource can: it keeps the largest fence it has seen.
//
// It must see the fence before the read, not only with the write. Otherwise the late write may
// arrive between the next holder's read and its write: no larger fence was seen yet, so it is
// accepted, and the next holder overwrites it with a sum that does not contain it.
//
// For a value in Redis and a row in SQL, guarded_write.hpp has both steps.
//
//     02_fence_with_a_write [engine URL]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <optional>
#include <utility>

namespace {

/// Stands for a database row with the columns `balance` and `fence`.
class guarded_row {
public:
    /// Claims the row and reads it, unless a later holder has it: see guarded_claim().
    std::optional<int> claim(holdfast::fencing_token fence) {
        if (fence < largest_) return std::nullopt;
        largest_ = fence;
        return balance_;
    }
    /// Writes it, unless a later holder has it: see guarded_set().
    bool write(int balance, holdfast::fencing_token fence) {
        if (fence < largest_) return false;
        largest_ = fence;
        balance_ = balance;
        return true;
    }
    [[nodiscard]] int balance() const { return balance_; }

private:
    holdfast::fencing_token largest_;
    int balance_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    guarded_row row;

    // The first holder reads the balance, and is paused before it writes. Its lease ends …
    auto first = hf.mutex("row/7").acquire().value();
    const auto late_fence = first.fence();
    const auto seen_first = row.claim(late_fence);
    if (!std::move(first).release()) return 1;

    // … and the next holder reads.
    auto second = hf.mutex("row/7").acquire().value();
    const auto seen_second = row.claim(second.fence());
    if (!seen_first || !seen_second) return 1;

    // Now the delayed write arrives. The row has seen a larger fence: it is refused.
    const bool late = row.write(*seen_first + 10, late_fence);

    const bool next = row.write(*seen_second + 5, second.fence());
    std::cout << "late " << late << ", next " << next << ": the balance is " << row.balance()
              << '\n';
    return !late && next && row.balance() == 5 ? 0 : 1;
}
