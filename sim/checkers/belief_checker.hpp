// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <string>
#include <vector>

/// Holders' beliefs never overlap: one writer, or readers, or so many permits as there are.
///
/// A belief begins at one moment, when a call returns, so that is when all others of its name are
/// asked, each by its own clock: `held()` compares the clock itself and is right even in a program
/// that stands still. An answer must not bring a belief back to life, so all are asked then too:
/// whoever did not believe any more never does again.
namespace holdfast::sim {

class belief_checker final : public checker {
public:
    belief_checker() : checker("beliefs") {}

    using checker::see;
    void see(const seen::holding_began& e) override;
    void see(const seen::holding_ended& e) override;
    void see(const seen::request_answered& e) override;
    void see(const seen::process_crashed& e) override;

private:
    struct belief {
        std::uint64_t holding;
        unsigned process;
        lease_mode mode;
        fencing_token fence;
        const believer* who;
        bool over = false;
    };
    void ask_all(moment at, const std::string& name, std::vector<belief>& all);

    std::map<std::string, std::vector<belief>> by_name_;
};

}  // namespace holdfast::sim
