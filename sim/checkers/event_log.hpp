// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

/// Judges nothing: writes everything down, one line each, for whoever replays a seed.
namespace holdfast::sim {

class event_log final : public checker {
public:
    event_log() : checker("event_log") {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::holding_began& e) override;
    void see(const seen::holding_ended& e) override;
    void see(const seen::release_ended& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::request_sent& e) override;
    void see(const seen::request_answered& e) override;
    void see(const seen::node_asked& e) override;
    void see(const seen::node_answered& e) override;
    void see(const seen::push_heard& e) override;
    void see(const seen::process_disturbed& e) override;
    void see(const seen::servers_disturbed& e) override;
    void see(const seen::clock_set& e) override;
    void see(const seen::resource_used& e) override;
};

}  // namespace holdfast::sim
