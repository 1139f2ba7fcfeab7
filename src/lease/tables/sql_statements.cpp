// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/sql_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace holdfast::sql {
namespace {

// Takes a free name, or renews for the owner that holds it, and tells the fence. Changes no row if
// someone else is here, or waits.
// ?1 name  ?2 owner  ?3 ttl  ?4 spare fences  ?5 process  ?6 listener
//
// The fence is above all that the row remembers, and not below the clock: so it is also above all
// that a deleted row remembered, because a row is deleted when the clock has passed those.
constexpr std::string_view take = R"(
INSERT INTO holdfast_names AS n
    (name, owner, fence, top, expires, since, process, listener, crowd)
VALUES (?1, ?2, {tell}({now}), {now} + ?4, {now} + ?3, {now}, ?5, ?6, 0)
ON CONFLICT (name) DO UPDATE SET
    fence = {tell}(CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.fence
                        WHEN n.top < excluded.since THEN excluded.since ELSE n.top + 1 END),
    top = CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.top
               WHEN n.top < excluded.since THEN excluded.since + ?4 ELSE n.top + 1 + ?4 END,
    since = CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.since
                 ELSE excluded.since END,
    expires = CASE WHEN n.expires > excluded.expires THEN n.expires ELSE excluded.expires END,
    owner = ?2, process = ?5, listener = ?6
WHERE n.crowd = 0 AND (n.expires <= excluded.since OR n.owner = ?2))";

// Makes the owner's lease run for ?3 from now, and never shortens it. Changes no row if it is not
// the owner's any more, or others are there.
constexpr std::string_view extend = R"(
UPDATE holdfast_names
SET expires = CASE WHEN expires > {began} + ?3 THEN expires ELSE {began} + ?3 END
WHERE name = ?1 AND owner = ?2 AND crowd = 0 AND expires > {began})";

// Ends the owner's lease, if nobody else is there and the row's fences are past.
constexpr std::string_view release_free = R"(
DELETE FROM holdfast_names
WHERE name = ?1 AND owner = ?2 AND crowd = 0 AND expires > {now} AND top < {now})";

// What a waiter wants to know, without writing: when something is due here, the largest fence, its
// own place, how many are ahead of it, how many of all before it are in other processes than ?3.
constexpr std::string_view look = R"(
SELECT {now}, n.expires, n.top, p.ticket, p.until, p.since,
    (SELECT count(*) FROM holdfast_parties q
     WHERE q.name = ?1 AND q.stand = 1 AND q.ticket < p.ticket),
    (SELECT count(*) FROM holdfast_parties q
     WHERE q.name = ?1 AND q.stand < 2 AND q.ticket < p.ticket AND q.process <> ?3)
FROM holdfast_names n JOIN holdfast_parties p ON p.name = n.name
WHERE n.name = ?1 AND p.owner = ?2 AND p.stand = 1)";

// The time, and the row of the name if there is one. First of a transaction that has begun.
constexpr std::string_view gate = R"(
SELECT {now}, n.owner, n.fence, n.top, n.expires, n.since, n.process, n.listener, n.crowd
FROM (SELECT 1) LEFT JOIN holdfast_names n ON n.name = ?1)";

constexpr std::string_view put_gate = R"(
INSERT INTO holdfast_names
    (name, owner, fence, top, expires, since, process, listener, crowd)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner, fence = excluded.fence, top = excluded.top,
    expires = excluded.expires, since = excluded.since, process = excluded.process,
    listener = excluded.listener, crowd = excluded.crowd)";

constexpr std::string_view drop_gate = "DELETE FROM holdfast_names WHERE name = ?1";

constexpr std::string_view parties = R"(
SELECT owner, stand, mode, permits, permit_limit, fence, until, since, ticket, claim, spare,
    process, listener, reason
FROM holdfast_parties WHERE name = ?1)";

constexpr std::string_view put_party = R"(
INSERT INTO holdfast_parties
    (name, owner, stand, mode, permits, permit_limit, fence, until, since, ticket, claim, spare,
     process, listener, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (name, owner) DO UPDATE SET
    stand = excluded.stand, mode = excluded.mode, permits = excluded.permits,
    permit_limit = excluded.permit_limit, fence = excluded.fence, until = excluded.until,
    since = excluded.since, ticket = excluded.ticket, claim = excluded.claim,
    spare = excluded.spare, process = excluded.process, listener = excluded.listener,
    reason = excluded.reason)";

constexpr std::string_view drop_party =
    "DELETE FROM holdfast_parties WHERE name = ?1 AND owner = ?2";

// From ?1 on and before ?2, in the order of names.
constexpr std::string_view list_gates = R"(
SELECT {now}, name, owner, fence, expires, since, crowd
FROM holdfast_names WHERE name >= ?1 AND name < ?2 ORDER BY name)";

constexpr std::string_view introduce = R"(
INSERT INTO holdfast_clients (id, host, pid, program, seen) VALUES (?1, ?2, ?3, ?4, {now})
ON CONFLICT (id) DO UPDATE SET seen = excluded.seen)";

constexpr std::string_view client = "SELECT host, pid, program FROM holdfast_clients WHERE id = ?1";

constexpr std::string_view now = "SELECT {now}";

// The next ?2 names after ?1, with what tells whether they are over.
constexpr std::string_view sweep = R"(
SELECT {now}, name, expires, crowd FROM holdfast_names WHERE name > ?1 ORDER BY name LIMIT ?2)";

constexpr std::string_view forget_clients = "DELETE FROM holdfast_clients WHERE seen < {now} - ?1";

// Kept for ?3 from now, and forgotten some time after.
constexpr std::string_view put_note = R"(
INSERT INTO holdfast_notes (owner, note, until) VALUES (?1, ?2, {now} + ?3)
ON CONFLICT (owner) DO UPDATE SET note = excluded.note, until = excluded.until)";

constexpr std::string_view drop_note = "DELETE FROM holdfast_notes WHERE owner = ?1";

constexpr std::string_view read_note = "SELECT note FROM holdfast_notes WHERE owner = ?1";

constexpr std::string_view forget_notes = "DELETE FROM holdfast_notes WHERE until < {now}";

// A key's image, when it expires (Unix ms, -1: never), and its version.
constexpr std::string_view load_key =
    "SELECT image, expires_ms, version FROM holdfast_keys WHERE name = ?1";

constexpr std::string_view all_keys = "SELECT name FROM holdfast_keys";

constexpr std::string_view put_key = R"(
INSERT INTO holdfast_keys (name, image, expires_ms, version) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name) DO UPDATE SET
    image = excluded.image, expires_ms = excluded.expires_ms, version = excluded.version)";

constexpr std::string_view drop_key = "DELETE FROM holdfast_keys WHERE name = ?1";

// At most ?2 of those that expired before ?1.
constexpr std::string_view sweep_keys = R"(
DELETE FROM holdfast_keys WHERE name IN
    (SELECT name FROM holdfast_keys WHERE expires_ms >= 0 AND expires_ms < ?1 LIMIT ?2))";

}  // namespace

std::vector<std::string> schema(const dialect& words) {
    const auto table = [&](std::string_view text) {
        return fmt::format(fmt::runtime(text), fmt::arg("name", words.name_type),
                           fmt::arg("by_key", words.by_key));
    };
    std::vector<std::string> tables{
        table(R"(
CREATE TABLE holdfast_names (
    name {name} NOT NULL PRIMARY KEY,
    owner {name} NOT NULL,
    fence BIGINT NOT NULL,
    top BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    since BIGINT NOT NULL,
    process BIGINT NOT NULL,
    listener BIGINT NOT NULL,
    crowd INTEGER NOT NULL){by_key})"),
        table(R"(
CREATE TABLE holdfast_parties (
    name {name} NOT NULL,
    owner {name} NOT NULL,
    stand INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    permits BIGINT NOT NULL,
    permit_limit BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    until BIGINT NOT NULL,
    since BIGINT NOT NULL,
    ticket BIGINT NOT NULL,
    claim BIGINT NOT NULL,
    spare BIGINT NOT NULL,
    process BIGINT NOT NULL,
    listener BIGINT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (name, owner)){by_key})"),
        table(R"(
CREATE TABLE holdfast_clients (
    id {name} NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    pid BIGINT NOT NULL,
    program TEXT NOT NULL,
    seen BIGINT NOT NULL){by_key})"),
        table(R"(
CREATE TABLE holdfast_notes (
    owner {name} NOT NULL PRIMARY KEY,
    note TEXT NOT NULL,
    until BIGINT NOT NULL){by_key})"),
    };
    if (words.commands == dialect::keys::none) return tables;
    tables.push_back(table(R"(
CREATE TABLE holdfast_keys (
    name BLOB NOT NULL PRIMARY KEY,
    image BLOB NOT NULL,
    expires_ms BIGINT NOT NULL,
    version BIGINT NOT NULL){by_key})"));
    tables.emplace_back("CREATE INDEX holdfast_keys_by_expiry ON holdfast_keys (expires_ms)");
    return tables;
}

// Leases are short: tables that nobody uses any more hold nothing worth keeping but the largest
// fence, which the clock has passed. So older ones are not converted.
std::string version_refusal(int found, std::string_view elsewhere) {
    if (found > schema_version) {
        return fmt::format(
            "its tables are of version {}, and this program knows version {}: update this program, "
            "or use {}",
            found, schema_version, elsewhere);
    }
    return fmt::format(
        "its tables are of version {}, and this program makes version {}: end all programs of the "
        "older version and drop the tables whose names begin with holdfast_, and they are made "
        "anew; or use {}",
        found, schema_version, elsewhere);
}

std::array<std::string, sentence_count> statements(const dialect& words) {
    std::array<std::string_view, sentence_count> texts{
        take,           "",        extend,    release_free, look,         gate,
        put_gate,       drop_gate, parties,   put_party,    drop_party,   "",
        list_gates,     introduce, client,    now,          sweep,        "",
        forget_clients, put_note,  drop_note, read_note,    forget_notes, load_key,
        all_keys,       put_key,   drop_key,  sweep_keys};
    if (words.commands == dialect::keys::none) {
        std::fill(texts.begin() + static_cast<int>(sentence::load_key), texts.end(), "");
    }
    for (const own_text& one : words.own) texts[static_cast<std::size_t>(one.what)] = one.text;
    std::array<std::string, sentence_count> done;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        done[i] = in_dialect(texts[i], words);
    }
    return done;
}

std::string in_dialect(std::string_view text, const dialect& words) {
    std::string done = fmt::format(fmt::runtime(text), fmt::arg("now", words.now),
                                   fmt::arg("began", words.began), fmt::arg("tell", words.tell));
    std::ranges::replace(done, '?', words.mark);
    return done;
}

std::vector<std::string> statements_and(const dialect& words,
                                        std::span<const std::string> further) {
    auto ours = statements(words);
    std::vector<std::string> all(std::make_move_iterator(ours.begin()),
                                 std::make_move_iterator(ours.end()));
    all.insert(all.end(), further.begin(), further.end());
    return all;
}

}  // namespace holdfast::sql
