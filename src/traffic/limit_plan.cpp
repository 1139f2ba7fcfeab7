// SPDX-License-Identifier: Apache-2.0
#include "traffic/limit_plan.hpp"

#include "core/overloaded.hpp"
#include "traffic/traffic_scripts.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace holdfast::detail {
namespace {

__extension__ using wide = __int128;

constexpr std::int64_t largest = std::int64_t{1} << 52;

std::int64_t to_us(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

std::int64_t divide_up(wide a, wide b) {
    return static_cast<std::int64_t>((a + b - 1) / b);
}

struct token_price {
    std::int64_t per_token;
    std::int64_t unit;
};

// `rate` tokens in `period_us`, such that `tokens` of them are below 2^52 parts.
token_price price_of(std::int64_t rate, std::int64_t period_us, std::int64_t tokens) {
    const std::int64_t common = std::gcd(rate, period_us);
    const token_price exact{period_us / common, rate / common};
    if (static_cast<wide>(exact.per_token) * tokens <= largest) return exact;
    const std::int64_t whole = divide_up(period_us, rate);
    const auto unit = static_cast<std::int64_t>(largest / (static_cast<wide>(whole) * tokens));
    if (unit < 1) return {whole, 1};
    return {divide_up(static_cast<wide>(period_us) * unit, rate), unit};
}

std::string_view op_word(limit_op op) {
    switch (op) {
        case limit_op::take: return "";
        case limit_op::look: return "look";
        case limit_op::give: return "give";
    }
    return "";
}

}  // namespace

limit_plan::limit_plan(const limit_rule& rule) : kind_('g'), capacity_(capacity_of(rule)) {
    const traffic_scripts& scripts = traffic_scripts::all();
    body_ = &scripts.take_gcra;
    const auto bucket = [&](std::uint64_t rate, duration period, std::uint64_t tokens) {
        const auto price = price_of(static_cast<std::int64_t>(rate), to_us(period),
                                    static_cast<std::int64_t>(tokens));
        per_token_ = price.per_token;
        unit_ = price.unit;
    };
    std::visit(overloaded{
                   [&](const fixed_window& r) {
                       kind_ = 'f';
                       kept_as_ = kept::fixed_window;
                       body_ = &scripts.take_fixed_window;
                       window_ = to_ms(r.window);
                   },
                   [&](const sliding_log& r) {
                       kind_ = 'l';
                       kept_as_ = kept::sliding_log;
                       body_ = &scripts.take_sliding_log;
                       window_ = to_us(r.window);
                   },
                   [&](const sliding_counter& r) {
                       kind_ = 'c';
                       kept_as_ = kept::sliding_counter;
                       body_ = &scripts.take_sliding_counter;
                       window_ = divide_up(to_us(r.window), r.parts);
                       parts_ = r.mode == counting::unbiased ? -std::int64_t{r.parts} : r.parts;
                   },
                   [&](const token_bucket& r) {
                       kept_as_ = kept::token_bucket;
                       bucket(r.refill, r.period, r.capacity);
                       full_ = cost(r.capacity);
                   },
                   [&](const leaky_bucket& r) {
                       kept_as_ = kept::leaky_bucket;
                       bucket(r.drain, r.period, r.queue + 1);
                       full_ = per_token_;
                       own_wait_ = cost(r.queue);
                       queues_ = true;
                   },
               },
               rule);
}

std::int64_t limit_plan::cost(std::uint64_t n) const noexcept {
    return static_cast<std::int64_t>(n) * per_token_;
}

std::int64_t limit_plan::parts_of(duration d) const noexcept {
    const wide parts = static_cast<wide>(d.count()) * unit_ / 1000;
    return static_cast<std::int64_t>(std::min<wide>(parts, largest));
}

std::int64_t limit_plan::bound(const request_extra& extra) const noexcept {
    if (!extra.wait) return full_ + own_wait_;
    return full_ + (queues_ ? std::min(own_wait_, *extra.wait) : *extra.wait);
}

std::uint64_t limit_plan::most_at_once(const request_extra& extra) const noexcept {
    return static_cast<std::uint64_t>(bound(extra) / per_token_);
}

// Whole microseconds, as the server's clock: who waits that long is not early by a part of one.
duration limit_plan::time_of(std::int64_t parts) const noexcept {
    return std::chrono::microseconds(divide_up(parts, unit_));
}

std::int64_t limit_plan::signed_cost(limit_op op, std::uint64_t n) const noexcept {
    if (op == limit_op::look) return 0;
    return op == limit_op::give ? -cost(n) : cost(n);
}

void limit_plan::put_own(script_call& q, limit_op op, std::uint64_t n,
                         const request_extra& extra) const {
    if (kind_ == 'g') {
        q.word(signed_cost(op, n));
        q.word(bound(extra));
        if (unit_ == 1 && !extra.block && !extra.until) return;
        q.word(unit_);
        if (extra.block || extra.until) q.word(extra.floor);
        if (extra.until) q.word(*extra.until);
        return;
    }
    q.word(n);
    q.word(capacity_);
    q.word(window_);
    if (kind_ == 'c') q.word(parts_);
    if (op != limit_op::take || extra.block) q.word(extra.block ? "block" : op_word(op));
    if (extra.until) q.word(*extra.until);
}

void limit_plan::put_told(script_call& q, std::uint64_t n) const {
    q.word(n);
    q.word(capacity_);
    q.word(window_);
    q.word("told");
}

void limit_plan::put_shared(script_call& q, limit_op op, std::uint64_t n) const {
    q.word(std::string_view(&kind_, 1));
    if (kind_ == 'g') {
        q.word(signed_cost(op, n));
        q.word(full_ + own_wait_);
        q.word(unit_);
        q.word("");
        return;
    }
    q.word(n);
    q.word(capacity_);
    q.word(window_);
    if (kind_ == 'c') {
        q.word(parts_);
    } else {
        q.word("");
    }
}

decision limit_plan::bucket_decision(std::int64_t level, limit_op op, std::uint64_t n,
                                     const request_extra& extra) const {
    const std::int64_t asked = cost(n);
    const std::int64_t most = bound(extra);
    decision made{.limit = capacity_};
    made.allowed = op == limit_op::give || level + asked <= most;
    std::int64_t after = level;
    if (op == limit_op::give) {
        after = std::max<std::int64_t>(0, level - asked);
    } else if (made.allowed) {
        made.delay = time_of(std::max<std::int64_t>(0, level + asked - full_));
        if (op == limit_op::take) after = level + asked;
    }
    if (!made.allowed)
        made.retry_after = asked > most ? decision::never : time_of(level + asked - most);
    const std::int64_t left = std::max<std::int64_t>(0, full_ + own_wait_ - after);
    made.remaining = static_cast<std::uint64_t>(left / per_token_);
    made.reset_after = time_of(after);
    return made;
}

result<decision> limit_plan::read(const reply& answered, limit_op op, std::uint64_t n,
                                  const request_extra& extra) const {
    if (kind_ == 'g') {
        const bool timed = answered.elements().size() == 2;  // the level, and the server's time
        if (!timed && answered.type() != reply::kind::integer) {
            return fail(errc::corrupt, "a limit's script answered " + to_string(answered));
        }
        const reply& level = timed ? answered.elements()[0] : answered;
        return bucket_decision(level.number(), op, n, extra);
    }
    decision made{.limit = capacity_};
    std::uint64_t used = 0;
    if (answered.type() == reply::kind::integer) {  // allowed, in a window that we were told of
        made.allowed = true;
        used = static_cast<std::uint64_t>(answered.number());
    } else {
        const auto& parts = answered.elements();
        if (parts.size() == 4 || parts.size() == 5) {
            made.allowed = parts[0].number() == 1;
            used = static_cast<std::uint64_t>(parts[1].number());
            made.retry_after = std::chrono::microseconds(parts[2].number());
            made.reset_after = std::chrono::microseconds(parts[3].number());
        } else if (parts.size() == 2) {  // the usual take of a counter: the rest is known here
            made.allowed = true;
            used = static_cast<std::uint64_t>(parts[0].number());
            const std::int64_t all = (std::abs(parts_) + 1) * window_;
            made.reset_after = std::chrono::microseconds(all - parts[1].number());
        } else {
            return fail(errc::corrupt, "a limit's script answered " + to_string(answered));
        }
    }
    made.remaining = used < capacity_ ? capacity_ - used : 0;
    if (made.allowed) return made;
    // A window in its last moment may say that nothing is left of it.
    const duration least = std::chrono::microseconds(1);
    made.retry_after = n > capacity_ ? decision::never : std::max(made.retry_after, least);
    return made;
}

std::optional<std::int64_t> limit_plan::charged_at(const reply& answered) const {
    const auto& parts = answered.elements();
    const std::size_t timed = kind_ == 'g' ? 2 : 5;
    if (parts.size() != timed) return std::nullopt;
    return parts.back().number();
}

// A bucket's answer is its level before, the others' is what is used afterwards.
reply limit_plan::part_of(const reply& answered, std::uint64_t total, std::uint64_t before,
                          std::uint64_t n) const {
    if (kind_ == 'g') return reply::integer(answered.number() + cost(before));
    const auto later_ones = static_cast<std::int64_t>(total - before - n);
    if (answered.type() == reply::kind::integer) {
        return reply::integer(answered.number() - later_ones);
    }
    std::vector<reply> parts(answered.elements().begin(), answered.elements().end());
    const std::size_t used = parts.size() == 4 ? 1 : 0;
    parts[used] = reply::integer(parts[used].number() - later_ones);
    return reply::array(std::move(parts));
}

duration limit_plan::block_life(const decision& taken, duration wanted) const noexcept {
    if (kind_ == 'g') return wanted;
    if (kind_ == 'f') return taken.reset_after;
    // A counter's block belongs to the part of the window that it was taken in.
    if (kind_ == 'c' && parts_ > 0) {
        return taken.reset_after - std::chrono::microseconds(window_ * parts_);
    }
    return duration::zero();
}

}  // namespace holdfast::detail
