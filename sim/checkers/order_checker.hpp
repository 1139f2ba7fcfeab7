// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"

#include <map>
#include <string>

/// First come, first served, among the living.
///
/// Who was told to wait before another even asked is granted first. It counts only those whom no
/// fault has met since they came: a waiter that cannot be heard is passed over, and must be.
/// Whoever barges neither has nor respects a place.
///
/// Where several are granted at once (readers, permits) they hear of it in any order; their fences
/// say in which order they were served, unless one does not hear of anything for long.
namespace holdfast::sim {

class order_checker final : public checker {
public:
    order_checker() : checker("order") {}

    using checker::see;
    void see(const seen::request_sent& e) override;
    void see(const seen::request_answered& e) override;
    void see(const seen::push_heard& e) override;
    void see(const seen::process_crashed& e) override;
    void see(const seen::process_disturbed& e) override;
    void see(const seen::servers_disturbed& e) override;

private:
    struct asker {
        unsigned process;
        std::string name;
        lease_mode mode;
        bool barges;
        moment asked;
        moment in_line = moment::max();
        bool granted = false;
        std::uint64_t overtaken_by = 0;    ///< The lowest fence of a later one, and …
        moment overtaken = moment::max();  ///< … when that one was heard of.
        bool disturbed = false;            ///< It may have lost its place.
    };
    void granted(const owner_token& owner, fencing_token fence, moment at);

    std::map<owner_token, asker> askers_;  ///< By owner.
};

}  // namespace holdfast::sim
