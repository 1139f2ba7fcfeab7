// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"
#include "core/release_machine.hpp"
#include "lock/acquisition.hpp"
#include "lock/async_driver.hpp"

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <memory>
#include <optional>

/// What the async driver is sent for: an acquire and a release, each with the completion that it
/// ends in.
namespace holdfast::detail {

class acquire_operation final : public operation {
public:
    acquire_operation(std::shared_ptr<lock_runtime> runtime, lock_name name,
                      acquire_options options, const lease_mode& mode,
                      mutex::acquire_completion done, std::shared_ptr<async_driver::inbox> rings);

    action start() override;
    action on_reply(result<lease_reply> reply) override;
    action on_wake() override;
    void abort() override;
    void complete() override;

private:
    [[nodiscard]] action follow(acquisition::action next);

    const std::shared_ptr<lock_runtime> runtime_;
    const lock_name name_;
    const std::string note_;  ///< What the options point to.
    const acquire_options options_;
    mutex::acquire_completion done_;
    const std::shared_ptr<async_driver::inbox> rings_;
    std::optional<acquisition> mine_;
    time_point sleeps_until_;
    std::optional<result<lease>> outcome_;
};

class release_operation final : public operation {
public:
    release_operation(std::shared_ptr<lock_runtime> runtime, std::shared_ptr<lease_state> state,
                      release_machine machine, lease::release_completion done);

    action start() override;
    action on_reply(result<lease_reply> reply) override;
    action on_wake() override;
    void abort() override;
    void complete() override;

private:
    [[nodiscard]] action follow(release_machine::action next);

    const std::shared_ptr<lock_runtime> runtime_;
    const std::shared_ptr<lease_state> state_;
    release_machine machine_;
    lease::release_completion done_;
    std::optional<result<void>> outcome_;
};

}  // namespace holdfast::detail
