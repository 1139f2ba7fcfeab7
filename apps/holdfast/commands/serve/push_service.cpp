// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/push_service.hpp"

#include "commands/serve/json_input.hpp"
#include "commands/serve/pages.hpp"
#include "commands/serve/viewer_session.hpp"
#include "net/handshake_token.hpp"

#include <holdfast/clock.hpp>

#include <charconv>
#include <utility>

namespace holdfast::app {
namespace {

net::server_options options_of(const serve_settings& s) {
    net::server_options out;
    if (const auto listen = net::parse_listen(s.listen)) out.listen = *listen;
    out.loops = s.loops;
    out.workers = s.workers;
    out.connections = s.connections;
    out.request_deadline = s.request_deadline;
    out.ping_after = s.ping;
    out.ping_timeout = s.ping * 5 / 2;
    out.offered = s.compress ? net::compression::deflated : net::compression::none;
    out.messages_per_second = s.viewer_messages;
    out.message_burst = s.viewer_messages * 3;
    return out;
}

serve_settings with_tags(serve_settings s) {
    s.push.tagged = push::needs_tags(s.engine);
    return s;
}

// What a query says about a position: both parts or none.
std::optional<push::position> resume_of(const net::http_request& r) {
    const auto epoch = r.parameter("epoch");
    const auto offset = r.parameter("offset");
    if (!epoch || !offset) return std::nullopt;
    push::position out{std::string(*epoch), 0};
    const char* const end = offset->data() + offset->size();
    const auto read = std::from_chars(offset->data(), end, out.offset);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    return out;
}

bool is_open_to_all(std::string_view path) {
    return path == "/healthz" || path == "/readyz" || page_at(path) != nullptr;
}

}  // namespace

// The way from the Comet's threads to one loop.
class push_service::way_to_loop final : public push::loop_port {
public:
    way_to_loop(push_service& of, std::size_t loop) : of_(of), loop_(loop) {}
    void post(push::comet_event event) override {
        of_.server_.post(loop_,
                         [this, heard = std::move(event)] { of_.viewers_[loop_]->hear(heard); });
    }

private:
    push_service& of_;
    std::size_t loop_;
};

push_service::push_service(client& engine, const serve_settings& settings, service_log& log,
                           ops_watch::examination examine)
    : engine_(engine),
      settings_(with_tags(settings)),
      log_(log),
      access_{.bearer = settings.token, .hosts = settings.hosts, .origins = settings.origins},
      server_(options_of(settings), *this),
      rooms_(engine, settings_.push),
      watch_(engine, settings_.push, counts_, std::move(examine)),
      started_(holdfast::system_clock().now()) {
    add_routes();
}

push_service::~push_service() {
    stop();
}

result<void> push_service::start() {
    const push::log_sink sink = [this](push::log_level level, std::string_view text) {
        log_.write(level, text);
    };
    if (settings_.roles.logic) {
        limits_.emplace(command_access(engine_), settings_);
        logic_.emplace(engine_, settings_.push, &counts_);
    }
    if (settings_.roles.comet) {
        std::vector<push::loop_port*> ports;
        for (std::size_t i = 0; i < server_.loops(); ++i) {
            ports_.push_back(std::make_unique<way_to_loop>(*this, i));
            ports.push_back(ports_.back().get());
        }
        comet_.emplace(engine_, settings_.push, std::move(ports), sink, &counts_);
        for (std::size_t i = 0; i < server_.loops(); ++i) {
            viewers_.push_back(std::make_unique<push::viewers>(
                *comet_, i, settings_.push,
                push::viewer_limits{.queue = settings_.viewer_queue,
                                    .rooms = settings_.viewer_rooms},
                &counts_));
        }
        if (auto up = comet_->start(); !up) return up;
    }
    if (settings_.roles.job) {
        job_.emplace(engine_, settings_.push, sink, &counts_);
        if (auto up = job_->start(); !up) return up;
    }
    if (!settings_.tasks.empty()) {
        auto store = open_tasks(settings_.tasks);
        if (!store) return std::unexpected(std::move(store.error()));
        tasks_.emplace(std::move(*store));
    }
    watch_.start();
    return server_.start();
}

void push_service::begin_drain() {
    draining_ = true;
    server_.drain();
}

void push_service::stop() {
    if (job_) job_->stop();
    server_.stop();
    watch_.stop();
    if (comet_) comet_->stop();
}

std::optional<net::http_response> push_service::answer_at_once(const net::http_request& r) {
    if (auto stranger = net::refuse_stranger(access_, r)) return stranger;
    if (r.path == "/healthz") return net::http_response{.body = R"({"status":"ok"})"};
    const bool looks = r.method == "GET" || r.method == "HEAD";
    if (const page* const found = page_at(r.path); found != nullptr && looks) {
        return response_of(*found, r);
    }
    if (!is_open_to_all(r.path)) {
        if (auto refused = net::refuse_without_token(access_, r)) return refused;
    }
    if (r.path == "/comet/ws") {
        return net::problem(426, "websocket_needed", "this path is a WebSocket's");
    }
    if (draining_ && r.path != "/readyz") {
        auto ending = net::problem(503, "draining", "this server ends; ask another one");
        ending.headers.emplace_back("Retry-After", "1");
        return ending;
    }
    return std::nullopt;
}

net::http_response push_service::answer(const net::http_request& r) {
    return router_.answer(r);
}

std::optional<net::http_response> push_service::refuse_viewer(const net::http_request& r,
                                                              std::string& user,
                                                              std::string& only_room) const {
    if (settings_.handshake_secret.empty()) return net::refuse_without_token(access_, r);
    const auto token = r.parameter("token");
    const auto claim = net::verify_handshake(token.value_or(""), settings_.handshake_secret,
                                             holdfast::system_clock().wall());
    if (!claim) {
        // A backend that has the bearer token needs no other.
        const bool trusted =
            !access_.bearer.empty() && !net::refuse_without_token(access_, r).has_value();
        if (trusted) return std::nullopt;
        return net::problem(401, "bad_token", "the token is missing, wrong or expired");
    }
    if (!user.empty() && user != claim->user) {
        return net::problem(403, "other_user", "the token is for another user");
    }
    user = claim->user;
    only_room = claim->room;
    return std::nullopt;
}

net::upgrade push_service::open_websocket(const net::http_request& r, std::size_t loop) {
    const auto refuse = [](net::http_response why) {
        return net::upgrade{std::move(why), nullptr};
    };
    if (auto stranger = net::refuse_stranger(access_, r)) return refuse(std::move(*stranger));
    if (r.path != "/comet/ws" || !comet_) {
        return refuse(net::problem(404, "not_found", "there is no WebSocket at this path"));
    }
    if (draining_) return refuse(net::problem(503, "draining", "this server ends"));
    viewer_session::opening how;
    how.user = r.parameter("user").value_or("");
    if (auto refused = refuse_viewer(r, how.user, how.only_room))
        return refuse(std::move(*refused));
    if (how.user.size() > settings_.push.sizes.user) {
        return refuse(net::problem(422, "user_too_long", "the user's name is too long"));
    }
    if (const auto room = r.parameter("room")) {
        if (const auto fault = push::find_room_fault(*room, settings_.push)) {
            return refuse(net::problem(422, push::to_string(fault->reason), fault->detail));
        }
        how.room = *room;
        how.resume = resume_of(r);
    }
    return {std::nullopt, std::make_unique<viewer_session>(*viewers_[loop], std::move(how))};
}

}  // namespace holdfast::app
