// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <holdfast/entropy.hpp>

#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace holdfast {

// Multiply-shift: the bias is below bound / 2^64, far under what jitter could show.
std::uint64_t entropy::below(std::uint64_t bound) noexcept {
    detail::require(bound > 0, "bound > 0");
    std::array<std::byte, 8> bytes{};
    fill(bytes);
    std::uint64_t draw = 0;
    std::memcpy(&draw, bytes.data(), sizeof draw);
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(draw) * bound) >> 64);
}

namespace {

void from_kernel(std::span<std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            std::abort();  // a machine without randomness cannot make owners
        }
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

// Random bytes drawn ahead, so that an owner does not cost a system call. They lie in a page that
// the kernel fills with zeros in a child of fork(): there nothing is left, and the child draws its
// own.
struct pool {
    static constexpr std::size_t size = 1024;
    std::size_t left;
    std::array<std::byte, size> bytes;
};

pool* make_pool() noexcept {
    void* page =
        ::mmap(nullptr, sizeof(pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (::madvise(page, sizeof(pool), MADV_WIPEONFORK) == 0) return static_cast<pool*>(page);
    ::munmap(page, sizeof(pool));
    return nullptr;
}

// One for each thread. The pointer outlives its guard: whoever draws while the thread's own objects
// are destroyed finds none, and asks the kernel.
constinit thread_local pool* drawn_ahead = nullptr;

struct pool_guard {
    pool_guard() noexcept { drawn_ahead = make_pool(); }
    pool_guard(const pool_guard&) = delete;
    pool_guard& operator=(const pool_guard&) = delete;
    ~pool_guard() {
        if (drawn_ahead != nullptr) ::munmap(drawn_ahead, sizeof(pool));
        drawn_ahead = nullptr;
    }
};

class kernel_entropy final : public entropy {
public:
    void fill(std::span<std::byte> bytes) noexcept override {
        static thread_local const pool_guard guard;
        static_cast<void>(guard);
        pool* const ready = drawn_ahead;
        if (ready == nullptr || bytes.size() > pool::size / 8) return from_kernel(bytes);
        if (ready->left < bytes.size()) {
            from_kernel(ready->bytes);
            ready->left = pool::size;
        }
        // What was given is forgotten here: owners are secrets.
        std::byte* const given = ready->bytes.data() + (ready->left - bytes.size());
        std::memcpy(bytes.data(), given, bytes.size());
        std::memset(given, 0, bytes.size());
        ready->left -= bytes.size();
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
