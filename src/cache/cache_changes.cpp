// SPDX-License-Identifier: Apache-2.0
//
// Keys that are kept fresh: a stream says which has changed, and one of the workers loads it.
//
// The workers are consumers of one group, so each change is handled by one of them. A change is
// acknowledged after its value was stored; one whose worker died is claimed by another. Two changes
// of one key may be handled at the same time by two workers: a refresh voids the one that began
// before it, so the value that stays was loaded after the later change was heard.
#include "cache/cache_core.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::detail {
namespace {

constexpr std::string_view group = "holdfast";
constexpr duration stream_life = std::chrono::days(7);
constexpr duration block_for = std::chrono::milliseconds(200);
constexpr std::int64_t most_changes = 100'000;
constexpr int most_at_once = 16;

// [[id, [field, value]], …], as XREADGROUP and XAUTOCLAIM tell them.
std::vector<std::pair<std::string, std::string>> changes_in(const reply& list) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const reply& one : list.elements()) {
        if (one.elements().size() != 2) continue;
        const auto& fields = one.elements()[1].elements();
        found.emplace_back(one.elements()[0].text(), fields.size() < 2 ? "" : fields[1].text());
    }
    return found;
}

}  // namespace

std::string cache_core::changes_key() const {
    return std::string(kept_key(options_.prefix, "changes", kept::cache_changes).view());
}

result<void> cache_core::changed(std::string_view key) {
    if (auto fit = check(key); !fit) return fit;
    const std::string stream = changes_key();
    const auto add = words("XADD", stream, "MAXLEN", "~", most_changes, "*", "key", key);
    const auto expire = words("PEXPIRE", stream, to_ms(stream_life));
    // Told twice is loaded twice: that does no harm.
    const std::array<command, 2> both{add.idempotent(), expire.idempotent()};
    std::array<result<reply>, 2> replies;
    where_.engine()->exchange(both, replies, give_up());
    const auto told = answer_of(std::move(replies[0]), stream);
    if (!told) return std::unexpected(told.error());
    return {};
}

result<void> cache_core::keep_fresh(const std::stop_token& stop) {
    if (auto fit = check("k"); !fit) return fit;
    if (!background_) {
        return fail(errc::unsupported, "keep_fresh needs a cache with a background loader");
    }
    const std::string stream = changes_key();
    const auto make = words("XGROUP", "CREATE", stream, group, "0", "MKSTREAM");
    auto made = where_.engine()->execute(make, give_up());
    if (!made && made.error().detail.find("BUSYGROUP") == std::string::npos) {
        return std::unexpected(std::move(made.error()));
    }
    const auto expire = words("PEXPIRE", stream, to_ms(stream_life));
    static_cast<void>(where_.engine()->execute(expire.idempotent(), give_up()));
    auto session = where_.engine()->open_session(stream, give_up());
    if (!session) return std::unexpected(std::move(session.error()));
    time_point claim_next = now();
    while (!stop.stop_requested()) {
        if (now() >= claim_next) {
            claim_next = later(now(), options_.lease);
            // What a worker took that died: nobody takes longer than a lease.
            const auto claim = words("XAUTOCLAIM", stream, group, process_,
                                     to_ms(options_.lease * 2), "0", "COUNT", most_at_once);
            const auto left = (*session)->execute(claim, give_up());
            if (!left) return std::unexpected(left.error());
            if (left->elements().size() > 1) handle_changes(stream, left->elements()[1]);
        }
        const auto read = words("XREADGROUP", "GROUP", group, process_, "COUNT", most_at_once,
                                "BLOCK", to_ms(block_for), "STREAMS", stream, ">");
        const auto seen = (*session)->execute(read, later(now(), options_.timeout + block_for));
        if (!seen) return std::unexpected(seen.error());
        for (const reply& from : seen->elements()) {
            if (from.elements().size() == 2) handle_changes(stream, from.elements()[1]);
        }
    }
    return {};
}

void cache_core::handle_changes(const std::string& stream, const reply& list) {
    for (const auto& [id, key] : changes_in(list)) {
        // One that failed stays with the group and is claimed again.
        if (check(key) && !refresh(key, background_)) continue;
        const auto done = words("XACK", stream, group, id);
        static_cast<void>(where_.engine()->execute(done.idempotent(), give_up()));
    }
}

}  // namespace holdfast::detail
