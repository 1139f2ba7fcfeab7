// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <string_view>

/// What every engine behind the command seam promises, as test cases.
///
/// An engine joins with one line in a test program that links holdfast_command_seam_conformance:
///
///     INSTANTIATE_TEST_SUITE_P(memory, command_seam,
///                              testing::Values(command_engine_factory{"memory", [] { … }}));
namespace holdfast {

inline void PrintTo(const reply& r, std::ostream* out) {
    *out << to_string(r);
}

namespace test {

struct command_engine_factory {
    std::string name;
    /// Called once for each case. The engines may share a server: cases use keys of their own.
    std::function<std::shared_ptr<command_engine>()> make;
    /// Whose subscribers PUBLISH counts when a script or a transaction calls it. A node of a
    /// cluster counts its own alone.
    enum class counted : std::uint8_t { everyone, own_node } published = counted::everyone;
};

inline void PrintTo(const command_engine_factory& f, std::ostream* out) {
    *out << f.name;
}

class command_seam : public testing::TestWithParam<command_engine_factory> {
protected:
    /// Far enough to never matter when all is well.
    [[nodiscard]] time_point soon() const;
    [[nodiscard]] time_point past() const;

    /// A name that no other case and no earlier run uses, in one hash slot with its siblings.
    /// The string lives as long as the case: commands borrow it.
    [[nodiscard]] const std::string& key(std::string_view name);

    /// One command on the shared engine; fails the test when there is no answer. Error replies are
    /// replies.
    template <class... Words>
    reply ask(const Words&... list) {
        return ask_command(words(list...));
    }
    reply ask_command(const command& c);

    [[nodiscard]] std::unique_ptr<command_session> session();
    /// The same as ask(), on a session.
    template <class... Words>
    static reply ask_in(command_session& in, time_point give_up, const Words&... list) {
        return exchange_one(in, words(list...), give_up);
    }
    static reply exchange_one(command_session& in, const command& c, time_point give_up);

    std::shared_ptr<command_engine> engine_ = GetParam().make();

private:
    std::mutex mutex_;
    std::set<std::string> keys_;
    std::string unique_ = fresh_prefix();
    static std::string fresh_prefix();
};

}  // namespace test
}  // namespace holdfast
