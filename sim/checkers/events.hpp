// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <holdfast/engine/lease_store.hpp>
#include <holdfast/lease.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

/// What the world tells its judges: everything that somebody outside could have seen.
///
/// The checkers know nothing else. They do not look into the library, and the world does not judge.
namespace holdfast::sim {

/// Somebody who may believe that it holds something, by its own clock.
class believer {
public:
    virtual ~believer() = default;
    [[nodiscard]] virtual bool believes() const = 0;
};

namespace seen {

struct call_began {
    moment at;
    std::uint64_t call;
    unsigned process;
    std::string name;
    lease_mode mode;
    bool waits;
    moment must_end;  ///< By then it must have returned, unless its program stood still.
    bool must_be_granted;
};

struct call_ended {
    moment at;
    std::uint64_t call;
    std::optional<errc> problem;
    fencing_token fence;
    moment stood_still;  ///< For so long its program did nothing meanwhile.
};

/// A call was granted: from now on somebody believes.
struct holding_began {
    moment at;
    std::uint64_t holding;
    std::uint64_t call;
    unsigned process;
    std::string name;
    lease_mode mode;
    fencing_token fence;
    const believer* who;
};

/// The holder stops believing: it releases, gives up, or was told that it lost.
struct holding_ended {
    moment at;
    std::uint64_t holding;
    bool lost;                            ///< It did not end it itself …
    loss_reason why = loss_reason::none;  ///< … but so.
};

/// A holder believes for a moment longer, and then no more if nothing happens.
struct belief_ending {
    moment at;
    unsigned process;
    std::string name;
    fencing_token fence;
    bool on_server;  ///< Its program has the name there, or that cannot be told.
};

/// The answer of a release.
struct release_ended {
    moment at;
    std::uint64_t holding;
    std::optional<errc> problem;
    moment began;
    moment must_end;
    moment stood_still;
};

struct process_crashed {
    moment at;
    unsigned process;
};

struct request_sent {
    moment at;
    unsigned process;
    const lease_request& request;
};

struct request_answered {
    moment at;
    unsigned process;
    const lease_request& request;
    const result<lease_reply>& reply;
};

/// What a program asks of one server of a quorum, …
struct node_asked {
    moment at;
    unsigned process;
    unsigned node;
    const lease_request& request;
};

/// … and what that server says.
struct node_answered {
    moment at;
    unsigned process;
    unsigned node;
    const lease_request& request;
    const result<lease_reply>& reply;
};

struct push_heard {
    moment at;
    unsigned process;
    const handed_off& given;
};

/// A fault met this process, or this server; whatever waits there may lose its place.
struct process_disturbed {
    moment at;
    unsigned process;
};
struct servers_disturbed {
    moment at;
};

/// A server's clock was set, forward or (negative) back.
struct clock_set {
    moment at;
    duration by;
};

/// A child of fork() could do what it must not.
struct child_misbehaved {
    moment at;
    unsigned process;
    std::string what;
};

/// A guarded resource was asked, with a fence.
struct resource_used {
    moment at;
    std::string name;
    std::uint64_t holding;
    fencing_token fence;
    bool accepted;
    bool writes;
    std::uint64_t read_before;  ///< What this holder had read, for a write.
    std::uint64_t value;        ///< What is there before this.
};

/// A program has nothing any more: no call, no lease, no message on its way, nothing to give back.
/// This is what the server still has of it.
struct process_idle {
    moment at;
    unsigned process;
    std::string left;  ///< Empty: nothing.
};

/// The world is at rest, and everything has had time to run out.
struct world_ended {
    moment at;
    std::string left_on_servers;
    std::uint64_t calls_open;
};

}  // namespace seen
}  // namespace holdfast::sim
