// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/decision.hpp>
#include <holdfast/limit.hpp>

#include <cstdint>
#include <memory>

/// What each rule means, in plain C++: no script, no packing, no cleverness.
///
/// A model is told the time in microseconds. It is written in another way than the scripts on
/// purpose: a bucket here has tokens that are refilled, a log is a list, a counter adds up what
/// lies in the window.
namespace holdfast::test {

enum class model_op : std::uint8_t { take, look, give };

class limit_model {
public:
    virtual ~limit_model() = default;
    /// `now_us` never goes back.
    virtual decision step(model_op op, std::int64_t now_us, std::uint64_t n) = 0;
};

[[nodiscard]] std::unique_ptr<limit_model> make_model(const limit_rule& rule);

}  // namespace holdfast::test
