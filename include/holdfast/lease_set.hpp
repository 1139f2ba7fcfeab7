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
/// It is as good as its weakest lease: when one is lost, `lost()` fires and `held()` is false,
/// because whoever asked for all of them needs all of them. Each name has a fence of its own.
namespace holdfast {

/// Thread safety: as lease.
class [[nodiscard]] lease_set {
public:
    lease_set(lease_set&&) noexcept;
    /// Gives back what this one held, as the destructor does.
    lease_set& operator=(lease_set&&) noexcept;
    lease_set(const lease_set&) = delete;
    lease_set& operator=(const lease_set&) = delete;

    /// Hands what was not released to the keeper, which does that in the background.
    ~lease_set();

    /// In the order in which they were named. Empty if it was released or moved.
    [[nodiscard]] std::span<const lease> leases() const noexcept { return leases_; }

    /// Nothing for a name that is not in the set.
    [[nodiscard]] std::optional<fencing_token> fence(std::string_view name) const noexcept;

    /// Fires when the first of them is lost; as lease::lost().
    [[nodiscard]] std::stop_token lost() const;

    /// Are all of them ours at this moment?
    [[nodiscard]] bool held() const noexcept;

    /// How long all of them are ours if nothing more is heard. Zero when one is not.
    [[nodiscard]] duration remaining() const noexcept;

    /// Gives all of them back and says how that went. In any case they are over.
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
