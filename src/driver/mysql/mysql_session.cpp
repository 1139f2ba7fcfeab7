// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_session.hpp"

#include "driver/mysql/statement_text.hpp"

#include <fmt/format.h>

#include <mysql.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace holdfast::mysql {
namespace {

using namespace std::chrono_literals;

// A server that has not heard from us for so long drops our locks: the client may be gone without
// having said so. It hears from us every 15 s.
constexpr int silence_s = 60;

mysql_options with_time_to_wait(mysql_options options) {
    options.statement_timeout = 60s;  // what waits for a lock has a limit of its own
    return options;
}

}  // namespace

std::string user_lock_key(std::string_view name) {
    static const statement_text text("CONCAT('holdfast:', SHA1(CONCAT(DATABASE(), '/', ?1)))");
    const std::array<sql::value, 1> values{name};
    std::string out;
    text.append_to(out, values);
    return out;
}

mysql_session::mysql_session(mysql_options options)
    : options_(with_time_to_wait(std::move(options))), link_(options_) {}

result<void> mysql_session::open(time_point deadline) {
    if (link_.is_open()) return {};
    if (auto opened = link_.open(deadline); !opened) return opened;
    const auto nodes =
        ask(fmt::format("SET SESSION wait_timeout = {}; SELECT 0 /*M! + COALESCE((SELECT "
                        "VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                        "WHERE VARIABLE_NAME = 'WSREP_CLUSTER_SIZE'), 0) */",
                        silence_s),
            deadline);
    if (!nodes) return std::unexpected(nodes.error());
    if (std::atoi(nodes->value_or("0").c_str()) <= 1) return {};
    link_.close();
    return fail(errc::unsupported,
                fmt::format("{}: it is a node of a Galera cluster, whose nodes do not share the "
                            "locks of sessions: leave out mode=session",
                            link_.label()));
}

result<std::optional<std::string>> mysql_session::ask(const std::string& text,
                                                      time_point deadline) {
    std::optional<std::string> found;
    const auto said = link_.ask(
        text,
        [&](const statement_result& one) {
            if (one.rows == nullptr) return;
            const MYSQL_ROW row = ::mysql_fetch_row(one.rows);
            if (row != nullptr && row[0] != nullptr) found = row[0];
        },
        deadline);
    if (said) return found;
    link_.close();
    return std::unexpected(refused(said.error(), link_.label()));
}

result<bool> mysql_session::lock(std::string_view name, duration wait, time_point deadline) {
    const auto got = ask(fmt::format("SELECT GET_LOCK({}, {})", user_lock_key(name),
                                     std::chrono::ceil<std::chrono::seconds>(wait).count()),
                         deadline);
    if (!got) return std::unexpected(got.error());
    return *got == "1";
}

result<void> mysql_session::unlock(std::string_view name, time_point deadline) {
    const auto done = ask(fmt::format("SELECT RELEASE_LOCK({})", user_lock_key(name)), deadline);
    return done ? result<void>() : std::unexpected(done.error());
}

result<void> mysql_session::probe(time_point deadline) {
    const auto done = ask("SELECT 1", deadline);
    return done ? result<void>() : std::unexpected(done.error());
}

}  // namespace holdfast::mysql
