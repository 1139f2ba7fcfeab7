// SPDX-License-Identifier: Apache-2.0
//
// COMMAND: which commands there are, their words, their flags and where their keys are.
//
// What Redis tells beyond that (categories, tips, histories) is left empty; clients that ask use
// arity, flags and keys.
#include "core/command_keys.hpp"
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"
#include "driver/memory/engine_core.hpp"
#include "driver/memory/glob.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::memory {
namespace {

struct key_places {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t step = 0;
};

// By what the table of key words says of a sample of words: which of them it takes for keys.
key_places places_of(const command_spec& spec) {
    if ((spec.flags & (reads | writes)) == 0 && spec.name != "watch") return {};
    if (spec.arity == 1 || spec.name == "keys" || spec.name == "scan" || spec.name == "flushall" ||
        spec.name == "flushdb") {
        return {};
    }
    const std::string name(spec.name);
    const std::string_view sample[] = {name, "1", "2", "3", "4", "5", "6"};
    const auto keys = redis::key_words({.args = sample});
    std::vector<std::int64_t> at;
    for (const std::string_view key : keys) at.push_back(key.front() - '0');
    if (at.empty()) return {};
    const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
    if (at.back() == 6 || (step == 2 && at.back() == 5)) return {at.front(), -1, step};
    if (at.back() == 5 && at.size() > 2) return {at.front(), -2, step};
    return {at.front(), at.back(), step};
}

void put_flags(sink& out, const command_spec& spec) {
    constexpr std::pair<command_flags, std::string_view> names[] = {
        {reads, "readonly"},  {writes, "write"},   {grows, "denyoom"},    {no_script, "noscript"},
        {blocks, "blocking"}, {fast_path, "fast"}, {no_multi, "no_multi"}};
    const auto has = [&](const auto& n) { return (spec.flags & n.first) != 0; };
    out.set(static_cast<std::size_t>(std::ranges::count_if(names, has)));
    for (const auto& n : names) {
        if (has(n)) out.status(n.second);
    }
}

void put_info(sink& out, const command_spec& spec) {
    const key_places keys = places_of(spec);
    out.array(10);
    out.string(spec.name);
    out.integer(spec.arity);
    put_flags(out, spec);
    out.integer(keys.first);
    out.integer(keys.last);
    out.integer(keys.step);
    out.set(0);    // categories
    out.array(0);  // tips
    out.array(0);  // key specifications
    out.array(spec.parts.size());
    for (const command_spec& part : spec.parts) put_info(out, part);
}

void command_all(call& c) {
    c.out.array(c.core.table().size());
    for (const command_spec* spec : c.core.table().all()) put_info(c.out, *spec);
}

const command_spec* spec_named(const call& c, std::string_view name) {
    const std::size_t bar = name.find('|');
    if (bar == std::string_view::npos) return c.core.table().find(name);
    const std::string_view both[] = {name.substr(0, bar), name.substr(bar + 1)};
    return c.core.table().find(both);
}

void command_info(call& c) {
    if (c.count() == 2) return command_all(c);
    c.out.array(c.count() - 2);
    for (std::size_t i = 2; i < c.count(); ++i) {
        const command_spec* spec = spec_named(c, c.arg(i));
        spec == nullptr ? c.out.nil_array() : put_info(c.out, *spec);
    }
}

void command_count(call& c) {
    c.out.integer(static_cast<std::int64_t>(c.core.table().size()));
}

void command_list(call& c) {
    std::vector<std::string_view> names;
    for (const command_spec* spec : c.core.table().all()) names.push_back(spec->name);
    if (c.count() > 2) {
        if (c.count() != 5 || !c.is(2, "filterby") || !c.is(3, "pattern")) refuse_syntax();
        std::erase_if(names, [&](std::string_view n) { return !glob_match(c.arg(4), n); });
    }
    c.out.array(names.size());
    for (const std::string_view name : names) c.out.string(name);
}

void put_docs(sink& out, const command_spec& spec) {
    const bool family = !spec.parts.empty();
    out.map(family ? 2 : 1);
    out.string("summary");
    out.string("As in Redis 7.0.");
    if (!family) return;
    out.string("subcommands");
    out.map(spec.parts.size());
    for (const command_spec& part : spec.parts) {
        out.string(part.name);
        put_docs(out, part);
    }
}

void command_docs(call& c) {
    std::vector<const command_spec*> wanted;
    for (std::size_t i = 2; i < c.count(); ++i) {
        if (const command_spec* spec = spec_named(c, c.arg(i))) wanted.push_back(spec);
    }
    if (c.count() == 2) wanted.assign(c.core.table().all().begin(), c.core.table().all().end());
    c.out.map(wanted.size());
    for (const command_spec* spec : wanted) {
        c.out.string(spec->name);
        put_docs(c.out, *spec);
    }
}

void command_getkeys(call& c) {
    const auto words = c.args.subspan(2);
    const command_spec* spec = c.core.table().find(words);
    if (spec == nullptr) refuse("ERR Invalid command specified");
    if (!spec->takes(words.size())) refuse("ERR Invalid number of arguments specified for command");
    const auto keys = redis::key_words({.args = words});
    if (keys.empty()) refuse("ERR The command has no key arguments");
    c.out.array(keys.size());
    for (const std::string_view key : keys) c.out.string(key);
}

constexpr command_spec command_parts[] = {
    {"command|count", 2, 0, command_count},      {"command|info", -2, 0, command_info},
    {"command|list", -2, 0, command_list},       {"command|docs", -2, 0, command_docs},
    {"command|getkeys", -3, 0, command_getkeys},
};

constexpr command_spec command_family[] = {{"command", -1, 0, command_all, command_parts}};

}  // namespace

std::span<const command_spec> command_commands() {
    return command_family;
}

}  // namespace holdfast::memory
