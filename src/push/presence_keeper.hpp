// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "push/push_scripts.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/push/comet.hpp>
#include <holdfast/push/settings.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Keeps the keys that say who views what, for the connections of one Comet.
///
/// On a thread of its own, so that a slow engine holds up no frame. All keys have an expiry and are
/// renewed: those of a Comet that died vanish, and the other Comets of a room take its connections
/// out of the room's set. An engine that lost the keys gets them again with the next renewal.
namespace holdfast::push {

class presence_keeper {
public:
    struct change {
        bool entered;
        std::size_t loop;
        std::string room;
        std::string connection;
        std::string user;
    };
    /// Called on the keeper's thread after it was tried to write the changes down, in order.
    using written = std::function<void(const std::vector<change>&)>;

    presence_keeper(command_engine& engine, const settings& s, std::string comet, written done);
    /// As stop().
    ~presence_keeper();

    void start();
    /// Takes all entries away. Blocks: for some trips.
    void stop();

    void put(change one);

private:
    struct guest {
        std::string user;
        std::set<std::string> rooms;
    };

    void run();
    void apply(const std::vector<change>& changes);
    void renew();
    void write_guest(std::vector<owned_call>& calls, const std::string& connection,
                     const guest& who) const;
    [[nodiscard]] owned_call presence_call(const std::string& room) const;
    std::vector<result<reply>> send(const std::vector<owned_call>& calls);

    command_engine& engine_;
    const settings& settings_;
    const std::string comet_;
    const written done_;
    std::map<std::string, guest> guests_;
    std::map<std::string, std::set<std::string>> rooms_;  // connections in each

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<change> changes_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace holdfast::push
