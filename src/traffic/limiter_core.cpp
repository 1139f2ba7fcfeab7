// SPDX-License-Identifier: Apache-2.0
#include "traffic/limiter_core.hpp"

#include "core/validity.hpp"
#include "traffic/traffic_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::size_t most_limits = 16;

bool is_away(const error& why) noexcept {
    return why == errc::unavailable || why == errc::timed_out || why == errc::outcome_unknown;
}

}  // namespace

limiter_core::limiter_core(command_access where, std::vector<limit> limits,
                           rate_limiter_options options, bool named)
    : where_(std::move(where)),
      limits_(std::move(limits)),
      options_(std::move(options)),
      named_(named),
      good_(check_all()),
      book_(options_.remembered_keys) {
    if (!good_) return;
    least_capacity_ = capacity_of(limits_.front().rule);
    for (const limit& one : limits_) {
        plans_.emplace_back(one.rule);
        least_capacity_ = std::min(least_capacity_, plans_.back().capacity());
    }
    if (options_.block > 0) {
        blocks_.emplace(options_.block, options_.remembered_keys, where_.engine()->time());
    }
    if (options_.away == when_away::local_share) {
        share_.emplace(limits_, options_.local_share, options_.remembered_keys);
    }
}

result<void> limiter_core::check_all() const {
    if (limits_.empty() || limits_.size() > most_limits) {
        return fail(errc::invalid_argument,
                    fmt::format("{} limits: give 1 to {}", limits_.size(), most_limits));
    }
    for (const limit& one : limits_) {
        auto fits = check(one.rule);
        if (fits) continue;
        if (!named_) return fits;
        return fail(errc::invalid_argument,
                    fmt::format("limit '{}': {}", one.name, fits.error().detail));
    }
    if (options_.away_pause < duration::zero()) {
        return fail(errc::invalid_argument, "away_pause must not be negative");
    }
    if (options_.away == when_away::local_share && options_.local_share == 0) {
        return fail(errc::invalid_argument, "local_share is 0: set how many processes share");
    }
    return first_failure({check_place(where_), check_prefix(options_.prefix),
                          check_timeout(options_.timeout), check_names(), check_block()});
}

result<void> limiter_core::check_names() const {
    // It would come first, and be no hash tag: the limits of a key would be in different slots.
    const std::size_t brace = options_.prefix.find('{');
    if (named_ && brace != std::string::npos && options_.prefix.substr(brace, 2) == "{}") {
        return fail(errc::invalid_argument, "prefix: with several limits '{}' is no hash tag");
    }
    for (std::size_t i = 0; i < limits_.size(); ++i) {
        const std::string& name = limits_[i].name;
        if (!is_limit_name(name)) {
            return fail(errc::invalid_argument, "a limit's name is 1 to 64 of A-Z a-z 0-9 . _ -");
        }
        for (std::size_t other = 0; other < i; ++other) {
            if (limits_[other].name != name) continue;
            return fail(errc::invalid_argument,
                        fmt::format("two limits are called '{}': give each its own name", name));
        }
    }
    return {};
}

result<void> limiter_core::fit(std::string_view key, std::uint64_t n) const {
    if (!good_) return good_;
    if (n == 0) return fail(errc::invalid_argument, "n is 0: ask for at least one");
    if (auto good = check_key(key); !good) return good;
    // {}… would be no hash tag, and the limits of a key would be in different slots.
    if (named_ && key.front() == '}') {
        return fail(errc::invalid_argument, "key: with several limits it cannot start with '}'");
    }
    return {};
}

std::optional<decision> limiter_core::more_than_ever(std::uint64_t n) const {
    if (n <= least_capacity_) return std::nullopt;
    const auto least = std::ranges::min_element(plans_, {}, &limit_plan::capacity);
    decision refused{
        .limit = least_capacity_, .retry_after = decision::never, .source = decided_by::memory};
    if (named_) refused.binding = limits_[static_cast<std::size_t>(least - plans_.begin())].name;
    return refused;
}

void limiter_core::count(const decision& made) noexcept {
    add(made.allowed ? count_.allowed : count_.refused);
}

result<decision> limiter_core::take(std::string_view key, std::uint64_t n) {
    if (good_ && n > 0 && n <= least_capacity_) {  // the hot ways, before anything else
        const time_point now = where_.engine()->time().now();
        if (auto known = book_.refusal(key, n, now)) {
            add(count_.from_memory);
            add(count_.refused);
            return *std::move(known);
        }
    }
    if (auto good = fit(key, n); !good) return std::unexpected(good.error());
    if (auto refused = more_than_ever(n)) {
        add(count_.refused);
        return *std::move(refused);
    }
    if (resting(key)) return when_gone(key, n, {errc::unavailable, "the engine was down just now"});
    auto made = blocks_ ? take_through_block(key, n) : take_alone(key, n);
    if (!made && is_away(made.error())) return when_gone(key, n, std::move(made.error()));
    if (made) count(*made);
    return made;
}

result<decision> limiter_core::take_alone(std::string_view key, std::uint64_t n) {
    const time_point sent = where_.engine()->time().now();
    auto made = named_ ? exchange(key, limit_op::take, n, {}) : take_together(key, n);
    if (made && !made->allowed && made->retry_after != decision::never) {
        book_.remember_refusal(key, n, *made, sent);
    }
    return made;
}

// As if they had come one after the other, in one moment. If all together is too much, some of them
// may still fit: each asks for itself.
result<decision> limiter_core::take_together(std::string_view key, std::uint64_t n) {
    const time_point until = give_up();
    const auto ask = [&](std::uint64_t total) {
        return ask_one(key, limit_op::take, total, {}, until);
    };
    const auto [said, total, before] = coalescer_.ask_for(key, n, least_capacity_, ask);
    if (!said) return std::unexpected(said.error());
    auto whole = read_one(key, *said, limit_op::take, total, {});
    if (!whole || total == n) return whole;
    if (!whole->allowed) {
        const auto own = ask(n);
        if (!own) return std::unexpected(own.error());
        return read_one(key, *own, limit_op::take, n, {});
    }
    add(count_.together);
    heard mine = *said;
    mine.answer = plans_.front().part_of(said->answer, total, before, n);
    return read_one(key, mine, limit_op::take, n, {});
}

result<decision> limiter_core::ask_always(std::string_view key, limit_op op, std::uint64_t n) {
    if (auto good = fit(key, n); !good) return std::unexpected(good.error());
    if (op == limit_op::give) return give_back(key, n, std::nullopt);
    if (auto refused = more_than_ever(n)) return *std::move(refused);
    return exchange(key, op, n, {});
}

result<decision> limiter_core::give_back(std::string_view key, std::uint64_t n,
                                         std::optional<std::int64_t> until) {
    const auto most = std::ranges::max_element(plans_, {}, &limit_plan::capacity)->capacity();
    if (n > most) {
        return fail(errc::invalid_argument,
                    fmt::format("n is {}: more than the {} that can be taken", n, most));
    }
    auto given = exchange(key, limit_op::give, n, {.until = until});
    book_.forget(key, where_.engine()->time().now());
    return given;
}

result<decision> limiter_core::reserve(std::string_view key, std::uint64_t n, duration max_wait) {
    if (auto good = fit(key, n); !good) return std::unexpected(good.error());
    if (plans_.size() != 1 || !plans_.front().is_bucket()) {
        return fail(errc::unsupported, "reserve() needs one token_bucket or leaky_bucket");
    }
    if (max_wait < duration::zero() || max_wait > std::chrono::days(366)) {
        return fail(errc::invalid_argument, "max_wait: give it 0 to 366 days");
    }
    const limit_plan& plan = plans_.front();
    const request_extra extra{.wait = plan.parts_of(max_wait)};
    if (n > plan.most_at_once(extra)) {
        add(count_.refused);
        return decision{.limit = plan.capacity(), .retry_after = decision::never};
    }
    auto made = exchange(key, limit_op::take, n, extra);
    if (made) count(*made);
    return made;
}

result<decision> limiter_core::exchange(std::string_view key, limit_op op, std::uint64_t n,
                                        const request_extra& extra) {
    if (named_) return exchange_several(key, op, n);
    const auto said = ask_one(key, op, n, extra, give_up());
    if (!said) return std::unexpected(said.error());
    return read_one(key, *said, op, n, extra);
}

time_point limiter_core::give_up() const noexcept {
    return later(where_.engine()->time().now(), options_.timeout);
}

result<limiter_core::heard> limiter_core::ask_one(std::string_view key, limit_op op,
                                                  std::uint64_t n, const request_extra& extra,
                                                  time_point give_up) {
    add(count_.asked);
    const limit_plan& plan = plans_.front();
    const key_text name = key_of(key, 0);
    const repeat again = op == limit_op::look ? repeat::idempotent : repeat::never;
    script_call q(plan.body(), 1, again);
    q.word(name.view());
    const time_point sent = where_.engine()->time().now();
    std::optional<duration> left;
    const bool plain = op == limit_op::take && !extra.block;
    if (plain && plan.is_fixed_window()) left = book_.window_left(key, sent);
    if (left) {
        plan.put_told(q, n);
    } else {
        plan.put_own(q, op, n, extra);
    }
    auto answered = ask(where_, q.as_command(), name.view(), give_up);
    if (!answered) return std::unexpected(std::move(answered.error()));
    return heard{std::move(*answered), sent, left};
}

result<decision> limiter_core::read_one(std::string_view key, const heard& said, limit_op op,
                                        std::uint64_t n, const request_extra& extra) {
    const limit_plan& plan = plans_.front();
    auto made = plan.read(said.answer, op, n, extra);
    if (!made || !plan.is_fixed_window()) return made;
    if (said.answer.type() == reply::kind::integer) {
        made->reset_after = *said.window_left;
    } else if (made->reset_after > duration::zero()) {
        book_.remember_window(key, later(said.sent, made->reset_after), said.sent);
    }
    return made;
}

result<decision> limiter_core::exchange_several(std::string_view key, limit_op op,
                                                std::uint64_t n) {
    add(count_.asked);
    std::array<key_text, most_limits> names;
    script_call q(traffic_scripts::all().take_several, limits_.size(),
                  op == limit_op::look ? repeat::idempotent : repeat::never);
    for (std::size_t i = 0; i < limits_.size(); ++i) {
        names[i] = key_of(key, i);
        q.word(names[i].view());
    }
    q.word(op == limit_op::look ? "look" : op == limit_op::give ? "give" : "");
    for (const limit_plan& plan : plans_) {
        plan.put_shared(q, op, std::min(n, plan.capacity()));
    }
    const std::string all_of_key = fmt::format("{}{{{}}}:*", options_.prefix, key);
    const auto answered = ask(where_, q.as_command(), all_of_key, give_up());
    if (!answered) return std::unexpected(answered.error());
    if (answered->elements().size() != plans_.size()) {
        return fail(errc::corrupt, "a limit's script answered " + to_string(*answered));
    }
    std::vector<decision> all;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
        const std::uint64_t asked = std::min(n, plans_[i].capacity());
        auto one = plans_[i].read(answered->elements()[i], op, asked, {});
        if (!one) return one;
        one->binding = limits_[i].name;
        all.push_back(std::move(*one));
    }
    return binding_of(std::move(all));
}

// A limit that allowed has given back what it gave when another one refused; its numbers are not
// asked for then.
decision limiter_core::binding_of(std::vector<decision> all) const {
    const auto share_left = [](const decision& d) {
        return static_cast<double>(d.remaining) / static_cast<double>(d.limit);
    };
    decision* binding = &all.front();
    for (decision& one : all) {
        if (one.allowed != binding->allowed) {
            if (!one.allowed) binding = &one;
        } else if (one.allowed ? share_left(one) < share_left(*binding)
                               : one.retry_after > binding->retry_after) {
            binding = &one;
        }
    }
    duration delay{};
    for (const decision& one : all) delay = std::max(delay, one.delay);
    if (binding->allowed) binding->delay = delay;
    return std::move(*binding);
}

key_text limiter_core::key_of(std::string_view key, std::size_t i) const {
    const std::string_view name = named_ ? std::string_view(limits_[i].name) : std::string_view();
    return kept_key(options_.prefix, key, plans_[i].kept_as(), name);
}

std::size_t limiter_core::node_of(std::string_view key) const {
    return where_.engine()->node_of(key_of(key, 0).view());
}

bool limiter_core::resting(std::string_view key) const {
    if (options_.away == when_away::tell) return false;
    const time_point now = where_.engine()->time().now();
    return away_.any(now) && away_.rests(node_of(key), now);
}

result<decision> limiter_core::when_gone(std::string_view key, std::uint64_t n, error why) {
    add(count_.away);
    if (options_.away == when_away::tell) return std::unexpected(std::move(why));
    const time_point now = where_.engine()->time().now();
    away_.rest(node_of(key), now, later(now, options_.away_pause));
    decision made{.limit = least_capacity_, .source = decided_by::policy};
    if (share_) {
        made = share_->take(key, n, now);
    } else if (options_.away == when_away::allow) {
        made.allowed = true;
    } else {
        made.retry_after = std::chrono::seconds(1);
    }
    add(made.allowed ? count_.away_allowed : count_.away_refused);
    count(made);
    return made;
}

rate_limiter_statistics limiter_core::statistics() const {
    const auto read = [](const std::atomic<std::uint64_t>& c) { return c.load(relaxed); };
    return {.allowed = read(count_.allowed),
            .refused = read(count_.refused),
            .asked = read(count_.asked),
            .together = read(count_.together),
            .from_memory = read(count_.from_memory),
            .from_block = read(count_.from_block),
            .blocks = read(count_.blocks),
            .given_back = read(count_.given_back),
            .away = read(count_.away),
            .away_allowed = read(count_.away_allowed),
            .away_refused = read(count_.away_refused),
            .remembered_now = book_.size()};
}

}  // namespace holdfast::detail
