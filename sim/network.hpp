// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chance.hpp"
#include "plan.hpp"
#include "timeline.hpp"

#include <functional>
#include <map>
#include <utility>

/// The network between programs and servers.
///
/// A message arrives later, or never, or twice, or after one that was sent later. Twice only if its
/// sender may send it again: that is what a client does that lost a connection, and the first one
/// may still be lying in a buffer. A pair of machines can be cut off from each other, in one
/// direction or both, or clogged: then everything comes at once.
namespace holdfast::sim {

enum class direction : std::uint8_t { to_server, to_program };

class network {
public:
    using delivery = std::function<void()>;

    network(timeline& time, const plan& p) : time_(time), plan_(p), draw_(p.seed, 2) {}

    /// Who is told that a message of this program was lost or late.
    void on_trouble(std::function<void(unsigned process)> tell) { trouble_ = std::move(tell); }

    /// `in_order` messages of one pair and direction do not overtake each other.
    struct parcel {
        unsigned process;
        unsigned node;
        direction way;
        bool may_repeat = false;
        bool in_order = false;
    };
    void carry(const parcel& what, delivery arrive);

    void cut(unsigned process, unsigned node, direction way, moment until);
    void clog(unsigned process, unsigned node, direction way, moment until);
    /// From now on it only delays, a little.
    void heal();

    /// Messages of this program that will still arrive.
    [[nodiscard]] unsigned on_their_way(unsigned process) const;
    /// When the last message that was sent so far will have arrived.
    [[nodiscard]] moment quiet_at() const noexcept { return last_of_all_; }

private:
    using path = std::pair<std::pair<unsigned, unsigned>, direction>;

    [[nodiscard]] moment travel_time(const parcel& what);
    void send(const parcel& what, const delivery& arrive);

    timeline& time_;
    const plan& plan_;
    chance draw_;
    std::function<void(unsigned)> trouble_ = [](unsigned) {};
    std::map<path, moment> cut_until_;
    std::map<path, moment> clogged_until_;
    std::map<path, moment> last_arrival_;
    std::map<unsigned, unsigned> on_their_way_;
    moment last_of_all_{0};
    bool healed_ = false;
};

}  // namespace holdfast::sim
