// SPDX-License-Identifier: Apache-2.0
//
// hiredis calls back for every value it has read, in the order of the wire. So a reply is built
// with a stack of arrays that are still open: a value goes into the innermost one, and an array
// that has all its elements is itself a value for the next outer one.
//
// The size of an array is what the peer claims: it is never reserved beyond a small number, so that
// "*1000000000" costs nothing until the elements come. hiredis bounds the depth (7 nested arrays)
// and leaves the size to us.
#include "driver/redis/reply_reader.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace holdfast::redis {
namespace {

constexpr std::size_t first_reserve = 64;

void free_nothing(void* /*object*/) {}

}  // namespace

void reply_reader::free_reader::operator()(redisReader* reader) const noexcept {
    ::redisReaderFree(reader);
}

reply_reader::reply_reader(std::size_t max_reply_bytes) : max_reply_bytes_(max_reply_bytes) {
    static redisReplyObjectFunctions functions{.createString = on_string,
                                               .createArray = on_array,
                                               .createInteger = on_integer,
                                               .createNil = on_nil,
                                               .freeObject = free_nothing};
    reader_.reset(::redisReaderCreateWithFunctions(&functions));
    if (!reader_) throw std::bad_alloc();
    reader_->privdata = this;
}

reply_reader::~reply_reader() = default;

void reply_reader::feed(std::span<const char> bytes) {
    if (!problem_.empty()) return;
    unfinished_bytes_ += bytes.size();
    if (::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != 0) {
        problem_ = reader_->errstr;
    }
}

std::optional<reply> reply_reader::next() {
    if (!problem_.empty()) return std::nullopt;
    void* object = nullptr;
    if (::redisReaderGetReply(reader_.get(), &object) != 0) {
        problem_ = reader_->errstr;
        return std::nullopt;
    }
    if (object == nullptr) {
        if (unfinished_bytes_ > max_reply_bytes_) problem_ = "a reply exceeds max_reply_bytes";
        return std::nullopt;
    }
    // What is left in the buffer belongs to the next reply.
    unfinished_bytes_ = reader_->len - reader_->pos;
    return std::exchange(finished_, std::nullopt);
}

reply_reader& reply_reader::self(const redisReadTask* task) noexcept {
    return *static_cast<reply_reader*>(task->privdata);
}

void reply_reader::add(reply&& value) {
    while (true) {
        if (open_.empty()) {
            finished_ = std::move(value);
            return;
        }
        frame& innermost = open_.back();
        innermost.elements.push_back(std::move(value));
        if (innermost.elements.size() < innermost.expected) return;
        value = reply::array(std::move(innermost.elements));
        open_.pop_back();
    }
}

// hiredis wants an object that is not null, and does nothing else with it.
void* reply_reader::on_string(const redisReadTask* task, char* text, std::size_t size) {
    reply_reader& r = self(task);
    const std::string_view view(text, size);
    switch (task->type) {
        case REDIS_REPLY_STATUS: r.add(reply::status(view)); break;
        case REDIS_REPLY_ERROR: r.add(reply::error(view)); break;
        default: r.add(reply::string(view)); break;
    }
    return &r;
}

void* reply_reader::on_array(const redisReadTask* task, int elements) {
    reply_reader& r = self(task);
    if (elements <= 0) {
        r.add(reply::array({}));
        return &r;
    }
    const auto expected = static_cast<std::size_t>(elements);
    r.open_.push_back({{}, expected});
    r.open_.back().elements.reserve(std::min(expected, first_reserve));
    return &r;
}

void* reply_reader::on_integer(const redisReadTask* task, long long value) {
    self(task).add(reply::integer(value));
    return &self(task);
}

void* reply_reader::on_nil(const redisReadTask* task) {
    self(task).add(reply::nil());
    return &self(task);
}

}  // namespace holdfast::redis
