// SPDX-License-Identifier: Apache-2.0
//
// Whatever is written as an engine's URL is taken or refused, and a password in it is never shown.
// The first byte 1 of the input stands for a password.
#include <holdfast/engine/url.hpp>
#include <holdfast/redis/redis.hpp>
#include <holdfast/redis/redis_topology.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view secret = "s3cr3t-PASSW0RD";

bool shows(std::string_view text) {
    return text.find(secret) != std::string_view::npos;
}

bool breaks_a_line(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Where a password stands that is not one: it may be shown there.
bool stands_elsewhere(const holdfast::url& where) {
    if (shows(where.scheme) || shows(where.user.value_or("")) || shows(where.path)) return true;
    for (const auto& host : where.hosts) {
        if (shows(host.name)) return true;
    }
    for (const auto& [name, value] : where.options) {
        if (shows(name) || (shows(value) && name != "password")) return true;
    }
    return false;
}

template <class T>
void must_hide(const holdfast::result<T>& tried) {
    if (!tried && shows(to_string(tried.error()))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto at = text.find('\x01'); at != std::string::npos) text.replace(at, 1, secret);
    const auto parsed = holdfast::parse_url(text);
    must_hide(parsed);
    if (!parsed) {
        const bool in_scheme = text.find(secret) < text.find(':');
        if (!in_scheme && shows(holdfast::redacted(std::string_view(text)))) std::abort();
        return 0;
    }
    const std::string shown = redacted(*parsed);
    if (std::ranges::any_of(shown, breaks_a_line)) std::abort();
    if (stands_elsewhere(*parsed)) return 0;
    if (shows(shown) || shows(holdfast::redacted(std::string_view(text)))) std::abort();
    must_hide(holdfast::parse_redis_url(*parsed));
    must_hide(holdfast::parse_redis_sentinel_url(*parsed));
    must_hide(holdfast::parse_redis_cluster_url(*parsed));
    return 0;
}
