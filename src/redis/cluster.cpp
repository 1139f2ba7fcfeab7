// SPDX-License-Identifier: Apache-2.0
//
// The engine of a cluster: cluster_core, guarded against fork().
#include "redis/cluster_core.hpp"
#include "runtime/fork_watch.hpp"

#include <holdfast/redis_topology.hpp>

namespace holdfast {
namespace {

std::unexpected<error> forked() {
    return fail(errc::unavailable, "this client was made before fork(): a child must open its own");
}

class cluster_engine final : public redis_engine {
public:
    explicit cluster_engine(std::shared_ptr<redis::cluster_core> core) : core_(std::move(core)) {}
    ~cluster_engine() override {
        // In a child of fork() the threads are not there to be joined: all is left as it is.
        if (!ours()) new std::shared_ptr<redis::cluster_core>(std::move(core_));
    }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        if (ours()) return core_->exchange(commands, replies, give_up);
        for (result<reply>& r : replies) r = forked();
    }
    void submit(const command& c, time_point give_up, completion done) override {
        if (ours()) return core_->submit(c, give_up, std::move(done));
        done(forked());
    }
    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        if (ours()) return core_->transaction(commands, give_up);
        return forked();
    }
    result<std::unique_ptr<command_session>> open_session(std::string_view key,
                                                          time_point give_up) override {
        if (ours()) return core_->open_session(key, give_up);
        return forked();
    }
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel, channel_scope scope,
                                                    push_handler handler,
                                                    time_point give_up) override {
        if (ours()) return core_->subscribe(channel, scope, std::move(handler), give_up);
        return forked();
    }
    clock& time() const noexcept override { return core_->time(); }
    redis_statistics statistics() const override {
        redis_statistics out;
        if (ours()) core_->read(out);
        return out;
    }

private:
    [[nodiscard]] bool ours() const noexcept { return generation_ == detail::fork_generation(); }

    unsigned generation_ = detail::fork_generation();
    std::shared_ptr<redis::cluster_core> core_;
};

}  // namespace

result<std::unique_ptr<redis_engine>> make_redis_cluster(redis_cluster_target target, clock& time,
                                                         entropy& chance) {
    if (target.seeds.empty()) return fail(errc::invalid_argument, "a cluster needs a node to ask");
    if (target.options.database != 0) {
        return fail(errc::invalid_argument, "db: a cluster has one database, number 0");
    }
    if (!target.options.on_connect_commands.empty()) {
        return fail(errc::invalid_argument,
                    "on_connect_commands: in a cluster no key is served by every node");
    }
    std::shared_ptr<redis::tls_context> tls;
    if (target.options.tls.enabled) {
        auto made = redis::tls_context::make(target.options.tls);
        if (!made) return std::unexpected(made.error());
        tls = std::move(*made);
    }
    return std::make_unique<cluster_engine>(
        std::make_shared<redis::cluster_core>(target, std::move(tls), time, chance));
}

}  // namespace holdfast
