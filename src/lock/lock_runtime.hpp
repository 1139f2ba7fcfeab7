// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/acquire_machine.hpp"
#include "core/lease_state.hpp"
#include "core/release_machine.hpp"
#include "core/upkeep.hpp"
#include "lock/async_driver.hpp"
#include "lock/counters.hpp"
#include "lock/keeper.hpp"
#include "lock/local_queues.hpp"
#include "lock/open_calls.hpp"
#include "lock/reporter.hpp"
#include "lock/waiter_table.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_set.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

/// What a client is inside: a store, the keeper of what is held, the room of those who wait, the
/// async driver of those who wait without a thread.
///
/// A blocking call is driven on the caller's own thread: a request is an exchange with the store, a
/// sleep is a seat in the waiting room. An asynchronous one takes the same steps (acquisition.hpp,
/// core/release_machine.hpp) on the async driver's thread.
namespace holdfast::detail {

/// What everything answers whose client was moved from.
inline error moved_from() {
    return {errc::invalid_argument, "the client was moved from"};
}

class lock_runtime : public std::enable_shared_from_this<lock_runtime> {
public:
    /// Places in the engine's line that one client takes for readers of a name, or for those who
    /// want its permits: many enough to be let in together, few of the thousand that there are.
    static constexpr std::size_t most_joint_waiters = 32;

    lock_runtime(std::shared_ptr<lease_store> store, const client_options& options,
                 upkeep by = upkeep::threads);
    ~lock_runtime();

    [[nodiscard]] result<lease> acquire(const lock_name& name, const acquire_options& options,
                                        const lease_mode& mode = {});
    void acquire_async(const lock_name& name, const acquire_options& options,
                       const lease_mode& mode, mutex::acquire_completion done);
    /// Makes it run for `ttl` from now, and from then on.
    [[nodiscard]] result<void> renew(lease_state& state, duration ttl);
    [[nodiscard]] result<lease_token> detach(lease_state& state);
    [[nodiscard]] result<lease> adopt(const lease_token& token, const acquire_options& options);
    /// `state` becomes another one: the same holding, shared from now on.
    [[nodiscard]] result<void> downgrade(std::shared_ptr<lease_state>& state);
    [[nodiscard]] result<void> resize(const lock_name& name, std::uint32_t permits);
    // Several names in as few trips as the engine allows (lock_batches.cpp).
    [[nodiscard]] std::vector<result<lease>> acquire_each(std::span<const lock_name> names,
                                                          const acquire_options& options);
    [[nodiscard]] result<lease_set> acquire_all(std::vector<lock_name> names,
                                                const acquire_options& options);
    [[nodiscard]] std::vector<result<void>> release_each(std::vector<lease> leases);
    [[nodiscard]] result<void> release(lease_state& state);
    void release_async(std::shared_ptr<lease_state> state, lease::release_completion done);
    void abandon(lease_state& state) noexcept;
    [[nodiscard]] bool held(const lease_state& state) const noexcept;
    [[nodiscard]] duration remaining(const lease_state& state) const noexcept;

    [[nodiscard]] capabilities can() const noexcept { return store_->can(); }
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix);
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name);
    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason);
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name);
    [[nodiscard]] client_statistics statistics() const;
    [[nodiscard]] result<clock_comparison> compare_clocks();
    /// As client::close().
    result<void> close();

    /// The part of close() that does not wait: from now on nothing is granted, waits end, and what
    /// is held is given back. For whoever runs it by hand.
    void begin_close();

    /// Lets the background run, and answers when there is more to do. For upkeep::by_hand, whose
    /// blocking calls would wait for ever.
    time_point step();

    // The parts, for one acquisition.
    [[nodiscard]] clock& time() const noexcept { return clock_; }
    [[nodiscard]] const client_id& id() const noexcept { return id_; }
    [[nodiscard]] entropy& chance() const noexcept { return *options_.chance; }
    [[nodiscard]] duration request_timeout() const noexcept { return options_.request_timeout; }
    /// The lines of those who want a name alone, or of those who can be let in together.
    [[nodiscard]] local_queues& lines(const lease_mode& mode) noexcept {
        return mode.type == lease_mode::kind::exclusive ? queues_ : joint_queues_;
    }
    [[nodiscard]] waiter_table& room() noexcept { return *room_; }
    [[nodiscard]] counters& count() noexcept { return *count_; }
    [[nodiscard]] reporter& report() noexcept { return *report_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] static error closed_error();

    /// Whether an acquire with these options may begin.
    [[nodiscard]] result<void> ready(const acquire_options& options, const lease_mode& mode) const;
    [[nodiscard]] result<lease> hand_out(const acquire_plan& plan, const grant& given,
                                         const acquire_options& options, time_point asked);
    /// A lease that was passed on: the engine knows nothing of it, the keeper takes it up again.
    [[nodiscard]] result<lease> take_over(const std::shared_ptr<lease_state>& state,
                                          const acquire_options& options, time_point asked);
    /// True if the queue stays closed behind a lease that may be passed on.
    [[nodiscard]] bool occupy_queue(const lease& got, const acquire_options& options);
    void leave_in_background(const acquire_plan& plan, std::uint32_t doubts = 0);
    /// In the background; by the caller itself if the client is closed and has none any more.
    void leave(ask::leave request, time_point until, std::uint32_t doubts = 0);

    // The parts of one release: what can be said without the engine, or else how to ask it; and
    // what to do with its last word.
    [[nodiscard]] std::variant<result<void>, release_machine> begin_release(lease_state& state);
    [[nodiscard]] result<void> end_release(lease_state& state, release_machine::finish end);

private:
    [[nodiscard]] waiter::event sleep(waiter& me, time_point until);
    void claim(lease_info& seen) const;
    [[nodiscard]] result<std::vector<lease>> acquire_sorted(std::span<const lock_name> names,
                                                            const acquire_options& options);
    [[nodiscard]] bool pass_on(const lease_state& old);
    void release_lost(const lease_state& over);
    [[nodiscard]] result<void> shared_from(std::shared_ptr<lease_state>& state, time_point deadline,
                                           time_point renew_at);
    [[nodiscard]] error found_lost(lease_state& state);
    [[nodiscard]] result<void> fit_ttl(duration ttl, std::optional<duration> drift) const;
    [[nodiscard]] duration remaining_until(time_point deadline) const noexcept;

    std::shared_ptr<lease_store> store_;
    client_options options_;
    clock& clock_;
    const client_id id_;
    std::shared_ptr<counters> count_ = std::make_shared<counters>();
    std::shared_ptr<reporter> report_;
    std::shared_ptr<waiter_table> room_ = std::make_shared<waiter_table>();
    local_queues queues_{1};
    local_queues joint_queues_{most_joint_waiters};
    open_calls calls_;
    std::unique_ptr<keeper> keeper_;
    std::unique_ptr<async_driver> async_driver_;
    const unsigned generation_;
    std::atomic<bool> closed_ = false;   ///< Nothing is granted any more.
    std::atomic<bool> closing_ = false;  ///< Somebody is in close(), or was.
};

}  // namespace holdfast::detail
