// SPDX-License-Identifier: Apache-2.0
//
// EVAL, EVALSHA, their read-only forms, and SCRIPT.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"

namespace holdfast::memory {
namespace {

std::size_t key_count(const call& c) {
    const std::int64_t count = c.integer(2);
    if (count > static_cast<std::int64_t>(c.count()) - 3) {
        refuse("ERR Number of keys can't be greater than number of args");
    }
    if (count < 0) refuse("ERR Number of keys can't be negative");
    return static_cast<std::size_t>(count);
}

void run_script(call& c, lua_host::known_script& script, std::size_t keys, bool read_only) {
    c.core.scripts().run(c, script, {c.args.subspan(3, keys), c.args.subspan(3 + keys), read_only});
}

template <bool ReadOnly>
void eval(call& c) {
    const std::size_t keys = key_count(c);
    run_script(c, c.core.scripts().load(c.arg(1)), keys, ReadOnly);
}

template <bool ReadOnly>
void evalsha(call& c) {
    constexpr std::size_t digits = 40;
    const auto unknown = [] { refuse("NOSCRIPT No matching script. Please use EVAL."); };
    if (c.arg(1).size() != digits) unknown();  // Redis says so before it looks at the rest
    const std::size_t keys = key_count(c);
    auto* found = c.core.scripts().find(c.arg(1));
    if (found == nullptr) unknown();
    run_script(c, *found, keys, ReadOnly);
}

void script_exists(call& c) {
    c.out.array(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) {
        c.out.integer(c.core.scripts().find(c.arg(i)) != nullptr ? 1 : 0);
    }
}

void script_flush(call& c) {
    const bool plain = c.count() == 2;
    if (!plain && (c.count() != 3 || (!c.is(2, "sync") && !c.is(2, "async")))) {
        refuse("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    }
    c.core.scripts().flush();
    c.out.ok();
}

void script_load(call& c) {
    c.out.string(c.core.scripts().load(c.arg(2)).key);
}

void script_kill(call& /*c*/) {
    refuse("NOTBUSY No scripts in execution right now.");
}

constexpr command_spec script_parts[] = {
    {"script|load", 3, no_script, script_load},
    {"script|exists", -3, no_script, script_exists},
    {"script|flush", -2, no_script, script_flush},
    {"script|kill", 2, no_script, script_kill},
};

constexpr command_spec script_table[] = {
    {"eval", -3, no_script, eval<false>},
    {"evalsha", -3, no_script, evalsha<false>},
    {"eval_ro", -3, no_script | reads, eval<true>},
    {"evalsha_ro", -3, no_script | reads, evalsha<true>},
    {"script", -2, no_script, nullptr, script_parts},
};

}  // namespace

std::span<const command_spec> script_commands() {
    return script_table;
}

}  // namespace holdfast::memory
