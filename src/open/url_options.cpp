// SPDX-License-Identifier: Apache-2.0
#include "open/url_options.hpp"

#include "core/lease_bounds.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/engine/suggest.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::detail {

std::optional<std::string> take_option(url& where, std::string_view name) {
    const auto found = std::ranges::find(
        where.options, name, [](const auto& option) { return std::string_view(option.first); });
    if (found == where.options.end()) return std::nullopt;
    std::string value = std::move(found->second);
    where.options.erase(found);
    return value;
}

result<duration> take_quarantine(url& where, duration usual) {
    const auto text = take_option(where, "quarantine");
    if (!text) return usual;
    const auto span = *text == "off" ? result<duration>() : parse_span(*text);
    if (!span || *span > longest_ttl) {
        return wrong_option("quarantine", "off, or a time such as 30s or 5m, at most a day");
    }
    return *span;
}

std::unexpected<error> wrong_option(std::string_view option, std::string_view takes) {
    return fail(errc::invalid_argument,
                fmt::format("option {} of the URL takes {}", option, takes));
}

result<void> only_options(const url& where, std::span<const std::string_view> known) {
    for (const auto& [name, value] : where.options) {
        if (std::ranges::find(known, name) != known.end()) continue;
        return fail(errc::invalid_argument,
                    fmt::format("engine URL: {}: has no option '{}'{}", where.scheme, name,
                                did_you_mean(name, known)));
    }
    return {};
}

}  // namespace holdfast::detail
