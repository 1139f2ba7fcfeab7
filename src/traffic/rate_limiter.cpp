// SPDX-License-Identifier: Apache-2.0
#include <holdfast/rate_limiter.hpp>

#include "traffic/limiter_core.hpp"

#include <utility>

namespace holdfast {

using detail::limit_op;
using detail::limiter_core;

rate_limiter::rate_limiter(command_access where, limit_rule rule, rate_limiter_options options)
    : core_(std::make_unique<limiter_core>(std::move(where), std::vector<limit>{{"default", rule}},
                                           std::move(options), false)) {}

rate_limiter::rate_limiter(command_access where, std::vector<limit> limits,
                           rate_limiter_options options)
    : core_(std::make_unique<limiter_core>(std::move(where), std::move(limits), std::move(options),
                                           true)) {}

rate_limiter::rate_limiter(rate_limiter&&) noexcept = default;

rate_limiter& rate_limiter::operator=(rate_limiter&& other) noexcept {
    if (this != &other) {
        if (core_ != nullptr) core_->abandon_blocks();
        core_ = std::move(other.core_);
    }
    return *this;
}

rate_limiter::~rate_limiter() {
    if (core_ != nullptr) core_->abandon_blocks();
}

result<decision> rate_limiter::take(std::string_view key, std::uint64_t n) {
    return core_->take(key, n);
}

result<decision> rate_limiter::peek(std::string_view key, std::uint64_t n) {
    return core_->ask_always(key, limit_op::look, n);
}

result<decision> rate_limiter::refund(std::string_view key, std::uint64_t n) {
    return core_->ask_always(key, limit_op::give, n);
}

result<decision> rate_limiter::reserve(std::string_view key, std::uint64_t n, duration max_wait) {
    return core_->reserve(key, n, max_wait);
}

const std::vector<limit>& rate_limiter::limits() const noexcept {
    return core_->limits();
}

rate_limiter_statistics rate_limiter::statistics() const {
    return core_->statistics();
}

result<void> rate_limiter::return_blocks() {
    return core_->return_blocks();
}

}  // namespace holdfast
