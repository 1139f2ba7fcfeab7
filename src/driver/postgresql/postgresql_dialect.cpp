// SPDX-License-Identifier: Apache-2.0
//
// Several transactions run at a time here, so the statements lock what they decide on: the gate of
// a name is locked by whatever changes it, and the full way begins by locking it. Whoever has it
// may read and write the parties of that name; nobody else does.
//
// The clock is the server's time of day. A statement by itself reads it when it begins, before it
// waits for a lock, which is the safe side: a lease that is over seems not to be yet. The full way
// reads it when it has the lock.
//
// A server's time of day may be set back, and fences must not follow. So a gate stays when it is
// free, with the largest fence it has given, until it is swept; and sweeping notes the largest
// fence of what it deletes in holdfast_meta, above which every new gate begins.
#include "driver/postgresql/postgresql_dialect.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::postgresql {
namespace {

using sql::own_text;
using sql::sentence;

constexpr std::string_view take = R"(
INSERT INTO holdfast_names AS n
    (name, owner, fence, top, expires, since, process, listener, crowd)
SELECT ?1, ?2, g.first, g.first + ?4, m.moment + ?3, m.moment, ?5, ?6, 0
FROM (SELECT {began} AS moment, floor FROM holdfast_meta) m,
    LATERAL (SELECT greatest(m.moment, m.floor + 1) AS first) g
ON CONFLICT (name) DO UPDATE SET
    fence = CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.fence
                 WHEN n.top < excluded.since THEN excluded.since ELSE n.top + 1 END,
    top = CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.top
               WHEN n.top < excluded.since THEN excluded.since + ?4 ELSE n.top + 1 + ?4 END,
    since = CASE WHEN n.owner = ?2 AND n.expires > excluded.since THEN n.since
                 ELSE excluded.since END,
    expires = greatest(n.expires, excluded.expires),
    owner = ?2, process = ?5, listener = ?6
WHERE n.crowd = 0 AND (n.expires <= excluded.since OR n.owner = ?2)
RETURNING fence)";

// Takes a name whose gate is free. Reads and writes one row, which saves a third of what `take`
// costs: its fences go on from the gate's own, whatever the floor is.
constexpr std::string_view take_gate = R"(
UPDATE holdfast_names
SET owner = ?2, fence = greatest(top + 1, {began}), top = greatest(top + 1, {began}) + ?4,
    expires = {began} + ?3, since = {began}, process = ?5, listener = ?6
WHERE name = ?1 AND crowd = 0 AND expires <= {began}
RETURNING fence)";

// Ends the owner's lease, if nobody else is there. The gate stays, free.
constexpr std::string_view release_free = R"(
UPDATE holdfast_names SET owner = '', expires = 0
WHERE name = ?1 AND owner = ?2 AND crowd = 0 AND expires > {began})";

// Nobody before a waiter has to be looked for: every process wakes the next in the queue.
constexpr std::string_view look = R"(
SELECT {now}, n.expires, n.top, p.ticket, p.until, p.since,
    (SELECT count(*) FROM holdfast_parties q
     WHERE q.name = ?1 AND q.stand = 1 AND q.ticket < p.ticket),
    0 * ?3
FROM holdfast_names n JOIN holdfast_parties p ON p.name = n.name
WHERE n.name = ?1 AND p.owner = ?2 AND p.stand = 1)";

// Locks the gate, which is made if there is none.
constexpr std::string_view gate = R"(
INSERT INTO holdfast_names AS n
    (name, owner, fence, top, expires, since, process, listener, crowd)
SELECT ?1, '', 0, floor, 0, 0, 0, 0, 0 FROM holdfast_meta
ON CONFLICT (name) DO UPDATE SET crowd = n.crowd
RETURNING {now}, owner, fence, top, expires, since, process, listener, crowd)";

constexpr std::string_view drop_gate = R"(
WITH gone AS (DELETE FROM holdfast_names WHERE name = ?1 RETURNING top)
UPDATE holdfast_meta SET floor = greatest(floor, (SELECT max(top) FROM gone))
WHERE EXISTS (SELECT 1 FROM gone))";

constexpr std::string_view tell_other =
    "SELECT pg_notify('holdfast_' || ?1::text || '_' || ?2::text, ?3)";

// Deletes what is free after ?1 up to ?2, and was not taken within ?3. What somebody works on is
// left to the next time.
constexpr std::string_view sweep_free = R"(
WITH over AS (
    SELECT name FROM holdfast_names
    WHERE name > ?1 AND name <= ?2 AND crowd = 0 AND expires <= {now}
        AND {now} - top >= ?3
    ORDER BY name FOR UPDATE SKIP LOCKED),
gone AS (
    DELETE FROM holdfast_names n USING over WHERE n.name = over.name RETURNING n.top)
UPDATE holdfast_meta SET floor = greatest(floor, (SELECT max(top) FROM gone))
WHERE EXISTS (SELECT 1 FROM gone))";

constexpr std::array own{
    own_text{sentence::take, take},
    own_text{sentence::take_gate, take_gate},
    own_text{sentence::release_free, release_free},
    own_text{sentence::look, look},
    own_text{sentence::gate, gate},
    own_text{sentence::drop_gate, drop_gate},
    own_text{sentence::tell_other, tell_other},
    own_text{sentence::sweep_free, sweep_free},
};

}  // namespace

const sql::dialect& postgresql_dialect() {
    static constexpr sql::dialect words{
        // extract() would compute with decimal digits.
        .now = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint",
        .began = "(date_part('epoch', statement_timestamp()) * 1000000)::bigint",
        .tell = "",
        .name_type = "TEXT COLLATE \"C\"",
        // Room for a new version of a row on the page of the old one.
        .by_key = " WITH (fillfactor = 50)",
        .mark = '$',
        .commands = sql::dialect::keys::none,
        .own = own,
    };
    return words;
}

std::vector<std::string> make_tables() {
    // Two that come first at once would both find no tables.
    std::vector<std::string> steps{"SELECT pg_advisory_xact_lock(1215261796)"};
    for (std::string& text : sql::schema(postgresql_dialect())) {
        constexpr std::string_view create = "CREATE TABLE ";
        const std::size_t at = text.find(create);
        text.insert(at + create.size(), "IF NOT EXISTS ");
        steps.push_back(text.substr(at));
    }
    steps.emplace_back(
        "CREATE TABLE IF NOT EXISTS holdfast_meta (\n"
        "    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),\n"
        "    version INTEGER NOT NULL,\n"
        "    floor BIGINT NOT NULL)");
    steps.push_back(
        fmt::format("INSERT INTO holdfast_meta (one, version, floor) VALUES (1, {}, 0)\n"
                    "ON CONFLICT (one) DO NOTHING",
                    sql::schema_version));
    return steps;
}

}  // namespace holdfast::postgresql
