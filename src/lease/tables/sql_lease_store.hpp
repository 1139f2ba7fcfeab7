// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/bounded_turn.hpp"
#include "lease/tables/lease_table.hpp"
#include "lease/tables/sql_connection.hpp"
#include "lease/tables/submit_thread.hpp"
#include "lease/tables/wake_hub.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Leases in the tables of a database.
///
/// A request about a name that nobody else wants is one statement by itself; everything else is one
/// transaction that loads the name, decides, and writes back (lease_table.hpp, name_book.hpp). A
/// batch is one transaction. A release hands the name to the next in line; if that one waits in
/// this process it is told at once, otherwise it finds out at its next look.
///
/// One connection, used by one thread at a time: the database lets one write at a time anyway.
/// `submit` has a thread, made when first needed, because a database that somebody else has locked
/// keeps its caller waiting. In a child of fork() every request is refused.
namespace holdfast::sql {

class sql_lease_store final : public lease_store {
public:
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

    /// A turn at a database that is ready.
    [[nodiscard]] result<turn::held> enter(time_point give_up);
    [[nodiscard]] result<lease_reply> serve(const lease_request& request, bool in_transaction);
    [[nodiscard]] result<std::optional<lease_reply>> serve_quickly(const lease_request& request);
    [[nodiscard]] result<lease_reply> serve_fully(const lease_request& request);
    void serve_batch(std::span<const lease_request> requests,
                     std::span<result<lease_reply>> replies);
    /// What `act` answers, once it is committed.
    template <class T>
    [[nodiscard]] result<T> transact(const std::function<result<T>()>& act);
    /// Loads a name, lets `decide` change its book, and writes it back.
    [[nodiscard]] result<lease_reply> change(
        std::string_view name, const std::function<result<lease_reply>(name_book&)>& decide);
    /// The same in a transaction of its own; those who were handed the name are told.
    [[nodiscard]] result<void> change_now(const lock_name& name, time_point give_up,
                                          const std::function<void(name_book&)>& decide);
    [[nodiscard]] hearing hears(const listener_id& id);
    [[nodiscard]] std::vector<note> take_notes();
    void write_introduction();
    void keep_note(const lease_request& request, const result<lease_reply>& answer);
    [[nodiscard]] result<lease_reply> decide(const lease_request& request, bool in_transaction);
    void sweep_some();
    [[nodiscard]] result<bool> sweep_next(std::int64_t most);

    clock& clock_;
    std::unique_ptr<connection> db_;
    lease_table table_;
    listener listener_;
    turn turn_;
    const unsigned generation_;

    // By whose turn it is.
    std::vector<note> notes_;
    std::optional<introduction> introduction_;
    time_point introduced_ = time_point::min();
    time_point swept_ = time_point::min();
    std::string sweep_after_;

    submit_thread lane_;  // the last, because it uses the others until its end
};

}  // namespace holdfast::sql
