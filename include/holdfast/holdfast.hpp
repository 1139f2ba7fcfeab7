// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a program needs to take part: include this, and start with `holdfast::open`.

#include <holdfast/client.hpp>
#include <holdfast/client_statistics.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/guarded_write.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/names.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/prometheus.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/version.hpp>
