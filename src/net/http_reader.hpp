// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"

#include <cstddef>
#include <memory>
#include <string>

/// Reads requests from bytes, in whatever pieces they come. No socket: the session feeds it, and so
/// does the fuzzer.
///
/// A request that breaks a limit or the protocol is refused with the response to send; the
/// connection is then of no further use, because where the next request begins is not known.
namespace holdfast::net {

struct http_limits {
    std::size_t header_bytes = 8 * 1024;
    std::size_t headers = 128;
    std::size_t body_bytes = 64 * 1024;
};

class http_reader {
public:
    explicit http_reader(http_limits limits);
    ~http_reader();

    enum class state : std::uint8_t { more, complete, refused };

    /// Takes from the front of `bytes` what belongs to the request at hand.
    [[nodiscard]] state feed(std::string& bytes);

    /// Does a request stand half read?
    [[nodiscard]] bool started() const noexcept;

    /// The request that is complete; the next one may then be fed.
    /// Requires: feed() answered `complete`.
    [[nodiscard]] http_request take();

    /// The answer to send before closing.
    /// Requires: feed() answered `refused`.
    [[nodiscard]] const http_response& refusal() const noexcept { return refusal_; }

private:
    struct parsing;

    void begin();
    state refuse(int status, std::string_view reason, std::string_view detail);

    http_limits limits_;
    std::unique_ptr<parsing> parsing_;
    http_response refusal_;
    bool started_ = false;
};

}  // namespace holdfast::net
