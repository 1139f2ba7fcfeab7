// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

/// What a holder says of itself, for the people who look.
namespace holdfast {

/// A short text that is kept with a lease: 1 to max_bytes bytes of UTF-8 without control
/// characters. Copies share the text, and one that was never set costs nothing.
///
/// A caller gives it as acquire_options::note; this is how requests and leases carry it.
class holder_note {
public:
    static constexpr std::size_t max_bytes = 256;

    /// No note.
    holder_note() = default;

    template <class Text>
        requires std::convertible_to<const Text&, std::string_view>
    holder_note(const Text& text)  // NOLINT: text is meant to convert
        : text_(std::make_shared<const std::string>(std::string_view(text))) {}

    /// Was a note given? An empty one takes back the note before it.
    [[nodiscard]] bool is_set() const noexcept { return text_ != nullptr; }

    [[nodiscard]] std::string_view value() const noexcept {
        return text_ == nullptr ? std::string_view() : std::string_view(*text_);
    }

private:
    std::shared_ptr<const std::string> text_;
};

}  // namespace holdfast
