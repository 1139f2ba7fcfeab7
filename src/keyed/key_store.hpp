// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

/// Where keys are kept that an embedded engine works on: they are loaded, worked on, and written
/// back, in one transaction.
namespace holdfast::keyed {

/// Which version of its keys a caller has seen; 0: the key was not there.
using seen_versions = std::map<std::string, std::int64_t, std::less<>>;

/// Thread safety: all members may be called from any thread.
class key_store {
public:
    key_store() = default;
    key_store(const key_store&) = delete;
    key_store& operator=(const key_store&) = delete;
    virtual ~key_store() = default;

    /// Carries out the commands; MULTI … EXEC, and all of them if there is a `watched`, as one
    /// transaction. False, and nothing was done: a key of `watched` is not as it was seen.
    /// Errors: unsupported (a command that this store has not), invalid_argument (a script wrote a
    /// key that it did not name, a child of fork()), and those of the store. Then nothing was done,
    /// except with outcome_unknown.
    [[nodiscard]] virtual result<bool> carry_out(std::span<const command> commands,
                                                 std::span<result<reply>> replies,
                                                 time_point give_up,
                                                 const seen_versions* watched) = 0;

    /// The versions of these keys now.
    [[nodiscard]] virtual result<void> see(std::span<const std::string_view> keys,
                                           seen_versions& into, time_point give_up) = 0;

    /// One command, without waiting where the store can. Calls `done` exactly once.
    virtual void submit(const command& c, time_point give_up, command_engine::completion done);

    [[nodiscard]] virtual clock& time() const noexcept = 0;
};

}  // namespace holdfast::keyed
