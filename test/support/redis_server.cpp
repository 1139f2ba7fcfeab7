// SPDX-License-Identifier: Apache-2.0
//
// A redis-server for a test.
//
// Besides what the test asks for, each server listens on a unix socket in its own directory: the
// harness talks to it there, so that a test's TLS, its ACL or a proxy on the port does not stand in
// the way of looking at the server's state.
#include "support/redis_server.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
constexpr auto redis_start_within = 20s;
constexpr auto redis_end_within = 10s;
constexpr const char* harness_user = "holdfast-harness";
constexpr const char* harness_password = "harness";

}  // namespace

redis_server::redis_server(redis_options options)
    : options_(std::move(options)), directory_(std::make_unique<temporary_directory>()) {
    if (options_.on == redis_options::listen::tcp && options_.port == 0) {
        options_.port = free_port();
    }
    if (!options_.acl.empty()) {
        std::ofstream file(directory_->path() / "users.acl");
        for (const std::string& line : options_.acl) file << line << '\n';
        file << "user " << harness_user << " on >" << harness_password << " ~* &* +@all\n";
        if (!options_.password.empty()) {
            file << "user default on >" << options_.password << " ~* &* +@all\n";
        }
    }
    if (!options_.configuration.empty()) {
        std::ofstream file(directory_->path() / "redis.conf");
        for (const std::string& line : options_.configuration) file << line << '\n';
    }
    start();
}

std::vector<std::string> redis_server::argv() const {
    const std::string port = std::to_string(options_.port);
    std::vector<std::string> list{"redis-server"};
    const auto add = [&](std::initializer_list<std::string> more) {
        list.insert(list.end(), more);
    };
    if (!options_.configuration.empty()) add({directory() / "redis.conf"});
    add({"--bind", "127.0.0.1", "--dir", directory(), "--unixsocket", socket()});
    add({"--daemonize", "no", "--loglevel", "warning", "--save", "", "--appendonly", "no"});
    add({"--repl-diskless-sync-delay", "0"});  // a master waits 5 s for more replicas otherwise
    if (options_.tls != nullptr) {
        add({"--port", "0", "--tls-port", port, "--tls-auth-clients", "optional"});
        add({"--tls-cert-file", options_.tls->server_certificate()});
        add({"--tls-key-file", options_.tls->server_key()});
        add({"--tls-ca-cert-file", options_.tls->ca_certificate()});
    } else {
        add({"--port", port});  // 0 when only the unix socket is wanted
    }
    if (!options_.acl.empty()) {
        add({"--aclfile", directory() / "users.acl"});
    } else if (!options_.password.empty()) {
        add({"--requirepass", options_.password});
    }
    if (options_.replica_of) {
        add({"--replicaof", "127.0.0.1 " + std::to_string(*options_.replica_of)});
    }
    list.insert(list.end(), options_.arguments.begin(), options_.arguments.end());
    return list;
}

void redis_server::start() {
    auto environment = options_.environment;
    if (!options_.preload.empty()) environment.push_back("LD_PRELOAD=" + options_.preload.string());
    process_.reset();
    process_ = std::make_unique<child_process>(process_options{
        .argv = argv(),
        .output = directory() / "log",
        .environment = std::move(environment),
    });
    const auto answers = [&] {
        if (!process_->running()) return true;  // looked at below: no sense in waiting on
        return connect().ask("PING").type() == reply::kind::status;
    };
    std::string why = "it ended";
    try {
        wait_for("a reply to PING", answers, redis_start_within);
    } catch (const std::runtime_error& e) {
        why = e.what();
        process_->kill();
    }
    if (running()) return;
    throw std::runtime_error("redis-server did not start: " + why + "\n  " +
                             process_->command_line() + "\nits log:\n" + log_tail());
}

std::string redis_server::url() const {
    const std::string secret = options_.password.empty() ? "" : ":" + options_.password + "@";
    if (options_.on == redis_options::listen::unix_socket) {
        return "redis+unix://" + secret + socket().string();
    }
    return (options_.tls != nullptr ? "rediss://" : "redis://") + secret +
           "127.0.0.1:" + std::to_string(port());
}

void redis_server::stop() {
    if (!process_) return;
    process_->signal(SIGCONT);
    process_->signal(SIGTERM);
    if (!process_->wait(redis_end_within)) {
        throw std::runtime_error("redis-server did not end on SIGTERM; its log:\n" + log_tail());
    }
}

void redis_server::kill() {
    if (process_) process_->kill();
}

void redis_server::pause() {
    process_->signal(SIGSTOP);
}

void redis_server::resume() {
    process_->signal(SIGCONT);
}

void redis_server::restart() {
    kill();
    start();
}

raw_connection redis_server::connect() const {
    auto connection = raw_connection::to_socket(socket());
    reply answer;
    if (!options_.acl.empty()) {
        answer = connection.ask("AUTH", harness_user, harness_password);
    } else if (!options_.password.empty()) {
        answer = connection.ask("AUTH", options_.password);
    }
    if (answer.is_error()) throw std::runtime_error("AUTH at " + url() + ": " + answer.text());
    return connection;
}

reply redis_server::raw_words(std::span<const std::string_view> args) {
    try {
        return connect().execute(args);
    } catch (const std::runtime_error& e) {
        std::string text = "redis-server on port " + std::to_string(port()) + " did not answer ";
        text += args.empty() ? "" : args.front();
        throw std::runtime_error(text + ": " + e.what() + "\nits log:\n" + log_tail());
    }
}

}  // namespace holdfast::test
