// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine_choice.hpp"
#include "rate_text.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/mutex.hpp>

#include <optional>
#include <string>
#include <vector>

/// What `holdfast run` was asked.
namespace holdfast::app {

struct run_options {
    engine_options engine;
    std::string name;
    std::vector<std::string> words;  ///< The command.

    duration ttl = std::chrono::seconds(30);
    /// Zero: who finds it busy goes away. That is what a job wants that is started on many machines
    /// by the same clock.
    duration wait = duration::zero();
    std::optional<duration> grace;
    std::string note;  ///< What `lock ls` shows of it; empty: nothing.

    int semaphore = 0;    ///< Permits there are; 0: it is a mutex.
    bool resize = false;  ///< So many for all from now on, whatever they say.
    bool shared = false;

    std::optional<duration> once;
    std::optional<duration> cooldown;
    std::optional<rate> at_most;

    int busy_code = 3;
};

}  // namespace holdfast::app
