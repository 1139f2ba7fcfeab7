// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/engine_core.hpp"
#include "resp/mailbox.hpp"
#include "resp/peer.hpp"
#include "resp/resp_server.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The clients of a server, and what they ask of the engine. No socket: bytes that came lie in a
/// peer's reader, bytes to send in its `out`.
///
/// A request is carried out on the engine while its mutex is held; what it published is handed out
/// afterwards. A client that blocks has nothing else carried out until it is served, its time is
/// over, or it goes. Whoever serves it, on whatever thread, leaves a letter in the mailbox.
///
/// A client that does not read its answers has no further requests carried out: what it is to be
/// sent stays near `pause_at`, unless one answer alone or what others publish is more.
///
/// Thread safety: one thread at a time, that of the server; the mailbox is the way in for others.
namespace holdfast::resp {

class service final : public memory::server_side {
public:
    /// `wake` is called on any thread when tend() has something to do.
    service(std::shared_ptr<memory::engine_core> core, const resp_server_options& options,
            std::function<void()> wake);
    ~service() override;
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    [[nodiscard]] peer& admit(std::string address, std::string local, int descriptor);
    void dismiss(peer& p);

    /// Carries out what lies in its reader.
    void work(peer& p);

    /// Delivers what others have for our clients, and ends waits whose time is over.
    void tend();

    /// When tend() is needed by the engine's clock, if nothing happens before; max: never.
    [[nodiscard]] time_point next_deadline() const noexcept {
        return waits_.empty() ? time_point::max() : waits_.begin()->first;
    }
    [[nodiscard]] clock& time() const noexcept { return core_->time(); }

    /// The clients that have something to send, to do, or to end; each once.
    [[nodiscard]] std::vector<peer*> take_noted();
    void note(peer& p);

    [[nodiscard]] std::size_t clients() const noexcept { return peers_.size(); }

    static constexpr std::size_t pause_at = std::size_t{1024} * 1024;

    /// A command about connections, for the client whose request is carried out.
    void run(memory::call& c) override;

private:
    using handler = void (service::*)(memory::call&);
    [[nodiscard]] static handler handler_of(std::string_view name);

    [[nodiscard]] bool may_work(const peer& p) const noexcept;
    void carry_out(peer& p);
    [[nodiscard]] bool refused(peer& p, memory::sink& out);
    void begin_wait(peer& p, time_point now);
    void end_wait(peer& p);
    void answer_wait(peer& p);
    void deliver(const letter& l);
    void show_monitors(const peer& from);
    void apply_reply_mode(peer& p, std::size_t before);
    [[nodiscard]] reply_writer writer(peer& p) const {
        return {p.out, p.speaks, options_.output_bytes + p.sent};
    }
    [[nodiscard]] peer* find(std::uint64_t id) const;
    [[nodiscard]] static bool confined(const peer& p) noexcept {
        return p.speaks == protocol::resp2 && p.subscriptions() > 0;
    }

    // about_connections.cpp
    void hello(memory::call& c);
    void hello_answer(memory::call& c);
    void auth(memory::call& c);
    [[nodiscard]] bool admits(std::string_view user, std::string_view password) const;
    void quit(memory::call& c);
    void reset(memory::call& c);
    void monitor(memory::call& c);
    void advance(memory::call& c);

    // about_clients.cpp
    void client_list(memory::call& c);
    void client_info(memory::call& c);
    void client_kill(memory::call& c);
    void client_unblock(memory::call& c);
    void client_reply(memory::call& c);
    void client_ok(memory::call& c);
    void client_switch(memory::call& c);
    void client_redirection(memory::call& c);
    [[nodiscard]] std::string described(const peer& p) const;
    void kill(peer& p);

    // about_subscriptions.cpp
    void subscribe(memory::call& c);
    void unsubscribe(memory::call& c);
    void forget_subscriptions(peer& p);

    std::shared_ptr<memory::engine_core> core_;
    resp_server_options options_;
    std::shared_ptr<mailbox> mail_;
    std::unordered_map<std::uint64_t, std::unique_ptr<peer>> peers_;
    std::vector<peer*> noted_;
    std::set<std::pair<time_point, peer*>> waits_;
    std::vector<peer*> monitors_;
    peer* current_ = nullptr;
    duration to_advance_{};
};

}  // namespace holdfast::resp
