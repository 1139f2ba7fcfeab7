// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_entries.hpp"

#include "cache/cache_scripts.hpp"
#include "command/script_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr std::size_t process_bytes = 16;

// Our scripts write it as text: a number of Lua's would be cut to 32 bits by some.
std::int64_t number_in(const reply& r) {
    std::int64_t value = 0;
    std::from_chars(r.text().data(), r.text().data() + r.text().size(), value);
    return value;
}

result<std::string> text_of(result<reply> seen) {
    if (!seen) return std::unexpected(std::move(seen.error()));
    return std::move(*seen).text();
}

}  // namespace

cache_entries::cache_entries(command_access where, std::string prefix, std::string process)
    : where_(std::move(where)),
      prefix_(std::move(prefix)),
      process_(std::move(process)),
      channel_("holdfast:cache:" + prefix_) {}

std::string cache_entries::name_of(std::string_view key) const {
    return std::string(plain_key(prefix_, key).view());
}

std::string cache_entries::message(char what, std::string_view key) const {
    return fmt::format("{}{}{}", what, process_, key);
}

result<std::string> cache_entries::look(std::string_view key, time_point give_up) {
    const key_text name = plain_key(prefix_, key);
    const auto get = words("GET", name.view());
    return text_of(ask(where_, get.idempotent(), name.view(), give_up));
}

result<std::string> cache_entries::look_or_claim(std::string_view key, std::string_view token,
                                                 duration lease, time_point give_up) {
    const key_text name = plain_key(prefix_, key);
    const auto entry = lease_entry(token);
    const std::string_view mine(entry.data(), entry.size());
    const auto set = words("SET", name.view(), mine, "NX", "GET", "PX", to_ms(lease));
    auto seen = ask(where_, set.idempotent(), name.view(), give_up);
    if (seen && seen->is_nil()) return std::string(mine);
    return text_of(std::move(seen));
}

result<claimed> cache_entries::claim(std::string_view key, std::string_view token, duration lease,
                                     claim_mode mode, time_point give_up) {
    constexpr std::array<std::string_view, 3> modes{"stale", "early", "force"};
    const key_text name = plain_key(prefix_, key);
    script_call q(cache_scripts::all().claim, 1, repeat::idempotent);
    q.word(name.view());
    q.word(token);
    q.word(to_ms(lease));
    q.word(modes[static_cast<std::size_t>(mode)]);
    auto seen = ask(where_, q.as_command(), name.view(), give_up);
    if (!seen) return std::unexpected(std::move(seen.error()));
    auto parts = std::move(*seen).elements();
    if (parts.size() < 2) return fail(errc::corrupt, "a claim was answered in another form");
    return claimed{static_cast<claimed::state>(parts[0].number()), number_in(parts[1]),
                   parts.size() > 2 ? std::move(parts[2]).text() : std::string()};
}

result<stored> cache_entries::store(std::string_view key, std::string_view token,
                                    const entry_value& what, time_point give_up) {
    const key_text name = plain_key(prefix_, key);
    const auto took = std::clamp<std::int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(what.took).count(), 0, 9'999'999'999);
    const std::string took_text = fmt::format("{:010}", took);
    const char kind = static_cast<char>(what.kind);
    const std::string told = message('s', key);
    script_call q(cache_scripts::all().store, 1, repeat::idempotent);
    q.word(name.view());
    q.word(token);
    q.word(std::string_view(&kind, 1));
    q.word(to_ms(what.fresh));
    q.word(to_ms(what.life));
    q.word(took_text);
    q.word(what.value);
    q.word(channel_);
    q.word(told);
    const auto seen = ask(where_, q.as_command(), name.view(), give_up);
    if (!seen) return std::unexpected(seen.error());
    if (seen->elements().size() != 2) {
        return fail(errc::corrupt, "a store was answered in another form");
    }
    return stored{seen->elements()[0].number() == 1, number_in(seen->elements()[1])};
}

result<bool> cache_entries::abandon(std::string_view key, std::string_view token,
                                    time_point give_up) {
    const key_text name = plain_key(prefix_, key);
    const std::string told = message('r', key);
    script_call q(cache_scripts::all().abandon, 1, repeat::idempotent);
    q.word(name.view());
    q.word(token);
    q.word(channel_);
    q.word(told);
    const auto seen = ask(where_, q.as_command(), name.view(), give_up);
    if (!seen) return std::unexpected(seen.error());
    return seen->number() == 1;
}

result<bool> cache_entries::invalidate(std::string_view key, time_point give_up) {
    const key_text name = plain_key(prefix_, key);
    const std::string told = message('d', key);
    script_call q(cache_scripts::all().invalidate, 1, repeat::idempotent);
    q.word(name.view());
    q.word(channel_);
    q.word(told);
    const auto seen = ask(where_, q.as_command(), name.view(), give_up);
    if (!seen) return std::unexpected(seen.error());
    return seen->number() > 0;
}

std::optional<cache_message> cache_message::read(std::string_view payload) {
    if (payload.size() <= process_bytes + 1) return std::nullopt;
    const char what = payload.front();
    if (what != 's' && what != 'd' && what != 'r') return std::nullopt;
    return cache_message{static_cast<enum what>(what), payload.substr(1, process_bytes),
                         payload.substr(process_bytes + 1)};
}

}  // namespace holdfast::detail
