// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A submitted command that may have to be sent more than once, to different servers.
namespace holdfast::detail {

class owned_command {
public:
    explicit owned_command(const command& c) : again_(c.again) {
        std::size_t bytes = 0;
        for (const std::string_view word : c.args) bytes += word.size();
        text_.reserve(bytes);
        for (const std::string_view word : c.args) text_.append(word);
        std::size_t at = 0;
        for (const std::string_view word : c.args) {
            words_.push_back(std::string_view(text_).substr(at, word.size()));
            at += word.size();
        }
        if (c.body != nullptr) body_ = *c.body;
    }
    owned_command(const owned_command&) = delete;  // its views point into it
    owned_command& operator=(const owned_command&) = delete;

    [[nodiscard]] command view() const noexcept {
        return {words_, again_, body_ ? &*body_ : nullptr};
    }

private:
    std::string text_;
    std::vector<std::string_view> words_;
    repeat again_;
    std::optional<script> body_;
};

}  // namespace holdfast::detail
