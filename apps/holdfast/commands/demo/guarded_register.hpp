// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/names.hpp>

#include <mutex>
#include <string>
#include <string_view>

/// The smallest resource that a fence protects: one value, and the largest fence that wrote it.
///
/// This is all that a database, a file store or a device must do: refuse a fence below the largest.
/// Thread safety: all members may be called from any thread.
namespace holdfast::app {

class guarded_register {
public:
    /// Errors: lease_lost, if a later holder has written already; the value stays.
    [[nodiscard]] result<void> write(fencing_token fence, std::string_view value) {
        const std::scoped_lock guard(mutex_);
        if (fence < largest_) {
            return fail(errc::lease_lost, "fence " + to_string(fence) + " is below " +
                                              to_string(largest_) + ": a later holder wrote");
        }
        largest_ = fence;
        value_ = value;
        return {};
    }

    [[nodiscard]] std::string value() const {
        const std::scoped_lock guard(mutex_);
        return value_;
    }

private:
    mutable std::mutex mutex_;
    fencing_token largest_;
    std::string value_;
};

}  // namespace holdfast::app
