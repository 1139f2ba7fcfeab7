// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>

/// Nobody loses a lease while nothing happens to it: neither to its program nor to the servers,
/// from the call that it came from on, or shortly before: a call may have to wait for a line that
/// was lost then, and a grant that is heard late may have no time left.
namespace holdfast::sim {

class loss_checker final : public checker {
public:
    loss_checker() : checker("losses") {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::holding_began& e) override;
    void see(const seen::holding_ended& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::process_disturbed& e) override;
    void see(const seen::servers_disturbed& e) override;

private:
    struct holding {
        unsigned process;
        std::string name;
        std::uint64_t fence;
        bool disturbed = false;
    };
    struct call {
        unsigned process;
        bool disturbed = false;
    };
    std::map<std::uint64_t, call> calls_;
    std::map<std::uint64_t, holding> open_;
    std::map<unsigned, moment> disturbed_at_;  ///< By process.
};

}  // namespace holdfast::sim
