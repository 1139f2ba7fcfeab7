// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// Holders' beliefs never overlap: one writer, or readers, or so many permits as there are.
///
/// A belief begins at one moment, when a call returns, so that is when all others of its name are
/// asked, each by its own clock: `held()` compares the clock itself and is right even in a program
/// that stands still. An answer must not bring a belief back to life, so all are asked then too:
/// whoever did not believe any more never does again.
///
/// A server whose clock is set forward may end leases early. That costs exclusion until the next
/// renewal of each, and no longer: what was asked for, or renewed, after the step is exclusive
/// among itself. A call that gets a lease passed on inside its program asked no server: it has what
/// the holder before it had.
namespace holdfast::sim {

class belief_checker final : public checker {
public:
    belief_checker() : checker("beliefs") {}

    using checker::see;
    void see(const seen::call_began& e) override;
    void see(const seen::call_ended& e) override;
    void see(const seen::clock_set& e) override;
    void see(const seen::request_sent& e) override;
    void see(const seen::push_heard& e) override;
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
        bool doubtful = false;  ///< A clock was set forward since it was asked for.
    };
    using lease_key = std::tuple<unsigned, std::string, std::uint64_t>;  // process, name, fence
    [[nodiscard]] bool begins_doubtful(const seen::holding_began& e);
    void ask_all(moment at, const std::string& name, std::vector<belief>& all);

    std::map<std::string, std::vector<belief>> by_name_;
    std::map<std::uint64_t, moment> calls_;                          ///< When each began.
    std::map<std::pair<unsigned, std::uint64_t>, moment> renewals_;  ///< By process and fence.
    std::map<owner_token, std::string> names_;                       ///< What each asked for.
    std::set<lease_key> granted_;                                    ///< By a server.
    std::map<lease_key, bool> ended_;                                ///< Whether it was doubtful.
    moment last_step_{-1};
};

}  // namespace holdfast::sim
