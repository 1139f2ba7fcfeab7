// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_link.hpp"
#include "driver/mysql/statement_text.hpp"
#include "lease/tables/name_book.hpp"
#include "lease/tables/sql_connection.hpp"
#include "lease/tables/sql_statements.hpp"

#include <holdfast/clock.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

/// A connection to a MariaDB or MySQL server, made when first needed.
///
/// **Round trips.** A statement of the quick way is prepared once, and takes one trip. Everything
/// else travels as text, several statements in a trip: BEGIN goes with the first statement of a
/// transaction, what only writes goes with COMMIT. So a transaction that loads a name and writes it
/// back takes two trips. (statement_text.hpp says why no value can be taken for SQL.)
///
/// **Why the connections block.** A thread that has asked waits for the answer in poll(2), and the
/// pool has a connection for each thread that asks at the same time. What must not block its caller
/// goes to the store's own thread.
namespace holdfast::mysql {

class mysql_connection final : public sql::connection {
public:
    /// The options outlive it, and so do `further`: statements besides those of the leases.
    mysql_connection(const mysql_options& options, clock& time,
                     std::span<const statement_text> further = {});

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
    [[nodiscard]] const statement_text& words_of(sql::sentence what) const;
    [[nodiscard]] result<void> run_prepared(sql::call& one);
    /// What has to be sent before the next statement, and how many statements that is.
    [[nodiscard]] std::size_t take_unsent(std::string& out);
    void wake_listeners();
    [[nodiscard]] error closed() const;
    [[nodiscard]] error failed(const complaint& said, bool doubtful);

    const mysql_options& options_;
    clock& clock_;
    const std::span<const statement_text> further_;
    mysql_link link_;
    std::array<prepared_statement, sql::sentence_count> prepared_;
    time_point deadline_;  // by the machine's clock
    bool in_transaction_ = false;
    bool begun_ = false;            // BEGIN was sent
    std::string unsent_;            // each statement with a ';' behind it
    std::size_t unsent_count_ = 0;  // how many statements that is
    std::vector<sql::listener_id> to_wake_;
    bool lost_conflict_ = false;
    std::int64_t told_ = 0;
};

}  // namespace holdfast::mysql
