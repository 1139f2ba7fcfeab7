// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/ops_json.hpp"

#include "commands/serve/ops_troubles.hpp"
#include "core/json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::app {
namespace {

using detail::json_array;
using detail::json_object;

// A name with many holders is a semaphore: some of them are enough to see what it is.
constexpr std::size_t most_holders = 10;

std::optional<std::int64_t> whole_ms(const std::optional<duration>& left) {
    if (!left) return std::nullopt;
    return std::chrono::ceil<std::chrono::milliseconds>(*left).count();
}

std::int64_t whole_us(duration time) {
    return std::chrono::ceil<std::chrono::microseconds>(time).count();
}

std::string room_json(const ops_room& room) {
    const push::room_state& s = room.state;
    const push::room_figures& n = room.counted.total;
    json_object out;
    out.put("roomId", s.name);
    out.put("viewers", s.viewers);
    out.put("rate", s.rate);
    out.put("mode", push::to_string(s.mode));
    out.put("messages", s.tail);
    out.put("waiting", s.tail - std::min(s.tail, s.cursor));
    out.put("stuckMs", whole_ms(room.stuck));
    out.put("frames", n.frames);
    out.put("sent", n.sent);
    out.put("coalesced", n.sent - std::min(n.sent, n.frames));
    out.put("duplicates", n.duplicates);
    out.put("deferred", n.deferred);
    out.put("skipped", n.skipped);
    out.put("shed", n.shed);
    out.put("contended", n.contended);
    out.put("failures", n.failures);
    const push::room_figures& recent = room.counted.recent;
    if (recent.frames > 0) out.put("lagMs", recent.wait_ms / recent.frames);
    out.put("cooldownMs", s.cooldown_endless ? -1 : whole_ms(s.cooldown_left).value_or(0));
    out.put("lock", room.lock);
    out.put("locked", s.locked);
    out.put("holder", s.holder);
    out.put("fence", s.fence);
    out.put("lockMs", whole_ms(s.lock_left));
    out.put("waiters", s.waiters);
    return out.text();
}

std::string holder_json(const holder_info& one) {
    json_object out;
    out.put("client", one.client);
    out.put("host", one.who.host);
    out.put("pid", one.who.pid);
    out.put("program", one.who.program);
    out.put("note", one.note);
    out.put("fence", one.fence.value);
    out.put("permits", one.permits);
    out.put("remainingMs", whole_ms(one.remaining));
    out.put("mine", one.mine);
    return out.text();
}

std::string_view word_for(finding::level weight) {
    switch (weight) {
        case finding::level::good: return "good";
        case finding::level::note: return "note";
        case finding::level::unsafe: return "unsafe";
    }
    return "";
}

std::string_view word_for(const lease_mode& mode) {
    switch (mode.type) {
        case lease_mode::kind::exclusive: return "exclusive";
        case lease_mode::kind::shared: return "shared";
        case lease_mode::kind::permit: return "permit";
    }
    return "";
}

}  // namespace

std::string rooms_json(const ops_view& view) {
    std::vector<std::string> all;
    for (const ops_room& room : view.rooms) all.push_back(room_json(room));
    return json_array(all);
}

std::string locks_json(const ops_view& view) {
    std::vector<std::string> all;
    for (const lease_info& lock : view.locks) {
        json_object out;
        out.put("name", lock.name);
        out.put("mode", word_for(lock.mode));
        out.put("fence", lock.fence.value);
        out.put("remainingMs", whole_ms(lock.remaining));
        out.put("waiters", lock.waiters);
        out.put("holderCount", lock.holders.size());
        std::vector<std::string> holders;
        for (const holder_info& one : lock.holders) {
            if (holders.size() == most_holders) break;
            holders.push_back(holder_json(one));
        }
        out.raw("holders", json_array(holders));
        all.push_back(out.text());
    }
    return json_array(all);
}

std::string leases_json(const client_statistics& seen) {
    json_object out;
    out.put("acquired", seen.acquired);
    out.put("waited", seen.waited);
    out.put("handedOff", seen.handed_off + seen.passed_on);
    out.put("refused", seen.refused);
    out.put("failed", seen.failed);
    out.put("released", seen.released);
    out.put("renewed", seen.renewed);
    out.put("renewalFailures", seen.renewal_failures);
    out.put("held", seen.held);
    out.put("waiting", seen.waiting);
    out.put("lost", seen.lost);
    out.put("lostExpired", seen.lost_by_reason.expired);
    out.put("lostMissing", seen.lost_by_reason.missing);
    out.put("lostEvicted", seen.lost_by_reason.evicted);
    out.put("clockSteps", seen.clock_steps);
    out.put("waitP50Micros", whole_us(seen.waiting_time.percentile(0.5)));
    out.put("waitP99Micros", whole_us(seen.waiting_time.percentile(0.99)));
    return out.text();
}

std::string health_json(const ops_view& view) {
    std::vector<std::string> all;
    for (const finding& one : view.health) {
        json_object out;
        out.put("level", word_for(one.weight));
        out.put("about", one.about);
        out.put("where", one.where);
        out.put("text", one.text);
        out.put("fix", one.fix);
        all.push_back(out.text());
    }
    return json_array(all);
}

std::string troubles_json(const ops_view& view) {
    std::vector<std::string> all;
    for (const trouble& one : find_troubles(view)) {
        json_object out;
        out.put("level", to_string(one.weight));
        out.put("kind", one.kind);
        out.put("roomId", one.room);
        out.put("title", one.title);
        out.put("text", one.text);
        out.put("fix", one.fix);
        all.push_back(out.text());
    }
    return json_array(all);
}

std::string series_json(const ops_series::part& part) {
    json_object out;
    out.put("next", part.next);
    for (std::size_t i = 0; i < series_names.size(); ++i) {
        std::vector<std::uint64_t> values;
        for (const series_values& one : part.samples) values.push_back(one[i]);
        out.raw(series_names[i], fmt::format("[{}]", fmt::join(values, ",")));
    }
    return out.text();
}

}  // namespace holdfast::app
