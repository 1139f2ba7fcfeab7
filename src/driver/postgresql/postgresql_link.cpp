// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace holdfast::postgresql {
namespace {

constexpr const char* system_certificates = "/etc/ssl/certs/ca-certificates.crt";

std::int64_t in_ms(duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

bool is_socket(const std::string& host) {
    return host.starts_with('/');
}

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string identifier(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) {
        if (c == '"') text += '"';
        text += c;
    }
    return text + '"';
}

/// The words of a connection, as libpq takes them. The texts outlive it.
class connection_words {
public:
    void add(const char* word, const std::string& text) {
        if (text.empty()) return;
        words_.push_back(word);
        texts_.push_back(text.c_str());
    }
    [[nodiscard]] PGconn* start() {
        words_.push_back(nullptr);
        texts_.push_back(nullptr);
        return ::PQconnectStartParams(words_.data(), texts_.data(), 0);
    }

private:
    std::vector<const char*> words_;
    std::vector<const char*> texts_;
};

PGconn* start_connection(const postgresql_options& o, const server_address& at) {
    const bool local = is_socket(at.host) || is_this_machine(at.host);
    const std::string mode = !o.sslmode.empty() ? o.sslmode : (local ? "disable" : "verify-full");
    std::error_code ignored;
    const std::string ca =
        !o.ca_file.empty() || !std::filesystem::exists(system_certificates, ignored)
            ? o.ca_file
            : system_certificates;
    const std::string port = std::to_string(at.port);
    connection_words words;
    words.add("host", at.host);
    words.add("port", port);
    words.add("dbname", o.database);
    words.add("user", o.user);
    words.add("password", o.password);
    words.add("sslmode", mode);
    if (mode.starts_with("verify")) words.add("sslrootcert", ca);
    words.add("sslcert", o.certificate_file);
    words.add("sslkey", o.key_file);
    const std::string minimum = "TLSv1.2";
    words.add("ssl_min_protocol_version", minimum);
    const std::string none = "disable";
    words.add("gssencmode", none);
    const std::string name = "holdfast";
    words.add("application_name", name);
    const std::string encoding = "UTF8";
    words.add("client_encoding", encoding);
    return words.start();
}

}  // namespace

std::string label_of(const postgresql_options& o) {
    std::vector<std::string> hosts;
    for (const server_address& at : o.servers)
        hosts.push_back(fmt::format("{}:{}", at.host, at.port));
    return fmt::format("postgresql://{}/{}", fmt::join(hosts, ","), o.database);
}

void free_result::operator()(pg_result* one) const noexcept {
    ::PQclear(one);
}

void postgresql_link::closer::operator()(pg_conn* db) const noexcept {
    ::PQfinish(db);
}

complaint complaint_of(const pg_result* one) {
    const char* const state = ::PQresultErrorField(one, PG_DIAG_SQLSTATE);
    const char* const words = ::PQresultErrorField(one, PG_DIAG_MESSAGE_PRIMARY);
    return {state != nullptr ? state : "", words != nullptr ? words : ::PQresultErrorMessage(one)};
}

postgresql_link::postgresql_link(const postgresql_options& options)
    : options_(options), label_(label_of(options)) {}

int postgresql_link::socket() const noexcept {
    return ::PQsocket(db_.get());
}

bool postgresql_link::wait(short events, time_point deadline) const {
    pollfd both[2]{{.fd = socket(), .events = events, .revents = 0},
                   {.fd = closing_, .events = POLLIN, .revents = 0}};
    while (true) {
        const duration left = deadline - system_clock().now();
        if (left <= duration::zero()) return false;
        const auto ms = std::min<std::int64_t>(in_ms(left), 60'000);
        if (::poll(both, 2, static_cast<int>(ms)) <= 0) continue;
        if (both[0].revents != 0) return true;
        if (both[1].revents != 0) return false;
    }
}

bool postgresql_link::is_quiet() const {
    pollfd one{.fd = socket(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 0) == 0 && ::PQstatus(db_.get()) == CONNECTION_OK;
}

result<void> postgresql_link::open(time_point deadline) {
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

result<void> postgresql_link::open_one(const server_address& at, time_point deadline) {
    db_.reset(start_connection(options_, at));
    if (db_ == nullptr) return fail(errc::unavailable, fmt::format("{}: out of memory", label_));
    ::PQsetErrorVerbosity(db_.get(), PQERRORS_VERBOSE);
    ::PQsetNoticeProcessor(db_.get(), [](void*, const char*) {}, nullptr);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (::PQstatus(db_.get()) != CONNECTION_BAD && next != PGRES_POLLING_OK &&
           next != PGRES_POLLING_FAILED) {
        if (!wait(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) {
            return fail(errc::unavailable,
                        fmt::format("{}: the server did not answer in time", label_));
        }
        next = ::PQconnectPoll(db_.get());
    }
    if (::PQstatus(db_.get()) == CONNECTION_OK) {
        ::PQsetnonblocking(db_.get(), 1);
        return {};
    }
    return std::unexpected(cannot_connect(::PQerrorMessage(db_.get()), label_));
}

// A server process that lost its client notices it, where it can (14 and later): or it would wait
// for a row, and then change it, long after we have given up.
result<void> postgresql_link::set_up(time_point deadline) {
    std::string text = fmt::format(
        "SET default_transaction_isolation = 'read committed'; SET statement_timeout = {}; "
        "SET idle_in_transaction_session_timeout = {}; SET lock_timeout = 0; ",
        in_ms(options_.statement_timeout), in_ms(options_.idle_in_transaction_timeout));
    if (::PQserverVersion(db_.get()) >= 140000) {
        text += "SET client_connection_check_interval = 2000; SET idle_session_timeout = 0; ";
    }
    if (!options_.schema.empty()) {
        text += fmt::format("SET search_path = {}; ", identifier(options_.schema));
    }
    text += "SELECT pg_backend_pid(), current_setting('transaction_read_only')";
    const auto said = ask(text, deadline);
    if (!said) return std::unexpected(refused(said.error(), label_));
    if (std::atoi(::PQgetvalue(said->get(), 0, 0)) != ::PQbackendPID(db_.get()) &&
        !options_.pooler_keeps_session) {
        return fail(errc::unsupported,
                    fmt::format("{}: a pooler stands before the server, and may change the server "
                                "connection between statements: connect to the server itself, or "
                                "write pooler=session if it does not (PgBouncer: "
                                "pool_mode=session)",
                                label_));
    }
    const bool only_read = std::string_view(::PQgetvalue(said->get(), 0, 1)) == "on";
    if (only_read && options_.servers.size() > 1) {
        return std::unexpected(refused({"25006", "transaction_read_only is on"}, label_));
    }
    return {};
}

complaint postgresql_link::lost(std::string_view why) {
    const complaint said{{}, std::string(why)};
    close();
    return said;
}

std::expected<answer_set, complaint> postgresql_link::next(time_point deadline) {
    while (true) {
        const int unsent = ::PQflush(db_.get());
        if (unsent < 0) return std::unexpected(lost(::PQerrorMessage(db_.get())));
        if (unsent == 0 && ::PQisBusy(db_.get()) == 0) break;
        if (!wait(static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)), deadline)) {
            return std::unexpected(lost("no answer came in time"));
        }
        if (::PQconsumeInput(db_.get()) == 0) {
            return std::unexpected(lost(::PQerrorMessage(db_.get())));
        }
    }
    answer_set one(::PQgetResult(db_.get()));
    if (::PQstatus(db_.get()) == CONNECTION_BAD) {
        complaint said =
            one != nullptr ? complaint_of(one.get()) : complaint{{}, ::PQerrorMessage(db_.get())};
        one.reset();
        close();
        return std::unexpected(std::move(said));
    }
    return one;
}

std::expected<answer_set, complaint> postgresql_link::ask(const std::string& text,
                                                          time_point deadline) {
    if (::PQsendQuery(db_.get(), text.c_str()) == 0) {
        return std::unexpected(lost(::PQerrorMessage(db_.get())));
    }
    answer_set last;
    std::optional<complaint> failed;
    while (true) {
        auto one = next(deadline);
        if (!one) return one;
        if (*one == nullptr) break;
        if (::PQresultStatus(one->get()) == PGRES_FATAL_ERROR) failed = complaint_of(one->get());
        last = std::move(*one);
    }
    if (failed) return std::unexpected(std::move(*failed));
    return last;
}

}  // namespace holdfast::postgresql
