// SPDX-License-Identifier: Apache-2.0
#include "support/raw_connection.hpp"

#include <hiredis/hiredis.h>
#include <signal.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

timeval to_timeval(std::chrono::milliseconds t) {
    return {static_cast<time_t>(t.count() / 1000),
            static_cast<suseconds_t>((t.count() % 1000) * 1000)};
}

// This hiredis writes without MSG_NOSIGNAL: a server that has gone would end the test program.
void survive_broken_pipes() {
    [[maybe_unused]] static const auto once = ::signal(SIGPIPE, SIG_IGN);
}

reply to_reply(const redisReply& r) {
    switch (r.type) {
        case REDIS_REPLY_STATUS:
            return reply::status({r.str, static_cast<std::size_t>(r.len)});
        case REDIS_REPLY_ERROR:
            return reply::error({r.str, static_cast<std::size_t>(r.len)});
        case REDIS_REPLY_STRING:
            return reply::string({r.str, static_cast<std::size_t>(r.len)});
        case REDIS_REPLY_INTEGER:
            return reply::integer(r.integer);
        case REDIS_REPLY_ARRAY: {
            std::vector<reply> elements;
            elements.reserve(r.elements);
            for (std::size_t i = 0; i < r.elements; ++i) {
                elements.push_back(to_reply(*r.element[i]));
            }
            return reply::array(std::move(elements));
        }
        default:
            return reply::nil();
    }
}

}  // namespace

void raw_connection::closer::operator()(redisContext* c) const noexcept {
    ::redisFree(c);
}

raw_connection::raw_connection(redisContext* context, std::string where,
                               std::chrono::milliseconds timeout)
    : context_(context), where_(std::move(where)) {
    survive_broken_pipes();
    if (context_ == nullptr || context_->err != 0) fail_with("connect to");
    ::redisSetTimeout(context_.get(), to_timeval(timeout));
}

raw_connection raw_connection::to_port(std::uint16_t port, std::chrono::milliseconds timeout) {
    return {::redisConnectWithTimeout("127.0.0.1", port, to_timeval(timeout)),
            "127.0.0.1:" + std::to_string(port), timeout};
}

raw_connection raw_connection::to_socket(const std::filesystem::path& path,
                                         std::chrono::milliseconds timeout) {
    return {::redisConnectUnixWithTimeout(path.c_str(), to_timeval(timeout)), path.string(),
            timeout};
}

void raw_connection::fail_with(std::string_view doing) const {
    std::string text = "cannot ";
    text += doing;
    text += ' ' + where_ + ": ";
    text += context_ == nullptr ? "out of memory" : context_->errstr;
    throw std::runtime_error(text);
}

void raw_connection::append(std::span<const std::string_view> args) {
    std::vector<const char*> words;
    std::vector<std::size_t> sizes;
    for (const std::string_view a : args) {
        words.push_back(a.data() == nullptr ? "" : a.data());
        sizes.push_back(a.size());
    }
    if (::redisAppendCommandArgv(context_.get(), static_cast<int>(args.size()), words.data(),
                                 sizes.data()) != REDIS_OK) {
        fail_with("write to");
    }
}

reply raw_connection::next() {
    void* answer = nullptr;
    if (::redisGetReply(context_.get(), &answer) != REDIS_OK) fail_with("read from");
    const std::unique_ptr<void, void (*)(void*)> owner(answer, ::freeReplyObject);
    return to_reply(*static_cast<const redisReply*>(answer));
}

reply raw_connection::execute(std::span<const std::string_view> args) {
    append(args);
    return next();
}

}  // namespace holdfast::test
