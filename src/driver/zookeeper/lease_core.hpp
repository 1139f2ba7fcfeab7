// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/entry_names.hpp"
#include "driver/zookeeper/standing_book.hpp"
#include "driver/zookeeper/zookeeper_client.hpp"
#include "lease/ordered/queue_order.hpp"
#include "lease/ordered/queue_report.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The lease requests on ZooKeeper, as sequences of requests.
///
/// Who holds what is decided by ordered::queue_order, from a list of the name's nodes. The list may
/// be old, since any server answers a read. That does no harm: nobody comes in before an entry, so
/// an old list shows too many before it, never too few.
///
/// Whether the session still lives is another matter. A server that is cut off from the others goes
/// on answering reads for a while, when the leader has long expired the session. So each renewal
/// and each poll of a waiter sends `sync` with its read: the leader answers that, or nobody.
///
/// Each function keeps the core alive until it has ended (`self`).
namespace holdfast::zookeeper {

class lease_core : public std::enable_shared_from_this<lease_core> {
public:
    using reply = pending<result<lease_reply>>;
    using core_ptr = std::shared_ptr<lease_core>;

    /// Call start() before anything else.
    lease_core(zookeeper_options options, clock& time);
    void start();

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

    /// Ends the sessions, and with them all that this store put there. If it has holders, only
    /// those that wait go now: the holders may rely on their leases, so the sessions stay until
    /// these end.
    void close();

private:
    using place = standing_book::place;
    using session_ptr = zookeeper_client::session_ptr;
    template <class T>
    using later = pending<result<T>>;

    /// Nodes of an owner that are to be removed although the request to do so failed.
    struct orphan {
        session_ptr on;
        place at;
    };

    [[nodiscard]] error problem(const answered& said) const;
    [[nodiscard]] error read_problem(const answered& said) const;

    // Queues and nodes.
    [[nodiscard]] std::string path_of(const lock_name& name, std::string_view key) const;
    static later<ordered::queue_order> read_queue(core_ptr self, session_ptr on, lock_name name,
                                                  time_point give_up, std::uintptr_t watch = 0);
    static later<bool> make_directory(core_ptr self, session_ptr on, std::string path,
                                      time_point give_up);
    static later<ordered::queue_entry> with_data(core_ptr self, session_ptr on, lock_name name,
                                                 ordered::queue_entry entry, time_point give_up,
                                                 std::int64_t* session = nullptr);
    [[nodiscard]] ordered::queue_entry new_entry(const ask::acquire& asked) const;

    // Acquiring.
    static reply join(core_ptr self, ask::acquire asked, time_point give_up);
    static later<std::optional<lease_reply>> join_once(core_ptr self, ask::acquire asked,
                                                       session_ptr on, time_point give_up);
    static later<std::optional<standing>> find_lost(core_ptr self, ask::acquire asked,
                                                    session_ptr on, time_point give_up);
    static later<std::optional<lease_reply>> look_again(core_ptr self, ask::acquire asked,
                                                        standing mine, time_point give_up);
    static reply conclude(core_ptr self, ask::acquire asked, standing mine,
                          ordered::queue_order queue, time_point since, time_point give_up);
    static reply turn(core_ptr self, ask::acquire asked, standing mine, time_point since,
                      time_point give_up);
    static reply withdraw(core_ptr self, ask::acquire asked, error why, time_point give_up);

    // Moving: the same place in the queue, in another mode, for another owner, on another session.
    static later<std::optional<standing>> move(core_ptr self, lock_name name, standing mine,
                                               ordered::queue_entry changed, session_ptr to,
                                               time_point give_up);
    void suspect(const lock_name& name, const standing& mine, const ordered::queue_entry& changed,
                 const session_ptr& to);
    /// Moves to a session that keeps leases of `ttl`, if it is not on one.
    static later<std::optional<standing>> lengthen(core_ptr self, lock_name name, standing mine,
                                                   duration ttl, time_point give_up);

    // Holding.
    static later<std::optional<standing>> find_holder(core_ptr self, lock_name name,
                                                      owner_token owner, duration ttl,
                                                      time_point give_up);
    static later<bool> is_there(core_ptr self, lock_name name, standing mine, time_point give_up);
    static later<bool> write_entry(core_ptr self, lock_name name, standing mine,
                                   time_point give_up);
    static reply lost(core_ptr self, lock_name name, owner_token owner, time_point give_up);
    static later<bool> end(core_ptr self, lock_name name, owner_token owner, fencing_token only,
                           time_point give_up);
    [[nodiscard]] static duration granted_for(const standing& mine);

    // Turns.
    static pending<bool> watch_turn(core_ptr self, place at, standing mine,
                                    ordered::queue_order queue);
    static pending<bool> check_turn(core_ptr self, place at);
    static pending<bool> check_permits(core_ptr self, std::string name, session_ptr on);
    void decide_turn(const place& at, const ordered::queue_order& queue, time_point since);
    void tell(const lease_push& push);

    // Upkeep.
    time_point upkeep(time_point now);
    void hear(const session_ptr& from, session_event event);
    static pending<bool> sweep(core_ptr self, orphan one);
    void sweep_later(orphan one);
    void forget(const place& at, const standing& gone);
    void put(const place& at, standing what);
    void stop();

    [[nodiscard]] ordered::remaining_time remaining() const;
    [[nodiscard]] ordered::queue_entry complete(const std::string& name, ordered::queue_entry entry,
                                                const answered& said) const;
    [[nodiscard]] time_point now() const { return client_.time().now(); }

    zookeeper_client client_;
    const entry_names names_;
    standing_book book_;

    mutable std::mutex mutex_;
    lease_store::push_handler push_;
    client_label who_;
    std::set<std::string> watched_permits_;  ///< The names whose nodes are watched for permits.
    std::vector<orphan> orphans_;
    time_point orphans_due_ = time_point::max();
    time_point reasons_end_ = time_point::min();  ///< Reasons of evictions are kept until then.
};

}  // namespace holdfast::zookeeper
