// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/redis/redis_statistics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The Redis client: one `command_engine` on one Redis server, shared by any number of threads.
///
///     auto redis = holdfast::open_redis("redis://localhost:6379");
///     auto answer = (*redis)->execute(words("SET", "a", 1), (*redis)->time().now() + 2s);
///
/// URLs: redis://[user[:password]@]host[:port][/db][?options], rediss:// (TLS) in the same form,
/// and redis+unix:///path/to/socket[?db=n&options]. The options are the fields below, by name:
///
/// | option              | default   | takes                                                     |
/// |---------------------|-----------|-----------------------------------------------------------|
/// | connect_timeout     | 2s        | resolve + connect + TLS + login; 500us, 200ms, 2s, 1m     |
/// | reply_timeout       | 5s        | from the last byte written to the reply                   |
/// | connections         | 1         | shared connections, 1 to 64                               |
/// | sessions            | 64        | exclusive connections (open_session) at the same time     |
/// | client_name         | holdfast  | CLIENT SETNAME; empty: none                               |
/// | user                |           | ACL user, if it is not in the userinfo                    |
/// | password_file       |           | a file whose first line is the password                   |
/// | password_env        |           | an environment variable that holds the password           |
/// | db                  | 0         | database number, if it is not in the path                 |
/// | verify              | full      | full: certificate and host name; none: neither            |
/// | ca_file             | system's  | PEM file of the certificate authority                     |
/// | cert_file, key_file |           | PEM files of the client's certificate and its key         |
/// | server_name         | the host  | name to check the server's certificate against            |
/// | max_queued          | 65536     | commands that may wait to be written, per connection      |
/// | max_in_flight_bytes | 4 MiB     | bytes written and not yet answered, per connection        |
/// | max_reply_bytes     | 512 MiB   | size of one reply; a larger one ends the connection       |
/// | backoff_min         | 10ms      | pause after a failed connect; doubles, with jitter …      |
/// | backoff_max         | 2s        | … up to this                                              |
///
/// Sizes take the suffixes k, m, g (1024). A reply nested deeper than 7 arrays ends the connection.
namespace holdfast {

/// Where one server listens.
struct server_address {
    std::string host;  ///< A name, or an address without brackets. Empty for a unix socket.
    std::uint16_t port = 6379;
    std::string unix_path;

    friend bool operator==(const server_address&, const server_address&) = default;
};

/// "db1:6379", "[::1]:6379", "unix:/run/redis.sock".
[[nodiscard]] std::string to_string(const server_address& address);

enum class tls_verify : std::uint8_t { full, none };

struct redis_tls {
    bool enabled = false;
    tls_verify verify = tls_verify::full;
    std::string ca_file;
    std::string cert_file;
    std::string key_file;
    std::string server_name;
};

/// The options of a server, besides its address. Contains a password: never print it whole.
struct redis_options {
    std::string user;
    std::string password;
    int database = 0;
    std::string client_name = "holdfast";
    redis_tls tls;

    duration connect_timeout = std::chrono::seconds(2);
    duration reply_timeout = std::chrono::seconds(5);
    duration backoff_min = std::chrono::milliseconds(10);
    duration backoff_max = std::chrono::seconds(2);

    /// One is enough to reach the server's limit, and keeps batches large.
    std::size_t connections = 1;
    std::size_t sessions = 64;
    std::size_t max_queued = 65536;
    std::size_t max_in_flight_bytes = std::size_t{4} << 20;
    std::size_t max_reply_bytes = std::size_t{512} << 20;

    /// Sent on every new connection before any other command; if one of them is refused, the
    /// connection is not used.
    std::vector<std::vector<std::string>> on_connect_commands;
    /// Called with each answer to these, and the times before they were sent and after they were
    /// answered. Called on the client's own threads; must be short.
    std::function<void(const reply& answer, time_point sent, time_point heard)> on_connect_answer;
};

/// The content of a redis:, rediss: or redis+unix: URL.
struct redis_target {
    server_address address;
    redis_options options;
};

/// Reads the password from password_file or password_env, if the URL says so.
/// Errors: invalid_argument; the detail names the option and what it takes, never a value.
[[nodiscard]] result<redis_target> parse_redis_url(std::string_view text);
[[nodiscard]] result<redis_target> parse_redis_url(const url& parsed);

/// The options of a URL whose hosts and path mean something else (Sentinel, Cluster, a quorum).
[[nodiscard]] result<redis_options> parse_redis_options(const url& parsed);

/// A command_engine with statistics.
class redis_engine : public command_engine {
public:
    [[nodiscard]] virtual redis_statistics statistics() const = 0;
};

/// Makes the engine. No I/O but reading certificates: the first command connects.
/// Errors: invalid_argument, if a certificate cannot be read.
/// Requires: `time` and `chance` outlive the engine; no call is in flight when it is destroyed.
[[nodiscard]] result<std::unique_ptr<redis_engine>> make_redis(redis_target target,
                                                               clock& time = system_clock(),
                                                               entropy& chance = system_entropy());

/// Opens the engine of a URL of any Redis scheme: those above, and those of redis_topology.hpp.
/// Errors: invalid_argument.
[[nodiscard]] result<std::unique_ptr<redis_engine>> open_redis(std::string_view text);

}  // namespace holdfast
