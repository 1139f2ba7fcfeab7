// SPDX-License-Identifier: Apache-2.0
#include "driver/zookeeper/zookeeper_errors.hpp"

#include "driver/zookeeper/zookeeper_session.hpp"

#include <fmt/format.h>

namespace holdfast::zookeeper {

error to_error(const answered& said, std::string_view servers) {
    const auto because = [&](errc code, std::string_view text) {
        return error{code, fmt::format("zookeeper at {}: {}", servers, text)};
    };
    switch (said.is) {
        case outcome::not_sent:
            return because(errc::unavailable,
                           "no server could be connected to in time, or they have no leader");
        case outcome::no_connection:
        case outcome::timed_out:
            return because(errc::outcome_unknown, "the connection was lost before the answer came");
        case outcome::session_over:
            return because(errc::unavailable, "the session has expired: try again");
        case outcome::denied:
            return because(errc::denied,
                           "the user may not do this here: check user, password and the ACL of "
                           "the root node");
        case outcome::login_refused:
            return because(errc::denied, "the servers refuse the user: check user and password");
        case outcome::unsupported:
            return because(errc::unsupported,
                           "it has no container nodes: run ZooKeeper 3.5.3 or later");
        default: return because(errc::unavailable, said.why.empty() ? "it failed" : said.why);
    }
}

error read_error(const answered& said, std::string_view servers) {
    error out = to_error(said, servers);
    if (out.code == errc::outcome_unknown) out.code = errc::unavailable;
    return out;
}

}  // namespace holdfast::zookeeper
