// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/reply.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Where a command's answer goes, value by value, in the order of the wire.
///
/// An array is announced by its length and followed by that many values. So a command is written
/// once, and its answer becomes a `reply` for a caller or goes straight onto Lua's stack for a
/// script, without a tree in between.
///
/// RESP3 has kinds of its own: maps, sets, doubles. A sink that carries them overrides these
/// members; for the others a map is the array of its keys and values, as in RESP2.
namespace holdfast::memory {

class sink {
public:
    sink() = default;
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    virtual void nil() = 0;
    virtual void status(std::string_view text) = 0;
    virtual void error(std::string_view text) = 0;
    virtual void integer(std::int64_t number) = 0;
    virtual void string(std::string_view text) = 0;
    virtual void array(std::size_t length) = 0;

    /// As RESP2 carries a double: a string.
    virtual void number(double value);
    /// Followed by `pairs` keys, each with its value.
    virtual void map(std::size_t pairs) { array(pairs * 2); }
    virtual void set(std::size_t length) { array(length); }
    /// Nothing, where there would be an array.
    virtual void nil_array() { nil(); }
    /// Whether pairs are answered as arrays of two (RESP3) or one after the other.
    [[nodiscard]] virtual bool nests_pairs() const noexcept { return false; }
    void ok() { status("OK"); }
};

/// Builds a `reply`.
class reply_sink final : public sink {
public:
    void nil() override { put(reply::nil()); }
    void status(std::string_view text) override { put(reply::status(text)); }
    void error(std::string_view text) override { put(reply::error(text)); }
    void integer(std::int64_t number) override { put(reply::integer(number)); }
    void string(std::string_view text) override { put(reply::string(text)); }
    void array(std::size_t length) override;

    /// Requires: one whole value was put.
    [[nodiscard]] reply take() { return std::move(root_); }

private:
    struct frame {
        std::vector<reply> elements;
        std::size_t length;
    };

    void put(reply&& r) {
        if (open_.empty()) {
            root_ = std::move(r);
        } else {
            put_nested(std::move(r));
        }
    }
    void put_nested(reply&& r);

    reply root_;
    std::vector<frame> open_;
};

}  // namespace holdfast::memory
