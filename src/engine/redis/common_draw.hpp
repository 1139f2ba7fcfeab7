// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/command.hpp>
#include <holdfast/reply.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The fences of a batch of swift acquires, drawn together.
///
/// Each of them is SET NX PX and INCRBY of the same counter (lease_commands.hpp). In a batch one
/// INCRBY behind all of them serves all: a fence must be drawn after its name was taken, and not
/// sooner than that. It saves the server almost half of the commands.
namespace holdfast::detail {

class common_draw {
public:
    /// Adds what is to be sent for one request; if it is a swift acquire, without its INCRBY.
    void add(std::span<const command> said, std::vector<command>& to) {
        const bool joins = said.size() == 2 && said[1].args.size() == 3 &&
                           said[1].args[0] == "INCRBY" && (key_.empty() || key_ == said[1].args[1]);
        shares_.push_back(joins ? number(said[1].args[2]) : 0);
        total_ += shares_.back();
        if (joins) key_ = said[1].args[1];
        to.insert(to.end(), said.begin(), said.end() - (joins ? 1 : 0));
    }

    /// Adds the one INCRBY, if anybody joined.
    void end(std::vector<command>& to) {
        if (total_ == 0) return;
        digits_ = std::to_string(total_);
        words_ = {"INCRBY", key_, digits_};
        to.push_back(command{words_, repeat::idempotent});  // a number that is left out is nobody's
    }

    /// The replies to the next request, in the order of add(), as if it had been sent alone. They
    /// last until the next call.
    /// Requires: `all` are the replies to what was sent, from the first to the last.
    std::span<result<reply>> next(std::size_t count, std::span<result<reply>> all) {
        const std::int64_t share = shares_[request_++];
        const std::size_t first = at_;
        at_ += share > 0 ? 1 : count;
        if (share == 0) return all.subspan(first, count);
        const result<reply>& drawn = all.back();
        given_ += share;
        own_[0] = std::move(all[first]);
        own_[1] = drawn;
        if (drawn && drawn->type() == reply::kind::integer) {
            own_[1] = reply::integer(drawn->number() - total_ + given_);
        }
        return own_;
    }

private:
    [[nodiscard]] static std::int64_t number(std::string_view text) {
        std::int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    }

    std::vector<std::int64_t> shares_;  // by request; 0: it does not join
    std::string_view key_;
    std::int64_t total_ = 0;
    std::string digits_;
    std::array<std::string_view, 3> words_;
    std::size_t request_ = 0;
    std::size_t at_ = 0;
    std::int64_t given_ = 0;
    std::array<result<reply>, 2> own_;
};

}  // namespace holdfast::detail
