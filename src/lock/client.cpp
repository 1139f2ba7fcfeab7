// SPDX-License-Identifier: Apache-2.0
#include <holdfast/client.hpp>

#include "lock/lock_runtime.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast {

client::client(std::shared_ptr<lease_store> store, const client_options& options,
               std::shared_ptr<command_engine> commands)
    : runtime_(std::make_shared<detail::lock_runtime>(std::move(store), options)),
      commands_(std::move(commands)),
      chance_(options.chance) {}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        if (runtime_ != nullptr) static_cast<void>(runtime_->close());
        runtime_ = std::move(other.runtime_);
        commands_ = std::move(other.commands_);
        chance_ = other.chance_;
    }
    return *this;
}

client::~client() {
    if (runtime_ != nullptr) static_cast<void>(runtime_->close());
}

mutex client::mutex(std::string_view name, acquire_options defaults) {
    return holdfast::mutex(*this, name, std::move(defaults));
}

recursive_mutex client::recursive_mutex(std::string_view name, acquire_options defaults) {
    return {*this, name, std::move(defaults)};
}

shared_mutex client::shared_mutex(std::string_view name, acquire_options defaults) {
    return {*this, name, std::move(defaults)};
}

semaphore client::semaphore(std::string_view name, std::uint32_t permits,
                            acquire_options defaults) {
    return {*this, name, permits, std::move(defaults)};
}

result<lease_set> client::acquire_all(std::span<const std::string_view> names,
                                      const acquire_options& options) {
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    if (names.empty() || names.size() > max_names) {
        return fail(errc::invalid_argument,
                    fmt::format("{} names: give it 1 to {}", names.size(), max_names));
    }
    std::vector<lock_name> made;
    for (const std::string_view text : names) {
        auto name = lock_name::make(text);
        if (!name) return std::unexpected(std::move(name.error()));
        made.push_back(std::move(*name));
    }
    return runtime_->acquire_all(std::move(made), options);
}

result<lease_set> client::acquire_all(std::initializer_list<std::string_view> names,
                                      const acquire_options& options) {
    return acquire_all(std::span(names.begin(), names.size()), options);
}

std::vector<result<lease>> client::acquire_each(std::span<const std::string_view> names,
                                                const acquire_options& options) {
    std::vector<result<lease>> got;
    const auto refuse_all = [&](const error& why) {
        for (std::size_t i = 0; i < names.size(); ++i) got.push_back(std::unexpected(why));
        return std::move(got);
    };
    if (runtime_ == nullptr) {
        return refuse_all(detail::moved_from());
    }
    if (names.size() > max_names) {
        return refuse_all(
            {errc::invalid_argument,
             fmt::format("{} names: at most {} are taken at once", names.size(), max_names)});
    }
    std::vector<lock_name> good;
    std::vector<std::optional<error>> bad(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto name = lock_name::make(names[i]);
        if (name) {
            good.push_back(std::move(*name));
        } else {
            bad[i] = std::move(name.error());
        }
    }
    auto asked = runtime_->acquire_each(good, options);
    for (std::size_t i = 0; i < good.size(); ++i) {
        if (asked[i]) continue;
        runtime_->report().refused(good[i], asked[i].error(), duration::zero(), options.listener);
    }
    auto next = asked.begin();
    for (auto& why : bad) {
        got.push_back(why ? result<lease>(std::unexpected(std::move(*why))) : std::move(*next++));
    }
    return got;
}

std::vector<result<lease>> client::acquire_each(std::initializer_list<std::string_view> names,
                                                const acquire_options& options) {
    return acquire_each(std::span(names.begin(), names.size()), options);
}

result<lease> client::adopt(const lease_token& token, const acquire_options& options) {
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->adopt(token, options);
}

capabilities client::can() const noexcept {
    return runtime_ == nullptr ? capabilities{} : runtime_->can();
}

result<std::vector<lease_info>> client::list(std::string_view prefix) {
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    return runtime_->list(prefix);
}

result<std::optional<lease_info>> client::inspect(std::string_view name) {
    return mutex(name).inspect();
}

result<std::uint32_t> client::evict(std::string_view name, std::string_view reason) {
    return mutex(name).evict(reason);
}

result<std::vector<eviction_info>> client::evictions(std::string_view name) {
    if (runtime_ == nullptr) return std::unexpected(detail::moved_from());
    const auto fit = lock_name::make(name);
    if (!fit) return std::unexpected(fit.error());
    return runtime_->evictions(*fit);
}

result<clock_comparison> client::compare_clocks() {
    return runtime_->compare_clocks();
}

client_statistics client::statistics() const {
    return runtime_ == nullptr ? client_statistics{} : runtime_->statistics();
}

result<void> client::close() {
    return runtime_ == nullptr ? result<void>() : runtime_->close();
}

}  // namespace holdfast
