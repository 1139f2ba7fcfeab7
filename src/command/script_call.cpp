// SPDX-License-Identifier: Apache-2.0
#include "command/script_call.hpp"

#include "core/validity.hpp"

#include <holdfast/names.hpp>

#include <fmt/format.h>

namespace holdfast::detail {

result<void> first_failure(std::initializer_list<result<void>> checks) {
    for (const auto& one : checks) {
        if (!one) return one;
    }
    return {};
}

result<void> check_place(const command_access& where) {
    if (where.engine() != nullptr) return {};
    return fail(errc::unsupported,
                "traffic control needs an engine of Redis commands: memory:, sqlite: or Redis");
}

result<void> check_span(std::string_view what, duration span) {
    constexpr duration least = std::chrono::milliseconds(1);
    constexpr duration most = std::chrono::days(366);
    if (span >= least && span <= most) return {};
    return fail(errc::invalid_argument,
                fmt::format("{} is {} ns: give it 1 ms to 366 days", what, span.count()));
}

result<void> check_prefix(std::string_view prefix) {
    if (prefix.size() <= max_prefix_bytes) return {};
    return fail(errc::invalid_argument, fmt::format("prefix has {} bytes: at most {} are taken",
                                                    prefix.size(), max_prefix_bytes));
}

result<void> check_timeout(duration timeout) {
    if (timeout > duration::zero()) return {};
    return fail(errc::invalid_argument, "timeout is not above zero: set how long to wait");
}

result<void> check_key(std::string_view key) {
    const auto name = lock_name::make(key);
    if (name) return {};
    return fail(errc::invalid_argument, fmt::format("key: {}", name.error().detail));
}

result<reply> answer_of(result<reply> answered, std::string_view key) {
    if (!answered || !answered->is_error()) return answered;
    error why = to_error(*answered);
    if (why == errc::invalid_argument || why == errc::corrupt) {
        why = {errc::corrupt, fmt::format("'{}' holds something else: {}", key, why.detail)};
    }
    return std::unexpected(std::move(why));
}

result<reply> ask(const command_access& where, const command& c, std::string_view key,
                  time_point give_up) {
    result<reply> answered;
    where.engine()->exchange({&c, 1}, {&answered, 1}, give_up);
    return answer_of(std::move(answered), key);
}

result<reply> ask(const command_access& where, const command& c, std::string_view key,
                  duration timeout) {
    return ask(where, c, key, later(where.engine()->time().now(), timeout));
}

std::string draw_token(entropy& chance) {
    std::string token(owner_token::draw(chance).value());
    token.resize(16);
    return token;
}

}  // namespace holdfast::detail
