// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/ops_watch.hpp"
#include "commands/serve/send_limits.hpp"
#include "commands/serve/serve_settings.hpp"
#include "commands/serve/service_log.hpp"
#include "commands/serve/task_watch.hpp"
#include "net/access_rules.hpp"
#include "net/router.hpp"
#include "net/server.hpp"

#include <holdfast/client.hpp>
#include <holdfast/push/comet.hpp>
#include <holdfast/push/counters.hpp>
#include <holdfast/push/job.hpp>
#include <holdfast/push/logic.hpp>
#include <holdfast/push/viewers.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

/// The roles of one process behind one server: what `holdfast serve` is.
///
///     push_service service(client, settings, log);
///     if (auto up = service.start(); !up) return up.error();
///     … service.drain(); …
///
/// Start: the roles, then the server, so that whoever connects finds them there. End: no new
/// connections and requests, viewers are told where to resume, the consumers hand on what they
/// have, then the server ends, and the Comet takes its entries away.
namespace holdfast::app {

class push_service final : public net::application {
public:
    /// `examine` finds what the doctor would say of the engine; it is called while somebody
    /// watches. Requires: the first three outlive this; check(settings) is fine.
    push_service(client& engine, const serve_settings& settings, service_log& log,
                 ops_watch::examination examine = {});
    ~push_service() override;

    /// Errors: invalid_argument; unavailable: the address cannot be had.
    [[nodiscard]] result<void> start();

    [[nodiscard]] std::uint16_t port() const noexcept { return server_.port(); }

    /// Refuses what is new, and tells viewers.
    void begin_drain();
    /// Are all connections gone?
    [[nodiscard]] bool drained() const noexcept { return server_.open_connections() == 0; }
    /// Hands the queue on, and ends everything.
    void stop();

    std::optional<net::http_response> answer_at_once(const net::http_request& r) override;
    net::http_response answer(const net::http_request& r) override;
    net::upgrade open_websocket(const net::http_request& r, std::size_t loop) override;

private:
    class way_to_loop;

    void add_routes();
    void add_ops_routes();
    net::http_response send(const net::http_request& r);
    net::http_response token(const net::http_request& r);
    net::http_response rooms(const net::http_request& r);
    net::http_response room(const std::string& name);
    net::http_response history(const net::http_request& r, const std::string& name);
    net::http_response is_ready();
    net::http_response live_rooms();
    net::http_response live_room(const std::string& name);
    net::http_response ops(const net::http_request& r);
    net::http_response evict(const net::http_request& r);
    net::http_response clear_cooldown(const net::http_request& r);
    void add_task_routes();
    net::http_response tasks();
    net::http_response requeue(const net::http_request& r);
    net::http_response metrics();
    [[nodiscard]] std::optional<net::http_response> refuse_viewer(const net::http_request& r,
                                                                  std::string& user,
                                                                  std::string& only_room) const;

    client& engine_;
    serve_settings settings_;
    service_log& log_;
    net::access_rules access_;
    push::counters counts_;
    net::router router_;
    net::server server_;
    std::optional<send_limits> limits_;
    std::optional<push::logic> logic_;
    std::vector<std::unique_ptr<way_to_loop>> ports_;
    std::optional<push::comet> comet_;
    std::vector<std::unique_ptr<push::viewers>> viewers_;
    std::optional<push::job> job_;
    push::logic rooms_;  // for /ops, in any role
    ops_watch watch_;
    std::optional<task_watch> tasks_;
    time_point started_;
    std::atomic<bool> draining_ = false;
};

}  // namespace holdfast::app
