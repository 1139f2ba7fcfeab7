// SPDX-License-Identifier: Apache-2.0
#include <holdfast/recursive_mutex.hpp>

#include "lock/std_face.hpp"

#include <fmt/format.h>

#include <atomic>
#include <system_error>
#include <utility>

namespace holdfast {
namespace {

error lost_error(const lease& gone) {
    return {errc::lease_lost,
            fmt::format("'{}' cannot be acquired again: its lease was lost ({}); release every "
                        "level, then acquire it again",
                        gone.name().value(), to_string(gone.reason()))};
}

}  // namespace

struct recursive_lease::holding {
    explicit holding(lease first) : held(std::move(first)) {}
    lease held;
    std::atomic<std::uint32_t> levels{1};
};

recursive_lease::recursive_lease(std::shared_ptr<holding> what) noexcept
    : holding_(std::move(what)), fence_(holding_->held.fence()) {}

recursive_lease::recursive_lease(recursive_lease&& other) noexcept
    : holding_(std::move(other.holding_)), fence_(std::exchange(other.fence_, {})) {}

recursive_lease& recursive_lease::operator=(recursive_lease&& other) noexcept {
    if (this != &other) {
        drop();
        holding_ = std::move(other.holding_);
        fence_ = std::exchange(other.fence_, {});
    }
    return *this;
}

recursive_lease::~recursive_lease() {
    drop();
}

// The lease itself goes with the last handle that shares it.
void recursive_lease::drop() noexcept {
    if (holding_ != nullptr) holding_->levels.fetch_sub(1);
    holding_.reset();
}

result<recursive_lease> recursive_lease::acquire_again() const {
    if (holding_ == nullptr) {
        return fail(errc::invalid_argument, "this lease was released or moved");
    }
    if (!holding_->held.held()) return std::unexpected(lost_error(holding_->held));
    std::uint32_t levels = holding_->levels.load();
    do {
        if (levels >= most_levels) {
            return fail(errc::busy, fmt::format("'{}' is held {} levels deep: no more are given",
                                                holding_->held.name().value(), most_levels));
        }
    } while (!holding_->levels.compare_exchange_weak(levels, levels + 1));
    return recursive_lease(holding_);
}

const lease& recursive_lease::shared() const noexcept {
    static const lease none(nullptr, nullptr);
    return holding_ == nullptr ? none : holding_->held;
}

bool recursive_lease::held() const noexcept {
    return holding_ != nullptr && holding_->held.held();
}

std::uint32_t recursive_lease::levels() const noexcept {
    return holding_ == nullptr ? 0 : holding_->levels.load();
}

result<void> recursive_lease::release() && {
    if (holding_ == nullptr) {
        return fail(errc::invalid_argument, "this lease was released or moved");
    }
    const auto mine = std::move(holding_);
    if (mine->levels.fetch_sub(1) == 1) return std::move(mine->held).release();
    if (mine->held.held()) return {};
    return fail(errc::lease_lost, fmt::format("'{}' was lost: {}", mine->held.name().value(),
                                              to_string(mine->held.reason())));
}

recursive_mutex::recursive_mutex(client& owner, std::string_view name, acquire_options defaults)
    : plain_(owner, name), defaults_(std::move(defaults)) {}

result<recursive_lease> recursive_mutex::acquire() {
    return acquire(defaults_);
}

result<recursive_lease> recursive_mutex::acquire(const acquire_options& options) {
    auto got = plain_.acquire(options);
    if (!got) return std::unexpected(std::move(got.error()));
    return recursive_lease(std::make_shared<recursive_lease::holding>(std::move(*got)));
}

result<recursive_lease> recursive_mutex::try_acquire() {
    return try_acquire(defaults_);
}

result<recursive_lease> recursive_mutex::try_acquire(acquire_options options) {
    options.wait = duration::zero();
    return acquire(options);
}

void recursive_mutex::lock() {
    static_cast<void>(lock_within(forever));
}

bool recursive_mutex::try_lock() {
    return lock_within(duration::zero());
}

// True if this thread had locked it, and has now once more.
bool recursive_mutex::lock_again() {
    const std::scoped_lock guard(guard_);
    const auto mine = held_.find(std::this_thread::get_id());
    if (mine == held_.end()) return false;
    if (!mine->second.held.held()) {
        throw std::system_error(make_error_code(errc::lease_lost),
                                lost_error(mine->second.held).detail);
    }
    if (mine->second.levels >= recursive_lease::most_levels) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                "holdfast::recursive_mutex: locked too deep");
    }
    ++mine->second.levels;
    return true;
}

bool recursive_mutex::lock_within(duration wait) {
    if (lock_again()) return true;
    acquire_options options = defaults_;
    options.wait = wait;
    auto got = plain_.acquire(options);
    if (!got) {
        const bool answer = got.error() == errc::busy || got.error() == errc::timed_out;
        if (answer && wait != forever) return false;
        throw std::system_error(make_error_code(got.error().code), got.error().detail);
    }
    const std::scoped_lock guard(guard_);
    held_.emplace(std::this_thread::get_id(), locked{std::move(*got)});
    return true;
}

void recursive_mutex::unlock() noexcept {
    std::map<std::thread::id, locked>::node_type last;
    {
        const std::scoped_lock guard(guard_);
        const auto mine = held_.find(std::this_thread::get_id());
        if (mine == held_.end() || --mine->second.levels > 0) return;
        last = held_.extract(mine);
    }
    static_cast<void>(std::move(last.mapped().held).release());
}

const lease& recursive_mutex::current() const {
    const std::scoped_lock guard(guard_);
    const auto mine = held_.find(std::this_thread::get_id());
    if (mine == held_.end()) detail::raise_not_locked("recursive_mutex::current");
    return mine->second.held;
}

}  // namespace holdfast
