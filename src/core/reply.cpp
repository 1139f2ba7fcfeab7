// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <holdfast/engine/reply.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holdfast {

reply reply::integer(std::int64_t value) {
    reply r;
    r.kind_ = kind::integer;
    r.number_ = value;
    return r;
}

reply reply::array(std::vector<reply> elements) {
    reply r;
    r.kind_ = kind::array;
    r.elements_ = std::move(elements);
    return r;
}

namespace {

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c < 0x20 || c == 0x7F) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

void append(std::string& out, const reply& r) {
    switch (r.type()) {
        case reply::kind::nil: out += "(nil)"; break;
        case reply::kind::status: out += r.text(); break;
        case reply::kind::error: out += "(error) " + r.text(); break;
        case reply::kind::integer: out += fmt::format("(integer) {}", r.number()); break;
        case reply::kind::string: append_quoted(out, r.text()); break;
        case reply::kind::array: {
            out += '[';
            const char* separator = "";
            for (const reply& element : r.elements()) {
                out += separator;
                append(out, element);
                separator = ", ";
            }
            out += ']';
        }
    }
}

struct meaning {
    std::string_view word;
    errc code;
    std::string_view advice;
};

// What a server's error means to a caller, by its first word. Anything else is the call's fault.
constexpr std::array meanings{
    meaning{"NOAUTH", errc::denied, "the server wants a password: give one in the URL"},
    meaning{"WRONGPASS", errc::denied, "user or password is wrong"},
    meaning{"NOPERM", errc::denied, "the server's ACL does not allow this"},
    meaning{"LOADING", errc::unavailable, "the server is loading its data: try again soon"},
    meaning{"READONLY", errc::unavailable, "this server is a replica now: ask for the master"},
    meaning{"OOM", errc::unavailable, "the server is out of memory: raise maxmemory"},
    meaning{"MISCONF", errc::unavailable, "the server cannot persist and refuses writes"},
    meaning{"BUSY", errc::unavailable, "a script blocks the server"},
    meaning{"CLUSTERDOWN", errc::unavailable, "the cluster does not serve all slots"},
    meaning{"MASTERDOWN", errc::unavailable, "the replica has lost its master"},
    meaning{"NOREPLICAS", errc::unavailable, "too few replicas: see min-replicas-to-write"},
    meaning{"TRYAGAIN", errc::unavailable, "the slot is moving: try again"},
    meaning{"MOVED", errc::unavailable, "the key's slot is at another node"},
    meaning{"ASK", errc::unavailable, "the key's slot is on its way to another node"},
    meaning{"UNBLOCKED", errc::unavailable, "the server became a replica meanwhile"},
    meaning{"QUARANTINE", errc::unavailable, "it may have forgotten leases: they end by then"},
    meaning{"UNKILLABLE", errc::unavailable, "a script that has written blocks the server"},
    meaning{"WRONGTYPE", errc::corrupt, "the key holds another kind of value, not ours"},
    meaning{"EXECABORT", errc::invalid_argument, "a command of the transaction was refused"},
};

}  // namespace

std::string to_string(const reply& r) {
    std::string out;
    append(out, r);
    return out;
}

error to_error(const reply& r) {
    detail::require(r.is_error(), "r.is_error()");
    std::string_view text = r.text();
    // A transaction that was given up is worth as much as the refusal that it names, if it does.
    constexpr std::string_view given_up = "EXECABORT Transaction discarded because of: ";
    if (text.starts_with(given_up) && text.size() > given_up.size()) {
        text.remove_prefix(given_up.size());
    }
    const std::string_view first = text.substr(0, text.find(' '));
    for (const meaning& m : meanings) {
        if (m.word == first) return {m.code, fmt::format("{} ({})", text, m.advice)};
    }
    if (text.starts_with("ERR unknown command")) return {errc::unsupported, std::string(text)};
    return {errc::invalid_argument, std::string(text)};
}

}  // namespace holdfast
