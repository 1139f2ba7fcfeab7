// SPDX-License-Identifier: Apache-2.0
//
// etcd://[user[:password]@]host[:2379][,host…][/prefix][?options] is a cluster of etcd servers;
// etcds: is the same by TLS. The keys begin with the prefix, `holdfast` if there is none.
#include "driver/etcd/etcd_lease_store.hpp"
#include "open/engines.hpp"
#include "open/etcd_url.hpp"
#include "open/url_options.hpp"

#ifdef HOLDFAST_HAS_ETCD_COMMANDS
#include "driver/etcd/etcd_commands.hpp"
#endif

#include <holdfast/engine/span_text.hpp>

#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;
using etcd::etcd_options;

constexpr std::size_t most_etcd_servers = 16;

result<void> read_etcd_password(url& rest, etcd_options& out) {
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
    if (out.user.empty() && !out.password.empty()) {
        return fail(errc::invalid_argument,
                    "engine URL: etcd: has a password but no user; write etcd://user@host");
    }
    return {};
}

result<void> read_etcd_tls(url& rest, etcd_options& out) {
    out.tls = rest.scheme == "etcds";
    bool named = false;
    for (const auto& [name, into] :
         {std::pair{"ca_file", &out.ca_file}, std::pair{"certificate_file", &out.certificate_file},
          std::pair{"key_file", &out.key_file}}) {
        if (auto file = take_option(rest, name)) {
            *into = std::move(*file);
            named = true;
        }
    }
    if (named && !out.tls) {
        return fail(errc::invalid_argument,
                    "engine URL: certificates are for TLS: write etcds: instead of etcd:");
    }
    if (out.certificate_file.empty() != out.key_file.empty()) {
        return fail(errc::invalid_argument,
                    "engine URL: certificate_file and key_file are given together");
    }
    return {};
}

result<void> read_etcd_root(const url& rest, etcd_options& out) {
    std::string root = rest.path.starts_with('/') ? rest.path.substr(1) : rest.path;
    while (root.ends_with('/')) root.pop_back();
    constexpr std::size_t longest = 512;
    if (root.size() > longest || !is_utf8(root)) {
        return fail(errc::invalid_argument, "engine URL: the root takes at most 512 bytes of text");
    }
    if (!root.empty()) out.root = std::move(root);
    return {};
}

}  // namespace

result<etcd_options> read_etcd_url(const url& where) {
    constexpr std::array<std::string_view, 6> known{"password_file", "password_env",
                                                    "ca_file",       "certificate_file",
                                                    "key_file",      "connect_timeout"};
    if (auto fit = only_options(where, known); !fit) return std::unexpected(std::move(fit.error()));
    etcd_options out;
    url rest = where;
    for (const url_host& at : rest.hosts) out.servers.push_back({at.name, at.port.value_or(2379)});
    if (out.servers.empty() || out.servers.size() > most_etcd_servers) {
        return fail(errc::invalid_argument,
                    "engine URL: an etcd: URL names 1 to 16 servers of one cluster, as in "
                    "etcd://e1.example.com,e2.example.com,e3.example.com");
    }
    auto read = read_etcd_password(rest, out);
    if (read) read = read_etcd_tls(rest, out);
    if (read) read = read_etcd_root(rest, out);
    if (!read) return std::unexpected(std::move(read.error()));
    if (const auto text = take_option(rest, "connect_timeout")) {
        const auto span = parse_span(*text);
        if (!span || *span < 10ms || *span > 10min) {
            return wrong_option("connect_timeout", "a time from 10ms to 10m");
        }
        out.connect_timeout = *span;
    }
    return out;
}

result<opened_engine> open_etcd(const url& where, const client_options& options) {
    auto read = read_etcd_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    opened_engine made;
#ifdef HOLDFAST_HAS_ETCD_COMMANDS
    auto commands = etcd::make_etcd_commands(*read, *options.time, *options.chance);
    if (!commands) return std::unexpected(std::move(commands.error()));
    made.commands = std::move(*commands);
#endif
    auto store = etcd::etcd_lease_store::make(std::move(*read), *options.time);
    if (!store) return std::unexpected(std::move(store.error()));
    made.store = std::move(*store);
    return made;
}

}  // namespace holdfast::detail
