// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_listener.hpp"

#include "lease/tables/note_text.hpp"
#include "lease/tables/wake_hub.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mysql.h>

#include <utility>

namespace holdfast::mysql {
namespace {

using namespace std::chrono_literals;

// Shorter than what a server calls a slow statement (10 s), and often enough to notice that it is
// not there any more.
constexpr duration longest_sleep = 5s;
constexpr duration answer_timeout = 5s;

}  // namespace

std::string sleeping_statement(const sql::listener_id& whose) {
    return fmt::format("DO {}, {}, SLEEP(", whose.process, whose.number);
}

std::string waking_statements(const sql::listener_id& whose) {
    return fmt::format(
        "SET @holdfast_listener = (SELECT ID FROM information_schema.PROCESSLIST "
        "WHERE INFO LIKE '{}%' LIMIT 1);KILL QUERY @holdfast_listener",
        sleeping_statement(whose));
}

mysql_listener::mysql_listener(mysql_options options)
    : options_(std::move(options)), link_(options_) {}

result<void> mysql_listener::connect(const sql::listener_id& /*whose*/) {
    const time_point deadline = system_clock().now() + options_.connect_timeout;
    if (auto opened = link_.open(deadline); !opened) return opened;
    const auto said = link_.ask(
        fmt::format("/*M! SET SESSION max_statement_time = {} */",
                    std::chrono::ceil<std::chrono::seconds>(2 * longest_sleep).count()),
        [](const statement_result&) {}, deadline);
    if (said) return {};
    return std::unexpected(refused(said.error(), link_.label()));
}

bool mysql_listener::sleep_and_read(const sql::listener_id& whose, std::vector<std::string>& ids) {
    const std::string rows = fmt::format(
        "FROM holdfast_handoffs WHERE process = {} AND listener = {}", whose.process, whose.number);
    const std::string text =
        fmt::format("{}IF(EXISTS (SELECT 1 {}), 0, {}));SELECT id, note {} ORDER BY id",
                    sleeping_statement(whose), rows, longest_sleep / 1s, rows);
    const auto said = link_.ask(
        text,
        [&](const statement_result& one) {
            if (one.rows == nullptr) return;
            while (const MYSQL_ROW row = ::mysql_fetch_row(one.rows)) {
                ids.emplace_back(row[0]);
                if (const auto heard = sql::parse_note(whose.process, row[1])) {
                    sql::tell({&*heard, 1});
                }
            }
        },
        system_clock().now() + longest_sleep + answer_timeout);
    return said || said.error().number == was_interrupted;
}

bool mysql_listener::forget_read(std::vector<std::string>& ids) {
    const auto said = link_.ask(
        fmt::format("DELETE FROM holdfast_handoffs WHERE id IN ({})",
                    fmt::join(std::exchange(ids, {}), ",")),
        [](const statement_result&) {}, system_clock().now() + answer_timeout);
    return said || (link_.is_open() && is_conflict(said.error().number)) ||
           said.error().number == was_interrupted;
}

void mysql_listener::attend(const sql::listener_id& whose, int closing) {
    link_.give_up_by(closing);
    std::vector<std::string> ids;
    while (sleep_and_read(whose, ids)) {
        if (!ids.empty() && !forget_read(ids)) break;
    }
    link_.give_up_by(-1);
}

}  // namespace holdfast::mysql
