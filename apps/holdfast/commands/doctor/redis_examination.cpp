// SPDX-License-Identifier: Apache-2.0
//
// Asks every Redis server behind a URL: one server, the master that Sentinels watch and these
// Sentinels, the masters of a Cluster, the members of a quorum.
#include "command/key_text.hpp"
#include "commands/doctor/cache_facts.hpp"
#include "commands/doctor/examinations.hpp"
#include "commands/doctor/redis_facts.hpp"
#include "error_messages.hpp"
#include "lease/commands/cluster_shards.hpp"
#include "lease/commands/lease_keys.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/span_text.hpp>
#include <holdfast/redis/redis.hpp>
#include <holdfast/redis/redis_topology.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using level = finding::level;

constexpr duration patience = 5s;

using asker = std::function<result<reply>(const holdfast::command&)>;

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool is_loopback(const url& where) {
    return std::ranges::all_of(where.hosts,
                               [](const url_host& host) { return is_loopback(host.name); });
}

const std::string* option(const url& where, std::string_view name) {
    for (const auto& [key, value] : where.options) {
        if (key == name) return &value;
    }
    return nullptr;
}

redis_shape shape_of(const url& where) {
    if (where.scheme.ends_with("-sentinel")) return redis_shape::sentinel;
    if (where.scheme.ends_with("-cluster")) return redis_shape::cluster;
    if (where.scheme.starts_with("redlock")) return redis_shape::member;
    return redis_shape::alone;
}

// The options that the locks add; the client below does not know them.
bool is_of_leases(const std::pair<std::string, std::string>& one) {
    constexpr std::array<std::string_view, 6> names{"prefix",       "quarantine",   "replicas",
                                                    "replica_wait", "node_timeout", "fence"};
    return std::ranges::find(names, one.first) != names.end();
}

// A client without anything of the locks: theirs greets each server with a write, which a server
// that is to be examined may refuse.
result<std::unique_ptr<redis_engine>> plain_engine(url where) {
    std::erase_if(where.options, is_of_leases);
    if (where.scheme.ends_with("-cluster")) {
        auto target = parse_redis_cluster_url(where);
        if (!target) return std::unexpected(std::move(target.error()));
        return make_redis_cluster(std::move(*target));
    }
    if (where.scheme.ends_with("-sentinel")) {
        auto target = parse_redis_sentinel_url(where);
        if (!target) return std::unexpected(std::move(target.error()));
        return make_redis_sentinel(std::move(*target));
    }
    auto target = parse_redis_url(where);
    if (!target) return std::unexpected(std::move(target.error()));
    return make_redis(std::move(*target));
}

// What the URL alone says.
redis_facts facts_of(const url& where) {
    redis_facts facts;
    facts.shape = shape_of(where);
    facts.loopback = is_loopback(where);
    facts.tls = where.scheme.starts_with("rediss") || where.scheme.starts_with("redlocks");
    if (const auto* text = option(where, "verify")) facts.verified = *text != "none";
    if (facts.shape != redis_shape::alone) facts.quarantine = 30s;
    if (const auto* text = option(where, "quarantine")) {
        facts.quarantine = parse_span(*text).value_or(duration::zero());
    }
    if (facts.shape == redis_shape::sentinel) facts.replicas = 1;
    if (const auto* text = option(where, "replicas")) {
        std::from_chars(text->data(), text->data() + text->size(), facts.replicas);
    }
    return facts;
}

// ACL GETUSER answers pairs of a word and what it is.
void read_user(const reply& user, redis_facts& facts) {
    const auto& parts = user.elements();
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        const reply& value = parts[i + 1];
        if (parts[i].text() == "flags") {
            facts.no_password = std::ranges::any_of(
                value.elements(), [](const reply& flag) { return flag.text() == "nopass"; });
        }
        if (parts[i].text() == "commands") {
            facts.may_do_all = value.text().starts_with("+@all");
        }
        if (parts[i].text() == "keys") {
            facts.all_keys = to_string(value).find("~*") != std::string::npos;
        }
    }
}

// Its answer is as old as half the trip, as far as can be told.
std::optional<clock_comparison> compare_clocks(const asker& server) {
    const time_point asked = system_clock().now();
    const auto told = server(words("TIME").idempotent());
    const wall_time ours = system_clock().wall();
    const duration trip = system_clock().now() - asked;
    if (!told || told->elements().size() != 2) return std::nullopt;
    std::array<std::int64_t, 2> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string& text = told->elements()[i].text();
        std::from_chars(text.data(), text.data() + text.size(), parts[i]);
    }
    const std::chrono::seconds whole{parts[0]};
    const wall_time theirs{whole + std::chrono::microseconds{parts[1]}};
    return clock_comparison{.offset = theirs - ours + trip / 2, .round_trip = trip};
}

std::uint64_t count_in(const result<reply>& answer) {
    return answer && answer->number() > 0 ? static_cast<std::uint64_t>(answer->number()) : 0;
}

// Nothing: the key is none of ours.
std::optional<key_facts> look_at_key(const std::string& name, const asker& server) {
    key_facts one{.name = name};
    const bool kept = detail::is_kept_key(name);
    if (!kept) {
        const auto begin = server(words("GETRANGE", name, 0, 2).idempotent());
        one.is_entry = begin && begin->text() == "hc1";
        if (!one.is_entry) return std::nullopt;
        one.size = count_in(server(words("STRLEN", name).idempotent()));
    } else if (name.ends_with(fmt::format(":{}", detail::kept::board_players))) {
        one.is_board = true;
        one.size = count_in(server(words("ZCARD", name).idempotent()));
    }
    const auto left = server(words("PTTL", name).idempotent());
    one.lasts = left && left->number() == -1;
    return one;
}

// A bounded number of keys, wherever SCAN begins. A user that may not SCAN is told nothing.
findings examine_keys(const redis_facts& facts, const asker& server) {
    constexpr std::uint64_t enough = 256;
    constexpr int most_scans = 20;
    key_sample sample;
    std::string cursor = "0";
    for (int i = 0; i < most_scans && sample.seen < enough; ++i) {
        const auto page = server(words("SCAN", cursor, "COUNT", 100).idempotent());
        if (!page || page->elements().size() != 2) break;
        for (const reply& key : page->elements()[1].elements()) {
            if (sample.seen >= enough) break;
            sample.add(look_at_key(key.text(), server).value_or(key_facts{.name = key.text()}));
        }
        cursor = page->elements()[0].text();
        if (cursor == "0") break;
    }
    return judge_sample(sample, hit_ratio(facts.info), facts.where);
}

void append(findings& to, findings more) {
    std::ranges::move(more, std::back_inserter(to));
}

findings ask(redis_facts facts, const asker& server) {
    const auto info = server(words("INFO", "all").idempotent());
    if (!info) {
        const bool refused = info.error() == errc::denied;
        return {{refused ? level::note : level::unsafe, "server", facts.where,
                 doctors_words(info.error().detail),
                 refused ? "allow INFO to the user, so that doctor can check more"
                         : "look whether the server runs, and can be reached"}};
    }
    facts.info = parse_info(info->text());
    facts.clock = compare_clocks(server);
    if (const auto said = server(words("CONFIG", "GET", "appendfsync").idempotent());
        said && said->elements().size() == 2) {
        facts.fsync = said->elements()[1].text();
    }
    if (const auto me = server(words("ACL", "WHOAMI").idempotent())) {
        const auto user = server(words("ACL", "GETUSER", me->text()).idempotent());
        if (user) read_user(*user, facts);
    }
    findings found = judge(facts);
    append(found, examine_keys(facts, server));
    return found;
}

std::string master_name(const url& where) {
    return where.path.substr(1, where.path.find('/', 1) - 1);
}

// One Sentinel as a server of its own.
url sentinel_url(const url& where, const url_host& host) {
    url one;
    one.scheme = where.scheme.starts_with("rediss") ? "rediss" : "redis";
    one.hosts = {host};
    if (!host.port) one.hosts.front().port = 26379;
    for (const auto& [key, value] : where.options) {
        constexpr std::string_view own = "sentinel_";
        if (key.starts_with(own)) one.options.emplace_back(key.substr(own.size()), value);
    }
    return one;
}

// Where the master is, by the first Sentinel that says it.
void find_master(const url& where, redis_facts& facts) {
    facts.where = "master";
    for (const url_host& host : where.hosts) {
        const auto made = plain_engine(sentinel_url(where, host));
        if (!made) continue;
        const auto said = (*made)->execute(
            words("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name(where)).idempotent(),
            (*made)->time().now() + patience);
        if (!said || said->elements().size() != 2) continue;
        const auto& at = said->elements();
        facts.where = fmt::format("master {}:{}", at[0].text(), at[1].text());
        facts.loopback = is_loopback(at[0].text());
        return;
    }
}

// Each Sentinel: is it there, and can those that are there agree on a failover?
findings examine_sentinels(const url& where) {
    findings found;
    for (const url_host& host : where.hosts) {
        const url one = sentinel_url(where, host);
        const std::string label = fmt::format("sentinel {}:{}", host.name, *one.hosts.front().port);
        const auto made = plain_engine(one);
        if (!made)
            return {{level::note, "sentinel", label, doctors_words(made.error().detail), ""}};
        const auto quorum =
            (*made)->execute(words("SENTINEL", "CKQUORUM", master_name(where)).idempotent(),
                             (*made)->time().now() + patience);
        if (quorum) {
            found.push_back({level::good, "sentinel", label, "can agree on a failover", ""});
        } else {
            found.push_back({level::unsafe, "sentinel", label, doctors_words(quorum.error().detail),
                             "fix it: without a quorum there is no failover"});
        }
    }
    if (where.hosts.size() < 3) {
        found.push_back({level::note, "sentinel", "",
                         "the URL names fewer than three Sentinels: one that fails may hide all",
                         "name three or more"});
    }
    return found;
}

findings examine_cluster(command_engine& engine, const redis_facts& known) {
    const time_point give_up = engine.time().now() + patience;
    const auto shards = read_shards(engine, give_up);
    if (!shards) {
        return {{level::unsafe, "cluster", known.where, doctors_words(shards.error().detail),
                 "look whether the nodes run, and can be reached"}};
    }
    std::map<std::string, std::string> nodes;  // by their addresses, a key of each
    for (const slot_range& range : *shards) nodes.emplace(range.address, slot_tag(range.first));
    findings found;
    if (nodes.size() < 3) {
        found.push_back({level::note, "cluster", known.where,
                         "fewer than three masters: they cannot agree on a failover", ""});
    }
    for (const auto& [address, key] : nodes) {
        redis_facts facts = known;
        facts.where = address;
        facts.loopback = is_loopback(address.substr(0, address.rfind(':')));
        const auto line = engine.open_session(key, give_up);
        if (!line) {
            found.push_back({level::unsafe, "cluster", facts.where,
                             doctors_words(line.error().detail),
                             "look whether the node runs, and can be reached"});
            continue;
        }
        append(found, ask(facts, [&](const holdfast::command& c) {
                   return (*line)->execute(c, give_up);
               }));
    }
    return found;
}

// The members of a quorum, each by itself.
findings examine_members(const url& where, const redis_facts& known) {
    findings found;
    if (where.hosts.size() < 3 || where.hosts.size() % 2 == 0) {
        found.push_back({level::note, "members", known.where,
                         fmt::format("{} members: an odd number from three up is what survives the "
                                     "most failures",
                                     where.hosts.size()),
                         "use three or five"});
    }
    for (const url_host& host : where.hosts) {
        url one = where;
        one.scheme = known.tls ? "rediss" : "redis";
        one.hosts = {host};
        redis_facts facts = known;
        facts.where = fmt::format("{}:{}", host.name, host.port.value_or(6379));
        facts.loopback = is_loopback(one);
        const auto made = plain_engine(one);
        if (!made) {
            found.push_back(
                {level::note, "members", facts.where, doctors_words(made.error().detail), ""});
            continue;
        }
        append(found, ask(facts, [&](const holdfast::command& c) {
                   return (*made)->execute(c, (*made)->time().now() + patience);
               }));
    }
    return found;
}

}  // namespace

findings examine_redis(const url& where) {
    redis_facts known = facts_of(where);
    known.where = where.hosts.empty() ? where.path
                                      : fmt::format("{}:{}", where.hosts.front().name,
                                                    where.hosts.front().port.value_or(6379));
    if (known.shape == redis_shape::member) return examine_members(where, known);
    const auto made = plain_engine(where);
    if (!made)
        return {{level::note, "server", known.where, doctors_words(made.error().detail), ""}};
    command_engine& engine = **made;
    if (known.shape == redis_shape::cluster) return examine_cluster(engine, known);
    if (known.shape == redis_shape::sentinel) find_master(where, known);
    findings found = ask(known, [&](const holdfast::command& c) {
        return engine.execute(c, engine.time().now() + patience);
    });
    if (known.shape == redis_shape::sentinel) append(found, examine_sentinels(where));
    return found;
}

}  // namespace holdfast::app
