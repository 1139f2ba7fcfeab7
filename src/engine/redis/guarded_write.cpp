// SPDX-License-Identifier: Apache-2.0
#include <holdfast/guarded_write.hpp>

#include "core/hash_slot.hpp"
#include "engine/redis/lease_commands.hpp"
#include "engine/redis/lease_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
    if (key.empty()) return fail(errc::invalid_argument, "guarded_set: the key is empty");
    if (fence.value == 0 || fence.value > most_fence) {
        return fail(errc::invalid_argument,
                    fmt::format("guarded_set: {} is no fence of a lease", fence.value));
    }
    const auto least = std::chrono::milliseconds(1);
    const bool lasts = options.ttl == duration::zero() || options.ttl >= least;
    if (!lasts || options.remembered < least) {
        return fail(errc::invalid_argument, "guarded_set: a time is below 1 ms");
    }
    detail::text_room room;
    const std::string_view beside = key_beside(room, key, ":fence");
    const auto line = words("EVALSHA", guarded_set_script().sha1(), 2, key, beside, fence.value,
                            value, to_ms(options.ttl), to_ms(options.remembered));
    command c = line.idempotent();
    c.body = &guarded_set_script();
    const auto answered = engine.execute(c, give_up);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() != 2) {
        return fail(errc::corrupt, "guarded_set: the script answered " + to_string(*answered));
    }
    return guarded_outcome{.written = parts[0].number() == 1,
                           .highest = {static_cast<std::uint64_t>(parts[1].number())}};
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

result<std::string> highest_fence_sql(const guarded_table& table) {
    if (const auto fit = check_names(table, {}); !fit) return std::unexpected(fit.error());
    return fmt::format("SELECT {} FROM {} WHERE {} = {}", table.fence_column, table.name,
                       table.key_column, table.parameters == sql_parameters::dollars ? "$1" : "?");
}

}  // namespace holdfast
