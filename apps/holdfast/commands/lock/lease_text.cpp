// SPDX-License-Identifier: Apache-2.0
#include "commands/lock/lease_text.hpp"

#include "core/json_text.hpp"
#include "printable.hpp"
#include "time_text.hpp"

#include <fmt/format.h>

#include <chrono>

namespace holdfast::app {
namespace {

double in_ms(duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

bool is_known(const client_label& who) {
    return who != client_label{};
}

void put(detail::json_object& to, const client_label& who) {
    if (!is_known(who)) return;
    to.put("host", who.host);
    to.put("pid", who.pid);
    to.put("program", who.program);
}

void put(detail::json_object& to, std::string_view name, const std::optional<wall_time>& when) {
    if (when) to.put(name, show_moment(*when));
}

void put(detail::json_object& to, std::string_view name, const std::optional<duration>& length) {
    if (length) to.put(name, in_ms(*length));
}

void put(detail::json_object& to, const lease_mode& mode) {
    const bool counts = mode.type == lease_mode::kind::permit;
    to.put("mode", counts ? "permits" : show_mode(mode));
    if (!counts) return;
    to.put("permits", mode.permits);
    to.put("of", mode.limit);
}

std::string to_json(const holder_info& holder, const lease_mode& mode) {
    detail::json_object out;
    put(out, holder.who);
    put(out, "since", holder.since);
    put(out, "remaining_ms", holder.remaining);
    if (holder.fence.value != 0) out.put("fence", holder.fence.value);
    if (mode.type == lease_mode::kind::permit) out.put("permits", holder.permits);
    if (!holder.note.empty()) out.put("note", holder.note);
    return out.text();
}

std::string to_json(const waiter_info& waiter) {
    detail::json_object out;
    put(out, waiter.who);
    put(out, "since", waiter.since);
    put(out, waiter.mode);
    return out.text();
}

}  // namespace

std::string show_who(const client_label& who) {
    if (!is_known(who)) return "unknown";
    return fmt::format("{} on {} ({})", printable(who.program), printable(who.host), who.pid);
}

std::string show_holders(const lease_info& info) {
    if (info.holders.empty()) return "unknown";
    const std::string first = show_who(info.holders.front().who);
    if (info.holders.size() == 1) return first;
    return fmt::format("{} and {} more", first, info.holders.size() - 1);
}

std::string show_note(const lease_info& info) {
    return info.holders.empty() ? std::string() : printable(info.holders.front().note);
}

std::string show_mode(const lease_mode& mode) {
    switch (mode.type) {
        case lease_mode::kind::exclusive: return "exclusive";
        case lease_mode::kind::shared: return "shared";
        case lease_mode::kind::permit: return fmt::format("{} of {}", mode.permits, mode.limit);
    }
    return "";
}

std::string show_left(const std::optional<duration>& remaining) {
    return remaining ? show_roughly(*remaining) : "no end";
}

std::string show_ending(const std::optional<duration>& remaining) {
    return remaining ? show_left(remaining) + " left" : "without an end";
}

std::string to_json(const lease_info& info) {
    detail::json_object out;
    out.put("name", info.name);
    if (info.held()) put(out, info.mode);
    if (info.fence.value != 0) out.put("fence", info.fence.value);
    put(out, "remaining_ms", info.remaining);
    out.put("waiters", info.waiters);
    std::vector<std::string> holders;
    for (const holder_info& one : info.holders) holders.push_back(to_json(one, info.mode));
    out.raw("holders", detail::json_array(holders));
    std::vector<std::string> queue;
    for (const waiter_info& one : info.queue) queue.push_back(to_json(one));
    if (!queue.empty()) out.raw("queue", detail::json_array(queue));
    return out.text();
}

}  // namespace holdfast::app
