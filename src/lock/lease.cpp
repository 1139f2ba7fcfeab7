// SPDX-License-Identifier: Apache-2.0
#include <holdfast/lease.hpp>

#include "lock/lock_runtime.hpp"
#include "runtime/fork_watch.hpp"

#include <utility>

namespace holdfast {
namespace {

error not_open() {
    return {errc::invalid_argument, "this lease was released or moved"};
}

}  // namespace

lease::lease(std::shared_ptr<detail::lock_runtime> runtime,
             std::shared_ptr<detail::lease_state> state) noexcept
    : runtime_(std::move(runtime)), state_(std::move(state)) {}

lease::lease(lease&&) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
    if (this != &other) {
        abandon();
        runtime_ = std::move(other.runtime_);
        state_ = std::move(other.state_);
    }
    return *this;
}

lease::~lease() {
    abandon();
}

void lease::abandon() noexcept {
    if (open()) runtime_->abandon(*state_);
    state_.reset();
    runtime_.reset();
}

const lock_name& lease::name() const noexcept {
    static const lock_name none("");
    return state_ == nullptr ? none : state_->name;
}
fencing_token lease::fence() const noexcept {
    return state_ == nullptr ? fencing_token{} : state_->fence;
}
lease_mode lease::mode() const noexcept {
    return state_ == nullptr ? lease_mode{} : state_->mode;
}
std::stop_token lease::lost() const {
    return state_ == nullptr ? std::stop_token() : state_->lost.source().get_token();
}
bool lease::held() const noexcept {
    return open() && runtime_->held(*state_);
}

duration lease::remaining() const noexcept {
    return open() ? runtime_->remaining(*state_) : duration::zero();
}

// The clock is asked too: a lease whose deadline has passed is lost, even if the keeper has not
// run.
lease_status lease::status() const noexcept {
    if (!open()) return lease_status::released;
    const lease_status noted = state_->status.load();
    const bool ours = noted == lease_status::held || noted == lease_status::jeopardy;
    return ours && !runtime_->held(*state_) ? lease_status::lost : noted;
}

loss_reason lease::reason() const noexcept {
    if (status() != lease_status::lost) return loss_reason::none;
    if (detail::fork_generation() != state_->fork_generation) return loss_reason::forked;
    const loss_reason noted = state_->reason.load();
    return noted == loss_reason::none ? state_->reason_of_time() : noted;
}

std::string lease::loss_text() const {
    return reason() == loss_reason::evicted ? state_->loss_text : std::string();
}

result<void> lease::renew() {
    if (!open()) return std::unexpected(not_open());
    return runtime_->renew(*state_, state_->ttl);
}

result<void> lease::renew(duration ttl) {
    if (!open()) return std::unexpected(not_open());
    return runtime_->renew(*state_, ttl);
}

result<void> lease::downgrade() {
    if (!open()) return std::unexpected(not_open());
    return runtime_->downgrade(state_);
}

result<void> lease::release() && {
    if (!open()) return std::unexpected(not_open());
    const auto runtime = std::move(runtime_);
    return runtime->release(*state_);
}

result<lease_token> lease::detach() && {
    if (!open()) return std::unexpected(not_open());
    const auto runtime = std::move(runtime_);
    return runtime->detach(*state_);
}

void lease::release_async(release_completion done) && {
    if (!open()) return done(std::unexpected(not_open()));
    const auto runtime = std::move(runtime_);
    runtime->release_async(state_, std::move(done));
}

}  // namespace holdfast
