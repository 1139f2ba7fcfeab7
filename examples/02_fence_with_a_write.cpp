// SPDX-License-Identifier: Apache-2.0
//
// The fence travels with the write, so that a write which comes too late is refused.
//
// No lock can stop a write that is already on its way: its sender may have been paused between the
// last look at the lease and the write. The resource can: it keeps the largest fence it has seen.
//
//     02_fence_with_a_write [engine URL]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace {

/// Stands for a database row with the columns `value` and `fence`.
class guarded_register {
public:
    /// Takes the value, unless a later holder has written already.
    bool write(std::string value, holdfast::fencing_token fence) {
        if (fence < largest_) return false;
        largest_ = fence;
        value_ = std::move(value);
        return true;
    }
    [[nodiscard]] const std::string& value() const { return value_; }

private:
    holdfast::fencing_token largest_;
    std::string value_;
};

}  // namespace

int main(int argc, char** argv) {
    auto hf = holdfast::open(argc > 1 ? argv[1] : "memory:").value();
    guarded_register row;

    auto first = hf.mutex("row/7").acquire().value();
    const auto late_fence = first.fence();
    const bool on_time = row.write("first", first.fence());
    // The first holder sends one more write, which is delayed. Meanwhile its lease ends …
    if (!std::move(first).release()) return 1;

    // … and the next holder writes.
    auto second = hf.mutex("row/7").acquire().value();
    const bool next = row.write("second", second.fence());

    // Now the delayed write arrives. Its fence is older than what the row has seen.
    const bool late = row.write("late", late_fence);

    std::cout << "on time " << on_time << ", next " << next << ", late " << late
              << ": the row says " << row.value() << '\n';
    return on_time && next && !late && row.value() == "second" ? 0 : 1;
}
