// SPDX-License-Identifier: Apache-2.0
//
// Ranges of sorted sets, by rank, by score and by member.
//
// Each kind of range is first resolved to a range of ranks, in O(log n); from there on all commands
// are the same.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

namespace holdfast::memory {
namespace {

using entry = sorted_set::entry;

enum class range_by : std::uint8_t { rank, score, lex };

struct score_bound {
    double value = 0;
    bool open = false;
};

score_bound parse_score_bound(std::string_view text) {
    const bool open = text.starts_with('(');
    const std::string number(open ? text.substr(1) : text);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (*end != '\0' || std::isnan(value)) refuse("ERR min or max is not a float");
    return {value, open};
}

struct lex_bound {
    enum class kind : std::uint8_t { lowest, highest, text } type = kind::text;
    std::string_view text = {};
    bool open = false;

    // -1, 0, 1: is the member before, at or after this bound?
    [[nodiscard]] int compare(std::string_view member) const noexcept {
        if (type == kind::lowest) return 1;
        if (type == kind::highest) return -1;
        const int order = member.compare(text);
        return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
};

lex_bound parse_lex_bound(std::string_view text) {
    if (text == "-") return {.type = lex_bound::kind::lowest};
    if (text == "+") return {.type = lex_bound::kind::highest};
    if (text.starts_with('(') || text.starts_with('[')) {
        return {.text = text.substr(1), .open = text.front() == '('};
    }
    refuse("ERR min or max not valid string range item");
}

// Two bounds of any kind: which entries lie before the range, and which before its end.
struct bounds {
    std::function<bool(const entry&)> before_start;
    std::function<bool(const entry&)> before_end;
};

bounds parse_score_bounds(std::string_view low_text, std::string_view high_text) {
    const score_bound low = parse_score_bound(low_text);
    const score_bound high = parse_score_bound(high_text);
    return {[low](const entry& e) { return low.open ? e.value <= low.value : e.value < low.value; },
            [high](const entry& e) {
                return high.open ? e.value < high.value : e.value <= high.value;
            }};
}

bounds parse_lex_bounds(std::string_view low_text, std::string_view high_text) {
    const lex_bound low = parse_lex_bound(low_text);
    const lex_bound high = parse_lex_bound(high_text);
    return {[low](const entry& e) { return low.compare(e.key) < (low.open ? 1 : 0); },
            [high](const entry& e) { return high.compare(e.key) < (high.open ? 0 : 1); }};
}

index_range resolve(const sorted_set& z, const bounds& b) {
    const std::size_t first = z.count_before(b.before_start);
    const std::size_t end = z.count_before(b.before_end);
    return first < end ? index_range{first, end - first} : index_range{};
}

struct range_query {
    range_by by = range_by::rank;
    bool reverse = false;
    bool scores = false;
    std::int64_t offset = 0;
    std::int64_t limit = -1;
};

void parse_options(const call& c, range_query& q, bool free_choice) {
    bool chosen = false;
    for (std::size_t i = 4; i < c.count(); ++i) {
        if (c.is(i, "withscores")) {
            q.scores = true;
        } else if (c.is(i, "limit") && i + 2 < c.count()) {
            q.offset = c.integer(i + 1);
            q.limit = c.integer(i + 2);
            i += 2;
        } else if (free_choice && c.is(i, "rev") && !q.reverse) {
            q.reverse = true;
        } else if (free_choice && !chosen && c.is(i, "bylex")) {
            q.by = range_by::lex;
            chosen = true;
        } else if (free_choice && !chosen && c.is(i, "byscore")) {
            q.by = range_by::score;
            chosen = true;
        } else {
            refuse_syntax();
        }
    }
    if (q.limit != -1 && q.by == range_by::rank) {
        refuse(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or "
            "BYLEX");
    }
    if (q.scores && q.by == range_by::lex) {
        refuse("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    }
}

// What LIMIT leaves of a range: a negative offset leaves nothing, a negative limit all.
index_range limited(index_range r, const range_query& q) {
    if (q.offset < 0 || static_cast<std::uint64_t>(q.offset) >= r.count) return {};
    const auto skip = static_cast<std::size_t>(q.offset);
    std::size_t count = r.count - skip;
    if (q.limit >= 0) count = std::min(count, static_cast<std::size_t>(q.limit));
    return {q.reverse ? r.first + r.count - skip - count : r.first + skip, count};
}

void answer_range(const call& c, const range_query& q) {
    std::int64_t start = 0;
    std::int64_t stop = 0;
    bounds b;
    const std::size_t low = q.reverse && q.by != range_by::rank ? 3 : 2;
    const std::size_t high = low == 2 ? 3 : 2;
    if (q.by == range_by::rank) {
        start = c.integer(2);
        stop = c.integer(3);
    } else {
        b = q.by == range_by::score ? parse_score_bounds(c.arg(low), c.arg(high))
                                    : parse_lex_bounds(c.arg(low), c.arg(high));
    }
    const auto* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr) return c.out.array(0);
    index_range r;
    if (q.by == range_by::rank) {
        r = resolve_range(start, stop, z->size());
        if (q.reverse) r.first = z->size() - r.first - r.count;
    } else {
        r = limited(resolve(*z, b), q);
    }
    const bool nested = q.scores && c.out.nests_pairs();
    c.out.array(q.scores && !nested ? r.count * 2 : r.count);
    if (r.count == 0) return;
    z->walk(q.reverse ? r.first + r.count - 1 : r.first, q.reverse ? -1 : 1, r.count,
            [&](const entry& e) {
                if (nested) c.out.array(2);
                c.out.string(e.key);
                if (q.scores) c.out.number(e.value);
            });
}

void zrange(call& c) {
    range_query q;
    parse_options(c, q, true);
    answer_range(c, q);
}

template <range_by By, bool Reverse>
void fixed_range(call& c) {
    range_query q{.by = By, .reverse = Reverse};
    parse_options(c, q, false);
    answer_range(c, q);
}

template <range_by By>
bounds parse_bounds(const call& c) {
    if constexpr (By == range_by::score) {
        return parse_score_bounds(c.arg(2), c.arg(3));
    } else {
        return parse_lex_bounds(c.arg(2), c.arg(3));
    }
}

template <range_by By>
void count(call& c) {
    const bounds b = parse_bounds<By>(c);
    const auto* z = c.look<sorted_set>(c.arg(1));
    c.out.integer(z == nullptr ? 0 : static_cast<std::int64_t>(resolve(*z, b).count));
}

void remove_range(const call& c, sorted_set& z, index_range r) {
    std::vector<entry*> doomed;
    if (r.count > 0) z.walk(r.first, 1, r.count, [&](entry& e) { doomed.push_back(&e); });
    for (entry* e : doomed) z.erase(*e);
    if (!doomed.empty()) c.changed(c.arg(1), z);
    c.out.integer(static_cast<std::int64_t>(doomed.size()));
}

template <range_by By>
void remove(call& c) {
    const bounds b = parse_bounds<By>(c);
    auto* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr) return c.out.integer(0);
    remove_range(c, *z, resolve(*z, b));
}

void remove_by_rank(call& c) {
    const std::int64_t start = c.integer(2);
    const std::int64_t stop = c.integer(3);
    auto* z = c.look<sorted_set>(c.arg(1));
    if (z == nullptr) return c.out.integer(0);
    remove_range(c, *z, resolve_range(start, stop, z->size()));
}

constexpr command_spec sorted_set_range_table[] = {
    {"zrange", -4, reads, zrange},
    {"zrevrange", -4, reads, fixed_range<range_by::rank, true>},
    {"zrangebyscore", -4, reads, fixed_range<range_by::score, false>},
    {"zrevrangebyscore", -4, reads, fixed_range<range_by::score, true>},
    {"zrangebylex", -4, reads, fixed_range<range_by::lex, false>},
    {"zrevrangebylex", -4, reads, fixed_range<range_by::lex, true>},
    {"zcount", 4, reads | fast_path, count<range_by::score>},
    {"zlexcount", 4, reads | fast_path, count<range_by::lex>},
    {"zremrangebyscore", 4, writes, remove<range_by::score>},
    {"zremrangebylex", 4, writes, remove<range_by::lex>},
    {"zremrangebyrank", 4, writes, remove_by_rank},
};

}  // namespace

std::span<const command_spec> sorted_set_range_commands() {
    return sorted_set_range_table;
}

}  // namespace holdfast::memory
