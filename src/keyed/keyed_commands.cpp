// SPDX-License-Identifier: Apache-2.0
#include "keyed/keyed_commands.hpp"

#include "core/require.hpp"
#include "keyed/key_demand.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::keyed {
namespace {

void carry_out(key_store& store, std::span<const command> commands,
               std::span<result<reply>> replies, time_point give_up) {
    const auto done = store.carry_out(commands, replies, give_up, nullptr);
    if (!done) std::ranges::fill(replies, std::unexpected(done.error()));
}

/// What a connection of one's own is for here: WATCH.
class session final : public command_session {
public:
    explicit session(std::shared_ptr<key_store> store) : store_(std::move(store)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        detail::require(replies.size() == commands.size(), "replies.size() == commands.size()");
        for (std::size_t i = 0; i < commands.size();) {
            const std::size_t count = is_word(commands[i], "MULTI") ? to_the_end(commands, i) : 1;
            const auto these = commands.subspan(i, count);
            const auto answers = replies.subspan(i, count);
            i += count;
            if (is_word(these[0], "WATCH")) {
                answers[0] = watch(these[0], give_up);
            } else if (is_word(these[0], "UNWATCH")) {
                watched_.clear();
                answers[0] = reply::status("OK");
            } else if (is_word(these[0], "MULTI")) {
                transact(these, answers, give_up);
            } else {
                carry_out(*store_, these, answers, give_up);
            }
        }
    }

private:
    static std::size_t to_the_end(std::span<const command> commands, std::size_t from) {
        for (std::size_t i = from; i < commands.size(); ++i) {
            if (is_word(commands[i], "EXEC") || is_word(commands[i], "DISCARD"))
                return i + 1 - from;
        }
        return commands.size() - from;
    }

    result<reply> watch(const command& c, time_point give_up) {
        if (c.args.size() < 2) {
            return reply::error("ERR wrong number of arguments for 'watch' command");
        }
        if (auto seen = store_->see(c.args.subspan(1), watched_, give_up); !seen) {
            return std::unexpected(std::move(seen.error()));
        }
        return reply::status("OK");
    }

    void transact(std::span<const command> all, std::span<result<reply>> replies,
                  time_point give_up) {
        const bool whole = is_word(all.back(), "EXEC") || is_word(all.back(), "DISCARD");
        const seen_versions watched = std::exchange(watched_, {});
        const auto done =
            whole ? store_->carry_out(all, replies, give_up, &watched)
                  : result<bool>(fail(errc::unsupported, "MULTI and its EXEC must be in one call"));
        if (!done) {
            std::ranges::fill(replies, std::unexpected(done.error()));
        } else if (!*done) {
            std::ranges::fill(replies, reply::status("QUEUED"));
            replies.front() = reply::status("OK");
            replies.back() = is_word(all.back(), "EXEC") ? reply::nil() : reply::status("OK");
        }
    }

    std::shared_ptr<key_store> store_;
    seen_versions watched_;
};

class keyed_commands final : public command_engine {
public:
    keyed_commands(std::shared_ptr<key_store> store, std::string_view no_subscriptions)
        : store_(std::move(store)), no_subscriptions_(no_subscriptions) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        detail::require(replies.size() == commands.size(), "replies.size() == commands.size()");
        if (!commands.empty()) carry_out(*store_, commands, replies, give_up);
    }

    void submit(const command& c, time_point give_up, completion done) override {
        store_->submit(c, give_up, std::move(done));
    }

    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        const auto begin = words("MULTI");
        const auto end = words("EXEC");
        std::vector<command> all{begin};
        all.insert(all.end(), commands.begin(), commands.end());
        all.push_back(end);
        std::vector<result<reply>> replies(all.size());
        exchange(all, replies, give_up);
        return std::move(replies.back());
    }

    result<std::unique_ptr<command_session>> open_session(std::string_view /*key*/,
                                                          time_point /*give_up*/) override {
        return std::make_unique<session>(store_);
    }

    result<std::unique_ptr<subscription>> subscribe(std::string_view, channel_scope, push_handler,
                                                    time_point) override {
        return fail(errc::unsupported, std::string(no_subscriptions_));
    }

    [[nodiscard]] clock& time() const noexcept override { return store_->time(); }

private:
    std::shared_ptr<key_store> store_;  // shared with sessions, which may outlive the engine
    const std::string_view no_subscriptions_;
};

}  // namespace

std::shared_ptr<command_engine> make_keyed_commands(std::shared_ptr<key_store> store,
                                                    std::string_view no_subscriptions) {
    return std::make_shared<keyed_commands>(std::move(store), no_subscriptions);
}

}  // namespace holdfast::keyed
