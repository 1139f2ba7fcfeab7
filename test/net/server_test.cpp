// SPDX-License-Identifier: Apache-2.0
//
// The server on real sockets: slow, broken, silent and many clients.
#include "net/server.hpp"
#include "support/wait_for.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

bool wait_for(const std::function<bool()>& holds) {
    test::wait_for("it to hold", holds, std::chrono::seconds(30));
    return true;
}

// Says what it hears to everyone; /slow waits for its turn.
class echo_application final : public application {
public:
    class session final : public websocket_handler {
    public:
        explicit session(echo_application& of) : of_(of) {}
        void opened(const std::shared_ptr<websocket_channel>& channel) override {
            channel_ = channel;
            ++of_.opened;
        }
        void received(std::string_view text) override {
            if (const auto channel = channel_.lock()) {
                channel->send(std::make_shared<const std::string>(text));
            }
        }
        void pull() override {}
        void draining() override {
            if (const auto channel = channel_.lock()) channel->close(close_code::drained, "end");
        }
        void closed() noexcept override { ++of_.closed; }

    private:
        echo_application& of_;
        std::weak_ptr<websocket_channel> channel_;
    };

    std::optional<http_response> answer_at_once(const http_request& r) override {
        if (r.path == "/now") return http_response{.body = "now"};
        return std::nullopt;
    }
    http_response answer(const http_request& r) override {
        if (r.path == "/slow") wait_for([this] { return go.load(); });
        return {.body = r.method + " " + r.path + " " + r.body};
    }
    upgrade open_websocket(const http_request& r, std::size_t /*loop*/) override {
        if (r.path != "/ws") return {problem(404, "not_found", "no"), nullptr};
        return {std::nullopt, std::make_unique<session>(*this)};
    }

    std::atomic<int> opened = 0;
    std::atomic<int> closed = 0;
    std::atomic<bool> go = false;
};

class socket_client {
public:
    explicit socket_client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    ~socket_client() { ::close(fd_); }
    socket_client(const socket_client&) = delete;

    void say(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto went = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (went <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(went));
        }
    }
    // All that comes until it ends with that, or the other end closes.
    std::string hear_until(std::string_view end) {
        std::string out;
        while (end.empty() || !out.contains(end)) {
            pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
            if (::poll(&one, 1, 30'000) != 1) return out + "(silence)";
            char buffer[4096];
            const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
            if (got <= 0) return out;
            out.append(buffer, static_cast<std::size_t>(got));
        }
        return out;
    }
    void upgrade_now() {
        say("GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        EXPECT_TRUE(hear_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    }
    // Stops reading, so that the other end cannot write for ever.
    int descriptor() const { return fd_; }

private:
    int fd_;
    bool connected_ = false;
};

struct server_test : ::testing::Test {
    server& start(server_options options = {}) {
        options.listen = *parse_listen("127.0.0.1:0");
        options.loops = 2;
        running = std::make_unique<server>(options, app);
        const auto up = running->start();
        EXPECT_TRUE(up.has_value()) << (up ? "" : up.error().detail);
        return *running;
    }
    echo_application app;
    std::unique_ptr<server> running;
};

TEST_F(server_test, answers_requests_in_their_order_on_one_connection) {
    socket_client one(start().port());
    one.say(
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
        "GET /now HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string all = one.hear_until("");
    const auto first = all.find("POST /a hi");
    const auto second = all.find("\r\n\r\nnow");
    const auto third = all.find("GET /c ");
    EXPECT_TRUE(first < second && second < third && third != std::string::npos) << all;
}

TEST_F(server_test, a_request_that_does_not_arrive_is_answered_408_by_the_deadline) {
    socket_client one(start({.request_deadline = 200ms}).port());
    one.say("GET / HTTP/1.1\r\nHost:");
    EXPECT_TRUE(one.hear_until("").starts_with("HTTP/1.1 408 "));
    EXPECT_EQ(running->counts().timed_out, 1U);
}

TEST_F(server_test, a_connection_that_says_nothing_is_closed_by_the_deadline) {
    socket_client one(start({.request_deadline = 200ms}).port());
    EXPECT_EQ(one.hear_until(""), "");
}

TEST_F(server_test, what_is_no_request_is_answered_and_closed) {
    socket_client one(start().port());
    one.say("\x16\x03\x01 this is TLS\r\n\r\n");
    EXPECT_TRUE(one.hear_until("").starts_with("HTTP/1.1 400 "));
    socket_client large(running->port());
    large.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" +
              std::string(100'000, 'x'));
    EXPECT_TRUE(large.hear_until("").starts_with("HTTP/1.1 413 "));
}

TEST_F(server_test, more_connections_than_the_bound_are_closed) {
    start({.connections = 3});
    std::vector<std::unique_ptr<socket_client>> held;
    for (int i = 0; i < 3; ++i) {
        held.push_back(std::make_unique<socket_client>(running->port()));
        held.back()->say("GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_TRUE(held.back()->hear_until("now").contains("200 OK"));
    }
    socket_client fourth(running->port());
    EXPECT_EQ(fourth.hear_until(""), "");
    EXPECT_EQ(running->counts().turned_away, 1U);
    held.clear();
    EXPECT_TRUE(wait_for([&] { return running->open_connections() == 0; }));
    socket_client again(running->port());
    again.say("GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(again.hear_until("now").contains("200 OK"));
}

TEST_F(server_test, requests_beyond_the_queue_are_answered_503_and_loops_go_on) {
    start({.workers = 1, .waiting_requests = 1});
    std::vector<std::unique_ptr<socket_client>> held;
    for (int i = 0; i < 8; ++i) {
        held.push_back(std::make_unique<socket_client>(running->port()));
        held.back()->say("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    EXPECT_TRUE(wait_for([&] { return running->counts().turned_away >= 6; }));
    socket_client other(running->port());
    other.say("GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(other.hear_until("now").contains("200 OK"));
    app.go = true;
    int served = 0;
    for (const auto& one : held) {
        if (one->hear_until("").contains("200 OK")) ++served;
    }
    // One with the worker, one in the queue; only that one if it had not looked yet.
    EXPECT_TRUE(served == 1 || served == 2) << served;
    EXPECT_EQ(running->counts().turned_away + static_cast<unsigned>(served), 8U);
}

TEST_F(server_test, a_websocket_echoes_and_answers_pings) {
    socket_client one(start().port());
    one.upgrade_now();
    one.say(encode_masked_frame(opcode::text, "hello", 1));
    EXPECT_EQ(one.hear_until("hello"), encode_frame(opcode::text, "hello"));
    one.say(encode_masked_frame(opcode::ping, "p", 2));
    EXPECT_EQ(one.hear_until("p"), encode_frame(opcode::pong, "p"));
    one.say(encode_masked_frame(opcode::close, close_payload(close_code::normal, ""), 3));
    EXPECT_EQ(one.hear_until(""),
              encode_frame(opcode::close, close_payload(close_code::normal, "")));
    EXPECT_TRUE(wait_for([&] { return app.closed == 1; }));
}

TEST_F(server_test, a_broken_frame_closes_its_connection_with_the_code_and_no_other) {
    socket_client broken(start().port());
    socket_client fine(running->port());
    broken.upgrade_now();
    fine.upgrade_now();
    broken.say(encode_frame(opcode::text, "not masked"));
    const std::string last = broken.hear_until("");
    ASSERT_GE(last.size(), 4U);
    EXPECT_EQ(last.substr(2, 2), close_payload(close_code::protocol_error, ""));
    fine.say(encode_masked_frame(opcode::text, "still here", 1));
    EXPECT_TRUE(fine.hear_until("here").contains("still here"));
}

TEST_F(server_test, a_websocket_that_says_too_much_is_closed) {
    socket_client one(start({.messages_per_second = 1, .message_burst = 5}).port());
    one.upgrade_now();
    std::string many;
    for (int i = 0; i < 20; ++i) many += encode_masked_frame(opcode::text, "x", 1);
    one.say(many);
    EXPECT_TRUE(one.hear_until("").contains("too many messages"));
}

TEST_F(server_test, a_half_open_websocket_is_pinged_then_closed) {
    socket_client one(start({.ping_after = 200ms, .ping_timeout = 600ms}).port());
    one.upgrade_now();
    const std::string all = one.hear_until("");
    EXPECT_TRUE(all.starts_with(encode_frame(opcode::ping, "")));
    EXPECT_TRUE(all.contains("no answer to pings"));
    EXPECT_TRUE(wait_for([&] { return app.closed == 1; }));
}

TEST_F(server_test, drain_tells_websockets_and_ends_idle_connections) {
    socket_client viewer(start().port());
    viewer.upgrade_now();
    socket_client idle(running->port());
    idle.say("GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
    idle.hear_until("now");
    running->drain();
    const std::string last = viewer.hear_until("");
    EXPECT_EQ(last, encode_frame(opcode::close, close_payload(close_code::drained, "end")));
    EXPECT_EQ(idle.hear_until(""), "");
}

TEST_F(server_test, many_connections_come_and_go_and_none_is_left) {
    start();
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<socket_client>> held;
        for (int i = 0; i < 100; ++i) {
            held.push_back(std::make_unique<socket_client>(running->port()));
            if (i % 2 == 0) held.back()->upgrade_now();
        }
    }
    EXPECT_TRUE(wait_for([&] { return running->open_connections() == 0; }));
    EXPECT_EQ(app.opened, 150);
    EXPECT_TRUE(wait_for([&] { return app.closed == 150; }));
}

}  // namespace
}  // namespace holdfast::net
