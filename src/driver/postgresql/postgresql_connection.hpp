// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_link.hpp"
#include "lease/tables/sql_connection.hpp"
#include "lease/tables/sql_statements.hpp"

#include <holdfast/clock.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

/// A connection to a PostgreSQL server: made when first needed, every statement prepared once.
///
/// **Round trips.** Statements travel in libpq's pipeline mode. BEGIN goes with the first statement
/// of a transaction, what only writes goes with COMMIT: so a transaction that loads a name and
/// writes it back takes two trips, and a statement by itself takes one.
///
/// **Why the connections block.** A thread that has asked waits for the answer in poll(2), and the
/// pool has a connection for each thread that asks at the same time. What must not block its caller
/// goes to the store's own thread. One event loop for all connections would save threads that we do
/// not have, and cost each request two changes of thread.
namespace holdfast::postgresql {

class postgresql_connection final : public sql::connection {
public:
    /// The options outlive it. `further` are run besides the statements of the leases
    /// (further_sentence()).
    postgresql_connection(const postgresql_options& options, clock& time,
                          std::span<const std::string> further = {});

    [[nodiscard]] bool is_remote() const noexcept override { return true; }
    [[nodiscard]] result<void> ready(time_point give_up) override;
    [[nodiscard]] result<void> begin() override;
    [[nodiscard]] result<void> commit() override;
    void roll_back() noexcept override;
    [[nodiscard]] result<std::int64_t> run(sql::sentence what, std::span<const sql::value> values,
                                           const sql::row_reader& reader) override;
    [[nodiscard]] result<void> run_all(std::span<sql::call> calls) override;
    [[nodiscard]] result<void> write(sql::sentence what,
                                     std::span<const sql::value> values) override;
    [[nodiscard]] bool lost_conflict() const noexcept override { return lost_conflict_; }
    [[nodiscard]] std::int64_t told() const noexcept override { return told_; }
    void announce(std::int64_t /*process*/) override {}
    [[nodiscard]] bool may_live(std::int64_t /*process*/) override { return true; }
    [[nodiscard]] result<wall_time> time_of_day() override;

private:
    /// Something that was sent and is not answered yet.
    struct sent {
        std::optional<sql::sentence> prepares = {};
        sql::call* asks = nullptr;
    };

    [[nodiscard]] result<void> plan_for_keys();
    [[nodiscard]] bool send(sql::sentence what, std::span<const sql::value> values,
                            sql::call* asks);
    [[nodiscard]] bool prepare(sql::sentence what, std::span<const sql::value> values);
    [[nodiscard]] bool send_plain(const char* text);
    [[nodiscard]] bool send_begin();
    /// Reads the answers to all that was sent. `doubtful`: if none comes, it may have been done.
    [[nodiscard]] result<void> collect(bool doubtful);
    [[nodiscard]] std::optional<complaint> read_answers();
    void read_rows(const pg_result* from, sql::call& into);
    [[nodiscard]] error closed() const;
    [[nodiscard]] error failed(const complaint& said, bool doubtful);

    const postgresql_options& options_;
    clock& clock_;
    postgresql_link link_;
    const std::vector<std::string> texts_;
    std::vector<bool> prepared_;
    std::vector<sent> sent_;
    time_point deadline_;  // by the machine's clock
    bool in_transaction_ = false;
    bool begun_ = false;  // BEGIN was sent
    bool lost_conflict_ = false;
    std::int64_t told_ = 0;
};

}  // namespace holdfast::postgresql
