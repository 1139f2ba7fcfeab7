// SPDX-License-Identifier: Apache-2.0
//
// The embedded engine behind the command seam: callers' threads come in here, take the mutex, carry
// out their commands, let go of it, and hand out the messages that the commands published.
#include "driver/memory/memory_engine.hpp"

#include "core/require.hpp"
#include "driver/memory/call.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/key_image.hpp"

#include <algorithm>

namespace holdfast {
namespace {

using memory::connection;
using memory::engine_core;

std::unexpected<error> too_late() {
    return fail(errc::timed_out, "the time was over before the command was carried out");
}

// One command, whose script is loaded first if the engine does not know it.
// Requires: core.begin().
void carry_out(engine_core& core, connection& from, const command& c, memory::sink& out) {
    if (c.body != nullptr && core.scripts().find(c.body->sha1()) == nullptr) {
        try {
            core.scripts().load(c.body->source());
        } catch (const memory::refusal& r) {
            return out.error(r.text);
        }
    }
    core.process(from, c.args, out);
}

// A connection for the time of one call: MULTI … EXEC inside the call is one transaction.
struct passing_connection : connection {
    explicit passing_connection(engine_core& c) : core(c) {
        id = engine_core::shared_connection_id;
    }
    ~passing_connection() { core.unwatch(*this); }
    passing_connection(const passing_connection&) = delete;
    passing_connection& operator=(const passing_connection&) = delete;
    engine_core& core;
};

class session final : public command_session {
public:
    explicit session(std::shared_ptr<engine_core> core) : core_(std::move(core)) {
        const std::scoped_lock guard(core_->mutex());
        from_.id = core_->next_connection_id();
        from_.may_block = true;
        ++core_->stats().sessions;
    }
    ~session() override {
        const std::scoped_lock guard(core_->mutex());
        core_->unwatch(from_);
        --core_->stats().sessions;
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        detail::require(replies.size() == commands.size(), "replies.size() == commands.size()");
        for (std::size_t i = 0; i < commands.size(); ++i) {
            replies[i] = one(commands[i], give_up);
            core_->hub().deliver();
        }
    }

private:
    result<reply> one(const command& c, time_point give_up) {
        std::unique_lock guard(core_->mutex());
        if (core_->begin() >= give_up) return too_late();
        memory::reply_sink out;
        carry_out(*core_, from_, c, out);
        if (from_.waiting == nullptr) return out.take();
        const auto wait = std::move(from_.waiting);
        return wait_for(guard, *wait, give_up);
    }

    // Waits to be served. At its own time-out the answer is nil, as Redis says; at the caller's,
    // nothing was taken from any list, so that is known and the session goes on.
    result<reply> wait_for(std::unique_lock<std::mutex>& guard, memory::key_wait& wait,
                           time_point give_up) {
        clock& time = core_->time();
        const time_point start = time.now();
        const auto longest =
            std::chrono::duration_cast<std::chrono::milliseconds>(time_point::max() - start);
        const bool for_ever = wait.timeout_ms == 0 || wait.timeout_ms >= longest.count();
        const time_point until =
            for_ever ? time_point::max() : start + std::chrono::milliseconds(wait.timeout_ms);
        core_->wait_for_keys(wait);
        guard.unlock();
        core_->hub().deliver();
        guard.lock();
        while (!wait.answer) {
            const time_point now = time.now();
            if (now >= until || now >= give_up) break;
            time.wait_until(guard, wait.served, std::min(until, give_up));
        }
        if (wait.answer) return std::move(*wait.answer);
        core_->stop_waiting(wait);
        if (time.now() >= until) return reply::nil();
        return fail(errc::timed_out, "the blocking command was given up before it was served");
    }

    std::shared_ptr<engine_core> core_;
    connection from_;
};

class hearing final : public subscription {
public:
    hearing(std::shared_ptr<engine_core> core, std::string_view channel, push_handler handler)
        : core_(std::move(core)), listener_(core_->hub().add(channel, std::move(handler))) {}
    ~hearing() override { core_->hub().end(listener_); }
    hearing(const hearing&) = delete;
    hearing& operator=(const hearing&) = delete;

private:
    std::shared_ptr<engine_core> core_;
    std::shared_ptr<memory::message_hub::listener> listener_;
};

class embedded_engine final : public memory_engine {
public:
    explicit embedded_engine(const memory_options& options)
        : core_(std::make_shared<engine_core>(options)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        detail::require(replies.size() == commands.size(), "replies.size() == commands.size()");
        {
            const std::scoped_lock guard(core_->mutex());
            passing_connection from(*core_);
            for (std::size_t i = 0; i < commands.size(); ++i) {
                if (core_->begin() >= give_up) {
                    replies[i] = too_late();
                    continue;
                }
                memory::reply_sink out;
                carry_out(*core_, from, commands[i], out);
                replies[i] = out.take();
            }
        }
        core_->hub().deliver();
    }

    void submit(const command& c, time_point give_up, completion done) override {
        result<reply> answer;
        exchange({&c, 1}, {&answer, 1}, give_up);
        done(std::move(answer));
    }

    result<reply> transaction(std::span<const command> commands, time_point give_up) override {
        memory::reply_sink answer;
        {
            const std::scoped_lock guard(core_->mutex());
            if (core_->begin() >= give_up) return too_late();
            passing_connection from(*core_);
            const auto plain = words("MULTI");
            memory::reply_sink ignored;
            carry_out(*core_, from, plain, ignored);
            for (const command& c : commands) {
                memory::reply_sink queued;
                carry_out(*core_, from, c, queued);
            }
            carry_out(*core_, from, words("EXEC"), answer);
        }
        core_->hub().deliver();
        return answer.take();
    }

    result<std::unique_ptr<command_session>> open_session(std::string_view,
                                                          time_point give_up) override {
        if (core_->time().now() >= give_up) return too_late();
        return std::make_unique<session>(core_);
    }

    result<std::unique_ptr<subscription>> subscribe(std::string_view channel, channel_scope,
                                                    push_handler handler,
                                                    time_point give_up) override {
        if (core_->time().now() >= give_up) return too_late();
        return std::make_unique<hearing>(core_, channel, std::move(handler));
    }

    [[nodiscard]] clock& time() const noexcept override { return core_->time(); }

    std::size_t tend() override {
        constexpr std::size_t most = 10'000;
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        return core_->db().expire_due(most);
    }

    std::optional<key_image> image(std::string_view key) override {
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        const memory::key_node* found = core_->db().find(key);
        if (found == nullptr) return std::nullopt;
        return key_image{memory::to_bytes(found->value.data), found->value.expires_ms};
    }

    bool place(std::string_view key, const key_image& what) override {
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        auto made = memory::from_bytes(what.bytes, core_->db().seed());
        if (!made) return false;
        if (memory::key_node* old = core_->db().find(key)) core_->db().erase(*old);
        memory::key_node& fresh = core_->db().insert(key, std::move(*made));
        if (what.expires_ms != memory::no_expiry) core_->db().set_expiry(fresh, what.expires_ms);
        core_->db().modified(key);
        return true;
    }

    std::vector<std::string> key_names() override {
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        std::vector<std::string> names;
        for (const auto* n = core_->db().keys().first(); n != nullptr; n = n->after) {
            if (!core_->db().expired(*n)) names.push_back(n->key);
        }
        return names;
    }

    void clear() override {
        const std::scoped_lock guard(core_->mutex());
        core_->db().clear();
    }

    memory::memory_image image() override {
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        return memory::image_of(core_->db());
    }

    void load(const memory::memory_image& image) override {
        const std::scoped_lock guard(core_->mutex());
        core_->begin();
        memory::load_image(core_->db(), image);
    }

    void out_of_memory(bool is) override {
        const std::scoped_lock guard(core_->mutex());
        core_->refuse_growth(is);
    }

    void replicates(std::string id, std::string before) override {
        const std::scoped_lock guard(core_->mutex());
        core_->replicates(std::move(id), std::move(before));
    }

    std::shared_ptr<engine_core> core() noexcept override { return core_; }

private:
    // Shared with sessions and subscriptions, which may outlive the engine.
    std::shared_ptr<engine_core> core_;
};

}  // namespace

std::shared_ptr<memory_engine> make_memory_engine(memory_options options) {
    return std::make_shared<embedded_engine>(options);
}

}  // namespace holdfast
