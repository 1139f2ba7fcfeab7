// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_session.hpp"

#include <fmt/format.h>

#include <libpq-fe.h>

#include <iterator>
#include <utility>

namespace holdfast::postgresql {
namespace {

constexpr std::string_view lock_not_available = "55P03";

postgresql_options without_statement_timeout(postgresql_options options) {
    options.statement_timeout = duration::zero();  // 0 is none: what waits for a lock has its own
    return options;
}

}  // namespace

// The name's bytes in hexadecimal: nothing of it is read as SQL.
std::string advisory_key(std::string_view name) {
    const std::string whole = fmt::format("holdfast:{}", name);
    std::string bytes;
    for (const char c : whole) {
        fmt::format_to(std::back_inserter(bytes), "{:02x}", static_cast<unsigned char>(c));
    }
    return fmt::format("('x' || left(encode(sha256('\\x{}'::bytea), 'hex'), 16))::bit(64)::bigint",
                       bytes);
}

postgresql_session::postgresql_session(postgresql_options options)
    : options_(without_statement_timeout(std::move(options))), link_(options_) {}

result<void> postgresql_session::open(time_point deadline) {
    return link_.is_open() ? result<void>() : link_.open(deadline);
}

result<bool> postgresql_session::lock(std::string_view name, duration wait, time_point deadline) {
    const std::string key = advisory_key(name);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    const auto said =
        ms == 0
            ? link_.ask(fmt::format("SELECT pg_try_advisory_lock({})", key), deadline)
            : link_.ask(fmt::format("SET lock_timeout = {}; SELECT pg_advisory_lock({})", ms, key),
                        deadline);
    if (said) return ms > 0 || std::string_view(::PQgetvalue(said->get(), 0, 0)) == "t";
    if (said.error().state == lock_not_available) return false;
    link_.close();
    return std::unexpected(refused(said.error(), link_.label()));
}

result<void> postgresql_session::unlock(std::string_view name, time_point deadline) {
    const auto said =
        link_.ask(fmt::format("SELECT pg_advisory_unlock({})", advisory_key(name)), deadline);
    if (said) return {};
    link_.close();
    return std::unexpected(refused(said.error(), link_.label()));
}

result<void> postgresql_session::probe(time_point deadline) {
    const auto said = link_.ask("SELECT 1", deadline);
    if (said) return {};
    link_.close();
    return std::unexpected(refused(said.error(), link_.label()));
}

}  // namespace holdfast::postgresql
