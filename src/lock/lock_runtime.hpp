// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/acquire_machine.hpp"
#include "core/lease_state.hpp"
#include "lock/counters.hpp"
#include "lock/keeper.hpp"
#include "lock/waiting_room.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

#include <atomic>
#include <memory>

/// What a client is inside: a store, the keeper of what is held, the room of those who wait.
///
/// It drives the machine of core/acquire_machine.hpp on the caller's own thread: a request is an
/// exchange with the store, a sleep is a seat in the waiting room.
namespace holdfast::detail {

class lock_runtime : public std::enable_shared_from_this<lock_runtime> {
public:
    [[nodiscard]] static std::shared_ptr<lock_runtime> make(std::shared_ptr<lease_store> store,
                                                            const client_options& options);
    lock_runtime(std::shared_ptr<lease_store> store, const client_options& options);
    ~lock_runtime();

    [[nodiscard]] result<lease> acquire(const lock_name& name, const acquire_options& options);
    [[nodiscard]] result<void> release(lease_state& state);
    void abandon(lease_state& state) noexcept;
    [[nodiscard]] bool held(const lease_state& state) const noexcept;
    [[nodiscard]] duration remaining(const lease_state& state) const noexcept;

    [[nodiscard]] capabilities can() const noexcept { return store_->can(); }
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix);
    [[nodiscard]] client_statistics statistics() const;
    void close();

private:
    [[nodiscard]] result<void> ready(const acquire_options& options) const;
    [[nodiscard]] acquire_machine::finish drive(acquire_machine& machine, waiter& me);
    [[nodiscard]] lease hand_out(const acquire_plan& plan, const grant& given,
                                 const acquire_options& options);
    void count_refusal(const error& why);

    std::shared_ptr<lease_store> store_;
    client_options options_;
    clock& clock_;
    std::shared_ptr<counters> count_ = std::make_shared<counters>();
    std::shared_ptr<waiting_room> room_ = std::make_shared<waiting_room>();
    std::shared_ptr<keeper> keeper_;
    const unsigned generation_;
    std::atomic<bool> closed_ = false;
};

}  // namespace holdfast::detail
