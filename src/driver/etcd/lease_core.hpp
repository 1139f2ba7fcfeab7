// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_client.hpp"
#include "driver/etcd/lease_pool.hpp"
#include "driver/etcd/standing_book.hpp"
#include "lease/ordered/name_keys.hpp"
#include "lease/ordered/queue_order.hpp"
#include "lease/ordered/queue_report.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

/// The lease requests on etcd, as sequences of calls.
///
/// Who holds what is decided by ordered::queue_order, from a linearizable read; a change is a
/// transaction that applies only to what was seen. The server's own Lock call is not used: up to
/// etcd 3.4 it grants a name to a waiter whose lease is dead.
///
/// A waiter has a lease of 3 s, which each of its polls renews, so that one that died does not hold
/// up the others for its whole ttl. When it is its turn its entry gets a lease of the whole ttl.
///
/// A request whose outcome is not known may still be carried out later, by a server that was slow.
/// So its owner's lease is not given to another, and when the owner leaves it is revoked: a
/// transaction that comes later finds no lease and does nothing.
///
/// Each function keeps the core alive until it has ended (`self`).
namespace holdfast::etcd {

/// How long a waiter's place is kept without a poll.
inline constexpr std::int64_t place_s = 3;

[[nodiscard]] inline std::int64_t whole_seconds(duration d) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(d).count());
}

class lease_core : public std::enable_shared_from_this<lease_core> {
public:
    using reply = pending<result<lease_reply>>;
    using core_ptr = std::shared_ptr<lease_core>;

    explicit lease_core(std::shared_ptr<etcd_client> client);

    void on_push(lease_store::push_handler handler);
    void introduce(const client_label& who);

    static reply acquire(core_ptr self, ask::acquire asked, time_point give_up);
    static reply renew(core_ptr self, ask::renew asked, time_point give_up);
    static reply release(core_ptr self, ask::release asked, time_point give_up);
    static reply leave(core_ptr self, ask::leave asked, time_point give_up);
    static reply adopt(core_ptr self, lease_adoption asked, time_point give_up);
    static pending<result<std::uint32_t>> evict(core_ptr self, lock_name name, std::string reason,
                                                time_point give_up);

    /// Blocks.
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix, time_point give_up);
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up);
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                               time_point give_up);

    /// Removes those that wait, and the leases that nobody uses; holders stay until their leases
    /// end. Waits for that for a moment only.
    void close();

private:
    using place = standing_book::place;
    template <class T>
    using later = pending<result<T>>;

    /// A lease for an owner, and the renewal of it that is on its way.
    struct lent_lease {
        etcd_lease lease;
        std::optional<pending<called<std::int64_t>>> renewal;
    };
    struct seen_queue {
        ordered::queue_order queue;
        std::int64_t revision = 0;
    };
    enum class kept : std::uint8_t { yes, gone, unknown };

    /// Whether a lease that was left over is renewed even if it lasts for the whole ttl.
    enum class spare_lease : std::uint8_t { as_it_is, renewed };

    static later<lent_lease> lend(core_ptr self, std::int64_t ttl_s, spare_lease spares,
                                  time_point give_up);
    static pending<kept> confirm(lent_lease lent);
    static later<seen_queue> read_queue(core_ptr self, lock_name name, time_point give_up);
    [[nodiscard]] seen_queue queue_in(const wire::RangeResponse& range, const lock_name& name,
                                      std::int64_t revision) const;

    [[nodiscard]] ordered::queue_entry new_entry(const ask::acquire& asked) const;
    static reply join(core_ptr self, ask::acquire asked, time_point give_up);
    static later<std::optional<lease_reply>> join_once(core_ptr self, ask::acquire asked,
                                                       time_point give_up);
    static later<std::optional<lease_reply>> join_others(core_ptr self, ask::acquire asked,
                                                         seen_queue seen, lent_lease lent,
                                                         bool doubt, time_point give_up);
    static later<std::optional<lease_reply>> stand_in_queue(core_ptr self, ask::acquire asked,
                                                            lent_lease lent, bool doubt,
                                                            time_point give_up);
    static later<std::optional<lease_reply>> look_again(core_ptr self, ask::acquire asked,
                                                        standing mine, time_point give_up);
    static reply conclude(core_ptr self, ask::acquire asked, standing mine, seen_queue seen,
                          time_point give_up);
    static reply turn(core_ptr self, ask::acquire asked, standing mine, time_point give_up);
    static reply withdraw(core_ptr self, ask::acquire asked, time_point give_up);
    /// Writes the entry again, on a lease of `ttl_s`. The standing as it is then; nothing if it
    /// was gone.
    static later<std::optional<standing>> rewrite(core_ptr self, lock_name name, standing mine,
                                                  std::int64_t ttl_s, time_point give_up);

    /// Renews the lease of one that holds the name, and asks whether its entry is as it was
    /// written. Nothing: it is not.
    static later<std::optional<standing>> keep(core_ptr self, standing mine, bool seen_now,
                                               time_point give_up);
    static later<std::optional<standing>> find_holder(core_ptr self, lock_name name,
                                                      owner_token owner, time_point give_up);
    static reply lost(core_ptr self, lock_name name, owner_token owner, time_point give_up);
    static later<bool> end(core_ptr self, lock_name name, owner_token owner, fencing_token only,
                           time_point give_up);
    void retire(const standing& gone);

    void watch_turn(const place& at, const seen_queue& seen, const ordered::queue_entry& mine);
    void hear(const place& at, const watch_event& event);
    static pending<bool> check_turn(core_ptr self, place at);
    void tell(const handed_off& push);

    [[nodiscard]] ordered::remaining_time remaining_of(const std::vector<std::int64_t>& leases,
                                                       time_point give_up);

    [[nodiscard]] time_point now() const { return client_->time().now(); }

    const std::shared_ptr<etcd_client> client_;
    const ordered::name_keys keys_;
    lease_pool pool_;
    standing_book book_;

    mutable std::mutex mutex_;
    lease_store::push_handler push_;
    client_label who_;
};

}  // namespace holdfast::etcd
