// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chance.hpp"
#include "checkers/checker_set.hpp"
#include "network.hpp"
#include "node.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "timeline.hpp"

#include "lease/commands/lease_commands.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

/// Everything that takes part in one seed, and the ways between them.
///
/// It judges nothing: what can be seen goes to the checker set.
namespace holdfast::sim {

class world {
public:
    world(const plan& p, checker_set& judges);
    ~world();

    [[nodiscard]] moment now() const noexcept { return time_.now(); }
    [[nodiscard]] timeline& time() noexcept { return time_; }
    [[nodiscard]] network& net() noexcept { return net_; }
    [[nodiscard]] checker_set& judges() noexcept { return judges_; }
    [[nodiscard]] const plan& how() const noexcept { return plan_; }
    [[nodiscard]] node& server(unsigned number) { return *servers_[number]; }
    [[nodiscard]] std::vector<std::shared_ptr<process>>& programs() noexcept { return programs_; }
    [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }

    [[nodiscard]] const command_lease_options& lease_options() const noexcept { return options_; }

    /// Whom a program that looks for the master finds.
    [[nodiscard]] unsigned master_for(unsigned process);
    [[nodiscard]] unsigned master() const noexcept { return master_; }

    // What programs send to servers. `refused` is told when the server is not there.
    struct command_parcel {
        unsigned process;
        unsigned node;
        unsigned incarnation;
        bool may_repeat;
        const lease_request& request;
        wire_batch batch;
        unsigned line;  ///< The number of its connection, among those of its sender.
        std::function<bool()> awaited;  ///< Whether its sender still waits for the answer.
    };
    void send_commands(command_parcel what, std::function<void(std::vector<reply>)> answered,
                       std::function<void()> refused);
    struct confirm_parcel {
        unsigned process;
        unsigned node;
        unsigned incarnation;
        moment written;  ///< The last write of the connection that asks.
        unsigned replicas;
        moment patience;
    };
    /// WAIT: how many replicas have that write, as soon as they are enough.
    void confirm(const confirm_parcel& what, std::function<void(unsigned)> answered);
    struct call_parcel {
        unsigned process;
        unsigned node;
        unsigned incarnation;
        bool raises_fences;
        unsigned line;
        moment stand_aside{0};  ///< A server that was restarted since then refuses.
    };
    void connect(const call_parcel& what,
                 std::function<void(bool welcome, const reply& time)> answered);
    struct subscribe_parcel {
        unsigned process;
        unsigned node;
        unsigned incarnation;
        std::string channel;
        std::function<bool()> wanted;  ///< Whether its sender has not hung up meanwhile.
    };
    void subscribe(const subscribe_parcel& what, std::function<void()> answered,
                   std::function<void(const std::string&)> heard);
    void hang_up(unsigned process, unsigned node);

    /// A guarded resource: keeps the largest fence and refuses a smaller one.
    void use_resource(unsigned process, const std::string& name, std::uint64_t holding,
                      fencing_token fence, bool writes, std::uint64_t read_before,
                      std::function<void(std::uint64_t)> answered);

    /// What the master has of a program, as far as it is alive; empty if nothing, or if it cannot
    /// be told.
    [[nodiscard]] std::string left_of(const process& one);
    [[nodiscard]] std::string left_on_servers();
    /// Whether the master has that lock for a program; also if that cannot be told.
    [[nodiscard]] bool has_lease(const process& one, const std::string& name);

    // What a nemesis does.
    void restart_server(unsigned number, moment down, std::optional<moment> lost);
    void replace_program(std::size_t index);
    void close_program(std::size_t index);
    void disturb_servers();
    void fail_over(unsigned to, moment old_goes_on);
    void note_step_back(moment by) { stepped_back_ += by; }

    /// The whole life. False if it did not come to an end.
    bool run();

private:
    void take_over(unsigned to, moment decided, moment old_goes_on);
    void depose(unsigned number);
    void populate();
    [[nodiscard]] std::shared_ptr<process> make_program();
    [[nodiscard]] moment acknowledged(unsigned replica, unsigned master, moment written) const;
    struct operation;
    void arrive(const std::shared_ptr<operation>& one, node& there);
    void carry_on(const std::shared_ptr<operation>& one, node& there, std::vector<reply> so_far);
    void answer(const std::shared_ptr<operation>& one, std::vector<reply> said);
    void at_server(unsigned number, unsigned incarnation, std::function<void(node&)> act,
                   std::function<void()> refused);
    void note_arrival(const operation& one, bool awaited);
    [[nodiscard]] bool is_undone(const operation& one, const ask::acquire& asked) const;

    void end_connections(unsigned number);

    const plan& plan_;
    const command_lease_options options_;
    checker_set& judges_;
    timeline time_;
    network net_;
    chance draw_;
    std::vector<std::unique_ptr<node>> servers_;
    std::vector<std::shared_ptr<process>> programs_;
    std::vector<std::shared_ptr<process>> closed_;  ///< They give back what they had, and no more.
    std::uint64_t numbers_ = 0;
    unsigned processes_ = 0;
    unsigned master_ = 0;
    std::vector<moment> lags_;  ///< Of each server, as a replica.
    std::map<unsigned, moment>
        cut_off_;  ///< Old masters, which nobody follows any more, since when.
    moment stepped_back_{0};
    bool electing_ = false;
    moment old_master_until_{0};
    unsigned old_master_ = 0;

    struct resource {
        std::uint64_t fence = 0;
        std::uint64_t value = 0;
    };
    std::map<std::string, resource> resources_;
    /// By server: owners whose last request was carried out there.
    std::set<std::pair<unsigned, owner_token>> ended_owners_;
    /// The connection of each program to each server that was made last: no older one is heard.
    std::map<std::pair<unsigned, unsigned>, unsigned> open_lines_;
    /// Owners of which a request came when their program had done with it, and which nobody undoes.
    std::set<std::string, std::less<>> late_owners_;
};

}  // namespace holdfast::sim
