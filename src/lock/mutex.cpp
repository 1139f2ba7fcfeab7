// SPDX-License-Identifier: Apache-2.0
#include <holdfast/mutex.hpp>

#include "lock/lock_runtime.hpp"
#include "lock/std_face.hpp"

#include <system_error>
#include <utility>

namespace holdfast {

mutex::mutex(client& owner, std::string_view name, acquire_options defaults)
    : runtime_(owner.runtime_), name_(lock_name::make(name)), defaults_(std::move(defaults)) {}

mutex::mutex(std::shared_ptr<detail::lock_runtime> runtime, lock_name name,
             acquire_options defaults)
    : runtime_(std::move(runtime)), name_(std::move(name)), defaults_(std::move(defaults)) {}

mutex::~mutex() = default;

result<lease> mutex::acquire() {
    return acquire(defaults_);
}

result<lease> mutex::acquire(const acquire_options& options) {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->acquire(*name_, options);
}

result<lease> mutex::try_acquire() {
    return try_acquire(defaults_);
}

result<lease> mutex::try_acquire(acquire_options options) {
    options.wait = duration::zero();
    return acquire(options);
}

void mutex::acquire_async(acquire_completion done) {
    acquire_async(defaults_, std::move(done));
}

void mutex::acquire_async(const acquire_options& options, acquire_completion done) {
    if (!name_) return done(std::unexpected(name_.error()));
    if (runtime_ == nullptr) {
        return done(std::unexpected(detail::moved_from()));
    }
    runtime_->acquire_async(*name_, options, {}, std::move(done));
}

result<bool> mutex::is_locked() const {
    const auto seen = inspect();
    if (!seen) return std::unexpected(seen.error());
    return *seen && (*seen)->held();
}

result<std::optional<lease_info>> mutex::inspect() const {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->inspect(*name_);
}

result<std::uint32_t> mutex::evict(std::string_view reason) const {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->evict(*name_, reason);
}

void mutex::lock() {
    static_cast<void>(lock_within(forever));
}

bool mutex::try_lock() {
    return lock_within(duration::zero());
}

bool mutex::lock_within(duration wait) {
    const auto self = std::this_thread::get_id();
    {
        const std::scoped_lock guard(guard_);
        const auto mine = held_.find(self);
        if (mine != held_.end() && mine->second.held()) {
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "holdfast::mutex: this thread holds it already");
        }
    }
    acquire_options options = defaults_;
    options.wait = wait;
    auto got = acquire(options);
    if (!got) {
        const bool answer = got.error() == errc::busy || got.error() == errc::timed_out;
        if (answer && wait != forever) return false;
        throw std::system_error(make_error_code(got.error().code), got.error().detail);
    }
    const std::scoped_lock guard(guard_);
    held_.insert_or_assign(self, std::move(*got));
    return true;
}

void mutex::unlock() noexcept {
    std::map<std::thread::id, lease>::node_type mine;
    {
        const std::scoped_lock guard(guard_);
        mine = held_.extract(std::this_thread::get_id());
    }
    if (!mine.empty()) static_cast<void>(std::move(mine.mapped()).release());
}

const lease& mutex::current() const {
    const std::scoped_lock guard(guard_);
    const auto mine = held_.find(std::this_thread::get_id());
    if (mine == held_.end()) detail::raise_not_locked("mutex::current");
    return mine->second;
}

}  // namespace holdfast
