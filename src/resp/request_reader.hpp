// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a client sends, cut into requests: RESP arrays of bulk strings, or lines of words.
///
/// No socket: bytes are put in, requests come out. What is malformed is answered in Redis's words,
/// after which the connection ends, because nobody knows where the next request begins.
///
/// Bounded: the words of a request, the bytes of one word, the bytes of the whole, and the length
/// of a line. Before a client has said its password the bounds are narrow, as in Redis: it cannot
/// make the server keep much.
namespace holdfast::resp {

struct request_limits {
    /// Words of one request.
    std::size_t words = std::size_t{1024} * 1024;
    /// Bytes of one word. Redis takes 512 MB.
    std::size_t word_bytes = std::size_t{64} * 1024 * 1024;
    /// Bytes of one request as it is sent.
    std::size_t bytes = std::size_t{128} * 1024 * 1024;
};

class request_reader {
public:
    explicit request_reader(const request_limits& limits) : limits_(limits) {}

    /// Where the next bytes can be put; then say how many came. What words() answered is over.
    [[nodiscard]] std::span<char> space();
    void filled(std::size_t bytes) noexcept { end_ += bytes; }

    enum class state : std::uint8_t {
        request,     ///< words() has one.
        incomplete,  ///< More bytes are needed.
        broken       ///< problem() says why. There is no way on.
    };
    [[nodiscard]] state next();

    /// The words of the request; at least one. They lie in the buffer: valid until next() or
    /// space().
    [[nodiscard]] std::span<const std::string_view> words() const noexcept { return words_; }
    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

    /// Bytes that were not yet answered by a request.
    [[nodiscard]] std::size_t buffered() const noexcept { return end_ - begin_ - at_; }

    /// Whether the client has said who it is.
    void trust(bool is) noexcept { trusted_ = is; }

private:
    struct place {
        std::size_t offset;
        std::size_t length;
    };
    enum class step : std::uint8_t { more, done, incomplete, broken };

    [[nodiscard]] std::string_view rest() const noexcept {
        return {buffer_.get() + begin_ + at_, end_ - begin_ - at_};
    }
    void leave_request() noexcept;
    [[nodiscard]] step start();
    [[nodiscard]] step read_count();
    [[nodiscard]] step read_line();
    [[nodiscard]] step read_word();
    [[nodiscard]] step read_length();
    /// The text before the next \r\n; false if it is not there yet.
    [[nodiscard]] bool line(std::string_view& text) const noexcept;
    step break_off(std::string problem);

    request_limits limits_;
    std::unique_ptr<char[]> buffer_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;   // of the current request
    std::size_t end_ = 0;     // of what came
    std::size_t at_ = 0;      // of what was looked at, from begin_
    std::size_t left_ = 0;    // words of the request that have not come
    std::int64_t next_ = -1;  // bytes of the next word; -1: its length has not come
    std::vector<place> places_;
    std::vector<std::string_view> words_;
    std::vector<std::string> line_words_;
    std::string problem_;
    bool trusted_ = true;
};

}  // namespace holdfast::resp
