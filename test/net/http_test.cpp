// SPDX-License-Identifier: Apache-2.0
//
// Requests as bytes, and what stands around them: targets, routes, access, tokens, handshakes.
#include "net/access_rules.hpp"
#include "net/base64.hpp"
#include "net/handshake_token.hpp"
#include "net/http_reader.hpp"
#include "net/router.hpp"
#include "net/websocket_handshake.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::net {
namespace {

using state = http_reader::state;

// The answer to bytes that are no request that we take; 0 if they are one or a part of one.
int refusal_of(std::string bytes, http_limits limits = {}) {
    http_reader reader(limits);
    return reader.feed(bytes) == state::refused ? reader.refusal().status : 0;
}

http_request request_of(std::string bytes) {
    http_reader reader({});
    EXPECT_EQ(reader.feed(bytes), state::complete) << bytes;
    return reader.take();
}

TEST(http_reader, a_request_is_read_whole_however_it_is_cut) {
    const std::string whole =
        "POST /logic/send?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
        "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (const std::size_t piece : {1U, 2U, 5U, 1000U}) {
        http_reader reader({});
        std::string bytes;
        std::vector<http_request> seen;
        for (std::size_t at = 0; at < whole.size(); at += piece) {
            bytes += whole.substr(at, piece);
            while (reader.feed(bytes) == state::complete) seen.push_back(reader.take());
        }
        ASSERT_EQ(seen.size(), 2U) << piece;
        EXPECT_EQ(seen[0].body, "hello");
        EXPECT_EQ(seen[0].parameter("x"), "1");
        EXPECT_TRUE(seen[0].keep_alive);
        EXPECT_EQ(seen[1].path, "/next");
        EXPECT_FALSE(seen[1].keep_alive);
    }
}

TEST(http_reader, a_chunked_body_is_refused) {
    EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
              411);
}

TEST(http_reader, what_is_too_large_or_no_request_is_refused) {
    EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9000, 'x')), 431);
    EXPECT_EQ(refusal_of(std::string(9000, 'x')), 431);
    std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 200; ++i) many += "A:b\r\n";
    EXPECT_EQ(refusal_of(many + "\r\n"), 431);
    EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"), 413);
    EXPECT_EQ(refusal_of("nonsense\r\n\r\n"), 400);
    EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
    EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
    EXPECT_EQ(refusal_of("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(refusal_of("GET http://x/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n"), 400);
}

TEST(http_reader, a_request_whose_length_is_said_in_two_ways_is_refused) {
    EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              400);
    EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                         "Content-Length: 6\r\n\r\nhello"),
              400);
}

TEST(router, an_escaped_slash_stays_in_its_part) {
    router to;
    to.add("GET", "/rooms/{room}",
           [](const auto&, const auto& parts) { return http_response{.body = parts[0]}; });
    to.add("GET", "/rooms/{room}/history",
           [](const auto&, const auto&) { return http_response{.body = "history"}; });
    const auto ask = [&](std::string method, std::string target) {
        http_request r;
        r.method = std::move(method);
        r.target = std::move(target);
        return to.answer(r);
    };
    EXPECT_EQ(ask("GET", "/rooms/a%2Fhistory").body, "a/history");
    EXPECT_EQ(ask("GET", "/rooms/a/history?x").body, "history");
    EXPECT_EQ(ask("HEAD", "/rooms/a").body, "a");
    EXPECT_EQ(ask("GET", "/rooms/").status, 404);
    EXPECT_EQ(ask("POST", "/rooms/a").status, 405);
}

http_request from(std::vector<header> headers) {
    http_request r;
    r.headers = std::move(headers);
    return r;
}

TEST(access_rules, a_name_that_is_not_ours_is_refused_because_it_may_be_rebound) {
    const access_rules rules{.bearer = {}, .hosts = {"push.example.com"}, .origins = {}};
    const auto status = [&](const char* host) {
        const auto refused = refuse_stranger(rules, from({{"Host", host}}));
        return refused ? refused->status : 0;
    };
    EXPECT_EQ(status("127.0.0.1:8090"), 0);
    EXPECT_EQ(status("[::1]:8090"), 0);
    EXPECT_EQ(status("localhost"), 0);
    EXPECT_EQ(status("Push.Example.com:80"), 0);
    EXPECT_EQ(status("evil.example.com"), 421);
    EXPECT_EQ(status("127.0.0.1.evil.com"), 421);
    EXPECT_EQ(status(""), 421);
}

TEST(access_rules, a_page_of_another_origin_is_refused) {
    const access_rules rules{.bearer = {}, .hosts = {}, .origins = {"https://www.example.com"}};
    const auto status = [&](const char* origin) {
        const auto refused =
            refuse_stranger(rules, from({{"Host", "127.0.0.1:8090"}, {"Origin", origin}}));
        return refused ? refused->status : 0;
    };
    EXPECT_EQ(status("http://127.0.0.1:8090"), 0);
    EXPECT_EQ(status("https://www.example.com"), 0);
    EXPECT_EQ(status("http://127.0.0.1:9999"), 403);
    EXPECT_EQ(status("https://evil.example.com"), 403);
    EXPECT_EQ(status("null"), 403);
}

TEST(access_rules, only_the_bearer_of_the_token_is_let_in) {
    const access_rules rules{.bearer = "0123456789abcdef", .hosts = {}, .origins = {}};
    const auto refused = [&](const char* said) {
        return refuse_without_token(rules, from({{"Authorization", said}})).has_value();
    };
    EXPECT_FALSE(refused("Bearer 0123456789abcdef"));
    EXPECT_FALSE(refused("bearer 0123456789abcdef"));
    EXPECT_TRUE(refused("Bearer 0123456789abcdeF"));
    EXPECT_TRUE(refused("Bearer "));
    EXPECT_TRUE(refused("Basic 0123456789abcdef"));
    EXPECT_TRUE(refuse_without_token(rules, from({})).has_value());
}

TEST(handshake_token, only_what_the_secret_signed_is_believed_until_it_expires) {
    const std::string secret = "a secret of some length";
    const std::string token =
        sign_handshake({.user = "Ann B.", .room = "video 1", .expires = 1000}, secret);
    const auto at = [](int seconds) { return wall_time(std::chrono::seconds(seconds)); };
    const auto claim = verify_handshake(token, secret, at(999));
    ASSERT_TRUE(claim.has_value());
    EXPECT_EQ(claim->user, "Ann B.");
    EXPECT_EQ(claim->room, "video 1");
    EXPECT_FALSE(verify_handshake(token, secret, at(1000)));
    EXPECT_FALSE(verify_handshake(token, "another secret of some", at(1)));
    EXPECT_FALSE(verify_handshake(token, "", at(1)));
    EXPECT_FALSE(verify_handshake("", secret, at(1)));
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string changed = token;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(verify_handshake(changed, secret, at(1))) << i;
    }
}

TEST(base64, comes_back_and_has_one_text_for_some_bytes) {
    for (std::size_t size = 0; size < 20; ++size) {
        std::string bytes;
        for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 37 + 251));
        for (const auto alphabet : {base64_alphabet::plain, base64_alphabet::url}) {
            EXPECT_EQ(from_base64(to_base64(bytes, alphabet), alphabet), bytes);
        }
    }
    EXPECT_EQ(to_base64("any carnal pleas", base64_alphabet::plain), "YW55IGNhcm5hbCBwbGVhcw==");
    EXPECT_FALSE(from_base64("YW55IGNhcm5hbCBwbGVhcx==", base64_alphabet::plain));
    EXPECT_FALSE(from_base64("a b", base64_alphabet::url));
}

TEST(websocket_handshake, is_answered_as_the_standard_says) {
    EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    const std::string begin = "GET /comet/ws HTTP/1.1\r\nHost: a\r\n";
    const std::string good =
        "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    const auto plain = answer_websocket(request_of(begin + good + "\r\n"), compression::deflated);
    EXPECT_TRUE(plain.accepted());
    EXPECT_EQ(plain.how, compression::none);
    const auto packed = answer_websocket(
        request_of(begin + good + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
        compression::deflated);
    EXPECT_EQ(packed.how, compression::deflated);
    const auto without = answer_websocket(
        request_of(begin + "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n"),
        compression::none);
    EXPECT_EQ(without.response.status, 400);
    const auto old =
        answer_websocket(request_of(begin + "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                            "Sec-WebSocket-Version: 8\r\n\r\n"),
                         compression::none);
    EXPECT_EQ(old.response.status, 426);
}

TEST(listen_address, knows_what_only_this_machine_reaches) {
    EXPECT_TRUE(parse_listen("127.0.0.1:8090")->loopback);
    EXPECT_TRUE(parse_listen("[::1]:0")->loopback);
    EXPECT_TRUE(parse_listen("localhost:8090")->loopback);
    EXPECT_FALSE(parse_listen("0.0.0.0:8090")->loopback);
    EXPECT_FALSE(parse_listen("127.0.0.1"));
    EXPECT_FALSE(parse_listen("127.0.0.1:99999"));
    EXPECT_FALSE(parse_listen("example.com:80"));
}

TEST(problem, is_json_whatever_the_words) {
    const auto made = problem(400, "bad_json", "a \"quote\" and \n and \xFF");
    EXPECT_EQ(made.type, "application/problem+json");
    EXPECT_EQ(made.body,
              R"({"type":"urn:holdfast:problem:bad_json","title":"Bad Request","status":400,)"
              R"("reason":"bad_json","detail":"a \"quote\" and \u000a and )"
              "\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace holdfast::net
