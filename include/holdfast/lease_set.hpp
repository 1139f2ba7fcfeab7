// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

/// Several names, held together: what client::acquire_all() answers.
///
/// It is valid as long as all of its leases are: when one is lost, `lost()` fires and `held()` is
/// false, because the caller needs all of them. Each name has its own fence.
namespace holdfast {

/// Thread safety: as lease.
class [[nodiscard]] lease_set {
public:
    lease_set(lease_set&&) noexcept;
    /// Releases the leases that this one held, as the destructor does.
    lease_set& operator=(lease_set&&) noexcept;
    lease_set(const lease_set&) = delete;
    lease_set& operator=(const lease_set&) = delete;

    /// Passes unreleased leases to the keeper, which releases them in the background.
    ~lease_set();

    /// In the order of the names. Empty if it was released or moved.
    [[nodiscard]] std::span<const lease> leases() const noexcept { return leases_; }

    /// Nothing for a name that is not in the set.
    [[nodiscard]] std::optional<fencing_token> fence(std::string_view name) const noexcept;

    /// Fires when the first of them is lost; as lease::lost().
    [[nodiscard]] std::stop_token lost() const;

    /// Returns whether all of them are valid now.
    [[nodiscard]] bool held() const noexcept;

    /// Returns how long all of them stay valid without another renewal. Zero if one is not valid.
    [[nodiscard]] duration remaining() const noexcept;

    /// Releases all of them and returns the outcome. In any case they are over.
    /// Blocks: one trip where the engine allows it. Errors: as lease::release(), of the first that
    /// failed in the order of the names; lease_lost comes before outcome_unknown.
    [[nodiscard]] result<void> release() &&;

private:
    friend class detail::lock_runtime;
    struct watch;
    lease_set(std::shared_ptr<detail::lock_runtime> runtime, std::vector<lease> leases);

    std::shared_ptr<detail::lock_runtime> runtime_;
    std::vector<lease> leases_;
    std::unique_ptr<watch> watch_;  // ends before the leases that it watches
};

}  // namespace holdfast
