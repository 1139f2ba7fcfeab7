// SPDX-License-Identifier: Apache-2.0
#include <holdfast/lease_set.hpp>

#include "lock/lock_runtime.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

namespace holdfast {

/// Fires when one of several tokens does. Made when somebody first wants to hear of it.
struct lease_set::watch {
    struct forward {
        std::stop_source* to;
        void operator()() const { to->request_stop(); }
    };
    std::once_flag made;
    std::stop_source any{std::nostopstate};
    std::list<std::stop_callback<forward>> each;  // they do not move
};

lease_set::lease_set(std::shared_ptr<detail::lock_runtime> runtime, std::vector<lease> leases)
    : runtime_(std::move(runtime)), leases_(std::move(leases)), watch_(std::make_unique<watch>()) {}

lease_set::lease_set(lease_set&&) noexcept = default;

lease_set& lease_set::operator=(lease_set&& other) noexcept {
    if (this != &other) {
        watch_ = std::move(other.watch_);
        leases_ = std::move(other.leases_);
        runtime_ = std::move(other.runtime_);
    }
    return *this;
}

lease_set::~lease_set() = default;

std::optional<fencing_token> lease_set::fence(std::string_view name) const noexcept {
    for (const lease& one : leases_) {
        if (one.name().value() == name) return one.fence();
    }
    return std::nullopt;
}

std::stop_token lease_set::lost() const {
    if (watch_ == nullptr) return {};
    std::call_once(watch_->made, [this] {
        watch_->each.clear();  // of a try that ran out of memory
        watch_->any = std::stop_source();
        for (const lease& one : leases_) {
            watch_->each.emplace_back(one.lost(), watch::forward{&watch_->any});
        }
    });
    return watch_->any.get_token();
}

bool lease_set::held() const noexcept {
    return !leases_.empty() && std::ranges::all_of(leases_, &lease::held);
}

duration lease_set::remaining() const noexcept {
    duration least = leases_.empty() ? duration::zero() : duration::max();
    for (const lease& one : leases_) least = std::min(least, one.remaining());
    return least;
}

result<void> lease_set::release() && {
    if (leases_.empty()) return fail(errc::invalid_argument, "this set was released or moved");
    const auto runtime = std::move(runtime_);
    watch_.reset();
    auto said = runtime->release_each(std::exchange(leases_, {}));
    const auto first = [&](auto&& matches) {
        return std::ranges::find_if(
            said, [&](const result<void>& one) { return !one && matches(one.error()); });
    };
    auto worst = first([](const error& why) { return why == errc::lease_lost; });
    if (worst == said.end()) worst = first([](const error&) { return true; });
    if (worst == said.end()) return {};
    return std::move(*worst);
}

}  // namespace holdfast
