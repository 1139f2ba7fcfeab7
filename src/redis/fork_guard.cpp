// SPDX-License-Identifier: Apache-2.0
#include "redis/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace holdfast::redis {
namespace {

std::atomic<std::uint64_t> generation{0};

void count_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
}

const int registered = ::pthread_atfork(nullptr, nullptr, count_child);

}  // namespace

std::uint64_t process_generation() noexcept {
    static_cast<void>(registered);
    return generation.load(std::memory_order_relaxed);
}

}  // namespace holdfast::redis
