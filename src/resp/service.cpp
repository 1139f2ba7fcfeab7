// SPDX-License-Identifier: Apache-2.0
#include "resp/service.hpp"

#include "driver/memory/call.hpp"
#include "resp/line_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::resp {

using memory::is_word;

service::service(std::shared_ptr<memory::engine_core> core, const resp_server_options& options,
                 std::function<void()> wake)
    : core_(std::move(core)),
      options_(options),
      mail_(std::make_shared<mailbox>(options.output_bytes, std::move(wake))) {}

service::~service() {
    while (!peers_.empty()) dismiss(*peers_.begin()->second);
}

peer& service::admit(std::string address, std::string local, int descriptor) {
    auto made = std::make_unique<peer>(options_.requests);
    peer& p = *made;
    p.address = std::move(address);
    p.local = std::move(local);
    p.descriptor = descriptor;
    p.known = options_.password.empty();
    p.reader.trust(p.known);
    p.link.may_block = true;
    p.link.server = this;
    const std::scoped_lock guard(core_->mutex());
    p.link.id = core_->next_connection_id();
    p.since = p.last_used = core_->time().now();
    ++core_->stats().sessions;
    peers_.emplace(p.link.id, std::move(made));
    return p;
}

void service::dismiss(peer& p) {
    forget_subscriptions(p);
    {
        const std::scoped_lock guard(core_->mutex());
        end_wait(p);
        core_->unwatch(p.link);
        --core_->stats().sessions;
    }
    std::erase(monitors_, &p);
    std::erase(noted_, &p);
    peers_.erase(p.link.id);
}

peer* service::find(std::uint64_t id) const {
    const auto found = peers_.find(id);
    return found == peers_.end() ? nullptr : found->second.get();
}

void service::note(peer& p) {
    if (!std::exchange(p.noted, true)) noted_.push_back(&p);
}

std::vector<peer*> service::take_noted() {
    for (peer* p : noted_) p->noted = false;
    return std::exchange(noted_, {});
}

bool service::may_work(const peer& p) const noexcept {
    return p.waiting == nullptr && !p.ending && !p.broken && p.unsent() < pause_at;
}

// The mutex is let go from time to time, so that a long pipeline does not keep others waiting.
void service::work(peer& p) {
    constexpr int at_once = 256;
    note(p);
    bool more = may_work(p);
    while (more) {
        {
            const std::scoped_lock guard(core_->mutex());
            for (int i = 0; i < at_once && more && to_advance_ == duration::zero(); ++i) {
                switch (p.reader.next()) {
                    case request_reader::state::request: carry_out(p); break;
                    case request_reader::state::incomplete: more = false; break;
                    case request_reader::state::broken:
                        writer(p).error(fmt::format("ERR {}", p.reader.problem()));
                        p.ending = true;
                        break;
                }
                more = more && may_work(p);
            }
        }
        core_->hub().deliver();
        if (to_advance_ != duration::zero()) {
            options_.advances->advance(std::exchange(to_advance_, {}));
        }
    }
    p.paused = p.unsent() >= pause_at;
}

// Before a client has said its password, and while it may only listen.
bool service::refused(peer& p, memory::sink& out) {
    const auto words = p.reader.words();
    const auto one_of = [&](std::initializer_list<std::string_view> names) {
        return std::ranges::any_of(names, [&](auto n) { return is_word(words[0], n); });
    };
    if (one_of({"post", "host:"})) {  // a browser that was led here by somebody's page
        p.broken = true;
        return true;
    }
    if (!p.known && !one_of({"auth", "hello", "quit", "reset"})) {
        out.error("NOAUTH Authentication required.");
        return true;
    }
    if (!confined(p) || one_of({"subscribe", "unsubscribe", "psubscribe", "punsubscribe",
                                "ssubscribe", "sunsubscribe", "quit", "reset"})) {
        return false;
    }
    if (is_word(words[0], "ping") && words.size() <= 2) {
        out.array(2);
        out.string("pong");
        out.string(words.size() == 2 ? words[1] : "");
        return true;
    }
    std::string name(memory::printed(words[0], 128));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    out.error(
        fmt::format("ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
                    "QUIT / RESET are allowed in this context",
                    name));
    return true;
}

// Requires: the engine's mutex is held.
void service::carry_out(peer& p) {
    const auto words = p.reader.words();
    const std::size_t before = p.out.size();
    reply_writer out = writer(p);
    p.last_used = core_->begin();
    p.last_command.assign(words[0].substr(0, 15));
    if (const bool plain = p.known && p.subscriptions() == 0 && words[0].size() < 4;
        plain || !refused(p, out)) {
        if (!monitors_.empty()) show_monitors(p);
        current_ = &p;
        core_->process(p.link, words, out);
        current_ = nullptr;
        if (p.link.waiting != nullptr) begin_wait(p, p.last_used);
    }
    if (p.reply_mode != peer::replies::on) apply_reply_mode(p, before);
    if (out.overflowed()) p.broken = true;
}

void service::apply_reply_mode(peer& p, std::size_t before) {
    using replies = peer::replies;
    if (p.reply_mode == replies::skip_next) {  // CLIENT REPLY SKIP itself
        p.reply_mode = replies::skip;
    } else if (p.reply_mode == replies::skip) {
        p.reply_mode = replies::on;
    }
    p.out.resize(before);
}

void service::begin_wait(peer& p, time_point now) {
    p.waiting = std::move(p.link.waiting);
    p.waits_for_streams = is_word(p.last_command, "xread") || is_word(p.last_command, "xreadgroup");
    p.waiting->on_served = [mail = mail_, id = p.link.id] {
        mail->put({.client = id, .what = letter::kind::served});
    };
    core_->wait_for_keys(*p.waiting);
    using std::chrono::milliseconds;
    const auto longest = std::chrono::duration_cast<milliseconds>(time_point::max() - now);
    const std::int64_t ms = p.waiting->timeout_ms;
    p.waits_until = time_point::max();
    if (ms == 0 || ms >= longest.count()) return;
    p.waits_until = now + milliseconds(ms);
    waits_.emplace(p.waits_until, &p);
}

// Requires: the engine's mutex is held.
void service::end_wait(peer& p) {
    if (p.waiting == nullptr) return;
    core_->stop_waiting(*p.waiting);
    waits_.erase({p.waits_until, &p});
    p.waiting = nullptr;
}

// Answers what it was served, or that its time is over, and goes on with its next requests.
void service::answer_wait(peer& p) {
    {
        const std::scoped_lock guard(core_->mutex());
        reply_writer out = writer(p);
        const auto& answer = p.waiting->answer;
        if (!answer) {
            out.nil_array();
        } else if (p.waits_for_streams && out.nests_pairs() && !answer->is_error()) {
            out.map(answer->elements().size());
            for (const reply& part : answer->elements()) {
                for (const reply& half : part.elements()) out.whole(half);
            }
        } else {
            out.whole(*answer);
        }
        if (out.overflowed()) p.broken = true;
        end_wait(p);
    }
    work(p);
}

void service::tend() {
    for (auto letters = mail_->take(); !letters.empty(); letters = mail_->take()) {
        for (const letter& l : letters) deliver(l);
    }
    const time_point now = core_->time().now();
    while (!waits_.empty() && waits_.begin()->first <= now) answer_wait(*waits_.begin()->second);
}

void service::deliver(const letter& l) {
    peer* p = find(l.client);
    if (p == nullptr) return;
    note(*p);
    reply_writer out = writer(*p);
    const auto message = [&](const listener_map& heard, const std::string& by,
                             std::string_view kind) {
        if (!heard.contains(by)) return;  // it has stopped listening meanwhile
        const bool pattern = l.what == letter::kind::pattern_message;
        out.push(pattern ? 4 : 3);
        out.string(kind);
        if (pattern) out.string(l.pattern);
        out.string(l.channel);
        out.string(l.payload);
    };
    switch (l.what) {
        case letter::kind::message: message(p->channels, l.channel, "message"); break;
        case letter::kind::pattern_message: message(p->patterns, l.pattern, "pmessage"); break;
        case letter::kind::shard_message: message(p->shard_channels, l.channel, "smessage"); break;
        case letter::kind::overflow: p->broken = true; break;
        case letter::kind::served: {
            const auto served = [&] {
                const std::scoped_lock guard(core_->mutex());
                return p->waiting != nullptr && p->waiting->answer.has_value();
            };
            if (served()) answer_wait(*p);
            return;
        }
    }
    if (out.overflowed()) p->broken = true;
}

void service::show_monitors(const peer& from) {
    const auto words = from.reader.words();
    if (is_word(words[0], "auth") || is_word(words[0], "hello")) return;  // secrets
    std::string line = fmt::format("+{}.{:06} [0 {}]", core_->now_us() / 1'000'000,
                                   core_->now_us() % 1'000'000, from.address);
    for (const std::string_view word : words) {
        line += ' ';
        append_quoted(line, word);
    }
    line += "\r\n";
    for (peer* p : monitors_) {
        note(*p);
        if (p->unsent() + line.size() > options_.output_bytes) {
            p->broken = true;
        } else {
            p->out += line;
        }
    }
}

service::handler service::handler_of(std::string_view name) {
    static const std::map<std::string_view, handler> all = {
        {"auth", &service::auth},
        {"hello", &service::hello},
        {"quit", &service::quit},
        {"reset", &service::reset},
        {"monitor", &service::monitor},
        {"holdfast.advance", &service::advance},
        {"client|list", &service::client_list},
        {"client|info", &service::client_info},
        {"client|kill", &service::client_kill},
        {"client|unblock", &service::client_unblock},
        {"client|reply", &service::client_reply},
        {"client|no-evict", &service::client_switch},
        {"client|no-touch", &service::client_switch},
        {"client|setinfo", &service::client_ok},
        {"client|getredir", &service::client_redirection},
        {"subscribe", &service::subscribe},
        {"psubscribe", &service::subscribe},
        {"ssubscribe", &service::subscribe},
        {"unsubscribe", &service::unsubscribe},
        {"punsubscribe", &service::unsubscribe},
        {"sunsubscribe", &service::unsubscribe},
    };
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second;
}

void service::run(memory::call& c) {
    const handler one = handler_of(c.spec->name);
    if (one == nullptr || current_ == nullptr) memory::refuse("ERR no such command here");
    (this->*one)(c);
}

}  // namespace holdfast::resp
