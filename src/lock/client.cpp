// SPDX-License-Identifier: Apache-2.0
#include <holdfast/client.hpp>

#include "lock/lock_runtime.hpp"

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
        if (runtime_ != nullptr) runtime_->close();
        runtime_ = std::move(other.runtime_);
        commands_ = std::move(other.commands_);
        chance_ = other.chance_;
    }
    return *this;
}

client::~client() {
    if (runtime_ != nullptr) runtime_->close();
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

capabilities client::can() const noexcept {
    return runtime_ == nullptr ? capabilities{} : runtime_->can();
}

result<std::vector<lease_info>> client::list(std::string_view prefix) {
    if (runtime_ == nullptr) return fail(errc::invalid_argument, "the client was moved from");
    return runtime_->list(prefix);
}

result<clock_comparison> client::compare_clocks() {
    return runtime_->compare_clocks();
}

client_statistics client::statistics() const {
    return runtime_ == nullptr ? client_statistics{} : runtime_->statistics();
}

void client::close() {
    if (runtime_ != nullptr) runtime_->close();
}

}  // namespace holdfast
