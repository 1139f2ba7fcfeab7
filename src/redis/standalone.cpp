// SPDX-License-Identifier: Apache-2.0
//
// The engine of one server: everything goes there.
#include "redis/server_link.hpp"
#include "runtime/fork_watch.hpp"

#include <holdfast/redis.hpp>

namespace holdfast {
namespace {

std::unexpected<error> forked() {
    return fail(errc::unavailable, "this client was made before fork(): a child must open its own");
}

class standalone_engine final : public redis_engine {
public:
    standalone_engine(redis_target target, std::shared_ptr<redis::tls_context> tls, clock& time,
                      entropy& chance)
        : time_(time),
          server_(std::make_unique<redis::server_link>(
              redis::profile{std::move(target.options), std::move(tls), {}},
              [address = std::move(target.address)](time_point) -> result<server_address> {
                  return address;
              },
              time, chance)) {}

    ~standalone_engine() override {
        if (ours()) return;
        // In a child of fork(): the threads are not there to be joined, and a mutex may be locked
        // by one of them for ever. The memory is left to the parent's design.
        server_->disown();
        static_cast<void>(server_.release());
    }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        if (ours()) return server_->exchange(commands, replies, give_up);
        for (result<reply>& r : replies) r = forked();
    }

    void submit(const command& c, time_point give_up, completion done) override {
        if (ours()) return server_->submit(c, give_up, std::move(done));
        done(forked());
    }

    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        if (ours()) return server_->transaction(commands, give_up);
        return forked();
    }

    result<std::unique_ptr<command_session>> open_session(std::string_view /*key*/,
                                                          time_point give_up) override {
        if (ours()) return server_->open_session(give_up);
        return forked();
    }

    // On one server a sharded channel is a channel like any other.
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                    channel_scope /*scope*/, push_handler handler,
                                                    time_point give_up) override {
        if (!ours()) return forked();
        return server_->subscribe(channel, channel_scope::global, std::move(handler), give_up);
    }

    clock& time() const noexcept override { return time_; }

    redis_statistics statistics() const override {
        redis_statistics out;
        if (ours()) server_->read(out);
        return out;
    }

private:
    [[nodiscard]] bool ours() const noexcept { return generation_ == detail::fork_generation(); }

    clock& time_;
    unsigned generation_ = detail::fork_generation();
    std::unique_ptr<redis::server_link> server_;
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
    return std::make_unique<standalone_engine>(std::move(target), std::move(tls), time, chance);
}

}  // namespace holdfast
