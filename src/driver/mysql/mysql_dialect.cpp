// SPDX-License-Identifier: Apache-2.0
//
// Several transactions run at a time here, so the statements lock what they decide on, as those
// for PostgreSQL do: the gate of a name is locked by whatever changes it, and the full way begins
// by locking it. Whoever has it may read and write the parties of that name; nobody else does.
//
// The clock is the server's time of day in UTC, whatever its time zone. A statement by itself reads
// it when it begins, before it waits for a lock, which is the safe side: a lease that is over seems
// not to be yet. The full way reads it when it has the lock.
//
// A gate stays when it is free, with the largest fence it has given, until it is swept; and
// holdfast_meta has noted that fence before the gate is deleted, so that no fence goes back, also
// if the server's time of day is set back.
//
// MySQL and MariaDB assign the columns of an UPDATE from the left to the right, and a column to the
// right sees what was assigned to the left of it. What the condition is made of comes last.
#include "driver/mysql/mysql_dialect.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::mysql {
namespace {

using sql::own_text;
using sql::sentence;

// Whether the row may be taken is not a WHERE here: a row that may not keeps all of its values, and
// then no row counts as changed. Once the owner is assigned, the row is ours exactly if it could be
// taken: so the last assignment needs to know no more than the owner.
constexpr std::string_view take = R"(
INSERT INTO holdfast_names
    (name, owner, fence, top, expires, since, process, listener, crowd)
SELECT ?1, ?2, {tell}(GREATEST({now}, m.floor + 1)), GREATEST({now}, m.floor + 1) + ?4,
    {now} + ?3, {now}, ?5, ?6, 0
FROM holdfast_meta m
ON DUPLICATE KEY UPDATE
    holdfast_names.fence =
        IF(crowd = 0 AND (expires <= {now} OR owner = ?2),
           {tell}(CASE WHEN owner = ?2 AND expires > {now} THEN fence
                       WHEN top < {now} THEN {now} ELSE top + 1 END),
           fence),
    holdfast_names.top =
        IF(crowd = 0 AND (expires <= {now} OR owner = ?2),
           CASE WHEN owner = ?2 AND expires > {now} THEN top
                WHEN top < {now} THEN {now} + ?4 ELSE top + 1 + ?4 END,
           top),
    holdfast_names.since = IF(crowd = 0 AND expires <= {now}, {now}, since),
    holdfast_names.process =
        IF(crowd = 0 AND (expires <= {now} OR owner = ?2), ?5, process),
    holdfast_names.listener =
        IF(crowd = 0 AND (expires <= {now} OR owner = ?2), ?6, listener),
    holdfast_names.owner = IF(crowd = 0 AND (expires <= {now} OR owner = ?2), ?2, owner),
    holdfast_names.expires =
        IF(crowd = 0 AND owner = ?2, GREATEST(expires, {now} + ?3), expires))";

// Takes a name whose gate is free. Reads and writes one row.
constexpr std::string_view take_gate = R"(
UPDATE holdfast_names
SET fence = {tell}(GREATEST(top + 1, {began})), top = fence + ?4, owner = ?2,
    expires = {began} + ?3, since = {began}, process = ?5, listener = ?6
WHERE name = ?1 AND crowd = 0 AND expires <= {began})";

// Ends the owner's lease, if nobody else is there. The gate stays, free.
constexpr std::string_view release_free = R"(
UPDATE holdfast_names SET owner = '', expires = 0
WHERE name = ?1 AND owner = ?2 AND crowd = 0 AND expires > {began})";

// Nobody before a waiter has to be looked for: every process wakes the next in line.
constexpr std::string_view look = R"(
SELECT {now}, n.expires, n.top, p.ticket, p.until, p.since,
    (SELECT count(*) FROM holdfast_parties q
     WHERE q.name = ?1 AND q.stand = 1 AND q.ticket < p.ticket),
    0 * ?3
FROM holdfast_names n JOIN holdfast_parties p ON p.name = n.name
WHERE n.name = ?1 AND p.owner = ?2 AND p.stand = 1)";

// Locks the gate, which is made if there is none. Inserting locks it exclusively whether it is
// there or not (INSERT IGNORE would share it, and two that share wait for each other).
constexpr std::string_view gate = R"(
INSERT INTO holdfast_names
    (name, owner, fence, top, expires, since, process, listener, crowd)
SELECT ?1, '', 0, m.floor, 0, 0, 0, 0, 0 FROM holdfast_meta m
ON DUPLICATE KEY UPDATE holdfast_names.crowd = crowd;
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)),
    owner, fence, top, expires, since, process, listener, crowd
FROM holdfast_names WHERE name = ?1 FOR UPDATE)";

constexpr std::string_view put_gate = R"(
INSERT INTO holdfast_names
    (name, owner, fence, top, expires, since, process, listener, crowd)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON DUPLICATE KEY UPDATE
    owner = VALUES(owner), fence = VALUES(fence), top = VALUES(top), expires = VALUES(expires),
    since = VALUES(since), process = VALUES(process), listener = VALUES(listener),
    crowd = VALUES(crowd))";

constexpr std::string_view drop_gate = R"(
UPDATE holdfast_meta SET floor =
    GREATEST(floor, COALESCE((SELECT n.top FROM holdfast_names n WHERE n.name = ?1), 0));
DELETE FROM holdfast_names WHERE name = ?1)";

constexpr std::string_view put_party = R"(
INSERT INTO holdfast_parties
    (name, owner, stand, mode, permits, permit_limit, fence, until, since, ticket, claim, spare,
     process, listener, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON DUPLICATE KEY UPDATE
    stand = VALUES(stand), mode = VALUES(mode), permits = VALUES(permits),
    permit_limit = VALUES(permit_limit), fence = VALUES(fence), until = VALUES(until),
    since = VALUES(since), ticket = VALUES(ticket), claim = VALUES(claim), spare = VALUES(spare),
    process = VALUES(process), listener = VALUES(listener), reason = VALUES(reason))";

// What mysql_listener.hpp reads. The one who reads it is woken after the commit.
constexpr std::string_view tell_other = R"(
INSERT INTO holdfast_handoffs (process, listener, note, sent) VALUES (?1, ?2, ?3, {now}))";

constexpr std::string_view introduce = R"(
INSERT INTO holdfast_clients (id, host, pid, program, seen) VALUES (?1, ?2, ?3, ?4, {now})
ON DUPLICATE KEY UPDATE seen = VALUES(seen))";

// Deletes what is free after ?1 up to ?2, and was not taken within ?3. A gate whose fence was not
// noted is left to the next time.
constexpr std::string_view sweep_free = R"(
UPDATE holdfast_meta SET floor =
    GREATEST(floor, COALESCE((SELECT MAX(n.top) FROM holdfast_names n
        WHERE n.name > ?1 AND n.name <= ?2 AND n.crowd = 0 AND n.expires <= {now}
            AND {now} - n.top >= ?3), 0));
DELETE FROM holdfast_names
WHERE name > ?1 AND name <= ?2 AND crowd = 0 AND expires <= {now} AND {now} - top >= ?3
    AND top <= (SELECT m.floor FROM holdfast_meta m))";

constexpr std::string_view put_note = R"(
INSERT INTO holdfast_notes (owner, note, until) VALUES (?1, ?2, {now} + ?3)
ON DUPLICATE KEY UPDATE note = VALUES(note), until = VALUES(until))";

// And what was meant for processes that did not live to read it.
constexpr std::string_view forget_notes = R"(
DELETE FROM holdfast_notes WHERE until < {now};
DELETE FROM holdfast_handoffs WHERE sent < {now} - 60000000)";

constexpr std::array own{
    own_text{sentence::take, take},
    own_text{sentence::take_gate, take_gate},
    own_text{sentence::release_free, release_free},
    own_text{sentence::look, look},
    own_text{sentence::gate, gate},
    own_text{sentence::put_gate, put_gate},
    own_text{sentence::drop_gate, drop_gate},
    own_text{sentence::put_party, put_party},
    own_text{sentence::tell_other, tell_other},
    own_text{sentence::introduce, introduce},
    own_text{sentence::sweep_free, sweep_free},
    own_text{sentence::put_note, put_note},
    own_text{sentence::forget_notes, forget_notes},
};

}  // namespace

const sql::dialect& mysql_dialect() {
    static constexpr sql::dialect words{
        .now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
        .began = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
        .tell = "LAST_INSERT_ID",
        .name_type = "VARBINARY(512)",
        .by_key = " ENGINE = InnoDB, DEFAULT CHARACTER SET utf8mb4",
        .mark = '?',
        .commands = sql::dialect::keys::none,
        .own = own,
    };
    return words;
}

const statement_text& text_of(sql::sentence what) {
    static const auto all = [] {
        std::vector<statement_text> made;
        for (const std::string& text : sql::statements(mysql_dialect())) made.emplace_back(text);
        return made;
    }();
    return all[static_cast<std::size_t>(what)];
}

std::vector<std::string> make_tables() {
    std::vector<std::string> steps;
    for (std::string& text : sql::schema(mysql_dialect())) {
        constexpr std::string_view create = "CREATE TABLE ";
        const std::size_t at = text.find(create);
        text.insert(at + create.size(), "IF NOT EXISTS ");
        steps.push_back(text.substr(at));
    }
    steps.push_back(
        fmt::format("CREATE TABLE IF NOT EXISTS holdfast_handoffs (\n"
                    "    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
                    "    process BIGINT NOT NULL,\n"
                    "    listener BIGINT NOT NULL,\n"
                    "    note TEXT NOT NULL,\n"
                    "    sent BIGINT NOT NULL,\n"
                    "    INDEX (process, listener)){}",
                    mysql_dialect().by_key));
    steps.push_back(
        fmt::format("CREATE TABLE IF NOT EXISTS holdfast_meta (\n"
                    "    one INTEGER NOT NULL PRIMARY KEY,\n"
                    "    version INTEGER NOT NULL,\n"
                    "    floor BIGINT NOT NULL){}",
                    mysql_dialect().by_key));
    steps.push_back(
        fmt::format("INSERT IGNORE INTO holdfast_meta (one, version, floor) VALUES (1, {}, 0)",
                    sql::schema_version));
    return steps;
}

}  // namespace holdfast::mysql
