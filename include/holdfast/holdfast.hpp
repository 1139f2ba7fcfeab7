// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a program needs to take part: include this, and start with `holdfast::open`.

#include <holdfast/bloom_filter.hpp>
#include <holdfast/cache.hpp>
#include <holdfast/channel.hpp>
#include <holdfast/client.hpp>
#include <holdfast/client_statistics.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/concurrency_limiter.hpp>
#include <holdfast/cooldown.hpp>
#include <holdfast/decision.hpp>
#include <holdfast/error.hpp>
#include <holdfast/guarded_write.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/leaderboard.hpp>
#include <holdfast/leaky_queue.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_set.hpp>
#include <holdfast/lease_token.hpp>
#include <holdfast/limit.hpp>
#include <holdfast/lock_manager.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/names.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/once.hpp>
#include <holdfast/optimistic.hpp>
#include <holdfast/prometheus.hpp>
#include <holdfast/rate_limit_headers.hpp>
#include <holdfast/rate_limiter.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/session_store.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/stock.hpp>
#include <holdfast/version.hpp>
