// SPDX-License-Identifier: Apache-2.0
//
// CLIENT: who is connected, and what is done with them.
#include "resp/service.hpp"

#include "driver/memory/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::resp {

using memory::refuse;
using memory::refuse_syntax;

namespace {

std::int64_t whole_seconds(duration d) {
    return std::chrono::floor<std::chrono::seconds>(d).count();
}

std::string flags_of(const peer& p) {
    std::string flags;
    if (p.monitor) flags += 'O';
    if (p.subscriptions() > 0) flags += 'P';
    if (p.link.in_multi) flags += 'x';
    if (p.waiting != nullptr) flags += 'b';
    if (p.ending) flags += 'c';
    return flags.empty() ? "N" : flags;
}

std::string_view type_of(const peer& p) {
    return p.subscriptions() > 0 ? "pubsub" : "normal";
}

std::string small_letters(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    std::ranges::replace_if(text, [](unsigned char c) { return c <= ' ' || c > '~'; }, '?');
    return text;
}

/// Which clients CLIENT KILL means.
struct kill_choice {
    std::optional<std::int64_t> id;
    std::optional<std::string_view> address;
    std::optional<std::string_view> local;
    std::optional<std::string> type;
    bool skip_me = true;

    [[nodiscard]] bool means(const peer& p) const {
        return (!id || static_cast<std::uint64_t>(*id) == p.link.id) &&
               (!address || *address == p.address) && (!local || *local == p.local) &&
               (!type || *type == type_of(p));
    }
};

kill_choice parse_kill(const memory::call& c) {
    kill_choice which;
    if (c.count() % 2 != 0) refuse_syntax();
    for (std::size_t i = 2; i < c.count(); i += 2) {
        if (c.is(i, "id")) {
            which.id = c.integer(i + 1, "ERR client-id should be greater than 0");
            if (*which.id <= 0) refuse("ERR client-id should be greater than 0");
        } else if (c.is(i, "addr")) {
            which.address = c.arg(i + 1);
        } else if (c.is(i, "laddr")) {
            which.local = c.arg(i + 1);
        } else if (c.is(i, "type")) {
            which.type = small_letters(std::string(c.arg(i + 1)));
            if (which.type != "normal" && which.type != "pubsub" && which.type != "master" &&
                which.type != "replica" && which.type != "slave") {
                refuse(fmt::format("ERR Unknown client type '{}'",
                                   memory::printed(c.arg(i + 1), 128)));
            }
        } else if (c.is(i, "skipme")) {
            if (!c.is(i + 1, "yes") && !c.is(i + 1, "no")) refuse_syntax();
            which.skip_me = c.is(i + 1, "yes");
        } else {
            refuse_syntax();
        }
    }
    return which;
}

}  // namespace

std::string service::described(const peer& p) const {
    const time_point now = core_->time().now();
    return fmt::format(
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db=0 sub={} psub={} ssub={} "
        "multi={} qbuf={} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl={} oll=0 omem={} "
        "tot-mem={} events=r cmd={} user=default redir=-1 resp={}",
        p.link.id, p.address, p.local, p.descriptor, p.link.name, whole_seconds(now - p.since),
        whole_seconds(now - p.last_used), flags_of(p), p.channels.size(), p.patterns.size(),
        p.shard_channels.size(),
        p.link.in_multi ? static_cast<std::int64_t>(p.link.queued.size()) : -1, p.reader.buffered(),
        p.unsent(), p.unsent(), sizeof(peer) + p.out.capacity(), small_letters(p.last_command),
        static_cast<int>(p.speaks));
}

void service::client_info(memory::call& c) {
    c.out.string(described(*current_) + "\n");
}

void service::client_list(memory::call& c) {
    std::vector<const peer*> shown;
    if (c.count() == 2) {
        for (const auto& [id, p] : peers_) shown.push_back(p.get());
    } else if (c.is(2, "type") && c.count() == 4) {
        const std::string type = small_letters(std::string(c.arg(3)));
        for (const auto& [id, p] : peers_) {
            if (type == type_of(*p)) shown.push_back(p.get());
        }
    } else if (c.is(2, "id") && c.count() > 3) {
        for (std::size_t i = 3; i < c.count(); ++i) {
            const std::int64_t id = c.integer(i, "ERR Invalid client ID");
            if (const peer* p = find(static_cast<std::uint64_t>(id))) shown.push_back(p);
        }
    } else {
        refuse_syntax();
    }
    std::ranges::sort(shown, {}, [](const peer* p) { return p->link.id; });
    std::string text;
    for (const peer* p : shown) text += described(*p) + "\n";
    c.out.string(text);
}

void service::kill(peer& p) {
    note(p);
    (&p == current_ ? p.ending : p.broken) = true;
}

void service::client_kill(memory::call& c) {
    if (c.count() == 3) {
        const auto found = std::ranges::find_if(
            peers_, [&](const auto& entry) { return entry.second->address == c.arg(2); });
        if (found == peers_.end()) refuse("ERR No such client");
        kill(*found->second);
        return c.out.ok();
    }
    const kill_choice which = parse_kill(c);
    std::int64_t killed = 0;
    for (const auto& [id, p] : peers_) {
        if (!which.means(*p) || p->broken || (which.skip_me && p.get() == current_)) continue;
        kill(*p);
        ++killed;
    }
    c.out.integer(killed);
}

// The client is answered as if its time were over, or with an error; on the way out of here,
// because the engine's mutex is held now.
void service::client_unblock(memory::call& c) {
    const bool as_error = c.count() == 4 && c.is(3, "error");
    if (c.count() > 4 || (c.count() == 4 && !as_error && !c.is(3, "timeout"))) {
        refuse("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    }
    peer* p = find(static_cast<std::uint64_t>(c.integer(2)));
    if (p == nullptr || p->waiting == nullptr || p->waiting->answer) return c.out.integer(0);
    if (as_error) {
        p->waiting->answer = reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
        mail_->put({.client = p->link.id, .what = letter::kind::served});
    } else {
        waits_.erase({p->waits_until, p});
        p->waits_until = time_point::min();
        waits_.emplace(p->waits_until, p);
    }
    core_->stop_waiting(*p->waiting);
    c.out.integer(1);
}

void service::client_reply(memory::call& c) {
    using replies = peer::replies;
    if (c.is(2, "on")) {
        current_->reply_mode = replies::on;
        return c.out.ok();
    }
    if (c.is(2, "off")) {
        current_->reply_mode = replies::off;
    } else if (c.is(2, "skip")) {
        if (current_->reply_mode != replies::off) current_->reply_mode = replies::skip_next;
    } else {
        refuse_syntax();
    }
}

void service::client_ok(memory::call& c) {
    c.out.ok();
}

void service::client_switch(memory::call& c) {
    if (!c.is(2, "on") && !c.is(2, "off")) refuse_syntax();
    c.out.ok();
}

void service::client_redirection(memory::call& c) {
    c.out.integer(-1);
}

}  // namespace holdfast::resp
