// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/connection_pool.hpp"
#include "lease/tables/lease_table.hpp"
#include "lease/tables/name_memory.hpp"
#include "lease/tables/sql_database.hpp"
#include "lease/tables/submit_thread.hpp"
#include "lease/tables/wake_hub.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

/// Leases in the tables of a database.
///
/// A request about a name that nobody else wants is one statement by itself; everything else is one
/// transaction that loads the name, decides, and writes back (quick_request.hpp, lease_table.hpp,
/// name_book.hpp). A batch is one transaction, which takes the names in their order, so that two
/// batches do not wait for each other. A release hands the name to the next in the queue, and tells
/// it: in this process at once, in another by the database if that carries notes; otherwise it
/// finds out at its next look.
///
/// A request uses one of the pool's connections: one for SQLite, which lets one write at a time
/// anyway. `submit` has a thread, made when first needed, because a database that somebody else has
/// locked keeps its caller waiting. In a child of fork() every request is refused.
namespace holdfast::sql {

class sql_lease_store final : public lease_store {
public:
    sql_lease_store(std::unique_ptr<database> of, clock& time);
    /// On a database of this one connection.
    sql_lease_store(std::unique_ptr<connection> to, clock& time);
    sql_lease_store(const sql_lease_store&) = delete;
    sql_lease_store& operator=(const sql_lease_store&) = delete;
    /// Carries out what was submitted, in the time that each was given.
    ~sql_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    [[nodiscard]] result<wall_time> time_of_day(time_point give_up) override;
    void introduce(const client_id& id, const client_label& who) override;
    [[nodiscard]] result<void> resize(const lock_name& name, std::uint32_t permits,
                                      time_point give_up) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up) override;
    [[nodiscard]] result<lease_reply> adopt(const lease_adoption& asked,
                                            time_point give_up) override;
    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                              time_point give_up) override;
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                               time_point give_up) override;

    /// Looks at every name and deletes what is over. It is done a little at a time by the way.
    /// Errors: as any request.
    [[nodiscard]] result<void> sweep_all(time_point give_up);

private:
    struct introduction {
        std::string id;
        client_label who;
    };

    /// One request's use of the database: a connection that is ready, and whom to tell afterwards.
    struct visit {
        explicit visit(connection_pool::held with) : db(std::move(with)), table(*db) {}
        connection_pool::held db;
        lease_table table;
        std::vector<note> notes;
    };

    [[nodiscard]] result<visit> enter(time_point give_up);
    [[nodiscard]] result<lease_reply> serve(visit& at, const lease_request& request,
                                            time_point give_up);
    /// Nothing: the full way is needed.
    [[nodiscard]] result<std::optional<lease_reply>> serve_quickly(visit& at,
                                                                   const lease_request& request,
                                                                   name_memory::state seen);
    [[nodiscard]] result<lease_reply> serve_fully(visit& at, const lease_request& request);
    void serve_batch(visit& at, std::span<const lease_request> requests,
                     std::span<result<lease_reply>> replies, time_point give_up);
    [[nodiscard]] result<bool> batch_quickly(visit& at, std::span<const lease_request> requests,
                                             std::span<result<lease_reply>> replies);
    [[nodiscard]] result<void> batch_fully(visit& at, std::span<const lease_request> requests,
                                           std::span<result<lease_reply>> replies);
    [[nodiscard]] result<void> hear_if_waiting(std::span<const lease_request> requests,
                                               time_point give_up);
    /// What is remembered of the name, where that saves something.
    [[nodiscard]] name_memory::state seen_at(const visit& at, const lease_request& request);
    /// What `act` answers, once it is committed. Again, if it lost a conflict.
    template <class T>
    [[nodiscard]] result<T> transact(visit& at, const std::function<result<T>()>& act);
    [[nodiscard]] result<void> send_notes(visit& at, std::size_t from);
    /// Loads a name, lets `decide` change its book, and writes it back.
    [[nodiscard]] result<lease_reply> change(
        visit& at, std::string_view name,
        const std::function<result<lease_reply>(name_book&)>& decide,
        lease_table::free_gate then = lease_table::free_gate::stays);
    /// The same in a transaction of its own; those who were handed the name are told.
    [[nodiscard]] result<void> change_now(const lock_name& name, time_point give_up,
                                          const std::function<void(name_book&)>& decide);
    [[nodiscard]] hearing hears(connection& by, const listener_id& id);
    [[nodiscard]] wake_reach reach() const noexcept;
    void write_introduction(visit& at);
    void keep_note(visit& at, const lease_request& request, const result<lease_reply>& answer);
    void sweep_some(visit& at);
    [[nodiscard]] result<bool> sweep_next(visit& at, std::int64_t most, std::int64_t kept);
    [[nodiscard]] result<void> settle_names(visit& at, const std::vector<std::string>& names);

    clock& clock_;
    std::unique_ptr<database> database_;
    listener listener_;
    connection_pool pool_;
    const unsigned generation_;
    name_memory names_;

    std::mutex introduction_mutex_;
    std::optional<introduction> introduction_;
    time_point introduced_ = time_point::min();

    std::mutex sweep_mutex_;  // whoever has it sweeps
    time_point swept_ = time_point::min();
    std::string sweep_after_;

    submit_thread lane_;  // the last, because it uses the others until its end
};

}  // namespace holdfast::sql
