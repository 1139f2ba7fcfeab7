// SPDX-License-Identifier: Apache-2.0
//
// The fixtures themselves: a harness that lies makes every test above it worthless.
#include "support/child_process.hpp"
#include "support/fault_proxy.hpp"
#include "support/free_port.hpp"
#include "support/raw_connection.hpp"
#include "support/redis_cluster_group.hpp"
#include "support/redis_sentinel_group.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/tls_material.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>
#include <stdexcept>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

template <class Action>
std::string what_it_throws(Action&& action) {
    try {
        action();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

std::chrono::milliseconds time_of(const std::function<void()>& action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 start);
}

TEST(free_port, never_hands_out_the_same_port_twice) {
    std::set<std::uint16_t> seen;
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(seen.insert(free_port()).second);
    EXPECT_LT(*seen.rbegin() + 10'000, 32'768) << "the bus port must be below the ephemeral range";
}

TEST(temporary_directory, is_removed_with_all_that_is_in_it) {
    std::filesystem::path path;
    {
        const temporary_directory directory;
        path = directory.path();
        std::filesystem::create_directory(path / "sub");
        std::ofstream(path / "sub" / "file") << "text";
        EXPECT_TRUE(std::filesystem::exists(path / "sub" / "file"));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(child_process, tells_the_exit_code_and_keeps_the_output) {
    const temporary_directory directory;
    child_process child({.argv = {"sh", "-c", "echo $WORD; echo bad >&2; exit 3"},
                         .output = directory.path() / "log",
                         .environment = {"WORD=hello"}});
    EXPECT_EQ(child.wait(10s), 3);
    EXPECT_EQ(child.log_tail(), "hello\nbad\n");
}

TEST(child_process, says_which_program_cannot_be_started_and_why) {
    const auto text = what_it_throws([] {
        child_process child({
            .argv = {"no-such-program", "-x"},
        });
    });
    EXPECT_EQ(text, "cannot start no-such-program -x: No such file or directory");
}

TEST(child_process, is_killed_by_its_destructor) {
    pid_t pid = 0;
    {
        child_process child({.argv = {"sleep", "600"}});
        pid = child.pid();
        EXPECT_TRUE(child.running());
        EXPECT_EQ(child.wait(1ms), std::nullopt);
    }
    EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(child_process, dies_with_a_parent_that_crashes) {
    const temporary_directory directory;
    const auto note = directory.path() / "pid";
    const pid_t parent = ::fork();
    if (parent == 0) {
        child_process child({.argv = {"sleep", "600"}});
        std::ofstream(note) << child.pid() << std::endl;
        ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(parent, &status, 0), parent);
    pid_t orphan = 0;
    std::ifstream(note) >> orphan;
    ASSERT_GT(orphan, 0);
    // It may stay a zombie for as long as init takes to reap it.
    wait_for("the orphan's end", [&] {
        std::string state;
        std::ifstream stat("/proc/" + std::to_string(orphan) + "/stat");
        std::string number;
        std::string name;
        return !(stat >> number >> name >> state) || state == "Z" || state == "X";
    });
}

TEST(wait_for, returns_as_soon_as_the_condition_holds) {
    int looks = 0;
    EXPECT_LT(time_of([&] { wait_for("three looks", [&] { return ++looks == 3; }); }), 5s);
    EXPECT_EQ(looks, 3);
}

TEST(wait_for, fails_with_what_it_waited_for_and_what_it_saw_last) {
    const auto text = what_it_throws([] {
        wait_for("the impossible", []() -> bool { throw std::runtime_error("no luck"); }, 20ms);
    });
    EXPECT_EQ(text, "waited 20 ms for the impossible; last seen: no luck");
}

TEST(redis_server, answers_as_soon_as_it_is_made) {
    redis_server server;
    EXPECT_EQ(server.raw("SET", "k", std::string_view("a\0b", 3)), reply::status("OK"));
    auto by_port = raw_connection::to_port(server.port());
    EXPECT_EQ(by_port.ask("GET", "k"), reply::string(std::string_view("a\0b", 3)));
    EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
}

TEST(redis_server, shows_its_log_when_it_does_not_start) {
    const auto text = what_it_throws([] {
        redis_options options;
        options.arguments = {"--maxmemory-policy", "nonsense"};
        const redis_server server(options);
    });
    EXPECT_NE(text.find("redis-server did not start"), text.npos) << text;
    EXPECT_NE(text.find("maxmemory-policy"), text.npos) << text;
    EXPECT_NE(text.find("FATAL CONFIG FILE ERROR"), text.npos) << text;
}

TEST(redis_server, forgets_on_restart_and_keeps_its_port) {
    redis_server server;
    const auto port = server.port();
    server.raw("SET", "k", "v");
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(raw_connection::to_port(port).ask("GET", "k"), reply::nil());
}

TEST(redis_server, remembers_on_restart_when_told_to_persist) {
    redis_options options;
    options.arguments = {"--appendonly", "yes", "--appendfsync", "always"};
    redis_server server(options);
    server.raw("SET", "k", "v");
    server.restart();
    EXPECT_EQ(server.raw("GET", "k"), reply::string("v"));
}

TEST(redis_server, says_nothing_while_paused_and_answers_after_resume) {
    redis_server server;
    auto patient = raw_connection::to_port(server.port());
    auto hasty = raw_connection::to_port(server.port(), 100ms);
    server.pause();
    EXPECT_THROW((void)hasty.ask("PING"), std::runtime_error);
    server.resume();
    EXPECT_EQ(patient.ask("PING"), reply::status("PONG"));
}

TEST(redis_server, is_gone_after_kill_and_after_stop) {
    redis_server server;
    server.kill();
    EXPECT_FALSE(server.running());
    EXPECT_THROW((void)raw_connection::to_port(server.port()), std::runtime_error);
    EXPECT_THROW(server.raw("PING"), std::runtime_error);
    server.restart();
    EXPECT_EQ(server.raw("PING"), reply::status("PONG"));
    server.stop();
    EXPECT_FALSE(server.running());
}

TEST(redis_server, listens_on_a_unix_socket_alone_when_asked) {
    redis_options options;
    options.on = redis_options::listen::unix_socket;
    redis_server server(options);
    EXPECT_EQ(server.url(), "redis+unix://" + server.socket().string());
    EXPECT_EQ(raw_connection::to_socket(server.socket()).ask("PING"), reply::status("PONG"));
    EXPECT_EQ(server.raw("CONFIG", "GET", "port").elements().at(1), reply::string("0"));
}

TEST(redis_server, wants_the_password_that_it_was_given) {
    redis_options options;
    options.password = "secret";
    redis_server server(options);
    EXPECT_EQ(server.raw("PING"), reply::status("PONG"));
    auto stranger = raw_connection::to_port(server.port());
    EXPECT_TRUE(stranger.ask("GET", "k").text().starts_with("NOAUTH"));
    EXPECT_EQ(stranger.ask("AUTH", "secret"), reply::status("OK"));
    EXPECT_EQ(server.url(), "redis://:secret@127.0.0.1:" + std::to_string(server.port()));
}

TEST(redis_server, obeys_its_acl_and_still_serves_the_harness) {
    redis_options options;
    options.acl = {"user default off", "user alice on >pw ~app:* +get +set"};
    redis_server server(options);
    EXPECT_EQ(server.raw("SET", "other", "1"), reply::status("OK"));
    auto alice = raw_connection::to_port(server.port());
    EXPECT_EQ(alice.ask("AUTH", "alice", "pw"), reply::status("OK"));
    EXPECT_EQ(alice.ask("SET", "app:1", "x"), reply::status("OK"));
    EXPECT_TRUE(alice.ask("GET", "other").text().starts_with("NOPERM"));
}

TEST(redis_server, replicates_a_master) {
    redis_server master;
    redis_options options;
    options.replica_of = master.port();
    redis_server replica(options);
    master.raw("SET", "k", "v");
    wait_for("the replica's copy", [&] { return replica.raw("GET", "k") == reply::string("v"); });
    EXPECT_TRUE(replica.raw("SET", "k", "w").text().starts_with("READONLY"));
}

TEST(redis_server, loads_the_library_that_it_is_told_to_preload) {
    redis_options options;
    options.preload = "no-such-library.so";  // the loader complains in the log, and goes on
    const redis_server server(options);
    EXPECT_NE(server.log_tail().find("no-such-library.so"), std::string::npos);
}

TEST(tls_material, makes_a_server_that_openssl_verifies_by_name_and_address) {
    const tls_material material;
    redis_options options;
    options.tls = &material;
    redis_server server(options);
    EXPECT_EQ(server.raw("PING"), reply::status("PONG"));
    const auto log = server.directory() / "client.log";
    run_to_success({.argv = {"redis-cli", "-h", "127.0.0.1", "-p", std::to_string(server.port()),
                             "--tls", "--cacert", material.ca_certificate(), "--cert",
                             material.client_certificate(), "--key", material.client_key(), "PING"},
                    .output = log});
    for (const char* check : {"-verify_hostname", "-verify_ip"}) {
        const char* subject = std::string_view(check) == "-verify_ip" ? "127.0.0.1" : "localhost";
        run_to_success(
            {.argv = {"openssl", "s_client", "-connect",
                      "127.0.0.1:" + std::to_string(server.port()), "-CAfile",
                      material.ca_certificate(), check, subject, "-verify_return_error", "-brief"},
             .output = log});
    }
    EXPECT_THROW((void)raw_connection::to_port(server.port(), 1s).ask("PING"), std::runtime_error);
}

class fault_proxy_test : public testing::Test {
protected:
    redis_server server_;
    fault_proxy proxy_{server_.port()};
    raw_connection dial(std::chrono::milliseconds timeout = 5s) const {
        return raw_connection::to_port(proxy_.port(), timeout);
    }
};

TEST_F(fault_proxy_test, carries_everything_both_ways) {
    auto client = dial();
    const std::string large(3'000'000, 'x');
    EXPECT_EQ(client.ask("SET", "k", large), reply::status("OK"));
    EXPECT_EQ(client.ask("GET", "k"), reply::string(large));
    EXPECT_EQ(proxy_.accepted(), 1U);
    EXPECT_GT(proxy_.bytes_to_server(), 3'000'000U);
    EXPECT_GT(proxy_.bytes_from_server(), 3'000'000U);
}

TEST_F(fault_proxy_test, drops_replies_although_the_server_did_the_work) {
    auto client = dial(200ms);
    EXPECT_EQ(client.ask("PING"), reply::status("PONG"));
    proxy_.drop_replies();
    EXPECT_THROW((void)client.ask("SET", "k", "v"), std::runtime_error);
    EXPECT_EQ(server_.raw("GET", "k"), reply::string("v"));
    proxy_.pass();
    EXPECT_EQ(dial().ask("GET", "k"), reply::string("v"));
}

TEST_F(fault_proxy_test,
       resets_a_connection_that_lost_bytes_rather_than_carry_a_stream_with_a_hole) {
    auto client = dial();
    proxy_.drop_replies();
    const std::array<std::string_view, 1> ping{"PING"};
    client.append(ping);
    client.append(ping);
    const auto before = proxy_.bytes_from_server();
    std::thread healer([&] {
        wait_for("the swallowed reply", [&] { return proxy_.bytes_from_server() > before; });
        proxy_.pass();
    });
    EXPECT_THROW((void)client.next(), std::runtime_error);
    healer.join();
}

TEST_F(fault_proxy_test, delays_replies_by_what_it_was_told) {
    auto client = dial();
    proxy_.delay(150ms);
    EXPECT_GE(time_of([&] { EXPECT_EQ(client.ask("PING"), reply::status("PONG")); }), 150ms);
    proxy_.pass();
    EXPECT_EQ(client.ask("PING"), reply::status("PONG"));
}

TEST_F(fault_proxy_test, cuts_a_reply_in_the_middle_of_its_frame) {
    server_.raw("SET", "k", "0123456789");
    auto client = dial();
    proxy_.cut_replies_after(8);  // "$10\r\n012"
    const auto text = what_it_throws([&] { (void)client.ask("GET", "k"); });
    EXPECT_NE(text.find("closed"), text.npos) << text;
    wait_for("the proxy to forget the connection", [&] { return proxy_.open() == 0; });
}

TEST_F(fault_proxy_test, resets_existing_and_new_connections) {
    auto client = dial();
    EXPECT_EQ(client.ask("PING"), reply::status("PONG"));
    proxy_.reset();
    const auto text = what_it_throws([&] { (void)client.ask("PING"); });
    EXPECT_NE(text.find("reset by peer"), text.npos) << text;
    EXPECT_THROW((void)dial().ask("PING"), std::runtime_error);
    proxy_.pass();
    EXPECT_EQ(dial().ask("PING"), reply::status("PONG"));
}

TEST_F(fault_proxy_test, swallows_everything_as_a_black_hole) {
    auto old = dial(100ms);
    EXPECT_EQ(old.ask("PING"), reply::status("PONG"));
    proxy_.black_hole();
    EXPECT_THROW((void)old.ask("SET", "k", "v"), std::runtime_error);
    EXPECT_THROW((void)dial(100ms).ask("SET", "k", "v"), std::runtime_error);
    EXPECT_EQ(server_.raw("GET", "k"), reply::nil());
    proxy_.pass();
    EXPECT_EQ(dial().ask("PING"), reply::status("PONG"));
}

TEST_F(fault_proxy_test, refuses_and_comes_back_on_the_same_port) {
    auto old = dial();
    proxy_.refuse();
    EXPECT_THROW((void)old.ask("PING"), std::runtime_error);
    const auto text = what_it_throws([&] { (void)dial(); });
    EXPECT_NE(text.find("refused"), text.npos) << text;
    proxy_.pass();
    EXPECT_EQ(dial().ask("PING"), reply::status("PONG"));
}

TEST_F(fault_proxy_test, passes_on_that_the_server_is_gone) {
    auto client = dial();
    EXPECT_EQ(client.ask("PING"), reply::status("PONG"));
    server_.kill();
    EXPECT_THROW((void)client.ask("PING"), std::runtime_error);
    EXPECT_THROW((void)dial().ask("PING"), std::runtime_error);
}

TEST(redis_sentinel_group, fails_over_on_order_and_when_the_master_dies) {
    redis_sentinel_group group(1s);
    const auto first = group.master_port();
    EXPECT_EQ(first, group.servers().front()->port());
    group.failover();
    const auto second = group.master_port();
    EXPECT_NE(second, first);
    EXPECT_EQ(group.master().raw("SET", "k", "v"), reply::status("OK"));
    wait_for(
        "two replicas of the new master",
        [&] {
            return group.master().raw("INFO", "replication").text().find("connected_slaves:2") !=
                   std::string::npos;
        },
        30s);
    EXPECT_EQ(group.master().raw("WAIT", 2, 20'000), reply::integer(2));
    group.master().kill();
    group.await_master_other_than(second);
    EXPECT_EQ(group.master().raw("GET", "k"), reply::string("v"));
}

TEST(redis_cluster_group, serves_all_slots_and_moves_one_with_its_keys) {
    redis_cluster_group cluster;
    const auto slot = cluster.slot_of("k");
    auto& from = cluster.owner_of(slot);
    auto& to = cluster.stranger_to(slot);
    EXPECT_EQ(from.raw("SET", "k", "v"), reply::status("OK"));
    EXPECT_TRUE(to.raw("GET", "k").text().starts_with("MOVED"));

    cluster.begin_slot_move(slot, to);
    EXPECT_EQ(from.raw("GET", "k"), reply::string("v"));
    EXPECT_TRUE(from.raw("GET", "{k}absent").text().starts_with("ASK"));

    cluster.finish_slot_move(slot, to);
    EXPECT_EQ(to.raw("GET", "k"), reply::string("v"));
    EXPECT_TRUE(from.raw("GET", "k").text().starts_with("MOVED"));
    EXPECT_EQ(&cluster.owner_of(slot), &to);
}

}  // namespace
}  // namespace holdfast::test
