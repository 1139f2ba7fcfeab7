// SPDX-License-Identifier: Apache-2.0
#include "driver/redis/sentinel_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace holdfast::redis {
namespace {

// How long the others are given once one sentinel has answered.
constexpr duration grace = std::chrono::milliseconds(100);

struct opinion {
    std::optional<server_address> master;
    std::uint64_t epoch = 0;
    int awaited = 2;  ///< Replies to come: the address, and what is known of the master.
};

// [ip, port], or nil if the sentinel does not know the name.
std::optional<server_address> read_address(const reply& r) {
    if (r.elements().size() != 2) return std::nullopt;
    server_address out;
    out.host = r.elements()[0].text();
    const std::string& port = r.elements()[1].text();
    const auto read = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (read.ec != std::errc() || out.host.empty()) return std::nullopt;
    return out;
}

// [name, value, name, value …]
std::uint64_t read_epoch(const reply& r) {
    const auto& parts = r.elements();
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        if (parts[i].text() != "config-epoch") continue;
        const std::string& text = parts[i + 1].text();
        std::uint64_t epoch = 0;
        std::from_chars(text.data(), text.data() + text.size(), epoch);
        return epoch;
    }
    return 0;
}

}  // namespace

// Shared with completions, which may come after the asking has ended.
struct sentinel_group::round {
    explicit round(std::size_t sentinels) : opinions(sentinels) {}

    void address(std::size_t from, const result<reply>& answer, time_point now) {
        const std::scoped_lock guard(mutex);
        if (!answer) {
            note(answer.error());
        } else if (answer->is_error()) {
            note(to_error(*answer));
        } else if (auto named = read_address(*answer)) {
            opinions[from].master = std::move(named);
        } else {
            note({errc::unavailable, "a sentinel does not know the master's name"});
        }
        settle(from, now);
    }
    void epoch(std::size_t from, const result<reply>& answer, time_point now) {
        const std::scoped_lock guard(mutex);
        if (answer && !answer->is_error()) opinions[from].epoch = read_epoch(*answer);
        settle(from, now);
    }
    // A refusal is final, and worth more than a silence.
    void note(error e) {
        if (e.code != errc::denied) e.code = errc::unavailable;
        if (problem.detail.empty() || e.code == errc::denied) problem = std::move(e);
    }
    void settle(std::size_t from, time_point now) {
        if (--opinions[from].awaited > 0) return;
        ++complete;
        if (opinions[from].master && useful++ == 0) first_useful = now;
        changed.notify_all();
    }
    [[nodiscard]] const opinion* best() const {
        const opinion* found = nullptr;
        for (const opinion& one : opinions) {
            if (!one.master) continue;
            if (found == nullptr || one.epoch > found->epoch) found = &one;
        }
        return found;
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::vector<opinion> opinions;
    std::size_t complete = 0;
    std::size_t useful = 0;
    time_point first_useful{};
    error problem{errc::unavailable, {}};
};

sentinel_group::sentinel_group(const redis_sentinel_target& target,
                               std::shared_ptr<tls_context> tls, clock& time, entropy& chance)
    : master_(target.master),
      patience_(target.sentinel_options.connect_timeout + target.sentinel_options.reply_timeout),
      time_(time) {
    profile p{target.sentinel_options, std::move(tls), {}};
    p.options.connections = 1;
    p.options.backoff_max = std::min<duration>(p.options.backoff_max, std::chrono::seconds(1));
    for (const server_address& one : target.sentinels) {
        const auto where = [one](time_point) -> result<server_address> { return one; };
        links_.push_back(std::make_unique<server_link>(p, where, time, chance));
    }
}

void sentinel_group::on_switch(const std::function<void()>& told) {
    for (const auto& one : links_) {
        ears_.push_back(one->subscriptions().adopt("+switch-master", channel_scope::global,
                                                   [told](const push_event&) { told(); }));
    }
}

result<server_address> sentinel_group::ask(time_point give_up) {
    const time_point limit = std::min(give_up, time_.now() + patience_);
    const auto now = std::make_shared<round>(links_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto where = words("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_);
        const auto known = words("SENTINEL", "MASTER", master_);
        links_[i]->submit(where.idempotent(), limit, [now, i, &time = time_](result<reply> answer) {
            now->address(i, answer, time.now());
        });
        links_[i]->submit(known.idempotent(), limit, [now, i, &time = time_](result<reply> answer) {
            now->epoch(i, answer, time.now());
        });
    }
    std::unique_lock held(now->mutex);
    while (now->complete < links_.size() && now->useful <= links_.size() / 2) {
        const time_point until =
            now->useful > 0 ? std::min(limit, now->first_useful + grace) : limit;
        if (time_.now() >= until) break;
        time_.wait_until(held, now->changed, until);
    }
    if (const opinion* found = now->best()) return *found->master;
    const std::string why =
        now->problem.detail.empty() ? "no sentinel answered in time" : now->problem.detail;
    return fail(now->problem.code,
                fmt::format("sentinel: where is the master '{}': {}", master_, why));
}

void sentinel_group::read(redis_statistics& out) const {
    for (const auto& one : links_) one->read(out);
}

}  // namespace holdfast::redis
