// SPDX-License-Identifier: Apache-2.0
//
// A MariaDB server for a test. Its data directory is made by mariadb-install-db, about a second's
// work.
#include "support/mariadb_server.hpp"

#include "support/free_port.hpp"
#include "support/wait_for.hpp"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
constexpr auto start_mariadb_within = 30s;

// What runs a program as user mysql, if we are root. setpriv does not stay between us and the
// server: a signal reaches it.
std::vector<std::string> as_mysql(std::vector<std::string> words) {
    if (::geteuid() != 0) return words;
    std::vector<std::string> all{
        "setpriv", "--reuid=mysql", "--regid=mysql", "--init-groups", "--pdeathsig", "KILL", "--"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

void give_to_mysql(const std::filesystem::path& what) {
    if (::geteuid() != 0) return;
    const passwd* const who = ::getpwnam("mysql");
    if (who == nullptr) throw std::runtime_error("there is no user mysql: run tools/setup");
    if (::chown(what.c_str(), who->pw_uid, who->pw_gid) != 0) {
        throw std::runtime_error("cannot give " + what.string() + " to user mysql");
    }
}

void copy_for_mysql(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to);
    std::filesystem::permissions(to, std::filesystem::perms::owner_read);
    give_to_mysql(to);
}

bool all_threads_stopped(pid_t of) {
    const auto tasks = "/proc/" + std::to_string(of) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        std::ifstream file(task.path() / "stat");
        const std::string stat{std::istreambuf_iterator<char>(file), {}};
        const std::size_t end = stat.rfind(')');
        if (end == std::string::npos || stat.substr(end + 2, 1) != "T") return false;
    }
    return true;
}

// Small files, so that a server is made and started quickly. The kernel's asynchronous I/O has
// limits that all servers of a machine share.
constexpr const char* log_size = "--innodb-log-file-size=8M";
constexpr const char* plain_files = "--innodb-use-native-aio=0";

}  // namespace

mariadb_server::mariadb_server(mariadb_options options)
    : options_(std::move(options)),
      directory_(std::make_unique<temporary_directory>()),
      port_(free_port()) {
    const auto& directory = directory_->path();
    give_to_mysql(directory);
    run_to_success(
        {.argv = as_mysql(
             {"mariadb-install-db", "--no-defaults", "--datadir=" + (directory / "data").string(),
              "--tmpdir=" + directory.string(), "--auth-root-authentication-method=normal",
              "--skip-test-db", "--skip-name-resolve", log_size, plain_files}),
         .output = directory / "install.log",
         .directory = directory},
        60s);
    if (options_.tls != nullptr) {
        copy_for_mysql(options_.tls->ca_certificate(), directory / "ca.crt");
        copy_for_mysql(options_.tls->server_certificate(), directory / "server.crt");
        copy_for_mysql(options_.tls->server_key(), directory / "server.key");
    }
    start();
    sql("CREATE DATABASE app", "mysql");
}

mariadb_server::~mariadb_server() {
    if (process_) kill();
}

void mariadb_server::start() {
    const auto& directory = directory_->path();
    std::vector<std::string> words{"mariadbd", "--no-defaults"};
    const auto set = [&](const std::string& setting) { words.push_back("--" + setting); };
    set("datadir=" + (directory / "data").string());
    set("tmpdir=" + directory.string());  // a server that starts empties the one that it shares
    set("socket=" + socket().string());
    set("pid-file=" + (directory / "pid").string());
    set("port=" + std::to_string(port_));
    set("bind-address=127.0.0.1");
    set("skip-name-resolve");
    set("innodb-flush-log-at-trx-commit=2");
    set("innodb-buffer-pool-size=16M");
    words.emplace_back(log_size);
    words.emplace_back(plain_files);
    if (options_.tls != nullptr) {
        set("ssl-ca=" + (directory / "ca.crt").string());
        set("ssl-cert=" + (directory / "server.crt").string());
        set("ssl-key=" + (directory / "server.key").string());
    }
    for (const std::string& one : options_.settings) set(one);
    process_ = std::make_unique<child_process>(process_options{
        .argv = as_mysql(words), .output = directory / "log", .directory = directory});
    wait_for(
        "MariaDB to answer",
        [&] {
            if (!process_->running()) {
                throw std::runtime_error("MariaDB has ended; its log:\n" + log_tail());
            }
            return !sql("SELECT 1", "mysql").empty();
        },
        start_mariadb_within);
}

std::string mariadb_server::url(const std::string& database) const {
    return "mysql://root@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::vector<std::string> mariadb_server::sql(const std::string& text, const std::string& database) {
    static std::atomic<int> number = 0;  // a case may have several threads
    const auto out = directory_->path() / ("sql." + std::to_string(++number));
    run_to_success({.argv = {"mariadb", "--no-defaults", "--user=root", "--batch",
                             "--skip-column-names", "--delimiter=;;;",
                             "--socket=" + socket().string(), "--execute=" + text, database},
                    .output = out});
    std::ifstream lines(out);
    std::vector<std::string> rows;
    for (std::string line; std::getline(lines, line);) rows.push_back(line);
    std::filesystem::remove(out);
    return rows;
}

void mariadb_server::kill() {
    if (!process_) return;
    process_->signal(SIGCONT);
    process_->kill();
}

// One of its threads takes the signal and stops the others, once it runs.
void mariadb_server::pause() {
    process_->signal(SIGSTOP);
    wait_for("MariaDB to stand still", [&] { return all_threads_stopped(process_->pid()); });
}

void mariadb_server::resume() {
    process_->signal(SIGCONT);
}

void mariadb_server::restart() {
    kill();
    start();
}

}  // namespace holdfast::test
