// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/server_inquiry.hpp"

#include "core/hash_slot.hpp"
#include "core/validity.hpp"
#include "lease/commands/lease_keys.hpp"
#include "lease/commands/lease_scripts.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr duration patience = 500ms;

// What stands behind `name` in the text, up to its end of line or a space.
std::string_view value_of(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + name.size());
    return text.substr(0, text.find_first_of(" \r\n"));
}

// Of the oldest connection in the answer of CLIENT LIST. It counts whole seconds of the clock, so
// one more than have passed.
duration oldest_connection(std::string_view clients) {
    std::int64_t oldest = 0;
    for (std::string_view age = " age="; clients.find(age) != std::string_view::npos;) {
        const std::string_view digits = value_of(clients, age);
        std::int64_t seconds = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
        oldest = std::max(oldest, seconds);
        clients.remove_prefix(clients.find(age) + age.size());
    }
    return std::chrono::seconds(std::max<std::int64_t>(oldest - 1, 0));
}

// By a clock that may run faster than ours.
void note_age(known_servers& known, std::string_view server, duration age, time_point now) {
    known.note(server, now - std::max(age - drift_allowance(age), duration::zero()));
}

// Who it is comes first: a promotion in between makes the connections younger, never older.
void ask_replicas(command_session& server, known_servers& known, clock& time, time_point give_up) {
    const auto who = words("INFO", "server");
    const auto whence = words("INFO", "replication");
    const auto which = words("CLIENT", "LIST", "TYPE", "replica");
    const std::array<command, 3> queries{who, whence, which};
    std::array<result<reply>, 3> answers;
    server.exchange(queries, answers, give_up);
    const auto is_text = [](const result<reply>& one) {
        return one && one->type() == reply::kind::string;
    };
    if (!std::ranges::all_of(answers, is_text)) return;
    const std::string name = std::string(value_of(answers[0]->text(), "run_id:")) +
                             std::string(value_of(answers[1]->text(), "master_replid:"));
    note_age(known, name, oldest_connection(answers[2]->text()), time.now());
}

void inquire(command_engine& engine, std::string_view lock, const command_lease_options& options,
             known_servers& known, time_point give_up) {
    const time_point until = std::min(give_up, later(engine.time().now(), patience));
    if (options.scope == key_scope::slot) {
        detail::text_arena room;
        const std::array<std::string_view, 1> keys{common_note(engine, lock)};
        const std::array<std::string_view, 1> window{room.put(asked_age_ms(options))};
        const auto told =
            engine.evaluate(scripts().server_age, keys, window, until, repeat::idempotent);
        if (told) hear_age(known, *told, engine.time().now());
    }
    const auto session = engine.open_session(lock, until);
    if (session) ask_replicas(**session, known, engine.time(), until);
}

}  // namespace

std::string_view common_note(const command_engine& engine, std::string_view lock) {
    const std::size_t here = engine.node_of(lock);
    unsigned slot = 0;
    while (slot + 1 < slot_count && engine.node_of(slot_tag(slot)) != here) ++slot;
    return boot_key(slot_tag(slot), key_scope::slot);
}

void hear_age(known_servers& known, const reply& told, time_point now) {
    if (told.elements().size() != 2) return;
    note_age(known, told.elements()[0].text(),
             std::chrono::milliseconds(told.elements()[1].number()), now);
}

bool is_over(command_engine& engine, const command_lease_options& options, const lock_name& name,
             std::string_view server, known_servers& known, time_point give_up) {
    if (server.empty()) return false;
    const time_point now = engine.time().now();
    known.note(server, now);
    if (known.older_than(server, options.quarantine, now)) return true;
    if (!known.may_ask(server, now)) return false;
    detail::text_arena room;
    inquire(engine, lock_key(room, options.prefix, name), options, known, give_up);
    return known.older_than(server, options.quarantine, engine.time().now());
}

}  // namespace holdfast
