// SPDX-License-Identifier: Apache-2.0
//
// A PostgreSQL server for a test. Its data directory is made by initdb, about a second's work.
#include "support/postgres_server.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
constexpr auto postgres_starts_within = 30s;
constexpr auto postgres_ends_within = 15s;

std::string program(const std::string& name) {
    for (int version = 20; version >= 14; --version) {
        const auto path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin/" + name;
        if (std::filesystem::exists(path)) return path;
    }
    return name;
}

// What runs a program as user postgres, if we are root.
std::vector<std::string> as_postgres(std::vector<std::string> words) {
    if (::geteuid() != 0) return words;
    // setpriv does not stay between us and the server, as runuser does: a signal reaches it.
    std::vector<std::string> all{
        "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig", "KILL",
        "--"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

void give_to_postgres(const std::filesystem::path& what) {
    if (::geteuid() != 0) return;
    const passwd* const who = ::getpwnam("postgres");
    if (who == nullptr) throw std::runtime_error("there is no user postgres: run tools/setup");
    if (::chown(what.c_str(), who->pw_uid, who->pw_gid) != 0) {
        throw std::runtime_error("cannot give " + what.string() + " to user postgres");
    }
}

void copy_key(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to);
    std::filesystem::permissions(to, std::filesystem::perms::owner_read);
    give_to_postgres(to);
}

std::string contents(const std::filesystem::path& of) {
    std::ifstream file(of);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

postgres_server::postgres_server(postgres_options options)
    : options_(std::move(options)),
      directory_(std::make_unique<temporary_directory>()),
      port_(free_port()) {
    give_to_postgres(directory());
    const auto data = directory() / "data";
    run_to_success({.argv = as_postgres({program("initdb"), "-D", data, "-A", "trust", "-U",
                                         "postgres", "--no-sync", "--locale=C", "-E", "UTF8"}),
                    .output = directory() / "initdb.log",
                    .directory = directory()},
                   60s);
    if (!options_.access.empty()) {
        std::ofstream file(data / "pg_hba.conf");
        file << "local all postgres trust\n";
        for (const std::string& line : options_.access) file << line << '\n';
    }
    if (options_.tls != nullptr) {
        copy_key(options_.tls->server_certificate(), directory() / "server.crt");
        copy_key(options_.tls->server_key(), directory() / "server.key");
    }
    start();
}

postgres_server::~postgres_server() {
    if (process_) kill();
}

void postgres_server::start() {
    std::vector<std::string> words{program("postgres"), "-D", directory() / "data"};
    const auto set = [&](const std::string& setting) {
        words.insert(words.end(), {"-c", setting});
    };
    set("port=" + std::to_string(port_));
    set("listen_addresses=127.0.0.1");
    set("unix_socket_directories=" + directory().string());
    set("fsync=off");
    set("log_min_messages=warning");
    if (options_.tls != nullptr) {
        set("ssl=on");
        set("ssl_cert_file=" + (directory() / "server.crt").string());
        set("ssl_key_file=" + (directory() / "server.key").string());
    }
    for (const std::string& one : options_.settings) set(one);
    // After a crash its other processes may still be ending, and it does not start beside them.
    wait_for(
        "PostgreSQL to answer",
        [&] {
            if (!process_ || !process_->running()) {
                process_.reset();
                process_ =
                    std::make_unique<child_process>(process_options{.argv = as_postgres(words),
                                                                    .output = directory() / "log",
                                                                    .directory = directory()});
            }
            return !sql("SELECT 1").empty();
        },
        postgres_starts_within);
}

std::string postgres_server::url(const std::string& database) const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::vector<std::string> postgres_server::sql(const std::string& text,
                                              const std::string& database) {
    const auto out = directory() / "sql.out";
    std::filesystem::remove(out);
    run_to_success(
        {.argv = {"psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory(), "-p",
                  std::to_string(port_), "-U", "postgres", "-d", database, "-c", text},
         .output = out});
    std::istringstream lines(contents(out));
    std::vector<std::string> rows;
    for (std::string line; std::getline(lines, line);) rows.push_back(line);
    return rows;
}

void postgres_server::stop() {
    if (!process_) return;
    signal_all(SIGCONT);
    process_->signal(SIGINT);
    if (!process_->wait(postgres_ends_within)) {
        throw std::runtime_error("PostgreSQL did not end on SIGINT; its log:\n" + log_tail());
    }
}

// Its processes are the children of the first, each the leader of a session of its own.
void postgres_server::signal_all(int number) {
    if (!process_ || !process_->running()) return;
    if (number == SIGSTOP) process_->signal(number);  // it makes no more
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        if (std::isdigit(static_cast<unsigned char>(entry.path().filename().string()[0])) == 0) {
            continue;
        }
        const std::string stat = contents(entry.path() / "stat");
        const std::size_t end = stat.rfind(')');
        if (end == std::string::npos) continue;
        std::istringstream rest(stat.substr(end + 1));
        char state = 0;
        pid_t parent = 0;
        if (rest >> state >> parent && parent == process_->pid()) ::kill(std::stoi(stat), number);
    }
    if (number != SIGSTOP) process_->signal(number);
}

void postgres_server::kill() {
    if (!process_) return;
    signal_all(SIGKILL);
    process_->kill();
}

void postgres_server::pause() {
    signal_all(SIGSTOP);
}

void postgres_server::resume() {
    signal_all(SIGCONT);
}

void postgres_server::restart() {
    kill();
    start();
}

}  // namespace holdfast::test
