// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <string>
#include <string_view>
#include <utility>

/// A lease on its way from one process to another, on purpose: acquired here, released there.
///
///     auto token = std::move(held).detach();              // this process has it no more
///     send(token->text());                                // a pipe, a job queue: it is a secret
///
///     auto came = lease_token::parse(received);           // in the other process
///     auto held = hf.adopt(*came, {.ttl = 30s});          // renewed there from now on
///
/// Between the two nobody renews the lease: it runs for what was left of it, and then the name is
/// free. To give the other process more time, renew() before detach().
///
/// A token is taken up once: adopt() changes the lease's owner on the engine in one step, so that a
/// second adopt() of the same token, and whatever the first process may still send, finds nothing.
/// It is the same holding, with the same fence: a resource that checks fences cannot tell the two
/// processes apart, so stop writing before you detach.
namespace holdfast {

class lease_token {
public:
    /// Errors: invalid_argument, if it is not what text() gave. The detail does not repeat it.
    [[nodiscard]] static result<lease_token> parse(std::string_view text);

    /// One word of letters, digits, dots and dashes. Whoever knows it can take the lease: keep it
    /// out of logs and command lines.
    [[nodiscard]] std::string text() const;

    [[nodiscard]] const lock_name& name() const noexcept { return name_; }
    [[nodiscard]] fencing_token fence() const noexcept { return fence_; }
    [[nodiscard]] lease_mode mode() const noexcept { return mode_; }
    /// The secret in it, for an engine.
    [[nodiscard]] const owner_token& owner() const noexcept { return owner_; }

    /// For whoever holds a lease; lease::detach() makes it for you.
    lease_token(lock_name name, owner_token owner, lease_mode mode, fencing_token fence)
        : name_(std::move(name)), owner_(std::move(owner)), mode_(mode), fence_(fence) {}

private:
    lock_name name_;
    owner_token owner_;
    lease_mode mode_;
    fencing_token fence_;
};

/// What an engine is asked for when a lease is adopted: that it get another owner.
struct lease_adoption {
    lock_name name;
    owner_token from;
    owner_token to;
    lease_mode mode;
    duration ttl;
};

}  // namespace holdfast
