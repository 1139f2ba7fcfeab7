// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::postgresql {
namespace {

struct meaning {
    std::string_view state;  // or how it begins
    errc code;
    std::string_view sentence;
};

constexpr std::array meanings{
    meaning{"28", errc::denied, "the server refuses this user, or the password is wrong"},
    meaning{"3D000", errc::invalid_argument,
            "the server has no such database: create it, or name another in the URL"},
    meaning{"3F000", errc::invalid_argument,
            "the database has no such schema: create it, or name another by schema="},
    meaning{"53300", errc::unavailable,
            "the server has too many connections: raise its max_connections, or lower connections= "
            "in the URL"},
    meaning{"25006", errc::unavailable,
            "this server can only be read: connect to the primary, not to a replica, or end "
            "default_transaction_read_only"},
    meaning{"42501", errc::denied,
            "this user may not use the tables: grant SELECT, INSERT, UPDATE and DELETE on them"},
    meaning{"42P01", errc::unavailable,
            "the tables are gone; they are looked for again by the next request"},
    meaning{"42703", errc::corrupt,
            "the tables are not as this version makes them: another program changed them"},
    meaning{"26000", errc::unsupported,
            "a pooler that changes the server connection between statements stands before the "
            "server (PgBouncer: pool_mode=transaction): connect to the server itself"},
    meaning{"57014", errc::unavailable,
            "the statement took longer than statement_timeout, perhaps behind another client's "
            "transaction; nothing was done"},
    meaning{"55P03", errc::unavailable,
            "another client's transaction kept a row locked; nothing was done"},
    meaning{"40", errc::unavailable,
            "the transaction lost a conflict with others again and again; nothing was done"},
    meaning{"57P03", errc::unavailable, "the server is starting up or shutting down"},
    meaning{"57P", errc::unavailable, "the server or an administrator ended the connection"},
    meaning{"25P03", errc::unavailable,
            "the server ended a transaction that stood still; nothing was done"},
    meaning{"53100", errc::unavailable, "the server's disk is full; nothing was done"},
    meaning{"53", errc::unavailable, "the server is short of something; nothing was done"},
    meaning{"22021", errc::invalid_argument,
            "the database's encoding has no such character: make the database with UTF8"},
    meaning{"22P05", errc::invalid_argument,
            "the database's encoding has no such character: make the database with UTF8"},
};

const meaning* meaning_of(std::string_view state) {
    if (state.empty()) return nullptr;
    const auto found = std::ranges::find_if(
        meanings, [&](const meaning& one) { return state.starts_with(one.state); });
    return found == meanings.end() ? nullptr : &*found;
}

// "FATAL:  28P01: password authentication failed" holds a state; libpq's own words do not.
std::string_view state_in(std::string_view words) {
    constexpr std::size_t size = 5;
    for (std::size_t at = words.find(":  "); at != std::string_view::npos;
         at = words.find(":  ", at + 1)) {
        const std::string_view rest = words.substr(at + 3);
        if (rest.size() <= size || rest[size] != ':') continue;
        const std::string_view state = rest.substr(0, size);
        const bool fits = std::ranges::all_of(
            state, [](unsigned char c) { return std::isdigit(c) != 0 || std::isupper(c) != 0; });
        if (fits) return state;
    }
    return {};
}

// What libpq says by itself when it cannot connect.
std::string_view own_reason(std::string_view words) {
    const auto says = [&](std::string_view part) {
        return words.find(part) != std::string_view::npos;
    };
    if (says("does not support SSL")) {
        return "the server does not speak TLS, which is on by default: give it a certificate, or "
               "write sslmode=disable in the URL";
    }
    if (says("certificate") || says("SSL error")) {
        return "the server's certificate cannot be verified: name its authority by ca_file=, and "
               "the server as its certificate does";
    }
    if (says("could not translate host name")) return "there is no such host";
    if (says("no password supplied")) {
        return "the server wants a password: give password_file= or password_env=, or set "
               "PGPASSWORD";
    }
    return {};
}

error said(errc code, std::string_view label, std::string_view sentence, const complaint& from) {
    return {code, fmt::format("{}: {} (PostgreSQL{}{}: {})", label, sentence,
                              from.state.empty() ? "" : " ", from.state, one_line(from.words))};
}

}  // namespace

std::string one_line(std::string_view words) {
    std::string line;
    for (const std::size_t cut : {words.find("\nLOCATION:"), words.find("\nCONTEXT:")}) {
        words = words.substr(0, std::min(cut, words.size()));
    }
    for (const char c : words) {
        const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (space && (line.empty() || line.back() == ' ')) continue;
        line += space ? ' ' : c;
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

bool is_conflict(std::string_view state) {
    return state == "40001" || state == "40P01";
}

error refused(const complaint& from, std::string_view label) {
    const meaning* const known = meaning_of(from.state);
    if (known != nullptr) return said(known->code, label, known->sentence, from);
    return said(errc::unavailable, label, "the server refused a statement; nothing was done", from);
}

error cannot_connect(std::string_view words, std::string_view label) {
    const complaint from{std::string(state_in(words)), std::string(words)};
    if (const meaning* const known = meaning_of(from.state)) {
        return said(known->code, label, known->sentence, {{}, from.words});
    }
    const std::string_view own = own_reason(words);
    if (own.starts_with("the server wants")) return said(errc::denied, label, own, from);
    if (!own.empty()) return said(errc::unavailable, label, own, from);
    return said(errc::unavailable, label, "the server cannot be reached", from);
}

error cannot_create(const complaint& from, std::string_view label) {
    if (from.state == "42501") {
        return said(errc::denied, label,
                    "the tables are not there and this user may not create them: let an "
                    "administrator run what `holdfast schema --engine postgresql` prints",
                    from);
    }
    return refused(from, label);
}

}  // namespace holdfast::postgresql
