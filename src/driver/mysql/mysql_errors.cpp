// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast::mysql {
namespace {

struct meaning {
    unsigned number;
    errc code;
    std::string_view sentence;
};

constexpr std::string_view wrong_password =
    "the server refuses this user, or the password is wrong: give password_file= or password_env=";
constexpr std::string_view too_many =
    "the server has too many connections: raise its max_connections, or lower connections= in the "
    "URL";
constexpr std::string_view only_read =
    "this server can only be read: connect to the primary, not to a replica, or end read_only";
constexpr std::string_view no_rights =
    "this user may not use the tables: grant SELECT, INSERT, UPDATE and DELETE on them (if they "
    "are not there, `holdfast schema --engine mysql` prints what makes them)";
constexpr std::string_view too_slow =
    "the statement took longer than statement_timeout, perhaps behind another client's "
    "transaction; nothing was done";
constexpr std::string_view disk_full = "the server's disk is full; nothing was done";
constexpr std::string_view other_host =
    "the server does not let this machine in: create the user for this host, or end the block by "
    "FLUSH HOSTS";
constexpr std::string_view not_reached = "the server cannot be reached";

constexpr std::array meanings{
    meaning{1045, errc::denied, wrong_password},
    meaning{1698, errc::denied, wrong_password},
    meaning{1044, errc::denied, "this user may not use the database: grant it rights there"},
    meaning{1049, errc::invalid_argument,
            "the server has no such database: create it, or name another in the URL"},
    meaning{1040, errc::unavailable, too_many},
    meaning{1203, errc::unavailable, too_many},
    meaning{1226, errc::unavailable, too_many},
    meaning{1129, errc::denied, other_host},
    meaning{1130, errc::denied, other_host},
    meaning{1290, errc::unavailable, only_read},
    meaning{1792, errc::unavailable, only_read},
    meaning{1836, errc::unavailable, only_read},
    meaning{1142, errc::denied, no_rights},
    meaning{1143, errc::denied, no_rights},
    meaning{no_such_table, errc::unavailable,
            "the tables are gone; they are looked for again by the next request"},
    meaning{1054, errc::corrupt,
            "the tables are not as this version makes them: another program changed them"},
    meaning{1064, errc::unsupported,
            "the server does not know a statement of ours: it takes MariaDB 10.6 or MySQL 8.0"},
    meaning{1205, errc::unavailable,
            "another client's transaction kept a row locked; nothing was done"},
    meaning{1969, errc::unavailable, too_slow},
    meaning{3024, errc::unavailable, too_slow},
    meaning{1213, errc::unavailable,
            "the transaction lost a conflict with others again and again; nothing was done"},
    meaning{1053, errc::unavailable, "the server is shutting down"},
    meaning{1317, errc::unavailable, "an administrator ended the statement; nothing was done"},
    meaning{1927, errc::unavailable, "the server or an administrator ended the connection"},
    meaning{1665, errc::unsupported,
            "the server's binlog_format is STATEMENT, which READ COMMITTED does not work with: set "
            "it to ROW or MIXED"},
    meaning{1021, errc::unavailable, disk_full},
    meaning{1114, errc::unavailable, disk_full},
    meaning{1153, errc::unavailable, "max_allowed_packet is too small: raise it to 1 MB or more"},
    meaning{2002, errc::unavailable, not_reached},
    meaning{2003, errc::unavailable, not_reached},
    meaning{2005, errc::unavailable, "there is no such host"},
    meaning{2059, errc::unsupported,
            "the client library does not know how this user logs in: install its plugin, or create "
            "the user with another one"},
};

const meaning* meaning_of(unsigned number) {
    const auto* const found = std::ranges::find(meanings, number, &meaning::number);
    return found == meanings.end() ? nullptr : &*found;
}

error said(errc code, std::string_view label, std::string_view sentence, const complaint& from) {
    return {code, fmt::format("{}: {} (MySQL {}: {})", label, sentence, from.number, from.words)};
}

bool speaks_of(const complaint& from, std::string_view part) {
    return from.words.find(part) != std::string::npos;
}

}  // namespace

bool is_lost(unsigned number) {
    return number >= 2000 && number < 3000;
}

bool is_conflict(unsigned number) {
    return number == 1213 || number == 1020;
}

error refused(const complaint& from, std::string_view label) {
    if (const meaning* const known = meaning_of(from.number)) {
        return said(known->code, label, known->sentence, from);
    }
    return said(errc::unavailable, label, "the server refused a statement; nothing was done", from);
}

error cannot_connect(const complaint& from, std::string_view label) {
    constexpr unsigned tls_failed = 2026;
    if (from.number == tls_failed && speaks_of(from, "does not support")) {
        return said(errc::unavailable, label,
                    "the server does not speak TLS, which is on by default: give it a certificate, "
                    "or write sslmode=disable in the URL",
                    from);
    }
    if (from.number == tls_failed) {
        return said(errc::unavailable, label,
                    "the server's certificate cannot be verified: name its authority by ca_file=, "
                    "and the server as its certificate does",
                    from);
    }
    if (meaning_of(from.number) != nullptr) return refused(from, label);
    return said(errc::unavailable, label, not_reached, from);
}

error cannot_create(const complaint& from, std::string_view label) {
    if (from.number == 1142 || from.number == 1044) {
        return said(errc::denied, label,
                    "the tables are not there and this user may not create them: let an "
                    "administrator run what `holdfast schema --engine mysql` prints",
                    from);
    }
    return refused(from, label);
}

}  // namespace holdfast::mysql
