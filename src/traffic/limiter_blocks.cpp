// SPDX-License-Identifier: Apache-2.0
//
// A limiter's blocks: tokens that a process takes together, and spends or gives back by itself.
#include "core/validity.hpp"
#include "traffic/limiter_core.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

constexpr duration least_block_life = std::chrono::milliseconds(10);

}  // namespace

result<void> limiter_core::check_block() const {
    if (options_.block == 0) return {};
    if (options_.remembered_keys == 0) {
        return fail(errc::invalid_argument, "block needs remembered_keys above 0");
    }
    const auto* counter = std::get_if<sliding_counter>(&limits_.front().rule);
    const auto* bucket = std::get_if<token_bucket>(&limits_.front().rule);
    const bool able = bucket != nullptr ||
                      std::holds_alternative<fixed_window>(limits_.front().rule) ||
                      (counter != nullptr && counter->mode == counting::strict);
    if (limits_.size() > 1 || !able) {
        return fail(errc::invalid_argument,
                    "block works for one token_bucket, fixed_window or "
                    "strict sliding_counter");
    }
    if (bucket == nullptr) {
        if (options_.block <= capacity_of(limits_.front().rule)) return {};
        return fail(errc::invalid_argument, "block is more than the limit: it is never granted");
    }
    if (options_.block_life < least_block_life) {
        return fail(errc::invalid_argument, "block_life is below 10 ms");
    }
    const limit_plan plan(limits_.front().rule);
    const bool fits = options_.block <= plan.capacity() &&
                      plan.cost(options_.block) + plan.parts_of(options_.block_life) <= plan.full();
    if (fits) return {};
    return fail(errc::invalid_argument,
                "block and what refills during block_life are more than the capacity: such a block "
                "is never granted");
}

result<decision> limiter_core::take_through_block(std::string_view key, std::uint64_t n) {
    clock& time = where_.engine()->time();
    const limit_plan& plan = plans_.front();
    const auto found = blocks_->take(key, n, later(time.now(), options_.timeout));
    if (found.next == token_blocks::step::served) {
        add(count_.from_block);
        return found.served;
    }
    if (found.next == token_blocks::step::alone) return take_alone(key, n);

    const time_point sent = time.now();
    const request_extra extra{
        .block = true,
        .floor = plan.is_bucket() ? plan.parts_of(options_.block_life) : std::int64_t{0}};
    if (found.leftover > 0) {
        add(count_.given_back, found.leftover);
        static_cast<void>(give_back(key, found.leftover, found.leftover_end));
    }
    const auto said = ask_one(key, limit_op::take, options_.block, extra, give_up());
    auto made = said ? read_one(key, *said, limit_op::take, options_.block, extra)
                     : result<decision>(std::unexpected(said.error()));
    token_blocks::fetched got;
    if (made && made->allowed) {
        add(count_.blocks);
        const duration life = plan.block_life(*made, options_.block_life);
        const auto in_us = std::chrono::floor<std::chrono::microseconds>(life).count();
        got = {.granted = options_.block,
               .spent = n,
               .until = valid_until(sent, life),
               .server_end = plan.charged_at(said->answer).value_or(0) + in_us,
               .answer = *made};
        made->remaining += options_.block - n;
    } else if (made) {
        got.not_before = later(sent, std::min(made->retry_after, options_.block_life));
    }
    blocks_->finish(key, got);
    if (made && !made->allowed) return take_alone(key, n);
    return made;
}

result<void> limiter_core::return_blocks() {
    if (!good_) return good_;
    if (!blocks_) return {};
    result<void> outcome;
    for (const auto& rest : blocks_->drain()) {
        auto given = give_back(rest.key, rest.left, rest.server_end);
        if (given) {
            add(count_.given_back, rest.left);
        } else {
            outcome = std::unexpected(given.error());
        }
    }
    return outcome;
}

void limiter_core::abandon_blocks() noexcept {
    if (!blocks_) return;
    for (const auto& rest : blocks_->drain()) {
        const key_text name = key_of(rest.key, 0);
        script_call q(plans_.front().body(), 1, repeat::never);
        q.word(name.view());
        plans_.front().put_own(q, limit_op::give, rest.left, {.until = rest.server_end});
        command_engine& engine = *where_.engine();
        engine.submit(q.as_command(), later(engine.time().now(), options_.timeout),
                      [](const result<reply>&) {});
    }
}

}  // namespace holdfast::detail
