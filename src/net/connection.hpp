// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/event_loop.hpp"
#include "net/http_reader.hpp"
#include "net/output_queue.hpp"
#include "net/server.hpp"
#include "net/websocket_frames.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <optional>
#include <string>

/// One socket: first it speaks HTTP, then perhaps WebSocket. All of it on its loop's thread.
///
/// It reads when the kernel says that there is something, into the loop's buffer, and keeps only
/// what is half of a request; so an idle connection is this object and nothing else. It writes at
/// once what the kernel takes, and waits only if it does not take all.
namespace holdfast::net {

class connection final : public websocket_channel, public std::enable_shared_from_this<connection> {
public:
    connection(event_loop& loop, boost::asio::ip::tcp::socket socket, std::string peer);
    ~connection() override;

    void start();
    void drain();
    /// Ends it at once.
    void drop();
    void turn_end();

    /// When run_deadline() is to be called.
    [[nodiscard]] time_point due() const noexcept { return due_; }
    void run_deadline(time_point now);

    void send(shared_text text) override;
    [[nodiscard]] std::size_t queued_bytes() const noexcept override { return queue_.bytes(); }
    void close(close_code code, std::string_view reason) override;
    void pull_later() override;

private:
    enum class phase : std::uint8_t {
        reading,    // HTTP: the next request
        answering,  // HTTP: a worker has the request
        websocket,
        closing,  // what is queued goes out, what comes in is thrown away
        dropped
    };

    struct http_part {
        explicit http_part(http_limits limits) : reader(limits) {}
        http_reader reader;
        std::string input;
    };

    struct websocket_part {
        websocket_part(std::unique_ptr<websocket_handler> to, const websocket_limits& limits,
                       compression packing)
            : handler(std::move(to)),
              reader(websocket_role::server, limits, packing),
              how(packing) {}
        std::unique_ptr<websocket_handler> handler;
        websocket_reader reader;
        compression how;
        time_point heard;
        bool pinged = false;
        double allowance = 0;  // messages it may still send
        time_point counted;
    };

    void arm_read();
    void on_readable();
    void read_http(std::string_view bytes);
    void read_websocket(std::string_view bytes);
    void read_requests();
    void handle(http_request request);
    void respond(const http_response& response, after_response then, bool head_only = false);
    void open_websocket(const http_request& request);
    bool on_event(const websocket_event& event);
    bool within_rate();
    void begin_close();
    void flush();
    void on_sent();
    void ask_for_turn_end();
    void note_progress();

    [[nodiscard]] const server_options& options() const { return loop_.parts().options; }
    [[nodiscard]] server_counters& counts() const { return loop_.parts().counts; }

    event_loop& loop_;
    boost::asio::ip::tcp::socket socket_;
    std::string peer_;
    time_point due_{};
    phase phase_ = phase::reading;
    bool read_armed_ = false;
    bool write_armed_ = false;
    bool turn_asked_ = false;
    bool pull_asked_ = false;
    std::unique_ptr<http_part> http_;
    std::unique_ptr<websocket_part> websocket_;
    output_queue queue_;
};

}  // namespace holdfast::net
