// SPDX-License-Identifier: Apache-2.0
//
// The guarded write of docs/guide/locks.md, as it stands there, on the embedded engine.
#include "engine/memory/memory_engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class guarded_write : public testing::Test {
protected:
    std::int64_t write(std::string_view fence, std::string_view value) {
        const std::array<std::string_view, 2> keys{"row", "row:fence"};
        const std::array<std::string_view, 2> args{fence, value};
        return engine_->evaluate(script_, keys, args, engine_->time().now() + 1s).value().number();
    }
    std::string value() {
        return engine_->execute(words("GET", "row"), engine_->time().now() + 1s).value().text();
    }

private:
    static std::string source() {
        std::ifstream in(GUARDED_WRITE_LUA);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::shared_ptr<command_engine> engine_ = make_memory_engine();
    script script_{source()};
};

TEST_F(guarded_write, refuses_a_fence_older_than_the_largest_it_has_seen) {
    EXPECT_EQ(write("1763242522000001", "first"), 1);
    EXPECT_EQ(write("1763242522000007", "second"), 1);
    EXPECT_EQ(write("1763242522000001", "late"), 0);
    EXPECT_EQ(value(), "second");
}

TEST_F(guarded_write, lets_one_holder_write_more_than_once) {
    EXPECT_EQ(write("1763242522000001", "draft"), 1);
    EXPECT_EQ(write("1763242522000001", "final"), 1);
    EXPECT_EQ(value(), "final");
}

}  // namespace
}  // namespace holdfast::test
