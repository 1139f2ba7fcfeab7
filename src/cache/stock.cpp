// SPDX-License-Identifier: Apache-2.0
#include <holdfast/stock.hpp>

#include "cache/cache_scripts.hpp"
#include "command/script_call.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast {
namespace {

// A script counts in doubles.
constexpr std::int64_t most_stock = std::int64_t{1} << 53U;

}  // namespace

stock::stock(command_access where, std::string_view name, stock_options options)
    : where_(std::move(where)),
      name_(name),
      key_(detail::plain_key(options.prefix, name).view()),
      options_(std::move(options)) {}

result<void> stock::ready(std::int64_t n) const {
    if (n < 0 || n > most_stock) {
        return fail(errc::invalid_argument, fmt::format("{}: give it 0 to 2^53", n));
    }
    return detail::first_failure(
        {detail::check_place(where_), detail::check_span("life", options_.life),
         detail::check_prefix(options_.prefix), detail::check_timeout(options_.timeout),
         detail::check_key(name_), detail::check_plain_key(options_.prefix, name_)});
}

result<void> stock::set(std::int64_t count) {
    if (auto fit = ready(count); !fit) return fit;
    const auto put = words("SET", key_, count, "PX", detail::to_ms(options_.life));
    const auto done = detail::ask(where_, put.idempotent(), key_, options_.timeout);
    if (!done) return std::unexpected(done.error());
    return {};
}

result<stock_taken> stock::take(std::int64_t n) {
    if (auto fit = ready(n); !fit) return std::unexpected(std::move(fit.error()));
    if (n == 0) return fail(errc::invalid_argument, "take at least one");
    detail::script_call q(detail::cache_scripts::all().stock_take, 1, repeat::never);
    q.word(key_);
    q.word(n);
    q.word(detail::to_ms(options_.life));
    const auto seen = detail::ask(where_, q.as_command(), key_, options_.timeout);
    if (!seen) return std::unexpected(seen.error());
    return stock_taken{seen->elements().at(0).number() == 1, seen->elements().at(1).number()};
}

result<std::int64_t> stock::put_back(std::int64_t n) {
    if (auto fit = ready(n); !fit) return std::unexpected(std::move(fit.error()));
    detail::script_call q(detail::cache_scripts::all().stock_take, 1, repeat::never);
    q.word(key_);
    q.word(-n);
    q.word(detail::to_ms(options_.life));
    const auto seen = detail::ask(where_, q.as_command(), key_, options_.timeout);
    if (!seen) return std::unexpected(seen.error());
    if (seen->elements().at(0).number() == 1) return seen->elements().at(1).number();
    return fail(errc::lease_lost, fmt::format("'{}' holds no number to put back to", key_));
}

result<std::int64_t> stock::left() {
    if (auto fit = ready(0); !fit) return std::unexpected(std::move(fit.error()));
    const auto seen = detail::ask(where_, words("GET", key_).idempotent(), key_, options_.timeout);
    if (!seen) return std::unexpected(seen.error());
    if (seen->is_nil()) return 0;
    const std::string& text = seen->text();
    std::int64_t count = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (wrong == std::errc{} && end == text.data() + text.size()) return count;
    return fail(errc::corrupt, fmt::format("'{}' holds something else: no number", key_));
}

result<std::string> get_or_set(const command_access& where, std::string_view key,
                               std::string_view value, duration life, duration timeout) {
    auto fit = detail::first_failure({detail::check_place(where), detail::check_span("life", life),
                                      detail::check_timeout(timeout), detail::check_key(key),
                                      detail::check_plain_key({}, key)});
    if (!fit) return std::unexpected(std::move(fit.error()));
    const auto set = words("SET", key, value, "NX", "GET", "PX", detail::to_ms(life));
    auto seen = detail::ask(where, set.idempotent(), key, timeout);
    if (!seen) return std::unexpected(std::move(seen.error()));
    if (seen->is_nil()) return std::string(value);
    return std::move(*seen).text();
}

}  // namespace holdfast
