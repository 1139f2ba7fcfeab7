// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/etcd_key_store.hpp"

#include "core/command_keys.hpp"
#include "core/owned_command.hpp"
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/key_work.hpp"
#include "keyed/key_demand.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::etcd {
namespace {

using keyed::demand;

// A call of many commands is cut so that each part is far below etcd's bounds.
constexpr std::size_t keys_of_a_part = 64;
constexpr std::size_t bytes_of_a_part = std::size_t{256} << 10;

std::size_t bytes_of(const command& c) {
    std::size_t sum = 0;
    for (const std::string_view word : c.args) sum += word.size();
    return sum;
}

/// How many commands from the first on go together: MULTI stays with its EXEC.
std::size_t part_of(std::span<const command> commands) {
    std::size_t keys = 0;
    std::size_t bytes = 0;
    bool in_multi = false;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        keys += redis::key_words(commands[i]).size();
        bytes += bytes_of(commands[i]);
        if (i > 0 && !in_multi && (keys > keys_of_a_part || bytes > bytes_of_a_part)) return i;
        if (keyed::is_word(commands[i], "MULTI")) in_multi = true;
        if (keyed::is_word(commands[i], "EXEC") || keyed::is_word(commands[i], "DISCARD")) {
            in_multi = false;
        }
    }
    return commands.size();
}

}  // namespace

etcd_key_store::etcd_key_store(std::shared_ptr<etcd_client> client, entropy& chance)
    : work_(std::make_shared<key_work>(std::move(client), chance)),
      generation_(detail::fork_generation()) {}

// A child of fork() has none of gRPC's threads: it leaves everything where it is.
etcd_key_store::~etcd_key_store() {
    if (detail::fork_generation() != generation_) {
        static_cast<void>(new std::shared_ptr<key_work>(std::move(work_)));  // never deleted
    }
}

clock& etcd_key_store::time() const noexcept {
    return work_->time();
}

result<void> etcd_key_store::admit(std::span<const command> commands) const {
    if (detail::fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "this is a child of the process that opened etcd: open it again");
    }
    for (const command& c : commands) {
        if (keyed::demand_of(c) == demand::named_keys) continue;
        return fail(
            errc::unsupported,
            fmt::format("{}: this engine keeps keys in etcd, and has no such command", c.args[0]));
    }
    return {};
}

result<bool> etcd_key_store::carry_out(std::span<const command> commands,
                                       std::span<result<reply>> replies, time_point give_up,
                                       const keyed::seen_versions* watched) {
    if (auto fit = admit(commands); !fit) return std::unexpected(std::move(fit.error()));
    if (watched != nullptr) {
        auto done = key_work::carry_out(work_, commands, *watched, give_up).wait();
        if (!done) return std::unexpected(std::move(done.error()));
        if (!done->current) return false;
        std::ranges::move(done->replies, replies.begin());
        return true;
    }
    for (std::size_t i = 0; i < commands.size();) {
        const std::size_t count = part_of(commands.subspan(i));
        auto done = key_work::carry_out(work_, commands.subspan(i, count), {}, give_up).wait();
        if (done) {
            std::ranges::move(done->replies, replies.subspan(i, count).begin());
        } else {
            std::ranges::fill(replies.subspan(i, count), std::unexpected(done.error()));
        }
        i += count;
    }
    return true;
}

void etcd_key_store::submit(const command& c, time_point give_up, command_engine::completion done) {
    if (auto fit = admit({&c, 1}); !fit) return done(std::unexpected(std::move(fit.error())));
    struct flight {
        detail::owned_command what;
        command view;
        command_engine::completion done;
        explicit flight(const command& c) : what(c), view(what.view()) {}
    };
    const auto of = std::make_shared<flight>(c);
    of->done = std::move(done);
    key_work::carry_out(work_, {&of->view, 1}, {}, give_up).then([of](result<key_done> did) {
        of->done(did ? std::move(did->replies.front())
                     : result<reply>(std::unexpected(std::move(did.error()))));
    });
}

result<void> etcd_key_store::see(std::span<const std::string_view> keys, keyed::seen_versions& into,
                                 time_point give_up) {
    if (auto fit = admit({}); !fit) return fit;
    std::vector<std::string> names(keys.begin(), keys.end());
    const auto stored = key_work::read(work_, std::move(names), give_up).wait();
    if (!stored) return std::unexpected(stored.error());
    for (const auto& [key, one] : *stored) into.try_emplace(key, one.version);
    return {};
}

}  // namespace holdfast::etcd
