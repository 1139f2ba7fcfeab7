// SPDX-License-Identifier: Apache-2.0
#include "net/http_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include <utility>

namespace holdfast::net {
namespace http = boost::beast::http;

struct http_reader::parsing {
    http::request_parser<http::string_body> parser;
};

http_reader::http_reader(http_limits limits) : limits_(limits) {
    begin();
}

http_reader::~http_reader() = default;

void http_reader::begin() {
    parsing_ = std::make_unique<parsing>();
    parsing_->parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
    parsing_->parser.body_limit(limits_.body_bytes);
    started_ = false;
}

bool http_reader::started() const noexcept {
    return started_;
}

http_reader::state http_reader::refuse(int status, std::string_view reason,
                                       std::string_view detail) {
    refusal_ = problem(status, reason, detail);
    return state::refused;
}

http_reader::state http_reader::feed(std::string& bytes) {
    auto& parser = parsing_->parser;
    while (!bytes.empty() && !parser.is_done()) {
        started_ = true;
        boost::system::error_code failed;
        const auto used = parser.put(boost::asio::buffer(bytes), failed);
        bytes.erase(0, used);
        if (failed == http::error::need_more) {
            // An unfinished header stays in `bytes`, so the parser's own limit is not enough.
            if (!parser.is_header_done() && bytes.size() > limits_.header_bytes) {
                failed = http::error::header_limit;
            } else {
                return state::more;
            }
        }
        if (failed == http::error::header_limit) {
            return refuse(431, "header_too_large",
                          fmt::format("at most {} bytes of headers", limits_.header_bytes));
        }
        if (failed == http::error::body_limit) {
            return refuse(413, "body_too_large",
                          fmt::format("at most {} bytes of body", limits_.body_bytes));
        }
        if (failed) return refuse(400, "bad_request", failed.message());
        // Beast 1.81 asserts on some chunked bodies, and nothing here needs them.
        if (parser.is_header_done() && parser.chunked()) {
            return refuse(411, "length_required", "send Content-Length, not a chunked body");
        }
        if (used == 0 && !parser.is_done()) return state::more;
    }
    if (!parser.is_done()) return state::more;
    const auto& fields = parser.get();
    if (static_cast<std::size_t>(std::distance(fields.begin(), fields.end())) > limits_.headers) {
        return refuse(431, "too_many_headers", fmt::format("at most {} headers", limits_.headers));
    }
    if (fields.count(http::field::host) > 1 ||
        (fields.version() >= 11 && fields.count(http::field::host) == 0)) {
        return refuse(400, "bad_host", "exactly one Host header is needed");
    }
    if (!decode_target({fields.target().data(), fields.target().size()})) {
        return refuse(400, "bad_target", "the request's target is no path");
    }
    return state::complete;
}

http_request http_reader::take() {
    auto& message = parsing_->parser.get();
    http_request out;
    out.method = std::string(message.method_string());
    out.target = std::string(message.target());
    auto target = decode_target(out.target);
    out.path = std::move(target->path);
    out.query = std::move(target->query);
    for (const auto& field : message) {
        out.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    out.keep_alive = message.keep_alive();
    out.body = std::move(message.body());
    begin();
    return out;
}

}  // namespace holdfast::net
