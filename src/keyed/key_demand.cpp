// SPDX-License-Identifier: Apache-2.0
#include "keyed/key_demand.hpp"

#include "core/command_keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace holdfast::keyed {
namespace {

constexpr std::array<std::string_view, 11> keyless{"DISCARD", "ECHO",       "EVAL", "EVALSHA",
                                                   "EVAL_RO", "EVALSHA_RO", "EXEC", "MULTI",
                                                   "PING",    "SCRIPT",     "TIME"};
constexpr std::array<std::string_view, 4> on_all{"DBSIZE", "FLUSHALL", "FLUSHDB", "KEYS"};
constexpr std::array<std::string_view, 11> waiting{"BLMOVE",     "BLMPOP", "BLPOP",    "BRPOP",
                                                   "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN",
                                                   "UNWATCH",    "WAIT",   "WATCH"};

}  // namespace

demand demand_of(const command& c) {
    if (c.args.empty()) return demand::named_keys;
    std::string name(c.args[0]);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char l) { return static_cast<char>(std::toupper(l)); });
    const auto in = [&](const auto& list) { return std::ranges::find(list, name) != list.end(); };
    if (in(waiting)) return demand::refused;
    if (in(on_all)) return demand::all_keys;
    if (in(keyless) || !redis::key_words(c).empty()) return demand::named_keys;
    // A command that lacks its key says so itself.
    return c.args.size() == 1 && name != "INFO" && name != "RANDOMKEY" ? demand::named_keys
                                                                       : demand::refused;
}

bool is_word(const command& c, std::string_view upper) {
    return !c.args.empty() &&
           std::ranges::equal(c.args[0], upper, [](unsigned char a, unsigned char b) {
               return std::toupper(a) == b;
           });
}

}  // namespace holdfast::keyed
