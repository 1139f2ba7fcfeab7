// SPDX-License-Identifier: Apache-2.0
//
// A mark is a string: 'once:', the first caller's token, then ':' and what it recorded. (Older
// versions wrote no 'once:'.) It is set by one plain SET with NX and GET, which answers what was
// there before. A caller whose answer was lost asks again, finds its own token, and knows that it
// was first.
#include <holdfast/once.hpp>

#include "command/script_call.hpp"
#include "core/validity.hpp"
#include "traffic/traffic_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kind = "once:";
constexpr std::size_t token_bytes = 16;

bool is_hex(std::string_view text, std::size_t size) {
    return text.size() == size && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool is_token(std::string_view text) {
    return is_hex(text, token_bytes);
}

// A cooldown's, or a lock's.
bool is_other_mark(std::string_view text) {
    constexpr std::size_t owner_bytes = 32;
    return text.starts_with("cooldown:") || (is_hex(text.substr(0, owner_bytes), owner_bytes) &&
                                             text.substr(owner_bytes).starts_with(':'));
}

duration first_life(const once_options& options) {
    return options.unrecorded == duration::zero() ? options.window : options.unrecorded;
}

std::string mark_of(std::string_view token) {
    return fmt::format("{}{}", kind, token);
}

/// One key of a claim, ready to be asked for.
struct prepared {
    std::size_t index;
    std::string name;
    std::string mark;
    std::array<std::string_view, 7> words;
};

result<once_claim> read(const reply& seen, std::string_view key, const prepared& asked) {
    once_claim made{.key = std::string(key)};
    std::string_view text = seen.text();
    made.first = seen.is_nil() || text.starts_with(asked.mark);
    if (made.first) made.token = asked.mark.substr(kind.size());
    if (is_other_mark(text)) {
        return fail(errc::corrupt,
                    fmt::format("'{}' holds something else: not the mark of a once", asked.name));
    }
    if (text.starts_with(kind)) text.remove_prefix(kind.size());
    const bool ours = is_token(text.substr(0, token_bytes));
    if (ours && text.size() > token_bytes && text[token_bytes] == ':') {
        made.recorded = text.substr(token_bytes + 1);
    }
    return made;
}

}  // namespace

once::once(command_access where, once_options options)
    : where_(std::move(where)), options_(std::move(options)) {}

result<void> once::ready() const {
    auto fit = detail::first_failure(
        {detail::check_place(where_), detail::check_span("window", options_.window),
         detail::check_prefix(options_.prefix), detail::check_timeout(options_.timeout)});
    if (!fit || options_.unrecorded == duration::zero()) return fit;
    if (options_.unrecorded > options_.window) {
        return fail(errc::invalid_argument,
                    "unrecorded is longer than the window: a mark cannot "
                    "outlive its window");
    }
    return detail::check_span("unrecorded", options_.unrecorded);
}

result<once_claim> once::claim(std::string_view key) {
    return std::move(claim(std::span(&key, 1)).front());
}

std::vector<result<once_claim>> once::claim(std::span<const std::string_view> keys) {
    std::vector<result<once_claim>> out(keys.size());
    auto fit = ready();
    if (fit && keys.size() > max_batch) {
        fit = fail(errc::invalid_argument,
                   fmt::format("{} keys at once: at most {} are taken", keys.size(), max_batch));
    }
    if (!fit) {
        out.assign(keys.size(), std::unexpected(fit.error()));
        return out;
    }
    const std::string life = std::to_string(detail::to_ms(first_life(options_)));
    std::vector<prepared> ready_keys;
    ready_keys.reserve(keys.size());
    std::vector<command> commands;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto good = detail::check_key(keys[i]);
        if (good) good = detail::check_plain_key(options_.prefix, keys[i]);
        if (!good) {
            out[i] = std::unexpected(good.error());
            continue;
        }
        auto& one = ready_keys.emplace_back(prepared{i,
                                                     options_.prefix + std::string(keys[i]),
                                                     mark_of(detail::draw_token(where_.chance())),
                                                     {}});
        one.words = {"SET", one.name, one.mark, "NX", "GET", "PX", life};
        commands.push_back({one.words, repeat::idempotent});
    }
    std::vector<result<reply>> answered(commands.size());
    command_engine& engine = *where_.engine();
    engine.exchange(commands, answered, later(engine.time().now(), options_.timeout));
    for (std::size_t i = 0; i < ready_keys.size(); ++i) {
        const prepared& one = ready_keys[i];
        const auto seen = detail::answer_of(std::move(answered[i]), one.name);
        if (seen) {
            out[one.index] = read(*seen, keys[one.index], one);
        } else {
            out[one.index] = std::unexpected(seen.error());
        }
    }
    return out;
}

result<void> once::owned(const once_claim& claim) const {
    if (auto fit = ready(); !fit) return fit;
    if (auto fit = detail::check_key(claim.key); !fit) return fit;
    if (claim.first && is_token(claim.token)) return {};
    return fail(errc::invalid_argument,
                "this claim was not the first: only the first caller records or forgets");
}

result<void> once::record(const once_claim& claim, std::string_view text) {
    if (auto fit = owned(claim); !fit) return fit;
    if (text.size() > max_record_bytes) {
        return fail(errc::invalid_argument, fmt::format("the record has {} bytes: at most {} are "
                                                        "kept; store a reference to it",
                                                        text.size(), max_record_bytes));
    }
    const detail::key_text name = detail::plain_key(options_.prefix, claim.key);
    const std::string mark = mark_of(claim.token);
    detail::script_call q(detail::traffic_scripts::all().once_record, 1, repeat::idempotent);
    q.word(name.view());
    q.word(mark);
    q.word(text);
    q.word(detail::to_ms(options_.window));
    const auto kept = detail::ask(where_, q.as_command(), name.view(), options_.timeout);
    if (!kept) return std::unexpected(kept.error());
    if (kept->number() == 1) return {};
    return fail(errc::lease_lost, fmt::format("the mark '{}' is over: somebody else may have been "
                                              "first meanwhile",
                                              name.view()));
}

result<void> once::forget(const once_claim& claim) {
    if (auto fit = owned(claim); !fit) return fit;
    const detail::key_text name = detail::plain_key(options_.prefix, claim.key);
    const std::string mark = mark_of(claim.token);
    detail::script_call q(detail::traffic_scripts::all().once_forget, 1, repeat::never);
    q.word(name.view());
    q.word(mark);
    const auto gone = detail::ask(where_, q.as_command(), name.view(), options_.timeout);
    if (!gone) return std::unexpected(gone.error());
    if (gone->number() == 1) return {};
    return fail(errc::lease_lost, fmt::format("the mark '{}' is over already", name.view()));
}

}  // namespace holdfast
