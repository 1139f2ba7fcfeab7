// SPDX-License-Identifier: Apache-2.0
#include <holdfast/entropy.hpp>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace holdfast {

// Multiply-shift: the bias is below bound / 2^64, far under what jitter could show.
std::uint64_t entropy::below(std::uint64_t bound) noexcept {
    std::array<std::byte, 8> bytes{};
    fill(bytes);
    std::uint64_t draw = 0;
    std::memcpy(&draw, bytes.data(), sizeof draw);
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(draw) * bound) >> 64);
}

namespace {

class kernel_entropy final : public entropy {
public:
    void fill(std::span<std::byte> bytes) noexcept override {
        while (!bytes.empty()) {
            const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
            if (got < 0) {
                if (errno == EINTR) continue;
                std::abort();  // a machine without randomness cannot make owners
            }
            bytes = bytes.subspan(static_cast<std::size_t>(got));
        }
    }
};

}  // namespace

entropy& system_entropy() noexcept {
    static kernel_entropy instance;
    return instance;
}

// splitmix64
void seeded_entropy::fill(std::span<std::byte> bytes) noexcept {
    const std::scoped_lock guard(mutex_);
    while (!bytes.empty()) {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        z ^= z >> 31;
        const std::size_t take = std::min(bytes.size(), sizeof z);
        std::memcpy(bytes.data(), &z, take);
        bytes = bytes.subspan(take);
    }
}

}  // namespace holdfast
