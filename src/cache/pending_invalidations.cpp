// SPDX-License-Identifier: Apache-2.0
#include "cache/pending_invalidations.hpp"

#include "cache/cache_scripts.hpp"
#include "command/script_call.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::detail {
namespace {

constexpr duration list_life = std::chrono::days(30);

}  // namespace

pending_invalidations::pending_invalidations(command_access where, std::string_view prefix)
    : where_(std::move(where)), list_(kept_key(prefix, "pending", kept::cache_pending).view()) {}

result<std::string> pending_invalidations::note(std::string_view key, duration due,
                                                time_point give_up) {
    std::string made = fmt::format("{}:{}", draw_token(where_.chance()), key);
    script_call q(cache_scripts::all().pending_add, 1, repeat::idempotent);
    q.word(list_);
    q.word(made);
    q.word(to_ms(due));
    q.word(to_ms(list_life));
    q.word(most_noted);
    const auto seen = ask(where_, q.as_command(), list_, give_up);
    if (!seen) return std::unexpected(seen.error());
    if (seen->number() == 1) return made;
    return fail(errc::busy, fmt::format("'{}' is full: nobody works it off", list_));
}

result<void> pending_invalidations::remove(std::string_view note, time_point give_up) {
    const auto drop = words("ZREM", list_, note);
    const auto seen = ask(where_, drop.idempotent(), list_, give_up);
    if (!seen) return std::unexpected(seen.error());
    return {};
}

void pending_invalidations::remove_soon(std::string_view note, time_point give_up) {
    const auto drop = words("ZREM", list_, note);
    where_.engine()->submit(drop.idempotent(), give_up, [](const result<reply>&) {});
}

result<std::vector<std::string>> pending_invalidations::take(duration again, time_point give_up) {
    script_call q(cache_scripts::all().pending_take, 1, repeat::idempotent);
    q.word(list_);
    q.word(most_taken);
    q.word(to_ms(again));
    auto seen = ask(where_, q.as_command(), list_, give_up);
    if (!seen) return std::unexpected(std::move(seen.error()));
    std::vector<std::string> due;
    for (auto& one : std::move(*seen).elements()) due.push_back(std::move(one).text());
    return due;
}

std::string_view pending_invalidations::key_of(std::string_view note) {
    const std::size_t colon = note.find(':');
    return colon == std::string_view::npos ? std::string_view() : note.substr(colon + 1);
}

bool pending_invalidations::keep_local(std::string_view key) {
    const std::scoped_lock guard(mutex_);
    if (local_.size() >= most_local) return false;
    local_.emplace(key);
    return true;
}

std::vector<std::string> pending_invalidations::local() const {
    const std::scoped_lock guard(mutex_);
    return {local_.begin(), local_.end()};
}

void pending_invalidations::drop_local(const std::string& key) {
    const std::scoped_lock guard(mutex_);
    local_.erase(key);
}

}  // namespace holdfast::detail
