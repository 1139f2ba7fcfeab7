// SPDX-License-Identifier: Apache-2.0
//
// zookeeper://[user[:password]@]host[:2181][,host…][/path][?options] is an ensemble of ZooKeeper
// servers. The names are nodes below the path, /holdfast if there is none.
#include "driver/zookeeper/zookeeper_lease_store.hpp"
#include "open/engines.hpp"
#include "open/url_options.hpp"
#include "open/zookeeper_url.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace holdfast::detail {
namespace {

using zookeeper::zookeeper_options;

constexpr std::size_t most_zookeeper_servers = 16;

result<void> read_zookeeper_password(url& rest, zookeeper_options& out) {
    out.user = rest.user.value_or("");
    out.password = rest.password.value_or("");
    if (const auto path = take_option(rest, "password_file")) {
        std::ifstream file(*path);
        if (!file || !std::getline(file, out.password)) {
            return wrong_option("password_file",
                                "a readable file whose first line is the password");
        }
        if (out.password.ends_with('\r')) out.password.pop_back();
    }
    if (const auto variable = take_option(rest, "password_env")) {
        const char* const value = std::getenv(variable->c_str());
        if (value == nullptr) {
            return wrong_option("password_env", "the name of an environment variable that is set");
        }
        out.password = value;
    }
    if (out.user.find(':') != std::string::npos) {
        return fail(errc::invalid_argument, "engine URL: a ZooKeeper user has no ':' in its name");
    }
    if (out.user.empty() != out.password.empty()) {
        return fail(errc::invalid_argument,
                    "engine URL: digest authentication takes a user and a password: write "
                    "zookeeper://user@host and the option password_file or password_env");
    }
    return {};
}

result<void> read_zookeeper_root(const url& rest, zookeeper_options& out) {
    std::string root = rest.path;
    while (root.ends_with('/')) root.pop_back();
    if (root.empty()) return {};
    const bool controls =
        std::ranges::any_of(root, [](unsigned char c) { return c < 0x20 || c >= 0x7f; });
    const std::string framed = root + "/";
    constexpr std::size_t longest = 512;
    if (root.size() > longest || controls || framed.find("//") != std::string::npos ||
        framed.find("/./") != std::string::npos || framed.find("/../") != std::string::npos ||
        framed.starts_with("/zookeeper/")) {
        return fail(errc::invalid_argument,
                    "engine URL: the root is the path of a node, as in /apps/locks: at most 512 "
                    "ASCII characters, no empty part, no '.' or '..', not below /zookeeper");
    }
    out.root = std::move(root);
    return {};
}

}  // namespace

result<zookeeper_options> read_zookeeper_url(const url& where) {
    if (where.scheme == "zookeepers") {
        return fail(errc::unsupported,
                    "engine URL: ZooKeeper's client library is built without TLS on this system: "
                    "use zookeeper: inside a trusted network or a tunnel");
    }
    constexpr std::array<std::string_view, 3> known{"password_file", "password_env", "recipe"};
    if (auto fit = only_options(where, known); !fit) return std::unexpected(std::move(fit.error()));
    zookeeper_options out;
    url rest = where;
    for (const url_host& at : rest.hosts) out.servers.push_back({at.name, at.port.value_or(2181)});
    if (out.servers.empty() || out.servers.size() > most_zookeeper_servers) {
        return fail(errc::invalid_argument,
                    "engine URL: a zookeeper: URL names 1 to 16 servers of one ensemble, as in "
                    "zookeeper://z1.example.com,z2.example.com,z3.example.com/locks");
    }
    auto read = read_zookeeper_password(rest, out);
    if (read) read = read_zookeeper_root(rest, out);
    if (!read) return std::unexpected(std::move(read.error()));
    if (const auto text = take_option(rest, "recipe")) {
        if (*text != "kazoo" && *text != "curator") {
            return wrong_option("recipe", "kazoo or curator");
        }
        out.names = *text == "curator" ? zookeeper::recipe::curator : zookeeper::recipe::kazoo;
    }
    return out;
}

result<opened_engine> open_zookeeper(const url& where, const client_options& options) {
    auto read = read_zookeeper_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    return opened_engine{zookeeper::zookeeper_lease_store::make(std::move(*read), *options.time),
                         nullptr};
}

}  // namespace holdfast::detail
