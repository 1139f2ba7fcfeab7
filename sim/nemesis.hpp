// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chance.hpp"
#include "plan.hpp"

#include <vector>

/// Makes the faults happen that befall somebody: now and then one of those that the plan has, to
/// somebody drawn at random.
namespace holdfast::sim {

class world;

class nemesis {
public:
    explicit nemesis(world& around);

    void plan_next();
    /// No more; what has begun is made good.
    void stop();

private:
    void strike(fault kind);
    void strike_network(fault kind);
    void isolate();
    void forget_the_time_ahead();
    void strike_program(fault kind);
    void strike_server(fault kind);
    [[nodiscard]] unsigned draw_server();
    void set_clock(unsigned number, fault kind);
    void fail_over();

    world& world_;
    chance draw_;
    std::vector<fault> choice_;
    bool stopped_ = false;
};

}  // namespace holdfast::sim
