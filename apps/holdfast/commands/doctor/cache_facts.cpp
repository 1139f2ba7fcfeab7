// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/cache_facts.hpp"

#include "printable.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holdfast::app {
namespace {

using level = finding::level;

std::optional<double> field(const std::map<std::string, std::string, std::less<>>& info,
                            std::string_view name) {
    const auto found = info.find(name);
    if (found == info.end()) return std::nullopt;
    double value = 0;
    const std::string& text = found->second;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

void key_sample::add(const key_facts& one) {
    ++seen;
    if (one.is_entry) ++entries;
    if (one.lasts) {
        if (lasting++ == 0) lasting_one = one.name;
    }
    if (one.is_entry && one.size > big_entry) {
        ++big;
        if (one.size > biggest.size) biggest = one;
    }
    if (one.is_board && one.size > wide_board && one.size > widest.size) widest = one;
}

std::optional<double> hit_ratio(const std::map<std::string, std::string, std::less<>>& info) {
    const auto hits = field(info, "keyspace_hits");
    const auto misses = field(info, "keyspace_misses");
    if (!hits || !misses || *hits + *misses <= 0) return std::nullopt;
    return *hits / (*hits + *misses);
}

findings judge_sample(const key_sample& sample, std::optional<double> hits,
                      const std::string& where) {
    findings found;
    if (sample.entries > 0) {
        const bool few = hits && *hits < 0.5;
        const std::string share =
            hits ? fmt::format("; {:.0f} % of the server's reads find their key", *hits * 100) : "";
        found.push_back({few ? level::note : level::good, "cache", where,
                         fmt::format("{} of {} sampled keys are entries of caches{}",
                                     sample.entries, sample.seen, share),
                         few ? "longer lives, or a source that is asked for less that it does not "
                               "have (a Bloom filter), raise the share"
                             : ""});
    }
    if (sample.big > 0) {
        found.push_back({level::note, "big values", where,
                         fmt::format("{} of {} sampled entries are larger than 1 MiB; '{}' has {} "
                                     "bytes, which each hit moves whole",
                                     sample.big, sample.entries, printable(sample.biggest.name),
                                     sample.biggest.size),
                         "cache smaller parts, or set max_value_bytes"});
    }
    if (sample.widest.size > 0) {
        found.push_back({level::note, "big values", where,
                         fmt::format("the leaderboard '{}' has {} players in one sorted set",
                                     printable(sample.widest.name), sample.widest.size),
                         "set split_at, which spreads them over segments"});
    }
    if (sample.lasting > 0) {
        found.push_back({level::note, "missing expiry", where,
                         fmt::format("{} of {} sampled keys should expire and do not; one is '{}'",
                                     sample.lasting, sample.seen, printable(sample.lasting_one)),
                         "look who took the expiry away (PERSIST, SET by hand, a restore); delete "
                         "the keys or give them one"});
    }
    return found;
}

}  // namespace holdfast::app
