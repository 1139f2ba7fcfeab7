// SPDX-License-Identifier: Apache-2.0
#include "engine/redis/command_lease_store.hpp"

#include "core/overloaded.hpp"
#include "engine/redis/lease_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

using detail::overloaded;

struct lease_scripts {
    script acquire{
#include "scripts/acquire.inc"
    };
    script renew{
#include "scripts/renew.inc"
    };
    script release{
#include "scripts/release.inc"
    };
    script leave{
#include "scripts/leave.inc"
    };
    script raise_fence{
#include "scripts/raise_fence.inc"
    };
};

const lease_scripts& scripts() {
    static const lease_scripts all;
    return all;
}

constexpr std::string_view fence_key = "holdfast:fence";

// A look at a lock that another program keeps for ever, or whose holder has long to go.
constexpr duration longest_look = std::chrono::seconds(1);

std::string channel_name(entropy& chance) {
    return "holdfast:grants:" + owner_token::draw(chance).value();
}

// An engine counts in milliseconds. Rounded up, so that it never ends before we stop believing.
std::int64_t to_ms(duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

result<lease_reply> misfit(const reply& r) {
    return fail(errc::corrupt, "a lease script answered " + to_string(r));
}

result<lease_reply> acquired(const ask::acquire& asked, const reply& r) {
    const auto& parts = r.elements();
    const auto number = [&](std::size_t i) { return i < parts.size() ? parts[i].number() : 0; };
    if (parts.size() == 2 && number(0) == 1) {
        return answer::granted{{static_cast<std::uint64_t>(number(1))}, asked.ttl};
    }
    if (parts.size() == 2 && number(0) == 2) {
        return fail(errc::busy, fmt::format("{} are waiting for '{}' already: the line is full",
                                            number(1), asked.name.value()));
    }
    if (parts.size() != 5) return misfit(r);
    const auto ahead = static_cast<std::uint32_t>(number(2));
    const auto remaining = std::chrono::milliseconds(number(1));
    // Only the head needs to be there when a dead holder's time is over: it looks just after that.
    const bool head = ahead == 0 && remaining >= duration::zero();
    const duration look =
        head ? std::min<duration>(remaining + std::chrono::milliseconds(1), longest_look)
             : longest_look;
    return answer::busy{.look_after = look,
                        .ahead = ahead,
                        .ticket = {static_cast<std::uint64_t>(number(3))},
                        .holder = {static_cast<std::uint64_t>(number(4))}};
}

result<lease_reply> interpret(const lease_request& request, result<reply> answered) {
    if (!answered) return std::unexpected(std::move(answered.error()));
    if (answered->is_error()) return std::unexpected(to_error(*answered));
    const reply& r = *answered;
    return std::visit(overloaded{
                          [&](const ask::acquire& asked) { return acquired(asked, r); },
                          [&](const ask::renew& asked) -> result<lease_reply> {
                              if (r.number() == 1) return answer::renewed{asked.ttl};
                              return answer::lost{};
                          },
                          [&](const ask::release&) -> result<lease_reply> {
                              if (r.number() == 1) return answer::released{};
                              return answer::lost{};
                          },
                          [&](const ask::leave&) -> result<lease_reply> {
                              return answer::released{r.number() == 1};
                          },
                      },
                      request);
}

// Modes that these scripts do not know are refused, never carried out as something weaker.
std::optional<error> unfit(const lease_request& request) {
    const lease_mode mode = std::visit([](const auto& asked) { return asked.mode; }, request);
    if (mode.type == lease_mode::kind::exclusive) return std::nullopt;
    return error{errc::unsupported, "this engine grants exclusive leases only"};
}

bool waits(const lease_request& request) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    return asked != nullptr && asked->otherwise == ask::when_busy::stand_in_line;
}

}  // namespace

// A request as a command: the words, and what they point to.
struct command_lease_store::prepared {
    lease_keys keys;
    std::array<std::string_view, 16> words;
    std::size_t count = 0;
    std::array<std::array<char, 20>, 8> digits;
    std::size_t numbers = 0;
    const script* body = nullptr;

    void word(std::string_view text) { words[count++] = text; }
    void word(std::integral auto number) {
        auto& room = digits[numbers++];
        const auto end = std::to_chars(room.data(), room.data() + room.size(), number).ptr;
        word(std::string_view(room.data(), static_cast<std::size_t>(end - room.data())));
    }
    void begin(const script& s, bool lock_only) {
        body = &s;
        word("EVALSHA");
        word(s.sha1());
        word(lock_only ? 1 : 4);
        word(keys.lock);
        if (lock_only) return;
        word(keys.line);
        word(keys.waiters);
        word(fence_key);
    }
    // Every lease script is idempotent by owner, so a lost reply may be asked for again. A release
    // is not: the second one would say that there was nothing to release.
    [[nodiscard]] command as_command() const {
        return {{words.data(), count},
                body == &scripts().release ? repeat::never : repeat::idempotent,
                body};
    }
};

std::vector<std::string> raise_fence_command() {
    return {"EVAL", scripts().raise_fence.source(), "1", std::string(fence_key)};
}

command_lease_store::command_lease_store(std::shared_ptr<command_engine> engine, entropy& chance,
                                         command_lease_options options)
    : engine_(std::move(engine)), options_(std::move(options)), channel_(channel_name(chance)) {}

command_lease_store::~command_lease_store() = default;

capabilities command_lease_store::can() const noexcept {
    return {.fencing = true, .fair = true, .pushes = true, .listing = true};
}

void command_lease_store::prepare(const lease_request& request, prepared& out) const {
    std::visit([&](const auto& asked) { out.keys = keys_of(options_.prefix, asked.name); },
               request);
    std::visit(overloaded{
                   [&](const ask::acquire& asked) {
                       out.begin(scripts().acquire, false);
                       out.word(asked.owner.value());
                       out.word(to_ms(asked.ttl));
                       out.word(asked.spare_fences);
                       out.word(waits(request) ? std::string_view(channel_) : std::string_view());
                       out.word(asked.ticket.value);
                       out.word(to_ms(std::min(asked.ttl, options_.claim)));
                       out.word(to_ms(options_.place));
                       out.word(options_.most_waiters);
                   },
                   [&](const ask::renew& asked) {
                       out.begin(scripts().renew, true);
                       out.word(asked.owner.value());
                       out.word(to_ms(asked.ttl));
                   },
                   [&](const ask::release& asked) {
                       out.begin(scripts().release, false);
                       out.word(asked.owner.value());
                   },
                   [&](const ask::leave& asked) {
                       out.begin(scripts().leave, false);
                       out.word(asked.owner.value());
                   },
               },
               request);
}

void command_lease_store::exchange(std::span<const lease_request> requests,
                                   std::span<result<lease_reply>> replies, time_point give_up) {
    for (const lease_request& request : requests) {
        if (const auto why = unfit(request)) {
            std::ranges::fill(replies, std::unexpected(*why));
            return;
        }
    }
    hear_pushes(requests, give_up);
    if (requests.size() == 1) {  // the usual one, without the vectors
        prepared ready;
        prepare(requests[0], ready);
        const command c = ready.as_command();
        result<reply> answered;
        engine_->exchange({&c, 1}, {&answered, 1}, give_up);
        replies[0] = interpret(requests[0], std::move(answered));
        return;
    }
    std::vector<prepared> ready(requests.size());
    std::vector<command> commands;
    commands.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        prepare(requests[i], ready[i]);
        commands.push_back(ready[i].as_command());
    }
    std::vector<result<reply>> answered(requests.size());
    engine_->exchange(commands, answered, give_up);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        replies[i] = interpret(requests[i], std::move(answered[i]));
    }
}

void command_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                                 reply_handler on_reply) {
    const auto shared = std::make_shared<const std::vector<lease_request>>(std::move(requests));
    const auto tell = std::make_shared<const reply_handler>(std::move(on_reply));
    for (std::size_t i = 0; i < shared->size(); ++i) {
        if (const auto why = unfit((*shared)[i])) {
            (*tell)(i, std::unexpected(*why));
            continue;
        }
        prepared ready;
        prepare((*shared)[i], ready);
        engine_->submit(ready.as_command(), give_up, [shared, tell, i](result<reply> answered) {
            (*tell)(i, interpret((*shared)[i], std::move(answered)));
        });
    }
}

void command_lease_store::on_push(push_handler handler) {
    handler_ = std::move(handler);
}

// Subscribes before the first waiter stands in line. If that fails, waiters still look again by
// themselves, and the next one that comes tries again.
void command_lease_store::hear_pushes(std::span<const lease_request> requests, time_point give_up) {
    if (hearing_.load(std::memory_order_acquire) || std::ranges::none_of(requests, waits)) return;
    const std::scoped_lock guard(subscribing_);
    if (subscription_ != nullptr) return;
    auto made = engine_->subscribe(
        channel_, channel_scope::global, [this](const push_event& event) { heard(event); },
        give_up);
    if (!made) return;
    subscription_ = std::move(*made);
    hearing_.store(true, std::memory_order_release);
}

// "owner fence claim_ms", as hand_over in line.lua sends it.
void command_lease_store::heard(const push_event& event) {
    if (event.type == push_event::kind::gap) {
        handler_(look_again{});
        return;
    }
    const std::string_view text = event.payload;
    const std::size_t first = text.find(' ');
    const std::size_t second = text.find(' ', first + 1);
    if (second == std::string_view::npos) return;
    auto owner = owner_token::parse(text.substr(0, first));
    std::uint64_t fence = 0;
    std::int64_t ms = 0;
    const std::string_view middle = text.substr(first + 1, second - first - 1);
    const std::string_view last = text.substr(second + 1);
    const bool good =
        std::from_chars(middle.data(), middle.data() + middle.size(), fence).ec == std::errc{} &&
        std::from_chars(last.data(), last.data() + last.size(), ms).ec == std::errc{};
    if (!owner || !good) return;
    handler_(handed_over{std::move(*owner), {fence}, std::chrono::milliseconds(ms)});
}

namespace {

// The prefix as a pattern that matches it to the letter.
std::string glob_of(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') out += '\\';
        out += c;
    }
    return out + "*";
}

// The fence in "owner:fence"; 0 for another program's value.
fencing_token fence_in(std::string_view value) {
    const std::size_t colon = value.rfind(':');
    std::uint64_t fence = 0;
    if (colon == std::string_view::npos || !owner_token::parse(value.substr(0, colon))) return {};
    std::from_chars(value.data() + colon + 1, value.data() + value.size(), fence);
    return {fence};
}

}  // namespace

result<std::vector<std::string>> command_lease_store::scan(const std::string& pattern,
                                                           time_point give_up) {
    std::vector<std::string> keys;
    std::string cursor = "0";
    do {
        const auto part = engine_->execute(
            words("SCAN", cursor, "MATCH", pattern, "COUNT", 1000, "TYPE", "string").idempotent(),
            give_up);
        if (!part) return std::unexpected(part.error());
        if (part->elements().size() != 2) return fail(errc::corrupt, "SCAN: " + to_string(*part));
        cursor = part->elements()[0].text();
        for (const reply& key : part->elements()[1].elements()) {
            if (key.text() != fence_key) keys.push_back(key.text());
        }
    } while (cursor != "0");
    std::ranges::sort(keys);
    const auto [first, last] = std::ranges::unique(keys);
    keys.erase(first, last);
    return keys;
}

result<std::vector<lease_info>> command_lease_store::list(std::string_view prefix,
                                                          time_point give_up) {
    const auto keys = scan(glob_of(options_.prefix + std::string(prefix)), give_up);
    if (!keys) return std::unexpected(keys.error());
    std::vector<lease_info> found;
    for (const std::string& key : *keys) {
        const auto name = lock_name::make(std::string_view(key).substr(options_.prefix.size()));
        if (!name) continue;
        const auto side = keys_of(options_.prefix, *name);
        const auto get = words("GET", key);
        const auto ttl = words("PTTL", key);
        const auto length = words("ZCARD", side.line);
        const std::array<command, 3> look{get.idempotent(), ttl.idempotent(), length.idempotent()};
        std::array<result<reply>, 3> seen;
        engine_->exchange(look, seen, give_up);
        for (const auto& one : seen) {
            if (!one) return std::unexpected(one.error());
        }
        if (seen[0]->is_nil() || seen[1]->number() == -2) continue;  // gone meanwhile
        lease_info info;
        info.name = name->value();
        info.fence = fence_in(seen[0]->text());
        if (seen[1]->number() >= 0) info.remaining = std::chrono::milliseconds(seen[1]->number());
        info.waiters = static_cast<std::uint32_t>(seen[2]->number());
        found.push_back(std::move(info));
    }
    return found;
}

}  // namespace holdfast
