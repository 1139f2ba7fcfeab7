// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/sink.hpp"

#include <holdfast/engine/reply.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// A command's answer as the bytes of RESP2 or RESP3, at the end of a client's output.
///
/// Bounded: once the output is larger than the client may have, the rest is left out and
/// `overflowed` says so; such a connection is ended.
namespace holdfast::resp {

enum class protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

class reply_writer final : public memory::sink {
public:
    reply_writer(std::string& out, protocol how, std::size_t most)
        : out_(out), most_(most), how_(how) {}

    void nil() override;
    void status(std::string_view text) override;
    void error(std::string_view text) override;
    void integer(std::int64_t number) override { header(':', number); }
    void string(std::string_view text) override;
    void array(std::size_t length) override { length_header('*', length); }
    void number(double value) override;
    void map(std::size_t pairs) override;
    void set(std::size_t length) override;
    void nil_array() override;
    [[nodiscard]] bool nests_pairs() const noexcept override { return how_ == protocol::resp3; }

    /// What nobody asked for: an array in RESP2.
    void push(std::size_t length);
    void whole(const reply& r);

    [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

private:
    void header(char kind, std::int64_t number);
    void length_header(char kind, std::size_t length) {
        header(kind, static_cast<std::int64_t>(length));
    }
    void line(char kind, std::string_view text);
    [[nodiscard]] bool fits(std::size_t more) noexcept;

    std::string& out_;
    std::size_t most_;
    protocol how_;
    bool overflowed_ = false;
};

}  // namespace holdfast::resp
