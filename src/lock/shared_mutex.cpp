// SPDX-License-Identifier: Apache-2.0
#include <holdfast/shared_mutex.hpp>

#include "lock/lock_runtime.hpp"
#include "lock/std_face.hpp"

#include <system_error>
#include <utility>

namespace holdfast {
namespace {

[[noreturn]] void raise(const error& why) {
    throw std::system_error(make_error_code(why.code), why.detail);
}

}  // namespace

shared_mutex::shared_mutex(client& owner, std::string_view name, acquire_options defaults)
    : runtime_(owner.runtime_), name_(lock_name::make(name)), defaults_(std::move(defaults)) {}

shared_mutex::~shared_mutex() = default;

result<lease> shared_mutex::acquire_as(way how, const acquire_options& options) {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    const auto type = how == way::shared ? lease_mode::kind::shared : lease_mode::kind::exclusive;
    return runtime_->acquire(*name_, options, {.type = type});
}

void shared_mutex::acquire_async_as(way how, const acquire_options& options,
                                    acquire_completion done) {
    if (!name_) return done(std::unexpected(name_.error()));
    if (runtime_ == nullptr) return done(std::unexpected(detail::moved_from()));
    const auto type = how == way::shared ? lease_mode::kind::shared : lease_mode::kind::exclusive;
    runtime_->acquire_async(*name_, options, {.type = type}, std::move(done));
}

result<lease> shared_mutex::acquire() {
    return acquire(defaults_);
}

result<lease> shared_mutex::acquire(const acquire_options& options) {
    return acquire_as(way::exclusive, options);
}

result<lease> shared_mutex::try_acquire() {
    return try_acquire(defaults_);
}

result<lease> shared_mutex::try_acquire(acquire_options options) {
    options.wait = duration::zero();
    return acquire(options);
}

result<lease> shared_mutex::acquire_shared() {
    return acquire_shared(defaults_);
}

result<lease> shared_mutex::acquire_shared(const acquire_options& options) {
    return acquire_as(way::shared, options);
}

result<lease> shared_mutex::try_acquire_shared() {
    return try_acquire_shared(defaults_);
}

result<lease> shared_mutex::try_acquire_shared(acquire_options options) {
    options.wait = duration::zero();
    return acquire_shared(options);
}

void shared_mutex::acquire_async(const acquire_options& options, acquire_completion done) {
    acquire_async_as(way::exclusive, options, std::move(done));
}

void shared_mutex::acquire_shared_async(const acquire_options& options, acquire_completion done) {
    acquire_async_as(way::shared, options, std::move(done));
}

result<bool> shared_mutex::is_locked() const {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    const auto seen = runtime_->inspect(*name_);
    if (!seen) return std::unexpected(seen.error());
    return *seen && (*seen)->held();
}

void shared_mutex::lock() {
    static_cast<void>(lock_within(forever, way::exclusive));
}

bool shared_mutex::try_lock() {
    return lock_within(duration::zero(), way::exclusive);
}

void shared_mutex::lock_shared() {
    static_cast<void>(lock_within(forever, way::shared));
}

bool shared_mutex::try_lock_shared() {
    return lock_within(duration::zero(), way::shared);
}

// A second shared lock of the same thread could wait for a writer that waits for the first.
bool shared_mutex::lock_within(duration wait, way how) {
    const auto self = std::this_thread::get_id();
    {
        const std::scoped_lock guard(guard_);
        const auto mine = held_.find(self);
        if (mine != held_.end() && mine->second.held()) {
            throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                    "holdfast::shared_mutex: this thread holds it already");
        }
    }
    acquire_options options = defaults_;
    options.wait = wait;
    auto got = acquire_as(how, options);
    if (!got) {
        const bool answer = got.error() == errc::busy || got.error() == errc::timed_out;
        if (answer && wait != forever) return false;
        raise(got.error());
    }
    const std::scoped_lock guard(guard_);
    held_.insert_or_assign(self, std::move(*got));
    return true;
}

void shared_mutex::unlock() noexcept {
    std::map<std::thread::id, lease>::node_type mine;
    {
        const std::scoped_lock guard(guard_);
        mine = held_.extract(std::this_thread::get_id());
    }
    if (!mine.empty()) static_cast<void>(std::move(mine.mapped()).release());
}

void shared_mutex::unlock_shared() noexcept {
    unlock();
}

// The lease is this thread's own: nobody else touches it while the guard is open.
void shared_mutex::unlock_and_lock_shared() {
    lease* mine = nullptr;
    {
        const std::scoped_lock guard(guard_);
        const auto found = held_.find(std::this_thread::get_id());
        if (found == held_.end()) {
            detail::raise_not_locked("shared_mutex::unlock_and_lock_shared");
        }
        mine = &found->second;
    }
    if (const auto said = mine->downgrade(); !said) raise(said.error());
}

const lease& shared_mutex::current() const {
    const std::scoped_lock guard(guard_);
    const auto mine = held_.find(std::this_thread::get_id());
    if (mine == held_.end()) detail::raise_not_locked("shared_mutex::current");
    return mine->second;
}

}  // namespace holdfast
