// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/sink.hpp"

#include <array>
#include <string_view>

struct lua_State;

/// A command's answer, straight onto Lua's stack.
namespace holdfast::memory {

class lua_sink final : public sink {
public:
    explicit lua_sink(lua_State* state) : state_(state) {}

    void nil() override;
    void status(std::string_view text) override;
    void error(std::string_view text) override;
    void integer(std::int64_t number) override;
    void string(std::string_view text) override;
    void array(std::size_t length) override;

    /// Was the answer, as a whole, an error?
    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    // No command that a script may call answers deeper: SCAN's pair holds a list of strings.
    static constexpr std::size_t deepest = 8;

    struct frame {
        std::size_t length;
        std::size_t filled;
    };

    void placed() {
        if (depth_ > 0) place();
    }
    void place();

    lua_State* state_;
    std::array<frame, deepest> open_;
    std::size_t depth_ = 0;
    bool failed_ = false;
};

}  // namespace holdfast::memory
