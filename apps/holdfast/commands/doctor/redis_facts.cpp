// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/redis_facts.hpp"

#include "time_text.hpp"

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace holdfast::app {
namespace {

using level = finding::level;

// Machines that have the same time by NTP are milliseconds apart; this is something else.
constexpr duration far_apart = std::chrono::seconds(2);

class judgement {
public:
    explicit judgement(const redis_facts& facts) : facts_(facts) {}

    [[nodiscard]] findings all() && {
        version();
        role();
        clock();
        eviction();
        persistence();
        replication();
        wire();
        access();
        return std::move(found_);
    }

private:
    void say(level weight, std::string about, std::string text, std::string fix = {}) {
        found_.push_back({weight, std::move(about), facts_.where, std::move(text), std::move(fix)});
    }
    [[nodiscard]] std::string text(std::string_view field) const {
        const auto found = facts_.info.find(field);
        return found == facts_.info.end() ? std::string() : found->second;
    }
    [[nodiscard]] std::int64_t number(std::string_view field) const {
        const std::string word = text(field);
        std::int64_t value = 0;
        std::from_chars(word.data(), word.data() + word.size(), value);
        return value;
    }

    void version();
    void role();
    void clock();
    void eviction();
    void persistence();
    void replication();
    void wire();
    void access();

    const redis_facts& facts_;
    findings found_;
};

void judgement::version() {
    const std::string said = text("redis_version");
    int major = 0;
    std::from_chars(said.data(), said.data() + said.size(), major);
    if (said.empty()) {
        say(level::note, "version", "the server does not report its version");
    } else if (major < 5) {
        say(level::unsafe, "version",
            fmt::format("Redis {} replicates scripts by their text, and our scripts read the clock",
                        said),
            "use Redis 7");
    } else if (major < 7 && facts_.shape == redis_shape::cluster) {
        say(level::unsafe, "version",
            fmt::format("Redis {} has no sharded channels: in a Cluster nobody would be woken",
                        said),
            "use Redis 7");
    } else if (major < 7) {
        say(level::note, "version", fmt::format("Redis {}; tested is Redis 7", said));
    } else {
        say(level::good, "version", fmt::format("Redis {}", said));
    }
    if (text("cluster_enabled") == "1" && facts_.shape != redis_shape::cluster) {
        say(level::unsafe, "cluster",
            "the server is a node of a Cluster, and serves some names only",
            "use redis-cluster:// in the engine's URL");
    }
}

void judgement::role() {
    if (text("role") != "slave") return;
    say(level::unsafe, "role", "the server is a replica: it takes no writes, so it grants nothing",
        "name the master in the engine's URL, or its Sentinels (redis-sentinel://)");
}

void judgement::clock() {
    if (!facts_.clock) return;
    const auto [offset, trip] = *facts_.clock;
    const duration apart = std::max(offset, -offset);
    if (apart - trip / 2 <= far_apart) {
        say(level::good, "clock",
            fmt::format("its clock and ours are {} apart, or less",
                        show_roughly(apart + trip / 2)));
        return;
    }
    say(level::unsafe, "clock",
        fmt::format("its clock is {} {} ours: if it loses its data, fences may go back",
                    show_roughly(apart), offset > duration::zero() ? "ahead of" : "behind"),
        "set both clocks by NTP");
}

void judgement::eviction() {
    const std::string policy = text("maxmemory_policy");
    if (policy.empty()) {
        say(level::note, "eviction", "the server does not report its eviction policy",
            "allow INFO, and look at maxmemory-policy yourself");
    } else if (policy == "noeviction") {
        say(level::good, "eviction", "a full server refuses new leases and forgets none");
    } else if (number("maxmemory") == 0) {
        say(level::note, "eviction",
            fmt::format("maxmemory-policy is {}; without maxmemory it does nothing yet", policy),
            "CONFIG SET maxmemory-policy noeviction");
    } else {
        say(level::unsafe, "eviction",
            fmt::format("maxmemory-policy is {}: a full server evicts locks, because they "
                        "expire; then two hold the same",
                        policy),
            "CONFIG SET maxmemory-policy noeviction");
    }
}

void judgement::persistence() {
    const bool appends = text("aof_enabled") == "1";
    if (appends && text("aof_last_write_status") == "err") {
        say(level::unsafe, "persistence", "the server cannot write its append-only file",
            "look at its log and its disk");
        return;
    }
    if (facts_.quarantine > duration::zero()) {
        say(level::good, "persistence",
            fmt::format("after a restart nothing is granted for {}: what was forgotten is over",
                        show_span(facts_.quarantine)));
        return;
    }
    if (!appends) {
        say(level::unsafe, "persistence",
            "a restart forgets leases: until the next renewal of the old holder, two hold the same",
            "set appendonly yes and appendfsync always, or put quarantine=30s into the URL");
    } else if (facts_.fsync != "always") {
        say(level::note, "persistence",
            fmt::format("a crash of the machine forgets the leases of the last second (appendfsync "
                        "{})",
                        facts_.fsync.value_or("unknown")),
            "set appendfsync always, or put quarantine=30s into the URL");
    } else {
        say(level::good, "persistence", "nothing that was answered is forgotten");
    }
}

void judgement::replication() {
    const std::int64_t replicas = number("connected_slaves");
    const bool guarded = facts_.info.contains("min_slaves_good_slaves");
    if (facts_.shape == redis_shape::member) {
        if (replicas > 0) {
            say(level::unsafe, "replicas",
                "a member of a quorum has replicas: one that is promoted has forgotten leases, and "
                "the majority is not one any more",
                "run each member without replicas");
        }
        return;
    }
    const bool fails_over =
        facts_.shape == redis_shape::sentinel || facts_.shape == redis_shape::cluster;
    if (!fails_over && replicas == 0) return;
    if (replicas == 0 && facts_.replicas > 0) {
        say(level::unsafe, "replicas",
            "it has no replica that could confirm a grant: nothing will be granted",
            "start a replica, or put replicas=0 into the URL");
        return;
    }
    if (replicas == 0) {
        say(level::note, "replicas", "it has no replica: nobody can take over from it");
        return;
    }
    if (facts_.replicas > 0) {
        say(level::good, "replicas",
            fmt::format("{} must confirm each grant and each renewal", facts_.replicas));
    } else if (guarded) {
        say(level::good, "replicas", "a master that was cut off takes no writes for long");
    } else if (facts_.shape == redis_shape::cluster) {
        say(level::note, "replicas",
            "a master that was cut off goes on granting until cluster-node-timeout",
            "CONFIG SET min-replicas-to-write 1, or put replicas=1 into the URL");
    } else {
        say(facts_.shape == redis_shape::sentinel ? level::unsafe : level::note, "replicas",
            "a master that was cut off from its replicas goes on granting, beside the new one",
            facts_.shape == redis_shape::sentinel
                ? "take replicas=0 out of the URL, or CONFIG SET min-replicas-to-write 1"
                : "CONFIG SET min-replicas-to-write 1, or put replicas=1 into the URL");
    }
    if (fails_over && facts_.quarantine == duration::zero()) {
        say(level::unsafe, "quarantine",
            "a replica that is promoted grants at once what it has forgotten is held",
            "take quarantine=off out of the URL, unless your resources check the fence");
    }
}

void judgement::wire() {
    if (facts_.tls && !facts_.verified) {
        say(level::unsafe, "tls", "the server's certificate is not checked (verify=none)",
            "give the authority's certificate by ca_file= instead");
    } else if (!facts_.tls && !facts_.loopback) {
        say(level::unsafe, "tls",
            "the connection leaves this machine and is not encrypted: an eavesdropper learns the "
            "password and the owners of leases",
            "use rediss:// in the engine's URL");
    } else {
        say(level::good, "tls",
            facts_.tls ? "encrypted, and the server's certificate is checked"
                       : "the connection does not leave this machine");
    }
}

void judgement::access() {
    if (facts_.no_password.value_or(false)) {
        say(facts_.loopback ? level::note : level::unsafe, "access",
            "the server needs no password: anyone who reaches it can end any lock",
            "make a user for Holdfast with a password of its own (docs/guide/redis.md)");
    } else if (facts_.may_do_all.value_or(false)) {
        say(level::note, "access", "our user may do everything on the server",
            "give it only what Holdfast needs (docs/guide/redis.md)");
    } else if (facts_.all_keys.value_or(false)) {
        say(level::note, "access", "our user may touch every key of the server",
            "give it only the keys of Holdfast (docs/guide/redis.md)");
    } else if (facts_.may_do_all) {
        say(level::good, "access", "our user may do only some things");
    }
}

}  // namespace

std::map<std::string, std::string, std::less<>> parse_info(std::string_view text) {
    std::map<std::string, std::string, std::less<>> made;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t colon = line.find(':');
        if (line.starts_with('#') || colon == std::string_view::npos) continue;
        made.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
    return made;
}

findings judge(const redis_facts& facts) {
    return judgement(facts).all();
}

}  // namespace holdfast::app
