// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/client_label.hpp"

#include "core/own_keys.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// For how long a label is good at least. One of a client that died stays no longer than this, or
// twice the ttl that it last asked for.
constexpr duration shortest_life = 10min;

constexpr duration pause_after_failure = 30s;

// What people read and `parse` can take apart again: no control characters, and no spaces in the
// host.
std::string plain(std::string_view text, std::size_t most, bool spaces) {
    std::string out(text.substr(0, most));
    if (!is_utf8(out)) return "?";
    for (char& c : out) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || (c == ' ' && !spaces)) c = '?';
    }
    return out.empty() ? "?" : out;
}

}  // namespace

// Outlives the store: answers may come late.
struct label_writer::memory {
    std::atomic<time_point> known_until{time_point::min()};
    std::atomic<time_point> next_try{time_point::min()};
};

void label_writer::set(const client_id& id, const client_label& who) {
    key_ = key_of(id.value());
    text_ = fmt::format("{} {} {}", who.pid, plain(who.host, 255, false),
                        plain(who.program, 100, true));
    memory_ = std::make_shared<memory>();
}

void label_writer::stay_known(duration ttl) {
    if (memory_ == nullptr) return;
    const time_point now = engine_.time().now();
    time_point known = memory_->known_until.load(std::memory_order_relaxed);
    if (known >= later(now, std::max(ttl, shortest_life / 2))) return;
    if (now < memory_->next_try.load(std::memory_order_relaxed)) return;
    const duration life = std::max(2 * ttl, shortest_life);
    if (!memory_->known_until.compare_exchange_strong(known, later(now, life))) return;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(life).count();
    engine_.submit(words("SET", key_, text_, "PX", ms).idempotent(), later(now, 3s),
                   [memory = memory_, now](const result<reply>& said) {
                       if (said && !said->is_error()) return;
                       memory->next_try = later(now, pause_after_failure);
                       memory->known_until = time_point::min();
                   });
}

std::string label_writer::key_of(std::string_view client) {
    return fmt::format("{}{}", client_prefix, client);
}

client_label label_writer::parse(std::string_view text) {
    const std::size_t first = text.find(' ');
    const std::size_t second = text.find(' ', first + 1);
    if (second == std::string_view::npos) return {};
    client_label who;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + first, who.pid);
    if (problem != std::errc{} || end != text.data() + first) return {};
    who.host = text.substr(first + 1, second - first - 1);
    who.program = text.substr(second + 1);
    return who;
}

}  // namespace holdfast
