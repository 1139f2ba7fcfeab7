// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/require.hpp"
#include "runtime/fork_watch.hpp"

#include <holdfast/redis/redis.hpp>

#include <memory>

/// What stands between a program and any of the Redis engines: a guard against fork().
///
/// In a child the engine's threads do not exist, and a mutex may be locked by one of them for ever.
/// So a child is refused, and what it has inherited is left as it is, destructors included.
namespace holdfast::redis {

/// Core: command_engine's functions without the virtual, time() and read(redis_statistics&).
template <class Core>
class fork_guard final : public redis_engine {
public:
    explicit fork_guard(std::shared_ptr<Core> core) : core_(std::move(core)) {}
    ~fork_guard() override {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): no memory for that ends the child
        if (!ours()) new std::shared_ptr<Core>(std::move(core_));
    }

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        detail::require(replies.size() == commands.size(), "replies.size() == commands.size()");
        if (ours()) return core_->exchange(commands, replies, give_up);
        for (result<reply>& r : replies) r = refused();
    }
    void submit(const command& c, time_point give_up, completion done) override {
        if (ours()) return core_->submit(c, give_up, std::move(done));
        done(refused());
    }
    void submit_together(std::span<const command> commands, time_point give_up,
                         joint_completion done) override {
        if constexpr (requires { core_->submit_together(commands, give_up, std::move(done)); }) {
            if (ours()) return core_->submit_together(commands, give_up, std::move(done));
        }
        redis_engine::submit_together(commands, give_up, std::move(done));
    }
    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        if (ours()) return core_->transaction(commands, give_up);
        return refused();
    }
    result<std::unique_ptr<command_session>> open_session(std::string_view key,
                                                          time_point give_up) override {
        if (ours()) return core_->open_session(key, give_up);
        return refused();
    }
    result<std::unique_ptr<subscription>> subscribe(std::string_view channel, channel_scope scope,
                                                    push_handler handler,
                                                    time_point give_up) override {
        if (ours()) return core_->subscribe(channel, scope, std::move(handler), give_up);
        return refused();
    }
    result<std::unique_ptr<subscription>> watch_keys(std::string_view prefix, push_handler handler,
                                                     time_point give_up) override {
        if (!ours()) return refused();
        if constexpr (requires { core_->watch_keys(prefix, std::move(handler), give_up); }) {
            return core_->watch_keys(prefix, std::move(handler), give_up);
        } else {
            return redis_engine::watch_keys(prefix, std::move(handler), give_up);
        }
    }
    bool hear_pushes(const push_wait& wait) override {
        if constexpr (requires { core_->hear_pushes(wait); }) {
            if (ours()) return core_->hear_pushes(wait);
        }
        return false;
    }
    std::size_t node_of(std::string_view key) const override {
        if constexpr (requires { core_->node_of(key); }) {
            if (ours()) return core_->node_of(key);
        }
        return 0;
    }
    clock& time() const noexcept override { return core_->time(); }
    redis_statistics statistics() const override {
        redis_statistics out;
        if (ours()) core_->read(out);
        return out;
    }

private:
    [[nodiscard]] bool ours() const noexcept { return generation_ == detail::fork_generation(); }
    static std::unexpected<error> refused() {
        return fail(errc::unavailable,
                    "this client was made before fork(): a child must open its own");
    }

    unsigned generation_ = detail::fork_generation();
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast::redis
