// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// One step of a differential test, as a value: it can be replayed, removed and printed.
namespace holdfast::test {

using word_vector = std::vector<std::string>;

struct operation {
    enum class kind : std::uint8_t {
        command,      ///< `args` on `session`.
        transaction,  ///< `body` as one MULTI … EXEC.
        pause         ///< Lets `pause_ms` of real time pass on both sides.
    };
    /// Session 0 is the shared pipeline; the others are connections of their own.
    static constexpr std::uint8_t shared = 0;
    static constexpr std::uint8_t sessions = 3;

    kind what = kind::command;
    std::uint8_t session = shared;
    word_vector args{};
    std::vector<word_vector> body{};
    std::int64_t pause_ms = 0;
    /// A script whose reply holds elements in an order that Redis does not promise.
    bool unordered = false;
};

/// `1> SET "a\x00b" "x"`, as it is printed in a report.
[[nodiscard]] std::string to_string(const operation& step);

/// The command's name in capitals; empty if there is none.
[[nodiscard]] std::string command_name(const word_vector& args);

}  // namespace holdfast::test
