// SPDX-License-Identifier: Apache-2.0
//
// The text: "hf1-OWNER-FENCE-KIND-PERMITS-LIMIT-NAME", the name in hex, KIND one of x, s and p.
#include <holdfast/lease_token.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace holdfast {
namespace {

constexpr std::string_view kinds = "xsp";

std::optional<std::string> from_hex(std::string_view digits) {
    if (digits.size() % 2 != 0) return std::nullopt;
    std::string out;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        unsigned byte = 0;
        const char* end = digits.data() + i + 2;
        const auto [at, problem] = std::from_chars(digits.data() + i, end, byte, 16);
        if (problem != std::errc{} || at != end) return std::nullopt;
        out.push_back(static_cast<char>(byte));
    }
    return out;
}

template <class Number>
bool read(std::string_view digits, Number& out) {
    const char* end = digits.data() + digits.size();
    const auto [at, problem] = std::from_chars(digits.data(), end, out);
    return problem == std::errc{} && at == end;
}

std::unexpected<error> no_token() {
    return fail(errc::invalid_argument,
                "this is no token of a detached lease: take what text() "
                "of the detached one gave, whole and unchanged");
}

}  // namespace

std::string lease_token::text() const {
    std::string name;
    for (const char c : name_.value()) {
        name += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return fmt::format("hf1-{}-{}-{}-{}-{}-{}", owner_.value(), fence_.value,
                       kinds[static_cast<std::size_t>(mode_.type)], mode_.permits, mode_.limit,
                       name);
}

result<lease_token> lease_token::parse(std::string_view text) {
    std::array<std::string_view, 7> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t dash = text.find('-');
        if ((dash == std::string_view::npos) != (i + 1 == parts.size())) return no_token();
        parts[i] = text.substr(0, dash);
        text.remove_prefix(dash == std::string_view::npos ? text.size() : dash + 1);
    }
    const auto owner = owner_token::parse(parts[1]);
    fencing_token fence;
    lease_mode mode;
    const std::size_t kind = parts[3].size() == 1 ? kinds.find(parts[3]) : std::string_view::npos;
    const auto raw = from_hex(parts[6]);
    if (parts[0] != "hf1" || !owner || !read(parts[2], fence.value) ||
        kind == std::string_view::npos || !read(parts[4], mode.permits) ||
        !read(parts[5], mode.limit) || !raw) {
        return no_token();
    }
    auto name = lock_name::make(*raw);
    if (!name) return no_token();
    mode.type = static_cast<lease_mode::kind>(kind);
    return lease_token(std::move(*name), *owner, mode, fence);
}

}  // namespace holdfast
