// SPDX-License-Identifier: Apache-2.0
//
// From a URL to a redis_target: each option is one row of a table, so that the list of known names
// for "did you mean" cannot drift from what is read.
#include <holdfast/engine/span_text.hpp>
#include <holdfast/engine/suggest.hpp>
#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace holdfast {
namespace {

std::unexpected<error> wrong(std::string_view name, std::string_view takes) {
    return fail(errc::invalid_argument, fmt::format("option {} of the URL takes {}", name, takes));
}

std::optional<std::uint64_t> number(std::string_view text, std::string_view& suffix) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc()) return std::nullopt;
    suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    return value;
}

result<void> read_duration(std::string_view name, const std::string& text, duration& out) {
    const auto span = parse_span(text);
    if (!span || *span == duration::zero()) {
        return wrong(name, "a time such as 500us, 200ms, 2s or 1m");
    }
    out = *span;
    if (out > std::chrono::hours(24)) return wrong(name, "at most a day");
    return {};
}

result<void> read_count(std::string_view name, const std::string& text, std::size_t most,
                        std::size_t& out) {
    std::string_view suffix;
    auto value = number(text, suffix);
    if (value && suffix == "k") value = *value << 10, suffix = {};
    if (value && suffix == "m") value = *value << 20, suffix = {};
    if (value && suffix == "g") value = *value << 30, suffix = {};
    if (!value || !suffix.empty() || *value == 0 || *value > most) {
        return wrong(name, fmt::format("a number from 1 to {}", most));
    }
    out = static_cast<std::size_t>(*value);
    return {};
}

result<void> read_database(std::string_view name, const std::string& text, redis_options& out) {
    std::string_view suffix;
    const auto value = number(text, suffix);
    if (!value || !suffix.empty() || *value > 1'000'000) return wrong(name, "a database number");
    out.database = static_cast<int>(*value);
    return {};
}

result<void> read_password_file(std::string_view name, const std::string& path,
                                redis_options& out) {
    std::ifstream file(path);
    if (!file || !std::getline(file, out.password)) {
        return wrong(name, "a readable file whose first line is the password");
    }
    if (out.password.ends_with('\r')) out.password.pop_back();
    return {};
}

result<void> read_password_env(std::string_view name, const std::string& variable,
                               redis_options& out) {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return wrong(name, "the name of an environment variable that is set");
    out.password = value;
    return {};
}

result<void> read_verify(std::string_view name, const std::string& text, redis_options& out) {
    if (text != "full" && text != "none") return wrong(name, "full or none");
    out.tls.verify = text == "full" ? tls_verify::full : tls_verify::none;
    return {};
}

using setter = result<void> (*)(std::string_view, const std::string&, redis_options&);
struct row {
    std::string_view name;
    setter set;
};

template <auto Field>
result<void> set_time(std::string_view name, const std::string& text, redis_options& o) {
    return read_duration(name, text, o.*Field);
}
template <auto Field, std::size_t Most>
result<void> set_count(std::string_view name, const std::string& text, redis_options& o) {
    return read_count(name, text, Most, o.*Field);
}
template <auto Field>
result<void> set_text(std::string_view /*name*/, const std::string& text, redis_options& o) {
    o.*Field = text;
    return {};
}
template <auto Field>
result<void> set_tls_text(std::string_view /*name*/, const std::string& text, redis_options& o) {
    o.tls.*Field = text;
    return {};
}

constexpr std::size_t gigabyte = std::size_t{1} << 30;
constexpr std::array rows{
    row{"connect_timeout", set_time<&redis_options::connect_timeout>},
    row{"reply_timeout", set_time<&redis_options::reply_timeout>},
    row{"backoff_min", set_time<&redis_options::backoff_min>},
    row{"backoff_max", set_time<&redis_options::backoff_max>},
    row{"connections", set_count<&redis_options::connections, 64>},
    row{"sessions", set_count<&redis_options::sessions, 65536>},
    row{"max_queued", set_count<&redis_options::max_queued, gigabyte>},
    row{"max_in_flight_bytes", set_count<&redis_options::max_in_flight_bytes, 64 * gigabyte>},
    row{"max_reply_bytes", set_count<&redis_options::max_reply_bytes, 64 * gigabyte>},
    row{"client_name", set_text<&redis_options::client_name>},
    row{"user", set_text<&redis_options::user>},
    row{"password_file", read_password_file},
    row{"password_env", read_password_env},
    row{"db", read_database},
    row{"verify", read_verify},
    row{"ca_file", set_tls_text<&redis_tls::ca_file>},
    row{"cert_file", set_tls_text<&redis_tls::cert_file>},
    row{"key_file", set_tls_text<&redis_tls::key_file>},
    row{"server_name", set_tls_text<&redis_tls::server_name>},
};

std::string suggestion(std::string_view name) {
    std::array<std::string_view, rows.size()> names;
    std::ranges::transform(rows, names.begin(), [](const row& r) { return r.name; });
    return did_you_mean(name, names);
}

result<void> check(const redis_options& o) {
    // CLIENT SETNAME takes no spaces; better to say so before the first connection does.
    const auto odd = [](char c) { return c < '!' || c > '~'; };
    if (std::ranges::any_of(o.client_name, odd)) {
        return wrong("client_name", "printable ASCII without spaces");
    }
    if (o.tls.cert_file.empty() != o.tls.key_file.empty()) {
        return fail(errc::invalid_argument, "cert_file and key_file go together: give both");
    }
    if (!o.user.empty() && o.password.empty()) {
        return fail(errc::invalid_argument,
                    "a user without a password: give password_file or password_env");
    }
    if (o.backoff_max < o.backoff_min) {
        return fail(errc::invalid_argument, "backoff_max is smaller than backoff_min");
    }
    return {};
}

result<int> database_of_path(const std::string& path) {
    if (path.empty() || path == "/") return 0;
    redis_options scratch;
    if (auto read = read_database("db", path.substr(1), scratch); !read) {
        return fail(errc::invalid_argument,
                    "the path of a redis: URL is a database number, as in redis://host/0");
    }
    return scratch.database;
}

}  // namespace

result<redis_options> parse_redis_options(const url& parsed) {
    redis_options out;
    if (parsed.user) out.user = *parsed.user;
    if (parsed.password) {
        out.password = *parsed.password;
    } else if (parsed.user && out.user.empty()) {
        return fail(errc::invalid_argument, "the URL has an '@' and nothing before it");
    }
    for (const auto& [name, value] : parsed.options) {
        const auto found = std::ranges::find(rows, name, &row::name);
        if (found == rows.end()) {
            return fail(errc::invalid_argument,
                        fmt::format("the URL has an option that is not known: '{}'{}", name,
                                    suggestion(name)));
        }
        if (auto set = found->set(name, value, out); !set) return std::unexpected(set.error());
    }
    if (auto good = check(out); !good) return std::unexpected(good.error());
    return out;
}

result<redis_target> parse_redis_url(std::string_view text) {
    auto parsed = parse_url(text);
    if (!parsed) return std::unexpected(parsed.error());
    return parse_redis_url(*parsed);
}

result<redis_target> parse_redis_url(const url& parsed) {
    constexpr std::array<std::string_view, 3> schemes{"redis", "rediss", "redis+unix"};
    if (std::ranges::find(schemes, parsed.scheme) == schemes.end()) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is not a scheme of a Redis server: redis, rediss and "
                                "redis+unix are{}",
                                parsed.scheme, did_you_mean(parsed.scheme, schemes)));
    }
    auto options = parse_redis_options(parsed);
    if (!options) return std::unexpected(options.error());
    redis_target target{.address = {}, .options = std::move(*options)};
    if (parsed.scheme == "redis+unix") {
        if (!parsed.hosts.empty() || parsed.path.size() < 2) {
            return fail(errc::invalid_argument,
                        "a redis+unix: URL holds a path, as in redis+unix:///run/redis.sock");
        }
        target.address.unix_path = parsed.path;
        return target;
    }
    if (parsed.hosts.size() != 1) {
        return fail(errc::invalid_argument, "a redis: URL names one host, as in redis://db1:6379");
    }
    target.address.host = parsed.hosts[0].name;
    target.address.port = parsed.hosts[0].port.value_or(6379);
    target.options.tls.enabled = parsed.scheme == "rediss";
    auto database = database_of_path(parsed.path);
    if (!database) return std::unexpected(database.error());
    if (parsed.path.size() > 1) target.options.database = *database;
    return target;
}

std::string to_string(const server_address& address) {
    if (!address.unix_path.empty()) return fmt::format("unix:{}", address.unix_path);
    const bool v6 = address.host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

}  // namespace holdfast
