// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_note.hpp"

#include "core/overloaded.hpp"
#include "core/validity.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace holdfast {
namespace {

using detail::overloaded;

constexpr duration note_patience = std::chrono::seconds(3);

bool is_kept(const result<lease_reply>& answer) {
    return answer && (std::holds_alternative<answer::granted>(*answer) ||
                      std::holds_alternative<answer::renewed>(*answer));
}

}  // namespace

bool has_note(const lease_request& request) noexcept {
    return std::visit(overloaded{
                          [](const ask::acquire& asked) { return asked.note.is_set(); },
                          [](const ask::renew& asked) { return asked.note.is_set(); },
                          [](const auto& ended) { return ended.has_note; },
                      },
                      request);
}

void keep_note(command_engine& engine, const command_lease_options& options,
               const lease_request& request, const result<lease_reply>& answer) {
    detail::text_arena room;
    const std::string_view lock = lock_key(room, options.prefix, name_of(request));
    const std::string_view owner = std::visit(
        [](const auto& asked) { return std::string_view(asked.owner.value()); }, request);
    const std::string_view key = note_key(room, notes_key(room, lock), owner);
    const time_point give_up = later(engine.time().now(), note_patience);
    const auto unread = [](const result<reply>&) {};
    const auto forget = [&] { engine.submit(words("DEL", key).idempotent(), give_up, unread); };
    const auto write = [&](const auto& asked) {
        if (!is_kept(answer)) return;
        if (asked.note.value().empty()) return forget();
        engine.submit(words("SET", key, asked.note.value(), "PX", to_ms(asked.ttl)).idempotent(),
                      give_up, unread);
    };
    std::visit(overloaded{
                   [&](const ask::acquire& asked) { write(asked); },
                   [&](const ask::renew& asked) { write(asked); },
                   [&](const auto&) { forget(); },
               },
               request);
}

}  // namespace holdfast
