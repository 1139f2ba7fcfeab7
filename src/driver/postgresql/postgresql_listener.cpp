// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_listener.hpp"

#include "lease/tables/note_text.hpp"
#include "lease/tables/sql_database.hpp"
#include "lease/tables/wake_hub.hpp"

#include <fmt/format.h>

#include <libpq-fe.h>

#include <utility>

namespace holdfast::postgresql {
namespace {

using namespace std::chrono_literals;

// Whether the server is still there is asked so often: a network that drops an idle connection
// says nothing.
constexpr duration probe_pause = 15s;
constexpr duration probe_timeout = 5s;

std::string channel_of(const sql::listener_id& whose) {
    return fmt::format("holdfast_{}_{}", whose.process, whose.number);
}

}  // namespace

postgresql_listener::postgresql_listener(postgresql_options options, hears what)
    : options_(std::move(options)), what_(what), link_(options_) {}

result<void> postgresql_listener::connect(const sql::listener_id& whose) {
    const time_point deadline = system_clock().now() + options_.connect_timeout;
    if (auto opened = link_.open(deadline); !opened) return opened;
    std::string listen = "LISTEN " + channel_of(whose);
    if (what_ == hears::broadcasts_too) listen += "; LISTEN " + channel_of(sql::everybody);
    const auto said = link_.ask(listen, deadline);
    if (said) return {};
    return std::unexpected(refused(said.error(), link_.label()));
}

bool postgresql_listener::probe() {
    return link_.ask("SELECT 1", system_clock().now() + probe_timeout).has_value();
}

void postgresql_listener::read_notes(const sql::listener_id& whose) {
    const std::string broadcast = channel_of(sql::everybody);
    bool poll = false;
    while (PGnotify* const one = ::PQnotifies(link_.get())) {
        poll = poll || one->relname == broadcast;
        const auto heard = sql::parse_note(whose.process, one->extra);
        ::PQfreemem(one);
        if (heard) sql::tell({&*heard, 1});
    }
    if (poll) sql::tell_to_poll_again(whose);
}

void postgresql_listener::attend(const sql::listener_id& whose, int closing) {
    while (true) {
        const bool readable = sql::wait_to_read(link_.socket(), closing, probe_pause);
        if (sql::wait_to_read(closing, -1, 0s)) return;
        const bool alive = readable ? ::PQconsumeInput(link_.get()) != 0 : probe();
        if (!alive || !link_.is_open()) return;
        read_notes(whose);
    }
}

}  // namespace holdfast::postgresql
