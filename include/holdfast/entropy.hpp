// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

/// Where randomness comes from.
///
/// Owners are 128 bits of it; jitter is drawn from it too. It is passed in, so that a simulation
/// can be replayed by its seed.
namespace holdfast {

/// Thread safety: all members may be called from any thread.
class entropy {
public:
    entropy() = default;
    entropy(const entropy&) = delete;
    entropy& operator=(const entropy&) = delete;
    virtual ~entropy() = default;

    virtual void fill(std::span<std::byte> bytes) noexcept = 0;

    /// Uniform in [0, bound). Requires: bound > 0.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;
};

/// The kernel's getrandom(2), drawn ahead, anew after fork(). Lives as long as the program.
[[nodiscard]] entropy& system_entropy() noexcept;

/// The same bytes for the same seed. Never for owners of real leases: they could be guessed.
class seeded_entropy final : public entropy {
public:
    explicit seeded_entropy(std::uint64_t seed) noexcept : state_(seed) {}
    void fill(std::span<std::byte> bytes) noexcept override;

private:
    std::mutex mutex_;
    std::uint64_t state_;
};

}  // namespace holdfast
