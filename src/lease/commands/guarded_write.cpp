// SPDX-License-Identifier: Apache-2.0
#include <holdfast/guarded_write.hpp>

#include "core/hash_slot.hpp"
#include "lease/commands/lease_commands.hpp"
#include "lease/commands/lease_keys.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace holdfast {
namespace {

constexpr std::uint64_t most_fence = (std::uint64_t{1} << 53) - 1;

bool is_sql_name(std::string_view name) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.';
    };
    return !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, plain);
}

result<void> check_names(const guarded_table& table, std::span<const std::string_view> columns) {
    std::vector<std::string_view> names{table.name, table.key_column, table.fence_column};
    names.insert(names.end(), columns.begin(), columns.end());
    for (const std::string_view name : names) {
        if (is_sql_name(name)) continue;
        return fail(errc::invalid_argument,
                    fmt::format("guarded table: '{}' is no plain name of SQL (letters, digits, "
                                "underscores and dots)",
                                name));
    }
    return {};
}

result<void> check_guarded(std::string_view who, std::string_view key, fencing_token fence) {
    if (key.empty()) return fail(errc::invalid_argument, fmt::format("{}: the key is empty", who));
    if (fence.value == 0 || fence.value > most_fence) {
        return fail(errc::invalid_argument,
                    fmt::format("{}: {} is no fence of a lease", who, fence.value));
    }
    return {};
}

// Names this process, and a child of fork() differently.
std::string writer_id() {
    static const client_id drawn = client_id::draw(system_entropy());
    return fmt::format("{}{:x}", drawn.value(), ::getpid());
}

// In the order in which the writes of this process begin.
std::uint64_t next_write() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

const script& guarded_set_script() {
    static const script body{
#include "scripts/guarded_set.inc"
    };
    return body;
}

result<guarded_outcome> guarded_set(command_engine& engine, std::string_view key,
                                    std::string_view value, fencing_token fence, time_point give_up,
                                    const guarded_set_options& options) {
    if (const auto fit = check_guarded("guarded_set", key, fence); !fit) {
        return std::unexpected(fit.error());
    }
    const auto least = std::chrono::milliseconds(1);
    const bool lasts = options.ttl == duration::zero() || options.ttl >= least;
    if (!lasts || options.remembered < least) {
        return fail(errc::invalid_argument, "guarded_set: a time is below 1 ms");
    }
    detail::text_arena room;
    const std::string_view beside = key_beside(room, key, guard_end);
    const std::string_view last = key_beside(room, key, guard_last_end);
    const std::string writer = writer_id();
    const auto line =
        words("EVALSHA", guarded_set_script().sha1(), 3, key, beside, last, fence.value, value,
              to_ms(options.ttl), to_ms(options.remembered), writer, next_write());
    command c = line.idempotent();
    c.body = &guarded_set_script();
    const auto answered = engine.execute(c, give_up);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() != 2) {
        return fail(errc::corrupt, "guarded_set: the script answered " + to_string(*answered));
    }
    return guarded_outcome{.written = parts[0].number() == code::fence_taken,
                           .highest = {static_cast<std::uint64_t>(parts[1].number())}};
}

const script& guarded_claim_script() {
    static const script body{
#include "scripts/guarded_claim.inc"
    };
    return body;
}

result<guarded_claim_outcome> guarded_claim(command_engine& engine, std::string_view key,
                                            fencing_token fence, time_point give_up,
                                            const guarded_claim_options& options) {
    if (const auto fit = check_guarded("guarded_claim", key, fence); !fit) {
        return std::unexpected(fit.error());
    }
    if (options.remembered < std::chrono::milliseconds(1)) {
        return fail(errc::invalid_argument, "guarded_claim: `remembered` is below 1 ms");
    }
    detail::text_arena room;
    const std::string_view beside = key_beside(room, key, ":fence");
    const auto line = words("EVALSHA", guarded_claim_script().sha1(), 2, key, beside, fence.value,
                            to_ms(options.remembered));
    command c = line.idempotent();
    c.body = &guarded_claim_script();
    const auto answered = engine.execute(c, give_up);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() != 2 && parts.size() != 3) {
        return fail(errc::corrupt, "guarded_claim: the script answered " + to_string(*answered));
    }
    guarded_claim_outcome outcome{.claimed = parts[0].number() == code::fence_taken,
                                  .highest = {static_cast<std::uint64_t>(parts[1].number())},
                                  .value = std::nullopt};
    if (parts.size() == 3) outcome.value = parts[2].text();
    return outcome;
}

result<std::string> guarded_update_sql(const guarded_table& table,
                                       std::span<const std::string_view> columns) {
    if (const auto fit = check_names(table, columns); !fit) return std::unexpected(fit.error());
    std::size_t count = 0;
    const auto place = [&] {
        ++count;
        return table.parameters == sql_parameters::dollars ? fmt::format("${}", count)
                                                           : std::string("?");
    };
    std::string text = fmt::format("UPDATE {} SET ", table.name);
    for (const std::string_view column : columns) {
        text += fmt::format("{} = {}, ", column, place());
    }
    const std::string fence = place();
    text += fmt::format("{} = {} WHERE {} = {} AND {} <= {}", table.fence_column, fence,
                        table.key_column, place(), table.fence_column, fence);
    return text;
}

result<std::string> guarded_claim_sql(const guarded_table& table) {
    return guarded_update_sql(table, {});
}

result<std::string> highest_fence_sql(const guarded_table& table) {
    if (const auto fit = check_names(table, {}); !fit) return std::unexpected(fit.error());
    return fmt::format("SELECT {} FROM {} WHERE {} = {}", table.fence_column, table.name,
                       table.key_column, table.parameters == sql_parameters::dollars ? "$1" : "?");
}

}  // namespace holdfast
