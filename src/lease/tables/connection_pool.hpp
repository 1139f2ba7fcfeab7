// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_database.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

/// The connections of one store: a bounded number, each used by one thread at a time.
///
/// The one that was used last is used next, so that few stay in use when few are needed. A thread
/// that finds all of them in use waits for one, but not past its deadline.
namespace holdfast::sql {

class connection_pool {
public:
    /// `process` is what each connection announces. Both references outlive the pool.
    connection_pool(database& of, clock& time, std::int64_t process)
        : of_(of), clock_(time), process_(process) {}

    /// A connection, until it goes.
    class held {
    public:
        held(connection_pool& from, std::unique_ptr<connection> which)
            : from_(&from), which_(std::move(which)) {}
        held(held&&) noexcept = default;
        held& operator=(held&&) = delete;
        ~held() {
            if (which_ != nullptr) from_->put_back(std::move(which_));
        }
        [[nodiscard]] connection& operator*() const noexcept { return *which_; }
        [[nodiscard]] connection* operator->() const noexcept { return which_.get(); }

    private:
        connection_pool* from_;
        std::unique_ptr<connection> which_;
    };

    /// Blocks: until one is free, at most until `give_up`; then nothing.
    [[nodiscard]] std::optional<held> enter(time_point give_up);

    /// In a child of fork(): using or closing them would disturb the parent's.
    void forget() noexcept;

private:
    void put_back(std::unique_ptr<connection> which);

    database& of_;
    clock& clock_;
    const std::int64_t process_;
    std::mutex mutex_;
    std::condition_variable free_;
    std::vector<std::unique_ptr<connection>> idle_;
    std::size_t made_ = 0;
};

}  // namespace holdfast::sql
