// SPDX-License-Identifier: Apache-2.0
#include <holdfast/concurrency_limiter.hpp>

#include "command/script_call.hpp"
#include "core/validity.hpp"
#include "traffic/traffic_scripts.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast {
namespace {

constexpr std::uint32_t most_permits = 100'000;

result<void> check_options(const concurrency_options& options) {
    if (options.permits == 0 || options.permits > most_permits) {
        return fail(errc::invalid_argument,
                    fmt::format("permits is {}: give it 1 to {}", options.permits, most_permits));
    }
    if (options.ttl < std::chrono::milliseconds(10) || options.ttl > std::chrono::hours(24)) {
        return fail(errc::invalid_argument, "ttl: give it 10 ms to 24 h");
    }
    return {};
}

std::int64_t to_us(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

std::uint64_t left_of(std::uint32_t permits, std::int64_t out) {
    const auto used = static_cast<std::uint64_t>(out);
    return used < permits ? permits - used : 0;
}

}  // namespace

permit::permit(command_access where, std::string key, owner_token owner,
               const concurrency_options& options, time_point until)
    : where_(std::move(where)),
      key_(std::move(key)),
      owner_(owner),
      ttl_(options.ttl),
      timeout_(options.timeout),
      until_(until) {}

permit::permit(permit&& other) noexcept
    : where_(std::move(other.where_)),
      key_(std::move(other.key_)),
      owner_(other.owner_),
      ttl_(other.ttl_),
      timeout_(other.timeout_),
      until_(other.until_),
      out_(std::exchange(other.out_, false)) {}

permit& permit::operator=(permit&& other) noexcept {
    if (this == &other) return *this;
    abandon();
    where_ = other.where_;
    key_ = std::move(other.key_);
    owner_ = other.owner_;
    ttl_ = other.ttl_;
    timeout_ = other.timeout_;
    until_ = other.until_;
    out_ = std::exchange(other.out_, false);
    return *this;
}

permit::~permit() {
    abandon();
}

void permit::abandon() noexcept {
    if (!std::exchange(out_, false)) return;
    command_engine& engine = *where_.engine();
    const auto drop = words("ZREM", key_, owner_.value());
    engine.submit(drop.idempotent(), later(engine.time().now(), timeout_),
                  [](const result<reply>&) {});
}

bool permit::held() const noexcept {
    return out_ && where_.engine()->time().now() < until_;
}

result<void> permit::renew() {
    if (!out_) return fail(errc::invalid_argument, "the permit was released or moved from");
    const time_point sent = where_.engine()->time().now();
    detail::script_call q(detail::traffic_scripts::all().stay, 1, repeat::idempotent);
    q.word(key_);
    q.word(owner_.value());
    q.word(to_us(ttl_));
    const auto stayed = detail::ask(where_, q.as_command(), key_, timeout_);
    if (!stayed) return std::unexpected(stayed.error());
    if (stayed->number() != 1) {
        out_ = false;
        return fail(errc::lease_lost, fmt::format("the permit of '{}' ran out", key_));
    }
    until_ = valid_until(sent, ttl_);
    return {};
}

result<void> permit::release() && {
    if (!std::exchange(out_, false)) {
        return fail(errc::invalid_argument, "the permit was released or moved from");
    }
    const bool late = where_.engine()->time().now() >= until_;
    const auto drop = words("ZREM", key_, owner_.value());
    const auto gone = detail::ask(where_, drop.idempotent(), key_, timeout_);
    if (!gone) return std::unexpected(gone.error());
    // A repeated ZREM finds nothing to remove, so the clock says whether the permit had run out.
    if (!late) return {};
    return fail(errc::lease_lost, fmt::format("the permit of '{}' had run out", key_));
}

concurrency_limiter::concurrency_limiter(command_access where, concurrency_options options)
    : where_(std::move(where)), options_(std::move(options)) {}

result<admission> concurrency_limiter::enter(std::string_view key) {
    auto fit =
        detail::first_failure({detail::check_place(where_), check_options(options_),
                               detail::check_prefix(options_.prefix),
                               detail::check_timeout(options_.timeout), detail::check_key(key)});
    if (!fit) return std::unexpected(fit.error());
    std::string name(detail::kept_key(options_.prefix, key, detail::kept::permits).view());
    owner_token owner = owner_token::draw(where_.chance());
    detail::script_call q(detail::traffic_scripts::all().enter, 1, repeat::idempotent);
    q.word(name);
    q.word(owner.value());
    q.word(options_.permits);
    q.word(to_us(options_.ttl));
    const time_point sent = where_.engine()->time().now();
    const auto answered = detail::ask(where_, q.as_command(), name, options_.timeout);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() != 2 && parts.size() != 4) {
        return fail(errc::corrupt, "a permit's script answered " + to_string(*answered));
    }
    admission made{.answer = {.limit = options_.permits}, .held = std::nullopt};
    made.answer.allowed = parts[0].number() == 1;
    made.answer.remaining = left_of(options_.permits, parts[1].number());
    made.answer.reset_after = options_.ttl;
    if (made.answer.allowed) {
        made.held =
            permit(where_, std::move(name), owner, options_, valid_until(sent, options_.ttl));
    } else {
        made.answer.retry_after = std::chrono::microseconds(parts[2].number());
        made.answer.reset_after = std::chrono::microseconds(parts[3].number());
    }
    return made;
}

}  // namespace holdfast
