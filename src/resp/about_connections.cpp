// SPDX-License-Identifier: Apache-2.0
//
// HELLO, AUTH, QUIT, RESET, MONITOR, and HOLDFAST.ADVANCE.
#include "resp/service.hpp"

#include "driver/memory/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::resp {

using memory::refuse;

namespace {

constexpr const char* wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";

// In a time that does not tell how much of it is right.
bool same_secret(std::string_view given, std::string_view expected) noexcept {
    unsigned differs = given.size() == expected.size() ? 0U : 1U;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char other = expected.empty() ? '\0' : expected[i % expected.size()];
        differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
    }
    return differs == 0;
}

bool good_name(std::string_view name) {
    return std::ranges::all_of(name, [](char ch) { return ch >= '!' && ch <= '~'; });
}

}  // namespace

bool service::admits(std::string_view user, std::string_view password) const {
    if (user != "default") return false;
    return options_.password.empty() || same_secret(password, options_.password);
}

void service::auth(memory::call& c) {
    if (c.count() > 3) memory::refuse_syntax();
    if (c.count() == 2 && options_.password.empty()) {
        refuse(
            "ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your configuration is correct?");
    }
    const std::string_view user = c.count() == 3 ? c.arg(1) : "default";
    if (!admits(user, c.arg(c.count() - 1))) refuse(wrong_password);
    current_->known = true;
    current_->reader.trust(true);
    c.out.ok();
}

void service::hello(memory::call& c) {
    protocol wanted = current_->speaks;
    std::size_t next = 1;
    if (c.count() > 1) {
        const auto version = c.integer(1, "ERR Protocol version is not an integer or out of range");
        if (version != 2 && version != 3) refuse("NOPROTO unsupported protocol version");
        wanted = version == 3 ? protocol::resp3 : protocol::resp2;
        next = 2;
    }
    bool known = current_->known;
    std::optional<std::string_view> name;
    for (; next < c.count(); ++next) {
        const std::size_t more = c.count() - 1 - next;
        if (c.is(next, "auth") && more >= 2) {
            if (!admits(c.arg(next + 1), c.arg(next + 2))) refuse(wrong_password);
            known = true;
            next += 2;
        } else if (c.is(next, "setname") && more >= 1) {
            name = c.arg(++next);
            if (!good_name(*name)) {
                refuse("ERR Client names cannot contain spaces, newlines or special characters.");
            }
        } else {
            refuse(fmt::format("ERR Syntax error in HELLO option '{}'",
                               memory::printed(c.arg(next), 128)));
        }
    }
    if (!known) {
        refuse(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
            "select the RESP protocol version at the same time");
    }
    current_->known = true;
    current_->reader.trust(true);
    current_->speaks = wanted;
    if (name) current_->link.name = *name;
    hello_answer(c);
}

// In the protocol that was just chosen, which is not the one that c.out was made for.
void service::hello_answer(memory::call& c) {
    reply_writer out = writer(*current_);
    out.map(7);
    out.string("server");
    out.string("redis");
    out.string("version");
    out.string("7.0.15");
    out.string("proto");
    out.integer(static_cast<std::int64_t>(current_->speaks));
    out.string("id");
    out.integer(static_cast<std::int64_t>(c.from.id));
    out.string("mode");
    out.string("standalone");
    out.string("role");
    out.string("master");
    out.string("modules");
    out.array(0);
}

void service::quit(memory::call& c) {
    current_->ending = true;
    c.out.ok();
}

void service::reset(memory::call& c) {
    peer& p = *current_;
    c.from.end_transaction();
    core_->unwatch(c.from);
    forget_subscriptions(p);
    std::erase(monitors_, &p);
    p.monitor = false;
    p.speaks = protocol::resp2;
    p.reply_mode = peer::replies::on;
    p.known = options_.password.empty();
    p.reader.trust(p.known);
    c.from.name.clear();
    c.out.status("RESET");
}

void service::monitor(memory::call& c) {
    if (!std::exchange(current_->monitor, true)) monitors_.push_back(current_);
    c.out.ok();
}

// The clock is moved when the engine's mutex is free: who waits on it holds that.
void service::advance(memory::call& c) {
    constexpr std::int64_t most_ms = std::int64_t{1000} * 60 * 60 * 24 * 365 * 10;
    const std::int64_t ms = c.integer(1);
    if (ms < 0 || ms > most_ms) refuse("ERR time can be moved by 0 ms to ten years");
    if (options_.advances == nullptr) {
        refuse(
            "ERR time is real here; start the server with --virtual-time to move it by "
            "HOLDFAST.ADVANCE");
    }
    to_advance_ = std::chrono::milliseconds(ms);
    c.out.ok();
}

}  // namespace holdfast::resp
