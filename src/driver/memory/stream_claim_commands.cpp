// SPDX-License-Identifier: Apache-2.0
//
// Taking over what is pending for another consumer: XCLAIM by id, XAUTOCLAIM by how long it has
// been idle. An entry that was deleted from the stream stops being pending when somebody claims it.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/stream_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

// Entries that are looked at for each that is wanted, so that one call is bounded.
constexpr std::int64_t looks_per_entry = 10;

std::int64_t least_idle_word(const call& c, std::string_view command) {
    return std::max<std::int64_t>(
        c.integer(4, fmt::format("ERR Invalid min-idle-time argument for {}", command)), 0);
}

void put_claimed(call& c, const stream& s, const std::vector<stream_id>& ids, bool only_ids) {
    c.out.array(ids.size());
    for (const stream_id& id : ids) {
        only_ids ? c.out.string(to_string(id)) : put_stream_entry(c.out, id, s.entries().at(id));
    }
}

struct claim_words {
    std::vector<stream_id> ids;
    std::optional<std::int64_t> delivered_ms;
    std::optional<std::int64_t> deliveries;
    stream_id last;
    bool force = false;
    bool only_ids = false;
};

std::int64_t claim_number(const call& c, std::size_t i, std::string_view option) {
    return c.integer(i, fmt::format("ERR Invalid {} option argument for XCLAIM", option));
}

claim_words parse_claim(const call& c) {
    claim_words found;
    std::size_t i = 5;
    for (; i < c.count(); ++i) {
        const auto id = parse_stream_id(c.arg(i), 0);
        if (!id) break;
        found.ids.push_back(*id);
    }
    for (; i < c.count(); ++i) {
        const bool more = i + 1 < c.count();
        if (c.is(i, "force")) {
            found.force = true;
        } else if (c.is(i, "justid")) {
            found.only_ids = true;
        } else if (c.is(i, "idle") && more) {
            found.delivered_ms = c.db.now_ms() - claim_number(c, ++i, "IDLE");
        } else if (c.is(i, "time") && more) {
            found.delivered_ms = claim_number(c, ++i, "TIME");
        } else if (c.is(i, "retrycount") && more) {
            found.deliveries = claim_number(c, ++i, "RETRYCOUNT");
        } else if (c.is(i, "lastid") && more) {
            found.last = stream_id_word(c, ++i);
        } else {
            refuse(fmt::format("ERR Unrecognized XCLAIM option '{}'", printed(c.arg(i))));
        }
    }
    return found;
}

/// One claim of one consumer.
class claimer {
public:
    claimer(const call& c, stream& s, stream::group& g, std::int64_t least_idle)
        : c_(c), s_(s), g_(g), least_idle_(least_idle) {}

    /// False if it was not idle for long enough. A deleted entry must have been dropped before.
    bool claim(std::map<stream_id, stream::pending>::iterator which) {
        const std::int64_t now = c_.db.now_ms();
        if (least_idle_ != 0 && now - which->second.delivered_ms < least_idle_) return false;
        join();
        g_.pass(which, c_.arg(3));
        return true;
    }

    /// Makes it pending although nobody had got it.
    std::map<stream_id, stream::pending>::iterator force(const stream_id& id) {
        join();
        g_.deliver(id, c_.arg(3), c_.db.now_ms());
        return g_.pending.find(id);
    }

    bool drop_deleted(const stream_id& id) {
        if (s_.contains(id)) return false;
        g_.acknowledge(id);
        return true;
    }

private:
    void join() { g_.join(c_.arg(3), c_.db.now_ms()).seen_ms = c_.db.now_ms(); }

    const call& c_;
    stream& s_;
    stream::group& g_;
    std::int64_t least_idle_;
};

void note_claimed(const call& c, const claim_words& how, stream::pending& one) {
    const std::int64_t now = c.db.now_ms();
    const std::int64_t when = how.delivered_ms.value_or(now);
    one.delivered_ms = when < 0 || when > now ? now : when;
    if (how.deliveries.value_or(-1) >= 0) {
        one.deliveries = *how.deliveries;
    } else if (!how.only_ids) {
        ++one.deliveries;
    }
}

void xclaim(call& c) {
    stream::group& g = stream_group_of(c, 1, 2);
    stream& s = *c.look<stream>(c.arg(1));
    const std::int64_t least_idle = least_idle_word(c, "XCLAIM");
    const claim_words how = parse_claim(c);
    g.last = std::max(g.last, how.last);
    claimer mine(c, s, g, least_idle);
    std::vector<stream_id> claimed;
    for (const stream_id& id : how.ids) {
        if (mine.drop_deleted(id)) continue;
        auto which = g.pending.find(id);
        if (which == g.pending.end()) {
            if (!how.force) continue;
            which = mine.force(id);
        } else if (!mine.claim(which)) {
            continue;
        }
        note_claimed(c, how, which->second);
        claimed.push_back(id);
    }
    put_claimed(c, s, claimed, how.only_ids);
}

struct auto_claim_words {
    std::int64_t least_idle = 0;
    stream_id start;
    std::int64_t count = 100;
    bool only_ids = false;
};

auto_claim_words parse_auto_claim(const call& c) {
    auto_claim_words found;
    found.least_idle = least_idle_word(c, "XAUTOCLAIM");
    found.start = range_start_word(c, 5);
    for (std::size_t i = 6; i < c.count(); ++i) {
        if (c.is(i, "count") && i + 1 < c.count()) {
            constexpr std::string_view wrong = "ERR COUNT must be > 0";
            found.count = c.integer(++i, wrong);
            constexpr auto most = static_cast<std::int64_t>(INT64_MAX / sizeof(stream_id));
            if (found.count < 1 || found.count > most) refuse(std::string(wrong));
        } else if (c.is(i, "justid")) {
            found.only_ids = true;
        } else {
            refuse_syntax();
        }
    }
    return found;
}

void xautoclaim(call& c) {
    auto_claim_words how = parse_auto_claim(c);
    stream::group& g = stream_group_of(c, 1, 2);
    stream& s = *c.look<stream>(c.arg(1));
    claimer mine(c, s, g, how.least_idle);
    std::vector<stream_id> claimed;
    std::vector<stream_id> deleted;
    std::int64_t looks = how.count * looks_per_entry;
    auto at = g.pending.lower_bound(how.start);
    for (; at != g.pending.end() && how.count > 0 && looks > 0; --looks) {
        const auto which = at++;
        const stream_id id = which->first;
        if (mine.drop_deleted(id)) {
            deleted.push_back(id);
            --how.count;
        } else if (mine.claim(which)) {
            which->second.delivered_ms = c.db.now_ms();
            if (!how.only_ids) ++which->second.deliveries;
            claimed.push_back(id);
            --how.count;
        }
    }
    c.out.array(3);
    c.out.string(to_string(at == g.pending.end() ? first_stream_id : at->first));
    put_claimed(c, s, claimed, how.only_ids);
    put_claimed(c, s, deleted, true);
}

constexpr command_spec stream_claim_table[] = {
    {"xclaim", -6, writes | fast_path, xclaim},
    {"xautoclaim", -6, writes | fast_path, xautoclaim},
};

}  // namespace

std::span<const command_spec> stream_claim_commands() {
    return stream_claim_table;
}

}  // namespace holdfast::memory
