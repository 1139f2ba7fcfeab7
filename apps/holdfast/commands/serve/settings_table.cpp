// SPDX-License-Identifier: Apache-2.0
//
// The table of settings: one row each, with how its text is read and its default is shown.
#include "commands/serve/serve_settings.hpp"

#include "commands/serve/setting_text.hpp"

#include <fmt/format.h>

#include <array>

namespace holdfast::app {
namespace {

using s = serve_settings;
using p = push::settings;
using std::chrono::hours;
using std::chrono::milliseconds;

template <class Outer, class Inner>
setting row(std::string_view name, std::string_view placeholder, std::string_view help, Outer field,
            Inner text) {
    return {name,
            placeholder,
            help,
            setting_kind::value,
            [field, text](s& to, std::string_view said) { return text.read(field(to), said); },
            [field, text](const s& from) { return text.show(field(const_cast<s&>(from))); }};
}

setting of_kind(setting_kind kind, setting one) {
    one.kind = kind;
    return one;
}

// A member of the settings, or of those of push.
template <class T>
auto at(T s::* member) {
    return [member](s& all) -> T& { return all.*member; };
}
template <class T>
auto at(T p::* member) {
    return [member](s& all) -> T& { return all.push.*member; };
}

std::vector<setting> push_rows() {
    const span_text window{milliseconds(1), hours(24)};
    return {
        row("dedup", "TIME", "How long a message's id is remembered", at(&p::dedup), window),
        row("cooldown", "TIME", "At most one broadcast of a room in this time", at(&p::cooldown),
            window),
        row("lock_life", "TIME", "When the room of a dead consumer is free", at(&p::lock_life),
            window),
        row("mode", "MODE", "What meets a cooldown: coalesce, drop, latest, none", at(&p::mode),
            mode_text{}),
        row("require_ids", "on|off", "Refuse messages without an id", at(&p::require_ids),
            flag_text{}),
        of_kind(setting_kind::list,
                row("rule", "RULE", "Other values for some rooms: 'vip_*:mode=none,cooldown=0.1s'",
                    at(&p::rules), rule_text{})),
        row("history_length", "N", "Messages that a room keeps", at(&p::history_length),
            whole_text{1, 100'000}),
        row("history_age", "TIME", "How long it keeps them", at(&p::history_age), window),
        row("room_age", "TIME", "A room silent for so long is forgotten", at(&p::room_age),
            span_text{milliseconds(1), hours(24 * 30)}),
        row("consumers", "N", "Consumers of a Job, numbered from 0", at(&p::consumers),
            whole_text{1, 256}),
        row("queue_length", "N", "Posts that may wait for a broadcast", at(&p::queue_length),
            whole_text{1, 10'000'000}),
        row("frame_messages", "N", "Messages in one frame at most", at(&p::frame_messages),
            whole_text{1, 100'000}),
        row("frame_bytes", "N", "Bytes of one frame at most", at(&p::frame_bytes),
            whole_text{1024, 64 << 20}),
        row("presence_life", "TIME", "How long a dead Comet's entries stay", at(&p::presence_life),
            window),
        row("prefix", "TEXT", "Before every key", at(&p::prefix), plain_text{}),
        row("partitions", "N", "Hash slots for rooms, on a Redis Cluster", at(&p::partitions),
            whole_text{1, 256}),
        row("timeout", "TIME", "How long the engine may take to answer", at(&p::timeout), window),
    };
}

std::vector<setting> limit_rows() {
    return {
        row("user_rate", "N/TIME", "Messages of one user; off for no limit", at(&s::user_rate),
            rate_setting_text{}),
        row("room_rate", "N/TIME", "Messages to one room", at(&s::room_rate), rate_setting_text{}),
        row("address_rate", "N/TIME", "Messages from one address", at(&s::address_rate),
            rate_setting_text{}),
        row("viewer_messages", "N", "Messages a viewer may send in a second",
            at(&s::viewer_messages), whole_text{1, 100'000}),
        row("viewer_rooms", "N", "Rooms on one connection", at(&s::viewer_rooms),
            whole_text{1, 10'000}),
        row(
            "viewer_queue", "BYTES", "What may wait for a slow viewer before it is closed",
            [](s& all) -> std::size_t& { return all.viewer_queue.bytes; },
            whole_text{4096, 1 << 30}),
        row("connections", "N", "Connections at most", at(&s::connections),
            whole_text{1, 10'000'000}),
        row("request_deadline", "TIME", "How long a request may take to arrive",
            at(&s::request_deadline), span_text{milliseconds(100), hours(1)}),
        row("ping", "TIME", "When a silent viewer is pinged; closed after 2.5 times this",
            at(&s::ping), span_text{milliseconds(100), hours(1)}),
    };
}

std::vector<setting> server_rows() {
    return {
        row("role", "ROLE", "all, or some of logic,job,comet", at(&s::roles), role_text{}),
        row("engine", "URL", "Where: redis://host for many processes", at(&s::engine),
            plain_text{}),
        row("listen", "ADDRESS", "Address and port; port 0: any", at(&s::listen), plain_text{}),
        row("tasks", "URL", "Tasks to show on /ops: sqlite:/path, postgresql://host/db",
            at(&s::tasks), plain_text{}),
        row("redis_port", "PORT", "memory: for redis-cli, on loopback; 0: any", at(&s::redis_port),
            port_text{}),
        of_kind(setting_kind::secret,
                row("token", "TEXT", "The bearer token that requests must have", at(&s::token),
                    secret_text{})),
        of_kind(setting_kind::secret,
                row("handshake_secret", "TEXT", "What signs the tokens of viewers",
                    at(&s::handshake_secret), secret_text{})),
        of_kind(setting_kind::list,
                row("host", "NAME", "A name that this server goes by", at(&s::hosts), list_text{})),
        of_kind(setting_kind::list,
                row("origin", "ORIGIN", "Pages that may ask, besides our own: https://example.com",
                    at(&s::origins), list_text{})),
        row("loops", "N", "Threads for connections; 0: one for each core", at(&s::loops),
            whole_text{0, 256}),
        row("workers", "N", "Threads for requests that wait for the engine", at(&s::workers),
            whole_text{1, 1024}),
        row("compress", "on|off", "permessage-deflate for viewers that can", at(&s::compress),
            flag_text{}),
        row("drain", "TIME", "How long the end may take after SIGTERM", at(&s::drain),
            span_text{milliseconds(0), hours(1)}),
        row("log", "FORMAT", "text, json, or auto: text on a terminal", at(&s::log),
            choice_text{{"auto", "text", "json"}}),
        row("quiet", "on|off", "Log warnings and errors only", at(&s::quiet), flag_text{}),
    };
}

std::vector<setting> make_table() {
    std::vector<setting> all = server_rows();
    for (auto& one : push_rows()) all.push_back(std::move(one));
    for (auto& one : limit_rows()) all.push_back(std::move(one));
    return all;
}

}  // namespace

std::span<const setting> serve_table() {
    static const std::vector<setting> table = make_table();
    return table;
}

}  // namespace holdfast::app
