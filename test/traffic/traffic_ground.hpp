// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

/// What an engine brings to the suite of traffic control. The cases define what is correct.
namespace holdfast::test {

/// One engine, with keys that no other case uses.
class traffic_ground {
public:
    virtual ~traffic_ground() = default;

    [[nodiscard]] virtual std::shared_ptr<command_engine> engine() = 0;
    /// It delivers messages: sqlite: and etcd: do not.
    [[nodiscard]] virtual bool has_messages() const { return true; }
    /// Lets time pass, on the engine's clock and ours.
    virtual void pass(duration d) = 0;

    /// A prefix of this case's own.
    [[nodiscard]] const std::string& prefix() const { return prefix_; }

private:
    std::string prefix_ = "t" + std::to_string(system_entropy().below(1ULL << 62)) + ":";
};

struct traffic_engine {
    std::string name;
    std::function<std::unique_ptr<traffic_ground>()> make;
};

inline void PrintTo(const traffic_engine& engine, std::ostream* out) {
    *out << engine.name;
}

/// memory: and sqlite: in virtual time; one Redis server; one behind Sentinels; a Cluster; etcd.
[[nodiscard]] std::vector<traffic_engine> traffic_engines();

class traffic_test : public testing::TestWithParam<traffic_engine> {
protected:
    [[nodiscard]] command_access where() { return command_access(ground_->engine()); }
    template <class... Words>
    reply raw(const Words&... list) {
        const auto asked = words(list...);
        command_engine& engine = *ground_->engine();
        return engine.execute(asked, engine.time().now() + std::chrono::seconds(10)).value();
    }

    std::unique_ptr<traffic_ground> ground_ = GetParam().make();
};

}  // namespace holdfast::test
