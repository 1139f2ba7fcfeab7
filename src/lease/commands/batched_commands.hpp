// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command.hpp>
#include <holdfast/engine/reply.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What several requests of one batch say in common, said once.
///
/// A fast-path acquire is SET NX PX and INCRBY of the same counter (lease_commands.hpp). One INCRBY
/// behind all of them serves all: a fence must be drawn after its name was taken, and not sooner
/// than that. It saves the server almost half of the commands. And all that let go of a name do so
/// by one script: 131 us of a server's time for 128 names, where one script for each takes 328.
///
/// An error that is answered to such a script means that nothing was done: one of the keys may not
/// be touched, say. Then each is asked for alone.
namespace holdfast::detail {

class batched_commands {
public:
    /// `several_keys`: whether one command may touch the keys of several names. For so many
    /// `requests`, about.
    batched_commands(bool several_keys, std::size_t requests) : several_keys_(several_keys) {
        said_.reserve(requests + 1);
        entries_.reserve(requests);
    }

    /// Adds what is to be said for one request. Requires: it outlives this.
    void add(const lease_commands& one);

    /// All of it, after the last add(). The views last as long as this.
    [[nodiscard]] std::span<const command> commands();

    /// The replies to the next request, in the order of add(), as if it had been sent alone: they
    /// last until the next call. Nothing, if it must be: nothing was done.
    /// Requires: `all` are the replies to commands().
    [[nodiscard]] std::optional<std::span<result<reply>>> next(std::span<result<reply>> all);

private:
    enum class part : std::uint8_t { alone, draws, lets_go };
    struct entry {
        part type;
        std::size_t commands;  ///< Of its own.
        std::int64_t fences = 0;
    };
    /// One script for several releases.
    struct farewell {
        std::vector<std::string_view> words;
        std::string count;
    };
    // A script keeps the server from all others while it runs: for about 1 us a name.
    static constexpr std::size_t most_at_once = 128;

    void add_farewells();

    const bool several_keys_;
    std::vector<command> said_;
    std::vector<entry> entries_;
    // Acquires.
    std::string_view counter_;
    std::int64_t fences_ = 0;
    std::string digits_;
    std::array<std::string_view, 3> draw_;
    std::size_t drawn_at_ = 0;
    // Releases.
    std::vector<std::span<const std::string_view>> leaving_;
    std::deque<farewell> farewells_;
    std::size_t left_at_ = 0;
    // Replies.
    std::size_t answered_ = 0;
    std::size_t at_ = 0;
    std::int64_t given_ = 0;
    std::size_t gone_ = 0;
    std::array<result<reply>, 2> own_;
};

}  // namespace holdfast::detail
