// SPDX-License-Identifier: Apache-2.0
#include "commands/worker/metrics_server.hpp"

#ifdef HOLDFAST_APP_SERVE
#include "net/access_rules.hpp"
#include "net/server.hpp"
#endif

#include <utility>

namespace holdfast::app {

#ifdef HOLDFAST_APP_SERVE
namespace {

class loopback_metrics final : public metrics_server, private net::application {
public:
    loopback_metrics(const net::listen_address& at, source text)
        : text_(std::move(text)),
          server_({.listen = at, .loops = 1, .workers = 1, .connections = 64}, *this) {}
    ~loopback_metrics() override { server_.stop(); }

    [[nodiscard]] result<void> listen() { return server_.start(); }
    [[nodiscard]] std::uint16_t port() const noexcept override { return server_.port(); }

private:
    std::optional<net::http_response> answer_at_once(const net::http_request& r) override {
        if (auto stranger = net::refuse_stranger({}, r)) return stranger;
        if (r.path != "/metrics") return net::problem(404, "not_found", "there is /metrics only");
        if (r.method == "GET" || r.method == "HEAD") return std::nullopt;
        return net::problem(405, "wrong_method", "/metrics is for GET");
    }
    net::http_response answer(const net::http_request& /*r*/) override {
        return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = text_()};
    }
    net::upgrade open_websocket(const net::http_request& /*r*/, std::size_t /*loop*/) override {
        return {net::problem(404, "not_found", "there is no WebSocket here"), nullptr};
    }

    const source text_;
    net::server server_;
};

}  // namespace

result<std::unique_ptr<metrics_server>> metrics_server::start(std::string_view listen,
                                                              source text) {
    const auto at = net::parse_listen(listen);
    if (!at) return std::unexpected(at.error());
    if (!at->loopback) {
        return fail(errc::invalid_argument,
                    "--metrics: asks for no token, so it listens on loopback only: 127.0.0.1:9464");
    }
    auto made = std::make_unique<loopback_metrics>(*at, std::move(text));
    if (auto up = made->listen(); !up) return std::unexpected(std::move(up.error()));
    return made;
}
#else
result<std::unique_ptr<metrics_server>> metrics_server::start(std::string_view /*listen*/,
                                                              source /*text*/) {
    return fail(errc::unsupported, "--metrics: this build has no HTTP server");
}
#endif

}  // namespace holdfast::app
