// SPDX-License-Identifier: Apache-2.0
#include <holdfast/cooldown.hpp>

#include "command/script_call.hpp"
#include "traffic/traffic_scripts.hpp"

#include <utility>

namespace holdfast {
namespace {

result<void> ready(const command_access& where, const cooldown_options& options,
                   std::string_view key) {
    return detail::first_failure(
        {detail::check_place(where), detail::check_span("window", options.window),
         detail::check_prefix(options.prefix), detail::check_timeout(options.timeout),
         detail::check_key(key), detail::check_plain_key(options.prefix, key)});
}

}  // namespace

cooldown::cooldown(command_access where, cooldown_options options)
    : where_(std::move(where)), options_(std::move(options)) {}

result<decision> cooldown::take(std::string_view key) {
    if (auto fit = ready(where_, options_, key); !fit) return std::unexpected(fit.error());
    const detail::key_text name = detail::plain_key(options_.prefix, key);
    const std::string token = "cooldown:" + detail::draw_token(where_.chance());
    detail::script_call q(detail::traffic_scripts::all().cooldown, 1, repeat::idempotent);
    q.word(name.view());
    q.word(token);
    q.word(detail::to_ms(options_.window));
    const auto answered = detail::ask(where_, q.as_command(), name.view(), options_.timeout);
    if (!answered) return std::unexpected(answered.error());

    decision made{.limit = 1};
    const std::int64_t left = answered->number();
    made.allowed = left == -3;
    if (made.allowed) {
        made.reset_after = std::chrono::ceil<std::chrono::milliseconds>(options_.window);
    } else if (left == -1) {
        made.retry_after = made.reset_after = decision::never;
    } else {
        // A key lives through the millisecond that it ends in.
        made.retry_after = made.reset_after = std::chrono::milliseconds(left + 1);
    }
    return made;
}

result<void> cooldown::clear(std::string_view key) {
    if (auto fit = ready(where_, options_, key); !fit) return fit;
    const detail::key_text name = detail::plain_key(options_.prefix, key);
    detail::script_call q(detail::traffic_scripts::all().cooldown_clear, 1, repeat::idempotent);
    q.word(name.view());
    const auto gone = detail::ask(where_, q.as_command(), name.view(), options_.timeout);
    if (!gone) return std::unexpected(gone.error());
    return {};
}

}  // namespace holdfast
