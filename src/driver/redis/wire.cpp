// SPDX-License-Identifier: Apache-2.0
//
// The greeting has few trips. AUTH travels alone: whatever follows must never be carried out as the
// anonymous user because the login was refused. The rest (name, database, the caller's own
// commands) travels together; but where a role is expected, the caller's own commands wait until
// ROLE has been answered, for they may write.
//
// CLIENT SETNAME may be refused by an ACL: it is a courtesy to whoever reads CLIENT LIST. So may
// CLIENT INFO be: without it a connection that is given up cannot be ended at the server.
// PING stands for the first real command: it brings out NOAUTH, LOADING and a full server.
#include "driver/redis/wire.hpp"

#include "driver/redis/encode.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::redis {
namespace {

struct greeting {
    std::vector<std::vector<std::string>> words{};
    std::size_t own = SIZE_MAX;  ///< From this one on they are the caller's own.

    void add(std::vector<std::string> command) { words.push_back(std::move(command)); }
    [[nodiscard]] std::string encoded() const {
        std::string out;
        for (const auto& command : words) {
            const std::vector<std::string_view> views(command.begin(), command.end());
            append_command(out, views);
        }
        return out;
    }
};

error refused(const reply& answer, bool login) {
    error e = to_error(answer);
    if (answer.text().starts_with("ERR max number of clients"))
        e.code = errc::unavailable;
    else if (answer.text().starts_with("DENIED"))
        e.code = errc::denied;
    else if (login && e.code == errc::invalid_argument)
        e.code = errc::denied;
    return e;
}

bool is_courtesy(const std::vector<std::string>& words, const reply& answer) {
    if (words[0] == "CLIENT") return words[1] != "TRACKING";
    return words[0] == "PING" && answer.text().starts_with("NOPERM");
}

result<void> check_role(const reply& answer, const std::string& expected) {
    const bool readable = answer.type() == reply::kind::array && !answer.elements().empty();
    if (readable && answer.elements()[0].text() == expected) return {};
    return fail(errc::unavailable,
                fmt::format("handshake: the server is {}, not a {}",
                            readable ? answer.elements()[0].text() : "of no known role", expected));
}

greeting opening(const profile& p) {
    const redis_options& o = p.options;
    greeting g;
    if (!o.client_name.empty()) g.add({"CLIENT", "SETNAME", o.client_name});
    g.add({"CLIENT", "INFO"});
    if (o.database != 0) g.add({"SELECT", std::to_string(o.database)});
    g.add({"PING"});
    if (!p.expected_role.empty()) {
        g.add({"ROLE"});
        return g;
    }
    g.own = g.words.size();
    for (const auto& own : o.on_connect_commands) g.add(own);
    return g;
}

// Redis sends a connection of RESP2 what it tracks if the connection names itself as the one to
// redirect to, and is subscribed to the channel of these messages. So tracking begins and ends with
// the connection that hears of it: no other one has to be watched.
result<greeting> tracking(const wire& made, const std::string& prefix) {
    const std::string& id = made.known_as().id;
    if (id.empty()) {
        return fail(errc::unsupported, "CLIENT TRACKING: the server does not tell client ids");
    }
    greeting g;
    g.add({"CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST"});
    if (!prefix.empty()) g.words.back().insert(g.words.back().end(), {"PREFIX", prefix});
    return g;
}

result<void> say(wire& to, const greeting& g, const profile& p, time_point deadline, clock& time,
                 const patience& go_on) {
    std::vector<reply> answers(g.words.size());
    const time_point sent = time.now();
    const auto seen = to.pipeline(g.encoded(), answers, deadline, time, go_on);
    const time_point heard = time.now();
    for (std::size_t i = 0; i < seen.answered; ++i) {
        const auto& words = g.words[i];
        if (answers[i].is_error()) {
            if (is_courtesy(words, answers[i])) continue;
            error e = refused(answers[i], words[0] == "AUTH");
            if (words[0] == "CLIENT") e.code = errc::unsupported;
            e.detail = fmt::format("handshake: {}: {}", words[0], e.detail);
            return std::unexpected(std::move(e));
        }
        if (words[0] == "CLIENT" && words[1] == "INFO") to.set_known_as(answers[i].text());
        if (words[0] == "ROLE") {
            if (auto fits = check_role(answers[i], p.expected_role); !fits) return fits;
        }
        if (i >= g.own && p.options.on_connect_answer) {
            p.options.on_connect_answer(answers[i], sent, heard);
        }
    }
    if (!seen.problem.empty()) return fail(errc::unavailable, "handshake: " + seen.problem);
    return {};
}

}  // namespace

result<std::unique_ptr<wire>> wire::open(const server_address& address, const profile& p,
                                         time_point deadline, clock& time, const patience& go_on) {
    const time_point start = time.now();
    const auto explain = [&](error e) {
        const auto taken = std::chrono::floor<std::chrono::milliseconds>(time.now() - start);
        e.detail =
            fmt::format("redis {}: {} (after {} ms)", to_string(address), e.detail, taken.count());
        return std::unexpected(std::move(e));
    };
    auto stream = transport::open(address, p.options.tls, p.tls, deadline, time, go_on);
    if (!stream) return explain(stream.error());
    std::unique_ptr<wire> made(new wire(address, std::move(*stream), p.options.max_reply_bytes));
    if (!p.options.password.empty()) {
        greeting login;
        if (p.options.user.empty())
            login.add({"AUTH", p.options.password});
        else
            login.add({"AUTH", p.options.user, p.options.password});
        if (auto done = say(*made, login, p, deadline, time, go_on); !done) {
            return explain(done.error());
        }
    }
    if (auto done = say(*made, opening(p), p, deadline, time, go_on); !done) {
        return explain(done.error());
    }
    if (!p.expected_role.empty() && !p.options.on_connect_commands.empty()) {
        const greeting own{.words = p.options.on_connect_commands, .own = 0};
        if (auto done = say(*made, own, p, deadline, time, go_on); !done) {
            return explain(done.error());
        }
    }
    if (p.tracked_prefix) {
        const auto words = tracking(*made, *p.tracked_prefix);
        if (!words) return explain(words.error());
        if (auto done = say(*made, *words, p, deadline, time, go_on); !done) {
            return explain(done.error());
        }
    }
    return made;
}

void wire::set_known_as(std::string_view info) {
    const auto field = [&](std::string_view name) {
        if (!info.starts_with(name)) return std::string();
        info.remove_prefix(name.size());
        const std::size_t end = std::min(info.find(' '), info.size());
        std::string value(info.substr(0, end));
        info.remove_prefix(std::min(end + 1, info.size()));
        return value;
    };
    server_side said{.id = field("id="), .address = field("addr=")};
    if (!said.id.empty() && !said.address.empty()) known_as_ = std::move(said);
}

void wire::write_some(std::string_view bytes, progress& at) {
    const std::string_view rest = bytes.substr(at.written);
    const io_step step = stream_->write({rest.data(), rest.size()});
    if (step.what == io_step::kind::again) return;
    at.written += step.bytes;
    if (step.what == io_step::kind::failed) at.problem = "write: " + step.reason;
    if (step.what == io_step::kind::ended) at.problem = "write: the server closed the connection";
}

void wire::read_some(std::span<reply> answers, progress& at) {
    std::array<char, 16384> room;
    while (at.answered < answers.size()) {
        const io_step step = stream_->read(room);
        if (step.what == io_step::kind::again) return;
        if (step.what == io_step::kind::failed) at.problem = "reply: " + step.reason;
        if (step.what == io_step::kind::ended)
            at.problem = "reply: the server closed the connection";
        if (step.what != io_step::kind::moved) return;
        replies_.feed({room.data(), step.bytes});
        while (at.answered < answers.size()) {
            auto one = replies_.next();
            if (!one) break;
            answers[at.answered++] = std::move(*one);
        }
        if (!replies_.problem().empty()) {
            at.problem = "reply: " + replies_.problem();
            return;
        }
    }
}

wire::progress wire::pipeline(std::string_view bytes, std::span<reply> answers, time_point deadline,
                              clock& time, const patience& go_on) {
    progress at;
    write_some(bytes, at);
    while (at.problem.empty() && at.answered < answers.size()) {
        const time_point now = time.now();
        if (now >= deadline) {
            at.late = true;
            at.problem = at.written < bytes.size() ? "write: no progress in time"
                                                   : "reply: no answer in time";
            break;
        }
        const bool more = at.written < bytes.size();
        pollfd one{.fd = stream_->fd(), .events = POLLIN, .revents = 0};
        if (more) one.events = POLLIN | POLLOUT;
        const duration slice = go_on ? patience_slice : longest_wait;
        const timespec left = timeout_until(deadline, now, slice);
        const int ready = ::ppoll(&one, 1, &left, nullptr);
        if (ready <= 0) {
            if (go_on && !go_on()) at.problem = "reply: given up";
            continue;
        }
        if ((one.revents & POLLOUT) != 0) write_some(bytes, at);
        if ((one.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_some(answers, at);
    }
    return at;
}

}  // namespace holdfast::redis
