// SPDX-License-Identifier: Apache-2.0
//
// The engine of one server: everything goes there.
#include "driver/redis/fork_guard.hpp"
#include "driver/redis/server_link.hpp"

#include <holdfast/redis/redis.hpp>

namespace holdfast {
namespace {

class standalone_core {
public:
    standalone_core(redis_target target, std::shared_ptr<redis::tls_context> tls, clock& time,
                    entropy& chance)
        : time_(time),
          server_(
              redis::profile{std::move(target.options), std::move(tls), {}},
              [address = std::move(target.address)](time_point) -> result<server_address> {
                  return address;
              },
              time, chance) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) {
        server_.exchange(commands, replies, give_up);
    }
    void submit(const command& c, time_point give_up, command_engine::completion done) {
        server_.submit(c, give_up, std::move(done));
    }
    void submit_together(std::span<const command> commands, time_point give_up,
                         command_engine::joint_completion done) {
        server_.submit_together(commands, give_up, std::move(done));
    }
    result<reply> transaction(std::span<const command> commands, time_point give_up) {
        return server_.transaction(commands, give_up);
    }
    result<std::unique_ptr<command_session>> open_session(std::string_view /*key*/,
                                                          time_point give_up) {
        return server_.open_session(give_up);
    }
    // On one server a sharded channel is a channel like any other.
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                    channel_scope /*scope*/, push_handler handler,
                                                    time_point give_up) {
        return server_.subscribe(channel, channel_scope::global, std::move(handler), give_up);
    }
    result<std::unique_ptr<subscription>> watch_keys(std::string_view prefix, push_handler handler,
                                                     time_point give_up) {
        return server_.watch_keys(prefix, std::move(handler), give_up);
    }
    [[nodiscard]] bool hear_pushes(const push_wait& wait) {
        return server_.subscriptions().attend(wait);
    }
    [[nodiscard]] clock& time() const noexcept { return time_; }
    void read(redis_statistics& out) const { server_.read(out); }

private:
    clock& time_;
    redis::server_link server_;
};

}  // namespace

result<std::unique_ptr<redis_engine>> make_redis(redis_target target, clock& time,
                                                 entropy& chance) {
    std::shared_ptr<redis::tls_context> tls;
    if (target.options.tls.enabled) {
        auto made = redis::tls_context::make(target.options.tls);
        if (!made) return std::unexpected(made.error());
        tls = std::move(*made);
    }
    return std::make_unique<redis::fork_guard<standalone_core>>(
        std::make_shared<standalone_core>(std::move(target), std::move(tls), time, chance));
}

}  // namespace holdfast
