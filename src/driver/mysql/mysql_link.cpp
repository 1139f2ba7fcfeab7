// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mysql.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::mysql {
namespace {

constexpr const char* system_certificates = "/etc/ssl/certs/ca-certificates.crt";

// Those that never send the password as it is, so that a server that is not the right one does not
// learn it.
constexpr const char* safe_logins =
    "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password,auth_gssapi_client,"
    "unix_socket";

std::int64_t in_ms(duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

std::int64_t in_seconds(duration d) {
    return std::chrono::ceil<std::chrono::seconds>(d).count();
}

bool is_socket(const std::string& host) {
    return host.starts_with('/');
}

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

const char* or_null(const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
}

// Its initialization is not safe with several threads.
MYSQL* new_handle() {
    static std::once_flag once;
    std::call_once(once, [] { ::mysql_library_init(0, nullptr, nullptr); });
    return ::mysql_init(nullptr);
}

void set_tls(MYSQL* db, const mysql_options& o, const server_address& at) {
    const bool local = is_socket(at.host) || is_this_machine(at.host);
    const std::string mode = !o.sslmode.empty() ? o.sslmode : (local ? "disable" : "verify-full");
    const my_bool on = mode != "disable" ? 1 : 0;
    const my_bool verify = mode == "verify-full" ? 1 : 0;
    ::mysql_options(db, MYSQL_OPT_SSL_ENFORCE, &on);
    ::mysql_options(db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (on == 0) return;
    std::error_code ignored;
    const std::string ca =
        !o.ca_file.empty() || !std::filesystem::exists(system_certificates, ignored)
            ? o.ca_file
            : system_certificates;
    ::mysql_ssl_set(db, or_null(o.key_file), or_null(o.certificate_file),
                    verify != 0 ? or_null(ca) : nullptr, nullptr, nullptr);
    ::mysql_options(db, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
}

void set_options(MYSQL* db, const mysql_options& o, const server_address& at) {
    ::mysql_options(db, MYSQL_OPT_NONBLOCK, nullptr);
    ::mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    // A server must not be able to ask for our files.
    const unsigned no_files = 0;
    ::mysql_options(db, MYSQL_OPT_LOCAL_INFILE, &no_files);
    ::mysql_options(db, MARIADB_OPT_RESTRICTED_AUTH, safe_logins);
    ::mysql_options4(db, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
    set_tls(db, o, at);
}

}  // namespace

std::string label_of(const mysql_options& o) {
    std::vector<std::string> hosts;
    for (const server_address& at : o.servers) {
        hosts.push_back(is_socket(at.host) ? at.host : fmt::format("{}:{}", at.host, at.port));
    }
    return fmt::format("mysql://{}/{}", fmt::join(hosts, ","), o.database);
}

void mysql_link::closer::operator()(st_mysql* db) const noexcept {
    ::mysql_close(db);
}

void free_statement::operator()(st_mysql_stmt* one) const noexcept {
    ::mysql_stmt_close(one);
}

mysql_link::mysql_link(const mysql_options& options)
    : options_(options), label_(label_of(options)) {}

int mysql_link::socket() const noexcept {
    return static_cast<int>(::mysql_get_socket(db_.get()));
}

int mysql_link::wait(int wanted, time_point deadline) const {
    pollfd both[2]{{.fd = socket(), .events = 0, .revents = 0},
                   {.fd = closing_, .events = POLLIN, .revents = 0}};
    pollfd& one = both[0];
    if ((wanted & MYSQL_WAIT_READ) != 0) one.events |= POLLIN;
    if ((wanted & MYSQL_WAIT_WRITE) != 0) one.events |= POLLOUT;
    if ((wanted & MYSQL_WAIT_EXCEPT) != 0) one.events |= POLLPRI;
    while (true) {
        const duration left = deadline - system_clock().now();
        if (left <= duration::zero()) return MYSQL_WAIT_TIMEOUT;
        const auto ms = std::min<std::int64_t>(in_ms(left), 60'000);
        if (::poll(both, 2, static_cast<int>(ms)) <= 0) continue;
        int got = 0;
        if ((one.revents & (POLLIN | POLLHUP | POLLERR)) != 0) got |= wanted & MYSQL_WAIT_READ;
        if ((one.revents & (POLLOUT | POLLHUP | POLLERR)) != 0) got |= wanted & MYSQL_WAIT_WRITE;
        if ((one.revents & POLLPRI) != 0) got |= wanted & MYSQL_WAIT_EXCEPT;
        if (got != 0) return got;
        if (both[1].revents != 0) return MYSQL_WAIT_TIMEOUT;
    }
}

bool mysql_link::is_quiet() const {
    pollfd one{.fd = socket(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 0) == 0;
}

complaint mysql_link::trouble() {
    complaint said{::mysql_errno(db_.get()), ::mysql_error(db_.get())};
    if (is_lost(said.number)) close();
    return said;
}

complaint mysql_link::trouble_of(st_mysql_stmt* what) {
    complaint said{::mysql_stmt_errno(what), ::mysql_stmt_error(what)};
    if (is_lost(said.number)) close();
    return said;
}

result<void> mysql_link::open(time_point deadline) {
    result<void> opened = fail(errc::invalid_argument, fmt::format("{}: names no server", label_));
    std::size_t left = options_.servers.size();
    for (const server_address& at : options_.servers) {
        const time_point now = system_clock().now();
        const duration share = (deadline - now) / static_cast<std::int64_t>(left--);
        opened = open_one(at, now + std::min(share, options_.connect_timeout));
        if (opened) opened = set_up(deadline);
        if (opened) return opened;
        close();
    }
    return opened;
}

result<void> mysql_link::open_one(const server_address& at, time_point deadline) {
    db_.reset(new_handle());
    if (db_ == nullptr) return fail(errc::unavailable, fmt::format("{}: out of memory", label_));
    set_options(db_.get(), options_, at);
    const bool local = is_socket(at.host);
    MYSQL* made = nullptr;
    int wanted = ::mysql_real_connect_start(
        &made, db_.get(), local ? nullptr : at.host.c_str(), or_null(options_.user),
        or_null(options_.password), options_.database.c_str(), at.port,
        local ? at.host.c_str() : nullptr, CLIENT_MULTI_STATEMENTS);
    while (wanted != 0) {
        const int got = wait(wanted, deadline);
        wanted = ::mysql_real_connect_cont(&made, db_.get(), got);
        if (got == MYSQL_WAIT_TIMEOUT) {
            return fail(errc::unavailable,
                        fmt::format("{}: the server did not answer in time", label_));
        }
    }
    if (made != nullptr) return {};
    return std::unexpected(
        cannot_connect({::mysql_errno(db_.get()), ::mysql_error(db_.get())}, label_));
}

// MySQL ends no statement that writes, and no transaction that stands still. There a row is waited
// for only so long, and a connection that says nothing for half a minute is ended.
result<void> mysql_link::set_up(time_point deadline) {
    std::string text = fmt::format(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; "
        "SET SESSION autocommit = 1, time_zone = '+00:00', "
        "sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = {}; ",
        std::max<std::int64_t>(in_seconds(options_.statement_timeout), 1));
    if (::mariadb_connection(db_.get()) != 0) {
        text +=
            fmt::format("SET SESSION max_statement_time = {:.3f}, idle_transaction_timeout = {}; ",
                        static_cast<double>(in_ms(options_.statement_timeout)) / 1000,
                        in_seconds(options_.idle_in_transaction_timeout));
    } else {
        text += "SET SESSION wait_timeout = 30; ";
    }
    text += "SELECT @@global.read_only";
    bool only_read = false;
    const auto said = ask(
        text,
        [&](const statement_result& one) {
            if (one.rows == nullptr) return;
            const MYSQL_ROW row = ::mysql_fetch_row(one.rows);
            only_read = row != nullptr && row[0] != nullptr && std::atoi(row[0]) != 0;
        },
        deadline);
    if (!said) return std::unexpected(refused(said.error(), label_));
    if (only_read && options_.servers.size() > 1) {
        return std::unexpected(refused({1290, "read_only is on"}, label_));
    }
    return {};
}

std::expected<void, complaint> mysql_link::ask(const std::string& text, const result_reader& each,
                                               time_point deadline) {
    int failed = 0;
    int wanted = ::mysql_real_query_start(&failed, db_.get(), text.data(), text.size());
    while (wanted != 0) {
        wanted = ::mysql_real_query_cont(&failed, db_.get(), wait(wanted, deadline));
    }
    while (failed == 0) {
        if (auto read = read_one(each, deadline); !read) return read;
        if (::mysql_more_results(db_.get()) == 0) return {};
        wanted = ::mysql_next_result_start(&failed, db_.get());
        while (wanted != 0) {
            wanted = ::mysql_next_result_cont(&failed, db_.get(), wait(wanted, deadline));
        }
    }
    return std::unexpected(trouble());
}

std::expected<void, complaint> mysql_link::read_one(const result_reader& each,
                                                    time_point deadline) {
    MYSQL_RES* rows = nullptr;
    int wanted = ::mysql_store_result_start(&rows, db_.get());
    while (wanted != 0) {
        wanted = ::mysql_store_result_cont(&rows, db_.get(), wait(wanted, deadline));
    }
    if (rows == nullptr && ::mysql_errno(db_.get()) != 0) return std::unexpected(trouble());
    const std::unique_ptr<MYSQL_RES, decltype(&::mysql_free_result)> owned(rows,
                                                                           &::mysql_free_result);
    each({.rows = rows,
          .changed = static_cast<std::int64_t>(rows != nullptr ? ::mysql_num_rows(rows)
                                                               : ::mysql_affected_rows(db_.get())),
          .told = static_cast<std::int64_t>(::mysql_insert_id(db_.get()))});
    return {};
}

std::expected<prepared_statement, complaint> mysql_link::prepare(const std::string& text,
                                                                 time_point deadline) {
    prepared_statement made(::mysql_stmt_init(db_.get()));
    if (made == nullptr) return std::unexpected(trouble());
    int failed = 0;
    int wanted = ::mysql_stmt_prepare_start(&failed, made.get(), text.data(), text.size());
    while (wanted != 0) {
        wanted = ::mysql_stmt_prepare_cont(&failed, made.get(), wait(wanted, deadline));
    }
    if (failed == 0) return made;
    const complaint said{::mysql_stmt_errno(made.get()), ::mysql_stmt_error(made.get())};
    made.reset();
    if (is_lost(said.number)) close();
    return std::unexpected(said);
}

std::expected<statement_result, complaint> mysql_link::execute(st_mysql_stmt* what,
                                                               std::span<st_mysql_bind> values,
                                                               time_point deadline) {
    if (::mysql_stmt_bind_param(what, values.data()) != 0) {
        return std::unexpected(trouble_of(what));
    }
    int failed = 0;
    int wanted = ::mysql_stmt_execute_start(&failed, what);
    while (wanted != 0) {
        wanted = ::mysql_stmt_execute_cont(&failed, what, wait(wanted, deadline));
    }
    if (failed != 0) return std::unexpected(trouble_of(what));
    return statement_result{.changed = static_cast<std::int64_t>(::mysql_stmt_affected_rows(what)),
                            .told = static_cast<std::int64_t>(::mysql_stmt_insert_id(what))};
}

}  // namespace holdfast::mysql
