// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/redis/redis.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>

/// What a node of a cluster answers when a command is not for it, or not for now.
namespace holdfast::redis {

struct redirect {
    enum class kind : std::uint8_t {
        none,
        moved,  ///< The slot is at another node, for good.
        ask,    ///< This key is at another node, this time.
        wait    ///< TRYAGAIN, CLUSTERDOWN: nobody can serve it at the moment.
    };
    kind type = kind::none;
    unsigned slot = 0;
    server_address to;
};

/// `from` is who answered: a node that does not know its own host leaves it out.
[[nodiscard]] inline redirect redirect_of(const reply& answer, const server_address& from) {
    redirect out;
    if (!answer.is_error()) return out;
    std::string_view text = answer.text();
    constexpr std::string_view given_up = "EXECABORT Transaction discarded because of: ";
    if (text.starts_with(given_up)) text.remove_prefix(given_up.size());
    if (text.starts_with("TRYAGAIN") || text.starts_with("CLUSTERDOWN")) {
        out.type = redirect::kind::wait;
        return out;
    }
    const bool moved = text.starts_with("MOVED ");
    if (!moved && !text.starts_with("ASK ")) return out;
    text.remove_prefix(moved ? 6 : 4);  // now "3999 127.0.0.1:6381"
    const std::size_t space = text.find(' ');
    const std::size_t colon = text.rfind(':');
    constexpr std::size_t nowhere = std::string_view::npos;
    if (space == nowhere || colon == nowhere || colon < space) return out;
    const std::string_view port = text.substr(colon + 1);
    const std::string_view slot = text.substr(0, space);
    std::from_chars(slot.data(), slot.data() + slot.size(), out.slot);
    out.to.port = 0;
    std::from_chars(port.data(), port.data() + port.size(), out.to.port);
    out.to.host = text.substr(space + 1, colon - space - 1);
    if (out.to.host.empty() || out.to.host == "?") out.to.host = from.host;
    if (out.slot < 16384 && out.to.port != 0) {
        out.type = moved ? redirect::kind::moved : redirect::kind::ask;
    }
    return out;
}

}  // namespace holdfast::redis
