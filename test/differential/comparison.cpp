// SPDX-License-Identifier: Apache-2.0
#include "differential/comparison.hpp"

#include "differential/value_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

bool before(const reply& a, const reply& b);

bool before_all(const std::vector<reply>& a, const std::vector<reply>& b) {
    return std::ranges::lexicographical_compare(a, b, before);
}

bool before(const reply& a, const reply& b) {
    if (a.type() != b.type()) return a.type() < b.type();
    if (a.number() != b.number()) return a.number() < b.number();
    if (a.text() != b.text()) return a.text() < b.text();
    return before_all(a.elements(), b.elements());
}

reply sorted(const reply& r) {
    if (r.type() != reply::kind::array) return r;
    auto elements = r.elements();
    std::ranges::sort(elements, before);
    return reply::array(std::move(elements));
}

reply sorted_pairs(const reply& r) {
    if (r.type() != reply::kind::array || r.elements().size() % 2 != 0) return r;
    std::vector<reply> pairs;
    for (std::size_t i = 0; i < r.elements().size(); i += 2) {
        pairs.push_back(reply::array({r.elements()[i], r.elements()[i + 1]}));
    }
    return sorted(reply::array(std::move(pairs)));
}

// ZSCAN shows a score as it is stored, which depends on the encoding of the set: 100000000000000000
// in a small one, 1e+17 in a large one. Here it is brought to the form of every other command.
reply sorted_scores(const reply& r) {
    if (r.type() != reply::kind::array || r.elements().size() % 2 != 0) return r;
    auto elements = r.elements();
    for (std::size_t i = 1; i < elements.size(); i += 2) {
        const std::string& text = elements[i].text();
        char* end = nullptr;
        const double score = std::strtod(text.c_str(), &end);
        if (*end == '\0' && !text.empty())
            elements[i] = reply::string(fmt::format("{:.17g}", score));
    }
    return sorted_pairs(reply::array(std::move(elements)));
}

// [cursor, elements]
reply sorted_scan(const reply& r, reply (*sort)(const reply&)) {
    if (r.elements().size() != 2) return r;
    return reply::array({r.elements()[0], sort(r.elements()[1])});
}

reply sorted_deeply(const reply& r) {
    if (r.type() != reply::kind::array) return r;
    std::vector<reply> elements;
    for (const reply& e : r.elements()) elements.push_back(sorted_deeply(e));
    return sorted(reply::array(std::move(elements)));
}

// Each row without the time that its entry has been idle.
reply without_idle(const reply& r) {
    auto rows = r.elements();
    if (rows.size() == 4 && rows[0].type() == reply::kind::integer) return r;  // the summary
    for (reply& row : rows) {
        auto cells = row.elements();
        if (cells.size() == 4) cells[2] = reply::integer(0);
        if (row.type() == reply::kind::array) row = reply::array(std::move(cells));
    }
    return r.type() == reply::kind::array ? reply::array(std::move(rows)) : r;
}

// XINFO without the nodes of a tree that only Redis has, and without idle times.
reply without_details(const reply& r) {
    if (r.type() != reply::kind::array) return r;
    static const std::set<std::string> ours{"radix-tree-keys", "radix-tree-nodes", "idle"};
    auto fields = r.elements();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const bool hidden = i > 0 && ours.contains(fields[i - 1].text());
        fields[i] = hidden ? reply::integer(0) : without_details(fields[i]);
    }
    return reply::array(std::move(fields));
}

// What Redis answers in an order of its own, in an order of ours.
reply canonical(const std::string& name, const reply& r) {
    static const std::set<std::string> multisets{"SMEMBERS", "SINTER", "SUNION", "SDIFF",
                                                 "HKEYS",    "HVALS",  "KEYS",   "SPOP"};
    if (multisets.contains(name)) return sorted(r);
    if (name == "HGETALL") return sorted_pairs(r);
    if (name == "SCAN" || name == "SSCAN") return sorted_scan(r, sorted);
    if (name == "HSCAN") return sorted_scan(r, sorted_pairs);
    if (name == "ZSCAN") return sorted_scan(r, sorted_scores);
    if (name == "XPENDING") return without_idle(r);
    if (name == "XINFO") return without_details(r);
    return r;
}

verdict compare_times(const std::string& name, const reply& left, const reply& right) {
    if (left == right) return verdict::same;
    if (left.type() != reply::kind::integer || right.type() != reply::kind::integer ||
        left.number() < 0 || right.number() < 0) {
        return verdict::different;
    }
    const bool milliseconds = name.front() == 'P';
    const bool absolute = name.ends_with("EXPIRETIME");
    const auto apart = std::abs(left.number() - right.number());
    if (absolute && (is_written_down(left.number()) || is_written_down(right.number()))) {
        return verdict::different;
    }
    // Milliseconds nearly always differ, so they cannot be asked to agree in the end.
    if (milliseconds) return apart <= 1500 ? verdict::same : verdict::different;
    return apart <= 1 ? verdict::late : verdict::different;
}

bool tells_time(const std::string& name) {
    return name == "TTL" || name == "PTTL" || name == "EXPIRETIME" || name == "PEXPIRETIME";
}

}  // namespace

verdict compare(const word_vector& args, const reply& left, const reply& right) {
    if (left == right) return verdict::same;
    const std::string name = command_name(args);
    if (tells_time(name)) return compare_times(name, left, right);
    return canonical(name, left) == canonical(name, right) ? verdict::same : verdict::different;
}

verdict compare_unordered(const reply& left, const reply& right) {
    return sorted_deeply(left) == sorted_deeply(right) ? verdict::same : verdict::different;
}

verdict compare_each(const std::vector<const word_vector*>& commands, const reply& left,
                     const reply& right) {
    if (left == right) return verdict::same;
    const auto size = left.elements().size();
    if (left.type() != reply::kind::array || right.type() != reply::kind::array ||
        size != right.elements().size() || size != commands.size()) {
        return verdict::different;
    }
    auto worst = verdict::same;
    for (std::size_t i = 0; i < size; ++i) {
        worst = std::max(worst, compare(*commands[i], left.elements()[i], right.elements()[i]));
    }
    return worst;
}

bool draws(const word_vector& args) {
    const std::string name = command_name(args);
    return name == "SPOP" || name == "SRANDMEMBER";
}

}  // namespace holdfast::test
