// SPDX-License-Identifier: Apache-2.0
#include <holdfast/lock_manager.hpp>

#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most_retries = 1000;

result<void> check(const managed_options& options) {
    if (options.retries > most_retries) {
        return fail(errc::invalid_argument,
                    fmt::format("retries is {}: it takes 0 to {}", options.retries, most_retries));
    }
    if (options.retry_pause < 1ms || options.retry_pause > 1h) {
        return fail(
            errc::invalid_argument,
            fmt::format("retry_pause is {} ns: it takes 1 ms to 1 h", options.retry_pause.count()));
    }
    return {};
}

bool is_worth_a_retry(const error& why) {
    return why == errc::busy || why == errc::timed_out || why == errc::unavailable;
}

error closed_error() {
    return {errc::invalid_argument, "the lock manager is closed: make another one"};
}

}  // namespace

struct lock_manager::inside {
    inside(std::shared_ptr<detail::lock_runtime> of, managed_options all)
        : runtime(std::move(of)), defaults(std::move(all)) {}

    [[nodiscard]] managed_options options_of(const std::string& key) const {
        const std::scoped_lock guard(lock);
        const auto own = configured.find(key);
        return own == configured.end() ? defaults : own->second;
    }
    /// Whether there is anything to ask, and the key's name.
    [[nodiscard]] result<lock_name> ready(std::string_view key) const {
        if (runtime == nullptr) return std::unexpected(detail::moved_from());
        if (closing.stop_requested()) return std::unexpected(closed_error());
        if (auto fit = check(defaults); !fit) return std::unexpected(fit.error());
        return lock_name::make(key);
    }
    /// Rests before a retry; a stop ends that.
    void rest(duration pause, const std::stop_token& stop) {
        clock& time = runtime->time();
        std::mutex mutex;
        std::condition_variable changed;
        const std::stop_callback waking(stop, [&] {
            const std::scoped_lock guard(mutex);
            changed.notify_all();
        });
        std::unique_lock held(mutex);
        const time_point until = later(time.now(), pause);
        while (!stop.stop_requested() && time.now() < until) time.wait_until(held, changed, until);
    }
    /// Keeps what was acquired, unless the manager was closed meanwhile.
    [[nodiscard]] result<managed_hold> keep(const std::string& key, lease got) {
        managed_hold hold{got.fence(), got.lost()};
        const std::scoped_lock guard(lock);
        if (closing.stop_requested()) return std::unexpected(closed_error());
        if (leases.size() >= max_keys) {
            std::erase_if(leases, [](const auto& one) { return !one.second.held(); });
        }
        if (leases.size() >= max_keys) {
            return fail(errc::busy, fmt::format("this manager holds {} keys already", max_keys));
        }
        leases.insert_or_assign(key, std::move(got));  // one that is there was lost
        return hold;
    }

    const std::shared_ptr<detail::lock_runtime> runtime;
    const managed_options defaults;
    std::stop_source closing;
    mutable std::mutex lock;
    std::map<std::string, managed_options, std::less<>> configured;
    std::map<std::string, std::weak_ptr<mutex>, std::less<>> made;
    std::map<std::string, lease, std::less<>> leases;
};

lock_manager::lock_manager(client& owner, managed_options defaults)
    : inside_(std::make_unique<inside>(owner.runtime_, std::move(defaults))) {}

lock_manager::~lock_manager() = default;

result<void> lock_manager::configure(std::string_view key, managed_options options) {
    const auto name = lock_name::make(key);
    if (!name) return std::unexpected(name.error());
    if (auto fit = check(options); !fit) return fit;
    const std::scoped_lock guard(inside_->lock);
    auto& all = inside_->configured;
    if (all.size() >= max_keys && !all.contains(key)) {
        return fail(errc::busy,
                    fmt::format("{} keys have options of their own: no more are kept", max_keys));
    }
    all.insert_or_assign(name->value(), std::move(options));
    inside_->made.erase(name->value());  // whoever asks next gets one with the new options
    return {};
}

result<std::shared_ptr<mutex>> lock_manager::get(std::string_view key) {
    auto name = inside_->ready(key);
    if (!name) return std::unexpected(std::move(name.error()));
    managed_options options = inside_->options_of(name->value());
    const std::scoped_lock guard(inside_->lock);
    auto& all = inside_->made;
    if (const auto known = all.find(key); known != all.end()) {
        if (auto there = known->second.lock()) return there;
    }
    if (all.size() >= max_keys) {
        std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    }
    if (all.size() >= max_keys) {
        return fail(errc::busy, fmt::format("{} mutexes of this manager are in use", max_keys));
    }
    std::string text = name->value();
    std::shared_ptr<mutex> made(
        new mutex(inside_->runtime, std::move(*name), std::move(options.lock)));
    all.insert_or_assign(std::move(text), made);
    return made;
}

result<managed_hold> lock_manager::acquire(std::string_view key) {
    const auto name = inside_->ready(key);
    if (!name) return std::unexpected(name.error());
    managed_options options = inside_->options_of(name->value());
    std::stop_source either;  // the caller's token, or close()
    const auto stop = [&] { either.request_stop(); };
    const std::stop_callback by_caller(options.lock.stop, stop);
    const std::stop_callback by_close(inside_->closing.get_token(), stop);
    options.lock.stop = either.get_token();
    for (std::uint32_t tries = 0;; ++tries) {
        auto got = inside_->runtime->acquire(*name, options.lock);
        if (got) return inside_->keep(name->value(), std::move(*got));
        if (tries == options.retries || !is_worth_a_retry(got.error())) {
            return std::unexpected(std::move(got.error()));
        }
        inside_->rest(options.retry_pause, options.lock.stop);
    }
}

result<void> lock_manager::release(std::string_view key) {
    decltype(inside_->leases)::node_type mine;
    {
        const std::scoped_lock guard(inside_->lock);
        const auto found = inside_->leases.find(key);
        if (found != inside_->leases.end()) mine = inside_->leases.extract(found);
    }
    if (!mine.empty()) return std::move(mine.mapped()).release();
    return fail(
        errc::invalid_argument,
        fmt::format("'{}' is not held by this manager: release what it acquired, once", key));
}

bool lock_manager::held(std::string_view key) const {
    return remaining(key) > duration::zero();
}

duration lock_manager::remaining(std::string_view key) const {
    const std::scoped_lock guard(inside_->lock);
    const auto found = inside_->leases.find(key);
    return found == inside_->leases.end() ? duration::zero() : found->second.remaining();
}

std::vector<std::string> lock_manager::keys() const {
    const std::scoped_lock guard(inside_->lock);
    std::vector<std::string> all;
    for (const auto& [key, one] : inside_->leases) {
        if (one.held()) all.push_back(key);
    }
    return all;
}

result<void> lock_manager::close() {
    inside_->closing.request_stop();
    std::vector<lease> all;
    {
        const std::scoped_lock guard(inside_->lock);
        for (auto& [key, one] : inside_->leases) all.push_back(std::move(one));
        inside_->leases.clear();
    }
    if (all.empty()) return {};
    for (auto& said : inside_->runtime->release_each(std::move(all))) {
        if (!said) return std::move(said);
    }
    return {};
}

}  // namespace holdfast
