// SPDX-License-Identifier: Apache-2.0
#include "commands/load/beast_loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::app {
namespace {

namespace websocket = boost::beast::websocket;
using boost::asio::ip::tcp;

class beast_loop {
public:
    explicit beast_loop(const beast_loop_plan& plan)
        : plan_(plan),
          text_(std::make_shared<const std::string>(plan.text)),
          acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {}

    void run() {
        const std::uint16_t port = acceptor_.local_endpoint().port();
        if (::write(plan_.tell_port, &port, sizeof port) != sizeof port) return;
        accept();
        context_.run();
    }

private:
    using stream = websocket::stream<tcp::socket>;

    void accept() {
        acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket socket) {
            if (failed) return;
            socket.set_option(tcp::no_delay(true));
            const auto one = std::make_shared<stream>(std::move(socket));
            one->async_accept([this, one](boost::system::error_code refused) {
                if (refused) return;
                one->text(true);
                viewers_.push_back(one);
                if (viewers_.size() == plan_.viewers) broadcast();
            });
            if (++accepted_ < plan_.viewers) accept();
        });
    }

    void broadcast() {
        left_ = viewers_.size();
        for (const auto& one : viewers_) {
            one->async_write(boost::asio::buffer(*text_),
                             [this](boost::system::error_code failed, std::size_t) {
                                 if (failed) return context_.stop();
                                 if (--left_ == 0) broadcast();
                             });
        }
    }

    beast_loop_plan plan_;
    std::shared_ptr<const std::string> text_;
    boost::asio::io_context context_{1};
    tcp::acceptor acceptor_;
    std::vector<std::shared_ptr<stream>> viewers_;
    std::size_t accepted_ = 0;
    std::size_t left_ = 0;
};

}  // namespace

void run_beast_loop(const beast_loop_plan& plan) {
    beast_loop(plan).run();
}

}  // namespace holdfast::app
