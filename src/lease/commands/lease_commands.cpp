// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/lease_commands.hpp"

#include "core/lease_bounds.hpp"
#include "core/overloaded.hpp"
#include "lease/commands/lease_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace holdfast {
namespace {

using detail::longest_poll;
using detail::overloaded;

// The head of the queue looks just after a dead holder's time is over. Whoever is behind it comes a
// little later, in case the head does not, and so that not all come at once.
constexpr duration behind_the_head = std::chrono::milliseconds(10);

duration poll_after(std::chrono::milliseconds remaining, std::uint32_t ahead) {
    if (remaining < duration::zero()) return longest_poll;
    return std::min<duration>(remaining + std::chrono::milliseconds(1) + ahead * behind_the_head,
                              longest_poll);
}

fencing_token fence_of(std::int64_t number) {
    return {static_cast<std::uint64_t>(number)};
}

// What the scripts call a mode: see holders.lua.
std::string_view letter_of(const lease_mode& mode) {
    switch (mode.type) {
        case lease_mode::kind::exclusive: return "x";
        case lease_mode::kind::shared: return "s";
        case lease_mode::kind::permit: return "p";
    }
    std::abort();
}

std::uint32_t permits_of(const lease_mode& mode) {
    return mode.type == lease_mode::kind::permit ? mode.permits : 1;
}

std::uint32_t limit_of(const lease_mode& mode) {
    return mode.type == lease_mode::kind::permit ? mode.limit : 1;
}

// Why a mode cannot be had, by the number that acquire.lua gives it.
std::string why_not(std::int64_t number, const ask::acquire& asked) {
    switch (number) {
        case code::shares_it:
            return "is shared by the one who wants it exclusively: release it first; there is no "
                   "way up that could not wait for itself";
        case code::held_by_permits:
            return fmt::format("is held as a semaphore: use another name for a {}mutex",
                               asked.mode.type == lease_mode::kind::shared ? "shared " : "");
        default: return "is held, and not as a semaphore: use another name for one";
    }
}

}  // namespace

const lock_name& name_of(const lease_request& request) {
    return std::visit([](const auto& asked) -> const lock_name& { return asked.name; }, request);
}

// An acquire must not need to know more than that nobody holds it. Of an owner that may stand in
// line the place must be taken away with the grant, or the name is handed to it once more.
bool may_take_fast_path(const command_lease_options& options, const lease_request& request) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    if (asked == nullptr) return true;
    return !options.careful() && permits_of(asked->mode) == 1 && asked->turns.value == 0 &&
           !asked->again;
}

std::vector<std::string> raise_fence_command() {
    return {"EVAL", scripts().raise_fence.source(), "1",
            std::string(fence_key({}, key_scope::server))};
}

std::vector<std::string> stand_aside_command(duration window) {
    return {"EVAL", scripts().stand_aside.source(), "1",
            std::string(boot_key({}, key_scope::server)), std::to_string(to_ms(window))};
}

void lease_commands::clear() noexcept {
    room_.clear();
    used_ = begun_ = count_ = 0;
}

// The kind as it stands in a lock behind its one owner.
void lease_commands::write_value(const owner_token& owner, const lease_mode& mode) {
    owner_size_ = owner.value().size();
    switch (mode.type) {
        case lease_mode::kind::exclusive: value_ = room_.put({owner.value(), our_mark}); return;
        case lease_mode::kind::shared: value_ = room_.put({owner.value(), our_mark, "s1:"}); return;
        case lease_mode::kind::permit:
            value_ = room_.put({owner.value(), our_mark, "p", room_.put(mode.permits), "/",
                                room_.put(mode.limit), ":"});
            return;
    }
}

// A key that is not needed is left empty, and is not sent.
void lease_commands::begin(const script& body, std::initializer_list<std::string_view> keys) {
    const auto needed = [](std::string_view key) { return !key.empty(); };
    word("EVALSHA");
    word(body.sha1());
    word(std::ranges::count_if(keys, needed));
    for (const std::string_view key : keys) {
        if (needed(key)) word(key);
    }
}

void lease_commands::begin_full(const script& body, const command_lease_options& options,
                                const lease_keys& keys) {
    const std::string_view boot = options.careful() ? keys.boot : std::string_view();
    begin(body, {keys.lock, keys.line, keys.waiters, keys.fence, keys.holders, keys.limit,
                 keys.evicted, boot});
}

void lease_commands::end(repeat again, const script* body) {
    detail::require(count_ < most_commands, "a request has at most most_commands commands");
    made_[count_++] = {{words_.data() + begun_, used_ - begun_}, again, body};
    begun_ = used_;
}

void lease_commands::end_careful(const command_lease_options& options, repeat again,
                                 const script& body) {
    if (options.careful()) {
        const std::string_view window = room_.put(to_ms(options.quarantine));
        word(vouches_ ? room_.put({window, " ", quarantined()}) : window);
    }
    end(again, &body);
}

void lease_commands::make(const command_lease_options& options, const lease_request& request,
                          std::string_view channel, lease_way way, lease_form form) {
    request_ = &request;
    const auto* asked = std::get_if<ask::acquire>(&request);
    way_ = may_take_fast_path(options, request) ? way : lease_way::full;
    form_ = form;
    clear();
    const auto& [name, owner, mode] = std::visit(
        [](const auto& one) { return std::tie(one.name, one.owner, one.mode); }, request);
    write_value(owner, mode);
    const std::string_view lock = lock_key(room_, options.prefix, name);
    if (asked != nullptr && way_ != lease_way::full) {
        make_fast(*asked, lock, fence_key(lock, options.scope));
        return;
    }
    if (const auto* kept = std::get_if<ask::renew>(&request)) {
        if (kept->floor.value != 0) {
            make_renew_above(options, *kept, lock);
        } else {
            make_renew(*kept, lock);
        }
        return;
    }
    const auto* ended = std::get_if<ask::release>(&request);
    if (ended != nullptr && ended->only.value == 0 && way_ != lease_way::full) {
        begin(scripts().release_free, {lock});
        word(front());
        end(repeat::never, &scripts().release_free);
        return;
    }
    way_ = lease_way::full;
    make_full(options, request, channel, keys_of(room_, lock, options.scope));
}

namespace {

std::uint64_t fences_to_draw(const ask::acquire& asked) {
    return std::uint64_t{1} + asked.spare_fences;
}

}  // namespace

// A limit that was changed is forgotten a week after the last use: this is one.
void lease_commands::make_fast(const ask::acquire& asked, std::string_view lock,
                               std::string_view fence) {
    word("SET");
    word(lock);
    word(value_);
    word("NX");
    word("PX");
    word(to_ms(asked.ttl));
    end(repeat::never);
    word("INCRBY");
    word(fence);
    word(fences_to_draw(asked));
    end(repeat::idempotent);  // a number that is drawn twice is only left out
    if (asked.mode.type != lease_mode::kind::permit) return;
    word("PEXPIRE");
    word(limit_key(room_, lock));
    word(constant::limit_life_ms);
    end(repeat::idempotent);
}

void lease_commands::make_renew(const ask::renew& kept, std::string_view lock) {
    const bool alone = kept.mode.type == lease_mode::kind::exclusive;
    const script& body = alone ? scripts().renew : scripts().renew_share;
    begin(body,
          {lock, evicted_key(room_, lock), alone ? std::string_view() : holders_key(room_, lock)});
    word(front());
    word(to_ms(kept.ttl));
    word(kept.fence.value);
    if (!alone) word(kind());
    end(repeat::idempotent, &body);
}

void lease_commands::make_renew_above(const command_lease_options& options, const ask::renew& kept,
                                      std::string_view lock) {
    const script& body = scripts().renew_above;
    begin(body, {lock, evicted_key(room_, lock), fence_key(lock, options.scope)});
    word(front());
    word(to_ms(kept.ttl));
    word(kept.fence.value);
    word(kept.floor.value);
    word(to_ms(options.furthest_floor));
    end(repeat::idempotent, &body);
}

// Every script is idempotent by owner, so a lost reply may be asked for again. A release is not:
// the second one would say that there was nothing to release.
void lease_commands::make_full(const command_lease_options& options, const lease_request& request,
                               std::string_view channel, const lease_keys& keys) {
    const script* body = nullptr;
    const auto* ended = std::get_if<ask::release>(&request);
    if (const auto* asked = std::get_if<ask::acquire>(&request)) {
        body = &scripts().acquire;
        begin_full(*body, options, keys);
        word(owner());
        word(to_ms(asked->ttl));
        word(asked->spare_fences);
        word(channel);
        word(asked->ticket.value);
        word(asked->barge ? 0 : to_ms(std::min(asked->ttl, options.claim)));
        word(to_ms(options.place));
        word(options.most_waiters);
        word(letter_of(asked->mode));
        word(permits_of(asked->mode));
        word(limit_of(asked->mode));
        word(asked->turns.value);
    } else if (ended != nullptr && ended->only.value != 0) {
        body = &scripts().release_only;
        begin_full(*body, options, keys);
        word(owner());
        word(ended->only.value);
    } else if (ended != nullptr) {
        const bool apart = form_ == lease_form::several;
        if (apart) {
            word("DEL");
            word(waiter_key(room_, keys.waiters, owner()));
            end(repeat::never);  // nobody needs the answer
        }
        body = &scripts().release;
        begin_full(*body, options, keys);
        word(owner());
        word(apart ? "0" : "1");
    } else {
        body = &scripts().leave;
        begin_full(*body, options, keys);
        word(owner());
    }
    end_careful(options, body == &scripts().release ? repeat::never : repeat::idempotent, *body);
}

void lease_commands::make_resize(const command_lease_options& options, const lock_name& name,
                                 std::uint32_t permits) {
    clear();
    const std::string_view lock = lock_key(room_, options.prefix, name);
    begin_full(scripts().resize, options, keys_of(room_, lock, options.scope));
    word(permits);
    end_careful(options, repeat::idempotent, scripts().resize);
}

std::optional<result<lease_reply>> lease_commands::interpret(std::span<result<reply>> replies) {
    detail::require(replies.size() == count_, "replies.size() == commands().size()");
    if (way_ == lease_way::fast && std::holds_alternative<ask::acquire>(*request_)) {
        return interpret_fast(replies);
    }
    result<reply>& r = replies.back();
    if (!r) return std::unexpected(std::move(r.error()));
    if (r->is_error()) return std::unexpected(to_error(*r));
    const bool alone = std::visit([](const auto& one) { return one.mode.type; }, *request_) ==
                       lease_mode::kind::exclusive;
    // Somebody waits; or it is not alone any more, or lost: only the script can tell, and why.
    if (lets_go() && r->number() != code::released) {
        contended_ = r->number() == code::contended || !alone;
        return std::nullopt;
    }
    return interpret_full(*r);
}

std::optional<result<lease_reply>> lease_commands::interpret_fast(
    std::span<result<reply>> replies) {
    result<reply>& set = replies[0];
    const result<reply>& drawn = replies[1];
    if (!set) return not_answered(set.error());
    if (set->is_error()) return std::unexpected(to_error(*set));
    if (set->is_nil()) {
        contended_ = true;
        return std::nullopt;
    }
    took_ = true;
    if (!drawn || drawn->type() != reply::kind::integer) return std::nullopt;
    return taken_with(drawn->number());
}

std::optional<result<lease_reply>> lease_commands::not_answered(error& why) {
    if (why != errc::outcome_unknown) return std::unexpected(std::move(why));
    took_ = true;  // it may have
    return std::nullopt;
}

std::optional<result<lease_reply>> lease_commands::taken_with(std::int64_t last_fence) const {
    const auto& asked = std::get<ask::acquire>(*request_);
    const std::int64_t fence = last_fence - asked.spare_fences;
    if (fence < constant::least_fence) return std::nullopt;
    return answer::granted{fence_of(fence), asked.ttl};
}

result<lease_reply> lease_commands::interpret_full(const reply& r) {
    return std::visit(overloaded{
                          [&](const ask::acquire& asked) { return acquired(asked, r); },
                          [&](const ask::renew& asked) { return renewed(asked, r); },
                          [&](const ask::release&) -> result<lease_reply> {
                              if (r.number() == code::released) return answer::released{};
                              return answer::lost{r.text()};
                          },
                          [&](const ask::leave&) -> result<lease_reply> {
                              return answer::released{r.number() == code::released};
                          },
                      },
                      *request_);
}

result<lease_reply> lease_commands::renewed(const ask::renew& asked, const reply& r) {
    const std::span<const reply> parts(r.elements());
    if (parts.size() != 3) return fail(errc::corrupt, "a lease script answered " + to_string(r));
    server_time_ = time_told(parts.subspan(1)).value_or(wall_time());
    const reply& what = parts[0];
    contended_ = what.number() == code::renewed_contended;
    const bool gone = what.number() == code::lost;
    if (gone) return answer::lost{what.text()};
    return answer::renewed{asked.ttl, what.number() != code::floor_too_far};
}

result<lease_reply> lease_commands::refused(const ask::acquire& asked, std::int64_t how,
                                            std::int64_t number) {
    const std::string& name = asked.name.value();
    if (how == code::nothing_to_share) return answer::lost{};
    if (how == code::other_mode) {
        return fail(errc::invalid_argument, fmt::format("'{}' {}", name, why_not(number, asked)));
    }
    return fail(errc::invalid_argument, fmt::format("'{}' has {} permits: {} cannot be had at once",
                                                    name, number, asked.mode.permits));
}

result<lease_reply> lease_commands::acquired(const ask::acquire& asked, const reply& r) {
    const auto& parts = r.elements();
    const auto number = [&](std::size_t i) { return i < parts.size() ? parts[i].number() : 0; };
    if (parts.size() == 2 && number(0) == code::granted) {
        return answer::granted{fence_of(number(1)), asked.ttl};
    }
    contended_ = true;
    if (parts.size() == 2 && number(0) >= code::other_mode)
        return refused(asked, number(0), number(1));
    if (parts.size() == 2 && number(0) == code::line_full) {
        return fail(errc::busy, fmt::format("{} are waiting for '{}' already: the queue is full",
                                            number(1), asked.name.value()));
    }
    if (parts.size() == 3 && number(0) == code::quarantined) {
        quarantined_ = std::make_unique<const std::string>(parts[2].text());
        return fail(errc::unavailable,
                    fmt::format("the server was restarted or promoted: it grants nothing for "
                                "another {} ms, until all it may have forgotten is over",
                                number(1)));
    }
    if (parts.size() != 5 && parts.size() != 6) {
        return fail(errc::corrupt, "a lease script answered " + to_string(r));
    }
    if (parts.size() == 6) quarantined_ = std::make_unique<const std::string>(parts[5].text());
    const auto ahead = static_cast<std::uint32_t>(number(2));
    const auto remaining = std::chrono::milliseconds(number(1));
    return answer::busy{.poll_after = poll_after(remaining, ahead),
                        .ahead = ahead,
                        .ticket = {static_cast<std::uint64_t>(number(3))},
                        .latest = fence_of(number(4))};
}

}  // namespace holdfast
