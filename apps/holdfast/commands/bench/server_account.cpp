// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/server_account.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <charconv>
#include <memory>
#include <string_view>

namespace holdfast::app {
namespace {

// The number after "name" (with its colon or equals sign) in the text of INFO; 0 if it is not
// there.
double number_after(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) return 0;
    double value = 0;
    const std::string_view rest = text.substr(at + name.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return value;
}

}  // namespace

result<server_account> server_account::read(const server_place& where) {
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    const std::unique_ptr<redisContext, decltype(&redisFree)> connection(
        ::redisConnectWithTimeout(where.host.c_str(), where.port, patience), &redisFree);
    if (!connection || connection->err != 0) {
        return fail(errc::unavailable,
                    fmt::format("cannot connect to {}:{}: {}", where.host, where.port,
                                connection ? connection->errstr : "no memory"));
    }
    ::redisSetTimeout(connection.get(), patience);
    const std::unique_ptr<void, decltype(&freeReplyObject)> answer(
        ::redisCommand(connection.get(), "INFO everything"), &freeReplyObject);
    const auto* info = static_cast<const redisReply*>(answer.get());
    if (info == nullptr || info->type != REDIS_REPLY_STRING) {
        return fail(errc::unavailable,
                    fmt::format("{}:{} does not answer INFO", where.host, where.port));
    }
    const std::string_view text(info->str, info->len);
    server_account seen;
    seen.process_id = static_cast<pid_t>(number_after(text, "process_id:"));
    seen.cpu_seconds = number_after(text, "used_cpu_user:") + number_after(text, "used_cpu_sys:");
    seen.commands = number_after(text, "total_commands_processed:");
    return seen;
}

}  // namespace holdfast::app
