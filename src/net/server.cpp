// SPDX-License-Identifier: Apache-2.0
#include "net/server.hpp"

#include "net/connection.hpp"
#include "net/event_loop.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace holdfast::net {
namespace {

using boost::asio::ip::tcp;

// How long to wait when the process has no descriptor left.
constexpr auto accept_pause = std::chrono::milliseconds(100);

std::string address_text(const tcp::socket& socket) {
    boost::system::error_code failed;
    const auto end = socket.remote_endpoint(failed);
    if (failed) return {};
    const auto address = end.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
            .to_string();
    }
    return address.to_string();
}

}  // namespace

class server::impl {
public:
    impl(server_options options, application& app, clock& time)
        : parts_{.options = std::move(options),
                 .app = &app,
                 .time = &time,
                 .counts = {},
                 .workers = nullptr} {
        std::size_t count = parts_.options.loops;
        if (count == 0) count = std::max(1U, std::thread::hardware_concurrency());
        for (std::size_t i = 0; i < count; ++i) {
            loops_.push_back(std::make_unique<event_loop>(parts_, i));
        }
        acceptor_.emplace(loops_.front()->context());
        pause_.emplace(loops_.front()->context());
    }

    ~impl() { stop(); }

    result<void> start() {
        const auto& where = parts_.options.listen;
        boost::system::error_code failed;
        const auto address = boost::asio::ip::make_address(where.host, failed);
        const tcp::endpoint end(address, where.port);
        if (!failed) acceptor_->open(end.protocol(), failed);
        if (!failed) acceptor_->set_option(tcp::acceptor::reuse_address(true), failed);
        if (!failed) acceptor_->bind(end, failed);
        if (!failed) acceptor_->listen(4096, failed);
        if (failed) {
            return fail(errc::unavailable, fmt::format("cannot listen on {} port {}: {}",
                                                       where.host, where.port, failed.message()));
        }
        port_ = acceptor_->local_endpoint().port();
        parts_.workers =
            std::make_unique<worker_pool>(parts_.options.workers, parts_.options.waiting_requests);
        accept();
        for (const auto& loop : loops_) loop->start();
        return {};
    }

    void drain() {
        parts_.draining = true;
        loops_.front()->post([this] {
            boost::system::error_code ignored;
            acceptor_->close(ignored);
        });
        for (const auto& loop : loops_) loop->drain();
    }

    void stop() {
        // Workers first: what they answer is posted to loops that still run.
        parts_.workers.reset();
        for (const auto& loop : loops_) loop->stop();
    }

    shared_parts parts_;
    std::vector<std::unique_ptr<event_loop>> loops_;
    std::uint16_t port_ = 0;

private:
    void accept() {
        event_loop& to = *loops_[next_++ % loops_.size()];
        acceptor_->async_accept(
            to.context(), [this, &to](boost::system::error_code failed, tcp::socket socket) {
                if (failed == boost::asio::error::operation_aborted || !acceptor_->is_open()) {
                    return;
                }
                if (failed) return accept_later();
                welcome(to, std::move(socket));
                accept();
            });
    }

    void accept_later() {
        pause_->expires_after(accept_pause);
        pause_->async_wait([this](boost::system::error_code cancelled) {
            if (!cancelled && acceptor_->is_open()) accept();
        });
    }

    void welcome(event_loop& to, tcp::socket socket) {
        ++parts_.counts.accepted;
        if (parts_.counts.connections >= parts_.options.connections) {
            ++parts_.counts.turned_away;
            return;  // the socket is closed: a full server has no time for words
        }
        std::string peer = address_text(socket);
        auto made = std::make_shared<connection>(to, std::move(socket), std::move(peer));
        to.post([made = std::move(made)] { made->start(); });
    }

    std::optional<tcp::acceptor> acceptor_;
    std::optional<boost::asio::steady_timer> pause_;
    std::size_t next_ = 0;
};

server::server(server_options options, application& app, clock& time)
    : impl_(std::make_unique<impl>(std::move(options), app, time)) {}

server::~server() = default;

result<void> server::start() {
    return impl_->start();
}

std::uint16_t server::port() const noexcept {
    return impl_->port_;
}

std::size_t server::loops() const noexcept {
    return impl_->loops_.size();
}

void server::post(std::size_t loop, std::move_only_function<void()> work) {
    impl_->loops_[loop]->post(std::move(work));
}

void server::drain() {
    impl_->drain();
}

std::size_t server::open_connections() const noexcept {
    return impl_->parts_.counts.connections;
}

void server::stop() {
    impl_->stop();
}

const server_counters& server::counts() const noexcept {
    return impl_->parts_.counts;
}

}  // namespace holdfast::net
