// SPDX-License-Identifier: Apache-2.0
//
// A session is a hash under prefix{tag}secret, where tag and secret are the two parts of its id. A
// user's sessions are listed under a key with the same tag: so each call is one script in one slot.
#include <holdfast/session_store.hpp>

#include "cache/cache_scripts.hpp"
#include "command/script_call.hpp"
#include "core/sha1.hpp"
#include "core/validity.hpp"

#include <holdfast/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

constexpr std::size_t tag_bytes = 16;
constexpr std::size_t id_bytes = tag_bytes + 32;
constexpr std::size_t end_at_once = 100;

bool is_session_id(std::string_view id) {
    return id.size() == id_bytes && std::ranges::all_of(id, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::string user_tag(std::string_view user) {
    return std::string(sha1_hex(user).substr(0, tag_bytes));
}

std::string draw_id(std::string_view tag, entropy& chance) {
    return fmt::format("{}{}", tag, owner_token::draw(chance).value());
}

result<void> check_fields(const session_fields& fields) {
    if (fields.size() > session_store::max_fields) {
        return fail(errc::invalid_argument,
                    fmt::format("{} fields: at most {}", fields.size(), session_store::max_fields));
    }
    for (const auto& [name, value] : fields) {
        if (name.empty() || name.size() > 512 || name.front() == '_') {
            return fail(errc::invalid_argument,
                        "a field's name has 1 to 512 bytes and begins "
                        "with no '_'");
        }
        if (value.size() > session_store::max_field_bytes) {
            return fail(errc::invalid_argument,
                        fmt::format("field '{}' has {} bytes: at most {}", name, value.size(),
                                    session_store::max_field_bytes));
        }
    }
    return {};
}

std::unexpected<error> no_session() {
    return fail(errc::lease_lost, "the session has ended");
}

}  // namespace

session_store::session_store(command_access where, session_options options)
    : where_(std::move(where)), options_(std::move(options)) {}

result<void> session_store::ready() const {
    if (options_.max_per_user < 1 || options_.max_per_user > 10'000) {
        return fail(errc::invalid_argument,
                    fmt::format("max_per_user is {}: give it 1 to 10,000", options_.max_per_user));
    }
    if (options_.absolute < options_.ttl) {
        return fail(errc::invalid_argument, "absolute is less than ttl");
    }
    return detail::first_failure(
        {detail::check_place(where_), detail::check_span("ttl", options_.ttl),
         detail::check_span("absolute", options_.absolute), detail::check_prefix(options_.prefix),
         detail::check_timeout(options_.timeout)});
}

std::string session_store::key_of(std::string_view id) const {
    return fmt::format("{}{{{}}}{}", options_.prefix, id.substr(0, tag_bytes),
                       id.substr(tag_bytes));
}

std::string session_store::index_of(std::string_view tag) const {
    return std::string(detail::kept_key(options_.prefix, tag, detail::kept::user_sessions).view());
}

result<reply> session_store::evaluate(const script& body, const std::vector<std::string>& keys,
                                      const std::vector<std::string>& args, repeat again) {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> list{"EVALSHA", body.sha1(), count};
    list.insert(list.end(), keys.begin(), keys.end());
    list.insert(list.end(), args.begin(), args.end());
    return detail::ask(where_, {list, again, &body}, keys.front(), options_.timeout);
}

result<session> session_store::create(std::string_view user, const session_fields& fields) {
    auto fit = ready();
    if (fit) fit = detail::check_key(user);
    if (fit) fit = check_fields(fields);
    if (!fit) return std::unexpected(std::move(fit.error()));
    const std::string tag = user_tag(user);
    session made{draw_id(tag, where_.chance()), std::string(user), 1, fields};
    std::vector<std::string> args{made.id, made.user, std::to_string(detail::to_ms(options_.ttl)),
                                  std::to_string(detail::to_ms(options_.absolute)),
                                  std::to_string(options_.max_per_user)};
    for (const auto& [name, value] : fields) {
        args.push_back(name);
        args.push_back(value);
    }
    const auto done = evaluate(detail::cache_scripts::all().session_create,
                               {key_of(made.id), index_of(tag)}, args, repeat::idempotent);
    if (!done) return std::unexpected(done.error());
    if (done->number() == 1) return made;
    return fail(errc::busy,
                fmt::format("'{}' has {} sessions already", user, options_.max_per_user));
}

result<std::optional<session>> session_store::get(std::string_view id) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (!is_session_id(id)) return std::nullopt;  // a forged cookie is no error
    auto seen = evaluate(detail::cache_scripts::all().session_read, {key_of(id)},
                         {std::to_string(detail::to_ms(options_.ttl))}, repeat::idempotent);
    if (!seen) return std::unexpected(std::move(seen.error()));
    auto list = std::move(*seen).elements();
    if (list.empty()) return std::nullopt;
    session found{.id = std::string(id), .user = {}, .version = 0, .fields = {}};
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
        const std::string& name = list[i].text();
        std::string value = std::move(list[i + 1]).text();
        if (name == "_user") {
            found.user = std::move(value);
        } else if (name == "_version") {
            std::from_chars(value.data(), value.data() + value.size(), found.version);
        } else if (!name.starts_with('_')) {
            found.fields.emplace(name, std::move(value));
        }
    }
    return found;
}

result<std::uint64_t> session_store::write(std::string_view id, const session_change& change) {
    auto fit = ready();
    if (fit) fit = check_fields(change.set);
    if (!fit) return std::unexpected(std::move(fit.error()));
    if (!is_session_id(id)) return no_session();
    std::vector<std::string> args{std::to_string(detail::to_ms(options_.ttl)),
                                  change.version ? std::to_string(*change.version) : "",
                                  std::to_string(change.set.size()), std::to_string(max_fields)};
    for (const auto& [name, value] : change.set) {
        args.push_back(name);
        args.push_back(value);
    }
    for (const auto& name : change.remove) {
        if (name.empty() || name.front() == '_') {
            return fail(errc::invalid_argument, "a field's name begins with no '_'");
        }
        args.push_back(name);
    }
    const auto done =
        evaluate(detail::cache_scripts::all().session_write, {key_of(id)}, args, repeat::never);
    if (!done) return std::unexpected(done.error());
    if (done->text() == "full") {
        return fail(errc::invalid_argument, fmt::format("at most {} fields", max_fields));
    }
    if (done->number() > 0) return static_cast<std::uint64_t>(done->number());
    if (done->number() == 0) return no_session();
    return fail(errc::busy, fmt::format("the session was written meanwhile: it has version {}",
                                        -done->number()));
}

result<std::string> session_store::rotate(std::string_view id) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (!is_session_id(id)) return no_session();
    const auto tag = id.substr(0, tag_bytes);
    std::string next = draw_id(tag, where_.chance());
    const auto done = evaluate(detail::cache_scripts::all().session_rotate,
                               {key_of(id), key_of(next), index_of(tag)}, {std::string(id), next},
                               repeat::idempotent);
    if (!done) return std::unexpected(done.error());
    if (done->number() != 1) return no_session();
    return next;
}

result<bool> session_store::end(std::string_view id) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (!is_session_id(id)) return false;
    const auto done = evaluate(detail::cache_scripts::all().session_end,
                               {index_of(id.substr(0, tag_bytes)), key_of(id)}, {std::string(id)},
                               repeat::idempotent);
    if (!done) return std::unexpected(done.error());
    return done->number() > 0;
}

result<std::vector<std::string>> session_store::sessions_of(std::string_view user) {
    auto fit = ready();
    if (fit) fit = detail::check_key(user);
    if (!fit) return std::unexpected(std::move(fit.error()));
    const std::string index = index_of(user_tag(user));
    auto listed =
        detail::ask(where_, words("ZRANGE", index, 0, -1).idempotent(), index, options_.timeout);
    if (!listed) return std::unexpected(std::move(listed.error()));
    std::vector<std::string> ids;
    for (auto& one : std::move(*listed).elements()) ids.push_back(std::move(one).text());
    // Those that were not used for a ttl have ended before their absolute end.
    std::vector<std::string> keys;
    for (const auto& id : ids) keys.push_back(key_of(id));
    std::vector<std::array<std::string_view, 2>> texts;
    for (const auto& key : keys) texts.push_back({"EXISTS", key});
    std::vector<command> commands;
    for (const auto& text : texts) commands.push_back({text, repeat::idempotent});
    std::vector<result<reply>> replies(commands.size());
    command_engine& engine = *where_.engine();
    if (!ids.empty()) {
        engine.exchange(commands, replies, later(engine.time().now(), options_.timeout));
    }
    std::vector<std::string> alive;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto there = detail::answer_of(std::move(replies[i]), keys[i]);
        if (!there) return std::unexpected(there.error());
        if (there->number() == 1) alive.push_back(std::move(ids[i]));
    }
    return alive;
}

result<std::size_t> session_store::end_all(std::string_view user, std::string_view except) {
    std::size_t ended = 0;
    // A few rounds: a session may have been rotated between the look and the end.
    for (int round = 0; round < 16; ++round) {
        auto ids = sessions_of(user);
        if (!ids) return std::unexpected(std::move(ids.error()));
        std::erase(*ids, except);
        if (ids->empty()) return ended;
        for (std::size_t at = 0; at < ids->size(); at += end_at_once) {
            std::vector<std::string> keys{index_of(user_tag(user))};
            std::vector<std::string> part;
            for (std::size_t i = at; i < std::min(ids->size(), at + end_at_once); ++i) {
                keys.push_back(key_of((*ids)[i]));
                part.push_back((*ids)[i]);
            }
            const auto done =
                evaluate(detail::cache_scripts::all().session_end, keys, part, repeat::idempotent);
            if (!done) return std::unexpected(done.error());
            ended += static_cast<std::size_t>(done->number());
        }
    }
    return fail(errc::busy, fmt::format("'{}' logs in faster than its sessions are ended", user));
}

}  // namespace holdfast
