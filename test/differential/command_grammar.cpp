// SPDX-License-Identifier: Apache-2.0
#include "differential/command_grammar.hpp"

#include "differential/comparison.hpp"

#include <array>
#include <numeric>
#include <set>
#include <string_view>

namespace holdfast::test {
namespace {

struct rule {
    unsigned weight;
    std::string_view text;
    enum class kind : std::uint8_t { plain, timed, alone } what = kind::plain;
};

constexpr std::array rules{
    // strings
    rule{30, "SET <s> <val>"},
    rule{30, "SET <s> <val> [NX|XX] [GET] [EX <secs>|PX <ms>|EXAT <at>|PXAT <atms>|KEEPTTL]"},
    rule{6, "SET <s> <val> [EX <secs>|PX <ms>|KEEPTTL] [GET] [XX|NX]"},
    rule{6, "SET <s> <val> (EX|PX|EXAT|PXAT) <badtime>"},
    rule{3, "SET <s> <val> (EXAT|PXAT) <past> [NX|XX] [GET]"},
    rule{4, "SET <s> <val> {(NX|XX|GET|KEEPTTL|EX <secs>|PX <ms>|PX|foo)}"},
    rule{25, "GET <s>"},
    rule{6, "GETDEL <s>"},
    rule{8, "GETEX <s> [EX <secs>|PX <ms>|EXAT <at>|PXAT <atms>|PERSIST|EX <badtime>|PXAT <past>]"},
    rule{2, "GETEX <s> {(PERSIST|EX <secs>|PX|foo)}"},
    rule{6, "GETSET <s> <val>"},
    rule{6, "SETNX <s> <val>"},
    rule{6, "SETEX <s> (<secs>|<badtime>) <val>"},
    rule{6, "PSETEX <s> (<ms>|<badtime>) <val>"},
    rule{6, "MGET {<key>}"},
    rule{6, "MSET {<s> <val>}"},
    rule{6, "MSETNX {<s> <val>}"},
    rule{10, "APPEND <s> <val>"},
    rule{6, "STRLEN <s>"},
    rule{10, "(INCR|DECR) <s>"},
    rule{10, "(INCRBY|DECRBY) <s> (<int>|<delta>)"},
    rule{10, "INCRBYFLOAT <s> <float>"},
    rule{8, "SETRANGE <s> <offset> <val>"},
    rule{8, "GETRANGE <s> <idx> <idx>"},
    rule{6, "SETBIT <s> <bitoffset> <bit>"},
    rule{6, "GETBIT <s> <bitoffset>"},
    rule{6, "BITCOUNT <s> [<idx> <idx> [BYTE|BIT|byte|foo]]"},
    // keys
    rule{8, "(DEL|UNLINK) {<key>}"},
    rule{8, "(EXISTS|TOUCH) {<key>}"},
    rule{12, "EXPIRE <key> <secs> [NX|XX|GT|LT]"},
    rule{12, "PEXPIRE <key> <ms> [NX|XX|GT|LT]"},
    rule{12, "EXPIREAT <key> <at> [NX|XX|GT|LT]"},
    rule{12, "PEXPIREAT <key> <atms> [NX|XX|GT|LT]"},
    rule{4, "(EXPIRE|PEXPIRE|EXPIREAT|PEXPIREAT) <key> <badtime> [NX|XX|GT|LT]"},
    rule{3, "(EXPIRE|PEXPIREAT) <key> <at> {(NX|XX|GT|LT|foo)}"},
    rule{4, "(EXPIREAT|PEXPIREAT) <key> <past> [NX|XX|GT|LT]"},
    rule{14, "(TTL|PTTL) <key>", rule::kind::timed},
    rule{14, "(EXPIRETIME|PEXPIRETIME) <key>", rule::kind::timed},
    rule{8, "PERSIST <key>"},
    rule{10, "TYPE <key>"},
    rule{6, "SCAN 0 [MATCH <glob>] COUNT 10000 [TYPE <type>]"},
    rule{2, "SCAN (x|0 COUNT 0|0 COUNT x|0 MATCH|0 foo bar|1.5|99999999999999999999)"},
    rule{6, "RENAME <key> <key>"},
    rule{6, "KEYS <glob>"},
    rule{4, "DBSIZE", rule::kind::alone},
    // hashes
    rule{30, "HSET <h> {<field> <val>}"},
    rule{4, "HMSET <h> {<field> <val>}"},
    rule{8, "HSETNX <h> <field> <val>"},
    rule{15, "HGET <h> <field>"},
    rule{8, "HMGET <h> {<field>}"},
    rule{10, "HGETALL <h>"},
    rule{12, "HDEL <h> {<field>}"},
    rule{6, "HEXISTS <h> <field>"},
    rule{6, "HLEN <h>"},
    rule{6, "(HKEYS|HVALS) <h>"},
    rule{12, "HINCRBY <h> <field> (<int>|<delta>)"},
    rule{10, "HINCRBYFLOAT <h> <field> <float>"},
    rule{6, "HSTRLEN <h> <field>"},
    rule{6, "HSCAN <h> 0 [MATCH <glob>] COUNT 10000"},
    rule{2, "(HSCAN|SSCAN|ZSCAN) <key> (x|0 COUNT 0|0 COUNT x|0 MATCH|0 foo bar)"},
    // lists
    rule{30, "(LPUSH|RPUSH) <l> {<member>}"},
    rule{8, "(LPUSHX|RPUSHX) <l> {<member>}"},
    rule{14, "(LPOP|RPOP) <l> [<count>]"},
    rule{6, "LLEN <l>"},
    rule{12, "LRANGE <l> <idx> <idx>"},
    rule{8, "LINDEX <l> <idx>"},
    rule{8, "LSET <l> <idx> <member>"},
    rule{8, "LREM <l> (<count>|-2) <member>"},
    rule{6, "LTRIM <l> <idx> <idx>"},
    rule{8, "LINSERT <l> (BEFORE|AFTER|before|foo) <member> <member>"},
    rule{8, "LPOS <l> <member> [RANK <rank>] [COUNT <count>] [MAXLEN <count>]"},
    rule{8, "LMOVE <l> <l> (LEFT|RIGHT|left|foo) (LEFT|RIGHT|right)"},
    rule{6, "RPOPLPUSH <l> <l>"},
    // sets
    rule{30, "SADD <t> {<member>}"},
    rule{12, "SREM <t> {<member>}"},
    rule{10, "SMEMBERS <t>"},
    rule{8, "SISMEMBER <t> <member>"},
    rule{8, "SMISMEMBER <t> {<member>}"},
    rule{6, "SCARD <t>"},
    rule{3, "SPOP <t> [<count>]", rule::kind::alone},
    rule{3, "SRANDMEMBER <t> [<drawcount>]", rule::kind::alone},
    rule{8, "SMOVE <t> <t> <member>"},
    rule{12, "(SINTER|SUNION|SDIFF) {<t>}"},
    rule{6, "SSCAN <t> 0 [MATCH <glob>] COUNT 10000"},
    // sorted sets
    rule{30, "ZADD <z> {<score> <member>}"},
    rule{20, "ZADD <z> [NX|XX|GT|LT|XX GT|XX LT|NX GT|GT LT|NX XX] [CH] {<score> <member>}"},
    rule{8, "ZADD <z> [NX|XX|GT|LT|XX GT] [CH] INCR {<score> <member>}"},
    rule{10, "ZREM <z> {<member>}"},
    rule{10, "ZSCORE <z> <member>"},
    rule{6, "ZMSCORE <z> {<member>}"},
    rule{6, "ZCARD <z>"},
    rule{8, "ZCOUNT <z> <sbound> <sbound>"},
    rule{12, "ZINCRBY <z> <score> <member>"},
    rule{10, "(ZRANK|ZREVRANK) <z> <member>"},
    rule{12, "ZRANGE <z> <idx> <idx> [REV] [WITHSCORES]"},
    rule{10, "ZRANGE <z> <sbound> <sbound> BYSCORE [REV] [LIMIT <idx> <idx>] [WITHSCORES]"},
    // By name only where all scores are equal: elsewhere Redis itself does not say what comes.
    rule{10, "ZADD <y> [NX|XX] [CH] {0 <member>}"},
    rule{3, "ZREM <y> {<member>}"},
    rule{2, "DEL <y>"},
    rule{10, "ZRANGE <y> <lex> <lex> BYLEX [REV] [LIMIT <idx> <idx>] [WITHSCORES]"},
    rule{4, "ZRANGE <z> <idx> <idx> {(BYSCORE|BYLEX|REV|LIMIT 0 1|LIMIT 0|WITHSCORES|foo)}"},
    rule{8, "ZREVRANGE <z> <idx> <idx> [WITHSCORES|foo]"},
    rule{10,
         "(ZRANGEBYSCORE|ZREVRANGEBYSCORE) <z> <sbound> <sbound> [WITHSCORES] "
         "[LIMIT <idx> <idx>]"},
    rule{6, "ZREMRANGEBYSCORE <z> <sbound> <sbound>"},
    rule{6, "ZREMRANGEBYRANK <z> <idx> <idx>"},
    rule{8, "(ZPOPMIN|ZPOPMAX) <z> [<count>]"},
    rule{6, "ZSCAN <z> 0 [MATCH <glob>] COUNT 10000"},
    // streams
    rule{30, "XADD <r> <nextid> {<field> <val>}"},
    rule{8,
         "XADD <r> [NOMKSTREAM] [MAXLEN <count>|MAXLEN = <count>|MINID <sid>|MINID = <sid>] "
         "(<nextid>|<nextms>) <field> <val>"},
    rule{4, "XADD <r> [MAXLEN 3 LIMIT 5|LIMIT 5|MAXLEN 1 MINID 1|NOMKSTREAM] <sid> <field> <val>"},
    rule{6, "XLEN <r>"},
    rule{12, "(XRANGE|XREVRANGE) <r> <sid> <sid> [COUNT <count>|foo|COUNT]"},
    rule{8, "XRANGE <r> - + [COUNT <count>]"},
    rule{4, "XREVRANGE <r> + - [COUNT <count>]"},
    rule{8, "XDEL <r> {<sid>}"},
    rule{6, "XTRIM <r> (MAXLEN|MINID) [=] <count>"},
    rule{2, "XTRIM <r> {(MAXLEN 2|MINID 3|LIMIT 1|foo)}"},
    rule{3, "XSETID <r> <sid> [ENTRIESADDED <count>] [MAXDELETEDID <sid>]"},
    rule{14, "XREAD [COUNT <count>] STREAMS <r> <sid>"},
    rule{6, "XREAD [COUNT <count>] STREAMS <r> <r> <sid> (<sid>|$)"},
    rule{2, "XREAD {(COUNT 1|GROUP g c|NOACK|foo)} STREAMS <r> (0|>|$)"},
    rule{18, "XGROUP CREATE <r> <group> (0|$|<sid>) [MKSTREAM] [ENTRIESREAD <count>]"},
    rule{4, "XGROUP SETID <r> <group> (0|$|<sid>) [ENTRIESREAD <count>|MKSTREAM]"},
    rule{2, "XGROUP DESTROY <r> <group>"},
    rule{4, "XGROUP CREATECONSUMER <r> <group> <consumer>"},
    rule{3, "XGROUP DELCONSUMER <r> <group> <consumer>"},
    rule{1, "XGROUP (foo|CREATE|SETID <r>|DESTROY <r> <group> x)"},
    rule{30, "XREADGROUP GROUP <group> <consumer> [COUNT <count>] [NOACK] STREAMS <r> >"},
    rule{8, "XREADGROUP GROUP <group> <consumer> [COUNT <count>] STREAMS <r> <sid>"},
    rule{4, "XREADGROUP GROUP <group> <consumer> STREAMS <r> <r> > (>|0|$)"},
    rule{10, "XACK <r> <group> {<sid>}"},
    rule{10, "XPENDING <r> <group>"},
    rule{8, "XPENDING <r> <group> [IDLE (0|<faridle>)] (-|<sid>) (+|<sid>) <count> [<consumer>]",
         rule::kind::timed},
    rule{2, "XPENDING <r> <group> (- +|IDLE 5 - +|IDLE x - + 1|x + 1)"},
    rule{8,
         "XCLAIM <r> <group> <consumer> (0|<faridle>|x) {<sid>} [JUSTID] [FORCE] [RETRYCOUNT "
         "<count>] [LASTID <sid>|foo]"},
    rule{4, "XCLAIM <r> <group> <consumer> 0 {<sid>} [IDLE <count>|TIME <past>]"},
    rule{8, "XAUTOCLAIM <r> <group> <consumer> (0|<faridle>|x) <sid> [COUNT <count>] [JUSTID|foo]"},
    rule{8, "XINFO GROUPS <r>"},
    rule{4, "XINFO CONSUMERS <r> <group>", rule::kind::timed},
    rule{4, "XINFO STREAM <r>", rule::kind::timed},
    rule{1, "XINFO (foo|STREAM|GROUPS|STREAM <r> foo|CONSUMERS <r>)"},
    // the rest
    rule{4, "PUBLISH <val> <val>"},
    rule{3, "ECHO <val>"},
    rule{3, "PING [<val>]"},
    rule{4, "(SETNX|MGET|UNLINK|EXISTS|TOUCH|ECHO|DEL|TYPE|KEYS|DBSIZE x|PUBLISH x|PING x y)"},
    rule{1, "(NOSUCHCMD|Get\xff|config-x) [<val>] [<val>]"},
};

class expansion {
public:
    expansion(value_pools& pools, word_vector& out) : pools_(pools), out_(out) {}

    void all(std::string_view text) {
        while (!text.empty()) {
            if (text.front() == ' ') {
                text.remove_prefix(1);
            } else if (std::string_view("([{").find(text.front()) != text.npos) {
                const std::size_t end = closing(text);
                group(text.front(), text.substr(1, end - 1));
                text.remove_prefix(end + 1);
            } else {
                const std::size_t end = std::min(text.find(' '), text.size());
                word(text.substr(0, end));
                text.remove_prefix(end);
            }
        }
    }

private:
    static std::size_t closing(std::string_view text) {
        int depth = 0;
        for (std::size_t i = 0;; ++i) {
            if (std::string_view("([{").find(text.at(i)) != text.npos) ++depth;
            if (std::string_view(")]}").find(text[i]) != text.npos && --depth == 0) return i;
        }
    }

    void group(char bracket, std::string_view inside) {
        if (bracket == '{') {
            for (auto times = 1 + pools_.below(4); times > 0; --times) all(inside);
        } else if (bracket == '(' || pools_.chance(35)) {
            one_of(inside);
        }
    }

    void one_of(std::string_view inside) {
        std::vector<std::string_view> choices;
        std::size_t start = 0;
        int depth = 0;
        for (std::size_t i = 0; i <= inside.size(); ++i) {
            const char c = i < inside.size() ? inside[i] : '|';
            if (std::string_view("([{").find(c) != std::string_view::npos) ++depth;
            if (std::string_view(")]}").find(c) != std::string_view::npos) --depth;
            if (c != '|' || depth != 0) continue;
            choices.push_back(inside.substr(start, i - start));
            start = i + 1;
        }
        const auto chosen = choices[pools_.below(choices.size())];
        chosen.empty() ? void(out_.emplace_back()) : all(chosen);
    }

    void word(std::string_view text) {
        if (text.front() == '<') {
            out_.push_back(pools_.draw(text.substr(1, text.size() - 2)));
        } else {
            out_.emplace_back(text);
        }
    }

    value_pools& pools_;
    word_vector& out_;
};

const rule& draw_rule(value_pools& pools) {
    static const unsigned total = std::accumulate(
        rules.begin(), rules.end(), 0U, [](unsigned sum, const rule& r) { return sum + r.weight; });
    auto at = pools.below(total);
    for (const rule& r : rules) {
        if (at < r.weight) return r;
        at -= r.weight;
    }
    return rules.front();
}

// One word too few, too many, wrong, or the name in small letters.
void spoil(value_pools& pools, word_vector& args) {
    if (is_delicate(args)) return;
    switch (pools.below(4)) {
        case 0: args.pop_back(); break;
        case 1: args.push_back(pools.draw("junk")); break;
        case 2: args[pools.below(args.size())] = pools.draw("junk"); break;
        default:
            for (char& c : args.front()) {
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            }
    }
    if (args.empty()) args.emplace_back("GET");
}

}  // namespace

word_vector expand_rule(value_pools& pools, std::string_view text) {
    word_vector args;
    expansion(pools, args).all(text);
    return args;
}

word_vector draw_command(value_pools& pools, place where) {
    const rule* r = &draw_rule(pools);
    while ((where != place::pipeline && r->what == rule::kind::alone) ||
           (where == place::script && r->what == rule::kind::timed)) {
        r = &draw_rule(pools);
    }
    word_vector args = expand_rule(pools, r->text);
    if (pools.chance(3)) spoil(pools, args);
    return args;
}

bool is_delicate(const word_vector& args) {
    const std::string name = command_name(args);
    return draws(args) || name.ends_with("SCAN") || name.find("EX") != name.npos ||
           (name == "SET" && args.size() > 3) || (args.size() > 1 && args[1].starts_with('y'));
}

bool is_unordered(const word_vector& args) {
    static const std::set<std::string> names{"SMEMBERS", "SINTER", "SUNION",  "SDIFF", "HKEYS",
                                             "HVALS",    "KEYS",   "HGETALL", "SCAN",  "SSCAN",
                                             "HSCAN",    "ZSCAN",  "SPOP"};
    return names.contains(command_name(args));
}

}  // namespace holdfast::test
