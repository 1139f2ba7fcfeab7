// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <string>
#include <string_view>
#include <utility>

/// A lease that moves from one process to another: acquired here, released there.
///
///     auto token = std::move(held).detach();              // no longer held by this process
///     send(token->text());                                // a pipe, a job queue: it is a secret
///
///     auto came = lease_token::parse(received);           // in the other process
///     auto held = hf.adopt(*came, {.ttl = 30s});          // renewed there from now on
///
/// In between nobody renews the lease: it lasts for the time that was left, and then the name is
/// free. To give the other process more time, renew() before detach().
///
/// A token can be adopted once: adopt() changes the lease's owner on the engine in one step, so
/// that a second adopt() of the same token, and late requests of the first process, find nothing.
/// It is the same lease, with the same fence: a resource that checks fences cannot tell the two
/// processes apart, so stop writing before you detach.
namespace holdfast {

class lease_token {
public:
    /// Errors: invalid_argument, if text() did not make it. The detail does not repeat it.
    [[nodiscard]] static result<lease_token> parse(std::string_view text);

    /// One word of letters, digits, dots and dashes. Anyone who knows it can take the lease: keep
    /// it out of logs and command lines.
    [[nodiscard]] std::string text() const;

    [[nodiscard]] const lock_name& name() const noexcept { return name_; }
    [[nodiscard]] fencing_token fence() const noexcept { return fence_; }
    [[nodiscard]] lease_mode mode() const noexcept { return mode_; }
    /// Its secret, for an engine.
    [[nodiscard]] const owner_token& owner() const noexcept { return owner_; }

    /// For holders of a lease; lease::detach() makes it for you.
    lease_token(lock_name name, owner_token owner, lease_mode mode, fencing_token fence)
        : name_(std::move(name)), owner_(owner), mode_(mode), fence_(fence) {}

private:
    lock_name name_;
    owner_token owner_;
    lease_mode mode_;
    fencing_token fence_;
};

/// The request to an engine to give a lease another owner.
struct lease_adoption {
    lock_name name;
    owner_token from;
    owner_token to;
    lease_mode mode;
    duration ttl;
};

}  // namespace holdfast
