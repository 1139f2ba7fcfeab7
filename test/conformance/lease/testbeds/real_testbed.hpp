// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/lease/testbed.hpp"

#include <chrono>
#include <thread>

namespace holdfast::test {

/// A real server, in real time.
class real_testbed : public testbed {
public:
    clock& time() override { return system_clock(); }
    // style: allow clock, because the time of a real server can only be waited for
    void pass(duration d) override { std::this_thread::sleep_for(d); }
    [[nodiscard]] duration ttl() const override { return std::chrono::milliseconds(1500); }
};

}  // namespace holdfast::test
