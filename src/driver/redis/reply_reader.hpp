// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/reply.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct redisReader;
struct redisReadTask;

/// Bytes in, replies out: hiredis's reader, building `holdfast::reply` directly.
namespace holdfast::redis {

/// Thread safety: one thread at a time.
class reply_reader {
public:
    explicit reply_reader(std::size_t max_reply_bytes);
    ~reply_reader();
    reply_reader(const reply_reader&) = delete;
    reply_reader& operator=(const reply_reader&) = delete;

    /// Takes bytes from the server.
    void feed(std::span<const char> bytes);

    /// The next complete reply, or nothing: then feed more, or look at problem().
    [[nodiscard]] std::optional<reply> next();

    /// Everything that was fed has been answered by next().
    [[nodiscard]] bool idle() const noexcept { return unfinished_bytes_ == 0 && problem_.empty(); }

    /// Why no further reply will come: the bytes are not a reply, or it is too large. Empty if
    /// fine.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

private:
    /// An array that is not complete yet.
    struct frame {
        std::vector<reply> elements;
        std::size_t expected;
    };
    struct free_reader {
        void operator()(redisReader* reader) const noexcept;
    };

    static reply_reader& self(const redisReadTask* task) noexcept;
    static void* on_string(const redisReadTask* task, char* text, std::size_t size);
    static void* on_array(const redisReadTask* task, int elements);
    static void* on_integer(const redisReadTask* task, long long value);
    static void* on_nil(const redisReadTask* task);

    void add(reply&& value);

    std::unique_ptr<redisReader, free_reader> reader_;
    std::vector<frame> open_;
    std::optional<reply> finished_;
    std::string problem_;
    std::size_t max_reply_bytes_;
    std::size_t unfinished_bytes_ = 0;  ///< Fed since the last complete reply.
};

}  // namespace holdfast::redis
