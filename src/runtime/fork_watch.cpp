// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork_watch.hpp"

#include <pthread.h>

#include <atomic>

namespace holdfast::detail {
namespace {

std::atomic<unsigned> generation{0};

void in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

unsigned fork_generation() noexcept {
    static const int registered = ::pthread_atfork(nullptr, nullptr, in_child);
    static_cast<void>(registered);
    return generation.load(std::memory_order_relaxed);
}

void pretend_fork(int forks) noexcept {
    generation.fetch_add(static_cast<unsigned>(forks), std::memory_order_relaxed);
}

}  // namespace holdfast::detail
