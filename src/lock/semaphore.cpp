// SPDX-License-Identifier: Apache-2.0
#include <holdfast/semaphore.hpp>

#include "lock/lock_runtime.hpp"

#include <utility>

namespace holdfast {
semaphore::semaphore(client& owner, std::string_view name, std::uint32_t permits,
                     acquire_options defaults)
    : runtime_(owner.runtime_),
      name_(lock_name::make(name)),
      permits_(permits),
      defaults_(std::move(defaults)) {}

lease_mode semaphore::mode_of(std::uint32_t permits) const noexcept {
    return {.type = lease_mode::kind::permit, .permits = permits, .limit = permits_};
}

result<lease> semaphore::acquire(std::uint32_t permits) {
    return acquire(permits, defaults_);
}

result<lease> semaphore::acquire(const acquire_options& options) {
    return acquire(1, options);
}

result<lease> semaphore::acquire(std::uint32_t permits, const acquire_options& options) {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->acquire(*name_, options, mode_of(permits));
}

result<lease> semaphore::try_acquire(std::uint32_t permits) {
    return try_acquire(permits, defaults_);
}

result<lease> semaphore::try_acquire(std::uint32_t permits, acquire_options options) {
    options.wait = duration::zero();
    return acquire(permits, options);
}

void semaphore::acquire_async(std::uint32_t permits, const acquire_options& options,
                              acquire_completion done) {
    if (!name_) return done(std::unexpected(name_.error()));
    if (runtime_ == nullptr) return done(std::unexpected(detail::moved_from()));
    runtime_->acquire_async(*name_, options, mode_of(permits), std::move(done));
}

void semaphore::acquire_async(const acquire_options& options, acquire_completion done) {
    acquire_async(1, options, std::move(done));
}

result<void> semaphore::resize(std::uint32_t permits) {
    if (!name_) return std::unexpected(name_.error());
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->resize(*name_, permits);
}

}  // namespace holdfast
