// SPDX-License-Identifier: Apache-2.0
//
// A sequence is made of units: a few steps that belong together. Time that really passes is one
// such unit: it sets short expiries with commands whose replies do not depend on the moment, lets
// them pass, and touches the keys before anything else may see them.
#include "differential/sequence_grammar.hpp"

#include "differential/command_grammar.hpp"
#include "differential/script_grammar.hpp"
#include "differential/value_pools.hpp"

#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

class sequence {
public:
    explicit sequence(std::uint64_t seed) : pools_(seed) {}

    std::vector<operation> draw(std::size_t commands) {
        while (steps_.size() < commands) unit();
        look_at_everything();
        return std::move(steps_);
    }

private:
    void unit() {
        const auto at = pools_.below(1000);
        if (at < 700) return pipeline();
        if (at < 820) return scripts();
        if (at < 920) return session_transaction();
        if (at < 960) return whole_transaction();
        if (at < 995) return blocking();
        if (at < 999) return pipeline();
        expiry();
    }

    void put(std::uint8_t session, word_vector args) {
        operation step;
        step.session = session;
        step.args = std::move(args);
        steps_.push_back(std::move(step));
    }
    void rule(std::uint8_t session, std::string_view text) {
        put(session, expand_rule(pools_, text));
    }

    void pipeline() {
        for (auto n = 1 + pools_.below(8); n > 0; --n) {
            put(operation::shared, draw_command(pools_, place::pipeline));
        }
    }

    void scripts() {
        for (operation& step : draw_script_steps(pools_)) steps_.push_back(std::move(step));
    }

    std::uint8_t own_session() {
        return static_cast<std::uint8_t>(1 + pools_.below(operation::sessions - 1));
    }

    // Half of the conflicts come from the session itself, half from others.
    void disturb(std::uint8_t session) {
        const auto by = pools_.chance(50) ? session : operation::shared;
        for (auto n = pools_.below(3); n > 0; --n)
            put(by, draw_command(pools_, place::transaction));
    }

    void session_transaction() {
        const auto session = own_session();
        if (pools_.chance(50)) rule(session, "WATCH {<key>}");
        if (pools_.chance(50)) disturb(session);
        if (pools_.chance(8)) rule(session, "UNWATCH");
        if (pools_.chance(95)) rule(session, "MULTI");
        for (auto n = pools_.below(6); n > 0; --n) {
            if (pools_.chance(5)) rule(session, "(MULTI|WATCH <key>|NOSUCHCMD|GET)");
            if (pools_.chance(5)) rule(session, "(BLPOP|BRPOP) <l> [<l>] <timeout>");
            if (pools_.chance(5)) rule(session, "XREAD BLOCK 5 STREAMS <r> $");
            if (pools_.chance(3)) rule(session, "SPOP <t> 1000");
            if (pools_.chance(6)) {
                operation step = draw_script_steps(pools_).front();
                if (!step.unordered) {
                    step.session = session;
                    steps_.push_back(std::move(step));
                }
            }
            put(session, draw_command(pools_, place::transaction));
            if (pools_.chance(10)) put(operation::shared, draw_command(pools_, place::transaction));
        }
        rule(session, pools_.chance(80) ? "EXEC" : "DISCARD");
        if (pools_.chance(5)) rule(session, "(EXEC|DISCARD|UNWATCH|EXEC x)");
    }

    void whole_transaction() {
        operation step;
        step.what = operation::kind::transaction;
        for (auto n = 1 + pools_.below(5); n > 0; --n) {
            step.body.push_back(draw_command(pools_, place::transaction));
        }
        steps_.push_back(std::move(step));
    }

    // Never waits: the list has been filled, or the command is refused.
    void blocking() {
        const auto session = own_session();
        const std::string list = pools_.draw("l");
        put(session, {"RPUSH", list, pools_.draw("member"), pools_.draw("member")});
        rule(session, "LLEN <l>");
        auto args = expand_rule(pools_, "(BLPOP|BRPOP)");
        args.push_back(list);
        if (pools_.chance(30)) args.push_back(pools_.draw("key"));
        args.push_back(pools_.draw("timeout"));
        put(session, std::move(args));
        rule(session, "XADD <r> <nextid> f v");
        rule(session, "XREAD [COUNT <count>] BLOCK 1 STREAMS <r> (0|$|<sid>)");
        rule(session, "XREADGROUP GROUP <group> <consumer> BLOCK (1|-1|x) STREAMS <r> >");
    }

    void expiry() {
        constexpr std::int64_t soon = 30;
        const std::string text = pools_.draw("s");
        const std::string hash = pools_.draw("h");
        const std::string until = std::to_string(soon);
        const auto watcher = own_session();
        put(operation::shared, {"SET", text, "short", "PX", until});
        put(operation::shared, {"DEL", hash});
        put(operation::shared, {"HSET", hash, "f", "v"});
        if (pools_.chance(50)) put(watcher, {"WATCH", pools_.chance(50) ? text : hash});
        put(operation::shared, {"PEXPIRE", hash, until});
        operation pause;
        pause.what = operation::kind::pause;
        pause.pause_ms = soon + 10;
        steps_.push_back(pause);
        put(watcher, {"MULTI"});
        put(watcher, {"GET", text});
        put(watcher, {"EXEC"});
        for (const char* look : {"GET", "TTL", "TYPE", "EXISTS", "GETDEL"}) {
            put(operation::shared, {look, text});
        }
        for (const char* look : {"HGETALL", "PTTL", "HLEN"}) put(operation::shared, {look, hash});
        put(operation::shared, {"DBSIZE"});
        put(operation::shared, {"KEYS", "*"});
    }

    void look_at_everything() {
        for (std::uint8_t s = 1; s < operation::sessions; ++s) put(s, {"DISCARD"});
        put(operation::shared, {"DBSIZE"});
        put(operation::shared, {"KEYS", "*"});
        for (const char* key : {"y1", "y2"}) put(operation::shared, {"ZRANGE", key, "0", "-1"});
        for (const std::string& key : value_pools::all_keys()) {
            put(operation::shared, {"TYPE", key});
            put(operation::shared, {"TTL", key});
            put(operation::shared, {"PEXPIRETIME", key});
            put(operation::shared, {"GET", key});
            put(operation::shared, {"HGETALL", key});
            put(operation::shared, {"LRANGE", key, "0", "-1"});
            put(operation::shared, {"SMEMBERS", key});
            put(operation::shared, {"ZRANGE", key, "0", "-1", "WITHSCORES"});
            put(operation::shared, {"XINFO", "STREAM", key});
            put(operation::shared, {"XINFO", "GROUPS", key});
            put(operation::shared, {"XRANGE", key, "-", "+"});
            for (const char* group : {"g1", "g2"}) {
                put(operation::shared, {"XPENDING", key, group, "-", "+", "1000"});
                put(operation::shared, {"XINFO", "CONSUMERS", key, group});
            }
        }
    }

    value_pools pools_;
    std::vector<operation> steps_;
};

}  // namespace

std::vector<operation> draw_sequence(std::uint64_t seed, std::size_t commands) {
    return sequence(seed).draw(commands);
}

}  // namespace holdfast::test
