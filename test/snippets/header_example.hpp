// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The names that the examples of the public headers use and do not define: a user's own code.

using namespace std::chrono_literals;

struct user_order {};
[[maybe_unused]] inline const user_order order{};
[[maybe_unused]] inline const std::vector<int> items{1, 2, 3};
[[maybe_unused]] inline const std::string message = "hello";

inline void save(const user_order& /*what*/, holdfast::fencing_token /*fence*/) {}
inline void clean(int /*item*/, holdfast::fencing_token /*fence*/) {}
inline std::string deliver(std::string_view what) {
    return std::string(what);
}
inline void answer(std::string_view /*text*/) {}
inline void send_later(holdfast::duration /*after*/) {}
inline int unavailable(const holdfast::error& /*why*/) {
    return 1;
}
inline int too_many(holdfast::duration /*retry_after*/) {
    return 1;
}
inline int failed(const holdfast::error& /*why*/) {
    return 1;
}
