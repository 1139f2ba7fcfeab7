// SPDX-License-Identifier: Apache-2.0
#include "differential/value_pools.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::string_literals;
using pool = std::vector<std::string>;

constexpr std::array<std::int64_t, 4> written_seconds{4'102'444'800, 4'102'444'801, 4'200'000'000,
                                                      5'000'000'000};
constexpr std::array<std::int64_t, 4> written_milliseconds{4'102'444'800'123, 4'102'444'800'124,
                                                           4'200'000'000'999, 5'000'000'000'000};

using pool_map = std::map<std::string, pool, std::less<>>;

pool_map texts() {
    return {
        {"val",
         {"",
          "a",
          "b",
          "hello",
          "10",
          "-5",
          "0",
          "3.25",
          "1e3",
          "9223372036854775807",
          "-9223372036854775808",
          "9223372036854775806",
          " 1",
          "1 ",
          "01",
          "+1",
          "-0",
          "inf",
          "nan",
          "1e400",
          "a\0b"s,
          "\xff\xfe\x00\x01"s,
          "line\r\nbreak",
          "0x10",
          "12345678901234567890",
          std::string(70, 'x'),
          "\xc3\xa9t\xc3\xa9"}},
        {"field", {"f1", "f2", "f3", "f4", "", "f\0z"s, "10", "F1", "n", "m"}},
        {"member",
         {"a", "b", "c", "d", "e", "1", "2", "3", "10", "-1", "", "a\0"s, "aa", "ab", "B",
          "9223372036854775807", "01", std::string(70, 'm')}},
        {"type", {"string", "hash", "list", "set", "zset", "stream", "STRING", "x", ""}},
        {"glob",
         {"*", "s*", "?1", "[a-h]*", "[^s]*", "nomatch", "*1", "", "h[12]", "\\*", "*\\1", "[",
          "k*z", "**", "[z-a]1", "s[", "*a*", "f?"}},
        {"lex", {"-", "+", "[a", "(a", "[b", "(c", "[aa", "(", "[", "a", "", "[z", "-x", "+x"}},
        {"sid", {"0",     "1",    "2",       "5",
                 "10",    "20",   "3-1",     "7-0",
                 "12-2",  "0-0",  "-",       "+",
                 "(3",    "(7-1", "1-",      "-1",
                 "x",     "",     "+1",      "01-1",
                 "5--01", "4-x",  "3-*",     " 2",
                 "9-1",   "15",   "8-1",     "6-0",
                 "4-2",   "11-1", "1-1\0z"s, "18446744073709551615-18446744073709551614"}},
        {"group", {"g1", "g1", "g1", "g2", "g2", "", "g\0z"s}},
        {"consumer", {"c1", "c1", "c2", "c3", "", "c\0z"s}},
        {"faridle", {"100000000", "9223372036854775807"}},
        {"junk",
         {"", "0", "1", "-1", "abc", "NX", "XX", "GET", "LIMIT", "COUNT", "WITHSCORES", "\0"s,
          "9223372036854775807", "-9223372036854775808", "nan", "s1", "h1", "z1"}},
    };
}

pool_map integers() {
    return {
        {"int",
         {"0",
          "1",
          "-1",
          "2",
          "3",
          "5",
          "10",
          "-10",
          "100",
          "9223372036854775807",
          "-9223372036854775808",
          "9223372036854775808",
          "9223372036854775806",
          "",
          " 1",
          "1 ",
          "01",
          "+1",
          "1.0",
          "1.5",
          "abc",
          "nan",
          "1e3",
          "-0",
          "0x10"}},
        {"delta", {"1", "2", "-1", "5", "100", "-100", "7", "0"}},
        {"idx",
         {"0", "1", "-1", "2", "-2", "3", "5", "-5", "100", "-100", "0", "-1", "1",
          "9223372036854775807", "-9223372036854775808", "x", "", "1.0"}},
        // Not the lowest number: Redis negates it, which C leaves undefined.
        {"rank", {"0", "1", "-1", "2", "-2", "3", "-3", "9223372036854775807", "x", ""}},
        {"count", {"0", "1", "2", "3", "10", "-1", "1", "2", "x", "9223372036854775807", ""}},
        {"drawcount", {"0", "1", "2", "3", "10", "-1", "-3", "x"}},
        {"offset", {"0", "1", "3", "5", "20", "-1", "536870912", "9223372036854775807", "x", "01"}},
        {"bitoffset", {"0", "1", "7", "8", "15", "100", "-1", "4294967296", "x", "01"}},
        {"bit", {"0", "1", "0", "1", "2", "-1", "x", ""}},
    };
}

pool_map reals() {
    return {
        {"float",
         {"0",
          "1",
          "-1",
          "0.1",
          "0.5",
          "-2.25",
          "3.0",
          "1e3",
          "1e-7",
          "1e17",
          "123456789.123",
          "5e-324",
          "1.7976931348623157e308",
          "inf",
          "-inf",
          "+inf",
          "nan",
          "1e400",
          "-1e400",
          " 1",
          "1 ",
          "",
          "abc",
          "0x1p3",
          "1e",
          ".5",
          "5.",
          "3.14159265358979312"}},
        {"score", {"0",    "1",     "2",
                   "3",    "1",     "2",
                   "-1",   "1.5",   "0.1",
                   "2.5",  "1e3",   "100",
                   "inf",  "-inf",  "+inf",
                   "nan",  "1e400", "abc",
                   "",     "0x10",  "3.0000000000000004",
                   "1e17", "1e21",  "12345678901234567"}},
        {"sbound",
         {"-inf", "+inf", "0", "1", "2", "3", "(1", "(2", "(0", "1.5", "(-inf", "(+inf", "-1", "10",
          "(", "abc", "nan", "(abc", ""}},
    };
}

pool_map times() {
    return {
        {"timeout", {"0.01", "0.02", "-1", "x", "nan", "inf", "1e400", ""}},
        {"badtime",
         {"0", "-1", "-100", "9223372036854775807", "-9223372036854775808", "9223372036854775",
          "abc", "", "1.5", " 1", "9223372036854775808"}},
        {"past", {"1", "1000", "1600000000"}},
    };
}

const pool_map& pools() {
    static const pool_map all = [] {
        pool_map merged = texts();
        for (const auto& more : {integers(), reals(), times()}) {
            merged.insert(more.begin(), more.end());
        }
        return merged;
    }();
    return all;
}

const pool& keys_of(char kind) {
    static const std::map<char, pool> all{{'s', {"s1", "s2", "s3", "s\0\xff"s}},
                                          {'h', {"h1", "h2", "h3"}},
                                          {'l', {"l1", "l2", "l3"}},
                                          {'t', {"t1", "t2", "t3"}},
                                          {'z', {"z1", "z2", "z3"}},
                                          {'r', {"r1", "r2", "r3"}},
                                          {'y', {"y1", "y2"}},
                                          {'x', {"", "nokey", "k:z"}}};
    return all.at(kind);
}

}  // namespace

const std::vector<std::string>& value_pools::all_keys() {
    static const pool all = [] {
        pool list;
        for (const char kind : {'s', 'h', 'l', 't', 'z', 'r', 'x'}) {
            list.insert(list.end(), keys_of(kind).begin(), keys_of(kind).end());
        }
        return list;
    }();
    return all;
}

// Mostly a key of the kind that the command is for; now and then any, for the wrong type.
std::string value_pools::key_for(char kind) {
    const pool& from = kind == 'y' || chance(90) ? keys_of(kind) : all_keys();
    return from[below(from.size())];
}

// The factor is prime to the modulus: no value repeats within 10007 draws.
std::int64_t value_pools::far_seconds() {
    return 1000 + 100 * static_cast<std::int64_t>((++expiries_ * 7919) % 10'007);
}

std::string value_pools::draw(std::string_view name) {
    if (name.size() == 1) return key_for(name.front());
    if (name == "key") return all_keys()[below(all_keys().size())];
    if (name == "secs") return std::to_string(far_seconds());
    // Not a whole second: TTL rounds, and must not be at the edge of rounding right away.
    if (name == "ms") return std::to_string(far_seconds() * 1000 + 250);
    // Mostly past all that were drawn, as a stream wants them.
    if (name == "nextid") {
        if (chance(40)) ++stream_ms_;
        return std::to_string(stream_ms_) + "-" + std::to_string(below(3));
    }
    if (name == "nextms") return std::to_string(stream_ms_ + below(2)) + "-*";
    if (name == "at") return std::to_string(written_seconds[below(written_seconds.size())]);
    if (name == "atms") {
        return std::to_string(written_milliseconds[below(written_milliseconds.size())]);
    }
    const auto found = pools().find(name);
    if (found == pools().end()) throw std::out_of_range("no pool " + std::string(name));
    const pool& from = found->second;
    return from[below(from.size())];
}

bool is_written_down(std::int64_t time) {
    const auto seconds = [&](std::int64_t s) { return s == time || s * 1000 == time; };
    const auto milliseconds = [&](std::int64_t ms) {
        return ms == time || (ms + 500) / 1000 == time;
    };
    return std::ranges::any_of(written_seconds, seconds) ||
           std::ranges::any_of(written_milliseconds, milliseconds);
}

}  // namespace holdfast::test
