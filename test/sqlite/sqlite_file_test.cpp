// SPDX-License-Identifier: Apache-2.0
//
// What a file can be, and do to us.
#include "sqlite/store_on_file.hpp"
#include "support/run_sql.hpp"
#include "support/wait_for.hpp"

#include <holdfast/client.hpp>

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class sqlite_file : public on_file {
protected:
    static std::string content(const std::string& file) {
        std::ostringstream all;
        all << std::ifstream(file, std::ios::binary).rdbuf();
        return all.str();
    }
    error refusal(const sqlite::sqlite_options& options) {
        const auto store = store_on(options);
        const auto reply = ask_of(*store, acquiring("job", owner()));
        EXPECT_FALSE(reply);
        return reply ? error{} : reply.error();
    }
};

TEST_F(sqlite_file, is_made_by_the_first_request_and_not_by_opening) {
    auto hf = open("sqlite:" + path());
    ASSERT_TRUE(hf) << to_string(hf.error());
    EXPECT_FALSE(std::filesystem::exists(path()));
    EXPECT_TRUE(hf->mutex("job").try_acquire().value().release());
    EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(sqlite_file, that_shall_not_be_made_is_seen_as_empty_until_it_is_there) {
    const std::string url = "sqlite:" + path() + "?create=off";
    auto looks = open(url).value();
    EXPECT_TRUE(looks.list("").value().empty());
    const auto refused = looks.mutex("job").try_acquire();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::denied);
    EXPECT_THAT(refused.error().detail, HasSubstr("the file is not there"));
    EXPECT_FALSE(std::filesystem::exists(path()));
    auto works = open("sqlite:" + path()).value();
    const auto held = works.mutex("job").try_acquire();
    EXPECT_EQ(looks.list("").value().size(), 1);
    EXPECT_TRUE(looks.mutex("other").try_acquire());
}

TEST_F(sqlite_file, keeps_a_lease_over_the_end_of_its_process) {
    const auto who = owner();
    ASSERT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", who))));
    const auto again = store_on({.path = path()});
    EXPECT_FALSE(is_granted(ask_of(*again, acquiring("job", owner()))));
    EXPECT_TRUE(ask_of(*again, ask::release{named("job"), who, {}}));
    EXPECT_TRUE(is_granted(ask_of(*again, acquiring("job", owner()))));
}

TEST_F(sqlite_file, of_another_program_is_refused_and_not_touched) {
    run_sql(path(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    const std::string before = content(path());
    const error why = refusal({.path = path()});
    EXPECT_EQ(why, errc::corrupt);
    EXPECT_THAT(why.detail, HasSubstr("another program's"));
    EXPECT_EQ(content(path()), before);
}

TEST_F(sqlite_file, that_is_no_database_is_refused_and_not_touched) {
    const std::string text(8192, 'x');
    std::ofstream(path()) << text;
    const error why = refusal({.path = path()});
    EXPECT_EQ(why, errc::corrupt);
    EXPECT_THAT(why.detail, HasSubstr("not a database"));
    EXPECT_EQ(content(path()), text);
}

TEST_F(sqlite_file, of_another_version_is_refused) {
    ASSERT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", owner()))));
    run_sql(path(), "PRAGMA user_version = 99");
    const error why = refusal({.path = path()});
    EXPECT_EQ(why, errc::unsupported);
    EXPECT_THAT(why.detail, HasSubstr("version 99"));
}

TEST_F(sqlite_file, that_is_empty_becomes_ours) {
    std::ofstream(path()).close();
    EXPECT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", owner()))));
}

TEST_F(sqlite_file, in_a_directory_that_does_not_exist_is_refused_by_name) {
    const error why = refusal({.path = path("nowhere/leases.db")});
    EXPECT_EQ(why, errc::invalid_argument);
    EXPECT_THAT(why.detail, HasSubstr("nowhere' does not exist"));
}

TEST_F(sqlite_file, that_is_a_directory_is_refused) {
    const error why = refusal({.path = folder.path().string()});
    EXPECT_EQ(why, errc::invalid_argument);
    EXPECT_THAT(why.detail, HasSubstr("directory"));
}

TEST_F(sqlite_file, that_is_not_a_regular_one_is_refused_and_nothing_is_made_beside_it) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    std::filesystem::create_symlink("/dev/full", path("device.db"));
    for (const char* name : {"leases.db", "device.db"}) {
        const error why = refusal({.path = path(name)});
        EXPECT_EQ(why, errc::invalid_argument) << name;
        EXPECT_THAT(why.detail, HasSubstr("not a regular file")) << name;
    }
    EXPECT_FALSE(std::filesystem::exists(path("leases.db-journal")));
    EXPECT_FALSE(std::filesystem::exists("/dev/full-journal"));
}

TEST_F(sqlite_file, that_has_two_names_is_refused_by_both_until_one_is_gone) {
    ASSERT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", owner()))));
    std::filesystem::create_hard_link(path(), path("same.db"));
    for (const char* name : {"leases.db", "same.db"}) {
        const error why = refusal({.path = path(name)});
        EXPECT_EQ(why, errc::invalid_argument) << name;
        EXPECT_THAT(why.detail, HasSubstr("remove the other names")) << name;
    }
    std::filesystem::remove(path("same.db"));
    EXPECT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("more", owner()))));
}

// root may write everything, so this is asked of a process that is nobody.
TEST_F(sqlite_file, that_may_only_be_read_is_denied) {
    ASSERT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", owner()))));
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
    std::filesystem::permissions(path(), std::filesystem::perms(0444));
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
        const auto reply = ask_of(*store_on({.path = path()}), acquiring("job", owner()));
        ::_exit(!reply && reply.error() == errc::denied ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
}

// The same, whether others have it open, or the last one has put its log away.
TEST_F(sqlite_file, that_may_only_be_read_is_read_and_nothing_is_made_beside_it) {
    auto other = store_on({.path = path()});
    ASSERT_TRUE(is_granted(ask_of(*other, acquiring("job", owner()))));
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
    const auto seen_by_nobody = [&] {
        for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
            std::filesystem::permissions(file.path(), std::filesystem::perms(0444));
        }
        const pid_t child = ::fork();
        if (child == 0) {
            if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
            const auto store = store_on({.path = path()});
            const auto listed = store->list("", system_clock().now() + 5s);
            if (!listed) ::_exit(4);
            if (ask_of(*store, acquiring("x", owner())).error() != errc::denied) ::_exit(5);
            ::_exit(listed->size() == 1 && listed->front().name == "job" ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    EXPECT_EQ(seen_by_nobody(), 0);
    other.reset();
    ASSERT_FALSE(std::filesystem::exists(path("leases.db-wal")));
    EXPECT_EQ(seen_by_nobody(), 0);
    EXPECT_FALSE(std::filesystem::exists(path("leases.db-wal")));
    EXPECT_FALSE(std::filesystem::exists(path("leases.db-shm")));
}

TEST_F(sqlite_file, that_cannot_grow_refuses_what_is_new_and_still_lets_go) {
    const sqlite::sqlite_options small{.path = path(), .most_pages = 12};
    const auto store = store_on(small);
    std::vector<owner_token> held;
    error why{};
    for (int i = 0; i < 2000 && why.detail.empty(); ++i) {
        held.push_back(owner());
        const auto reply =
            ask_of(*store, acquiring(std::string(200, 'n') + std::to_string(i), held.back()));
        if (!reply) why = reply.error();
    }
    EXPECT_EQ(why, errc::unavailable);
    EXPECT_THAT(why.detail, HasSubstr("full"));
    ASSERT_GT(held.size(), 5U);
    EXPECT_TRUE(ask_of(*store, ask::renew{named(std::string(200, 'n') + "0"), held[0], {}, 10s}));
    for (std::size_t i = 0; i + 1 < held.size(); ++i) {
        const auto name = named(std::string(200, 'n') + std::to_string(i));
        const auto reply = ask_of(*store, ask::release{name, held[i], {}});
        ASSERT_TRUE(reply) << to_string(reply.error());
        EXPECT_TRUE(std::holds_alternative<answer::released>(*reply));
    }
    EXPECT_TRUE(is_granted(ask_of(*store, acquiring("job", owner()))));
}

TEST_F(sqlite_file, that_another_process_has_locked_is_unavailable_after_the_busy_timeout) {
    const auto store = store_on({.path = path(), .busy_timeout = 30ms});
    const auto who = owner();
    ASSERT_TRUE(is_granted(ask_of(*store, acquiring("job", who))));
    sqlite3* other = nullptr;
    ASSERT_EQ(::sqlite3_open(path().c_str(), &other), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    const auto reply = ask_of(*store, ask::renew{named("job"), who, {}, 10s});
    EXPECT_EQ(reply.error(), errc::unavailable);
    EXPECT_THAT(reply.error().detail, HasSubstr("locked"));
    EXPECT_THAT(reply.error().detail, HasSubstr("; nothing was done (SQLite, writing: database is "
                                                "locked, code 5"));
    EXPECT_EQ(store->list("", system_clock().now() + 5s).value().size(), 1U) << "readers read";
    const auto late = store_on({.path = path(), .busy_timeout = 30ms});
    EXPECT_EQ(late->list("", system_clock().now() + 5s).value().size(), 1U) << "and newcomers";
    EXPECT_EQ(ask_of(*late, acquiring("x", owner())).error(), errc::unavailable);
    ::sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
    ::sqlite3_close(other);
    EXPECT_TRUE(ask_of(*store, ask::renew{named("job"), who, {}, 10s}));
}

TEST_F(sqlite_file, that_lost_a_table_is_corrupt) {
    const auto store = store_on({.path = path()});
    ASSERT_TRUE(is_granted(ask_of(*store, acquiring("job", owner()))));
    run_sql(path(), "DROP TABLE holdfast_names");
    EXPECT_EQ(ask_of(*store, acquiring("job", owner())).error(), errc::corrupt);
}

TEST_F(sqlite_file, that_is_damaged_is_called_so_and_what_to_do_is_said) {
    ASSERT_TRUE(is_granted(ask_of(*store_on({.path = path()}), acquiring("job", owner()))));
    std::fstream bytes(path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4100);  // behind the page that says what is where
    bytes << std::string(9000, 'x') << std::flush;
    const error why = refusal({.path = path()});
    EXPECT_EQ(why, errc::corrupt);
    EXPECT_THAT(why.detail, HasSubstr("is damaged: end all that use it, and move it away"));
}

TEST_F(sqlite_file, that_was_replaced_is_opened_anew) {
    const auto store = store_on({.path = path()});
    const auto who = owner();
    ASSERT_TRUE(is_granted(ask_of(*store, acquiring("job", who))));
    for (const char* part : {"leases.db", "leases.db-wal", "leases.db-shm"}) {
        std::filesystem::remove(path(part));
    }
    const auto other = store_on({.path = path()});
    ASSERT_TRUE(is_granted(ask_of(*other, acquiring("job", owner()))));
    wait_for("both to look at the same file again", [&] {
        const auto reply = ask_of(*store, ask::renew{named("job"), who, {}, 10s});
        return std::holds_alternative<answer::lost>(reply.value());
    });
}

TEST_F(sqlite_file, that_is_named_by_a_symbolic_link_has_all_its_files_beside_the_real_one) {
    std::filesystem::create_directory(path("links"));
    std::filesystem::create_symlink(path(), path("links/leases.db"));
    auto direct = open("sqlite:" + path()).value();
    auto linked = open("sqlite:" + path("links/leases.db")).value();
    const auto held = linked.mutex("job").try_acquire();
    ASSERT_TRUE(held);
    EXPECT_EQ(direct.mutex("job").try_acquire().error(), errc::busy);
    EXPECT_TRUE(std::filesystem::exists(path("leases.db-alive")));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("links")), {}), 1);
}

TEST_F(sqlite_file, is_not_used_by_a_child_of_fork) {
    const auto store = store_on({.path = path()});
    const auto who = owner();
    ASSERT_TRUE(is_granted(ask_of(*store, acquiring("job", who))));
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused =
            ask_of(*store, acquiring("x", owner())).error() == errc::invalid_argument;
        const auto own = store_on({.path = path()});
        const bool excluded = !is_granted(ask_of(*own, acquiring("job", owner())));
        const bool works = is_granted(ask_of(*own, acquiring("child's", owner())));
        ::_exit(refused && excluded && works ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(ask_of(*store, ask::release{named("job"), who, {}}));
}

TEST_F(sqlite_file, url_is_checked_before_anything_is_opened) {
    const auto refused = [](const std::string& text, std::string_view part) {
        const auto got = open(text);
        ASSERT_FALSE(got) << text;
        EXPECT_EQ(got.error(), errc::invalid_argument) << text;
        EXPECT_THAT(got.error().detail, HasSubstr(part));
    };
    refused("sqlite:", "names no file");
    refused("sqlite:/tmp/", "names no file");
    refused("sqlite://host/x.db", "no server");
    refused("sqlite::memory:", "write memory:");
    refused("sqlite:/x.db?busy_timeout=0", "busy_timeout takes");
    refused("sqlite:/x.db?synchronous=off", "normal or full");
    refused("sqlite:/x.db?create=no", "on or off");
    refused("sqlite:/x.db?busytimeout=1s", "busy_timeout");
    EXPECT_TRUE(open("sqlite:" + path() + "?busy_timeout=1s&synchronous=full")
                    .value()
                    .mutex("job")
                    .try_acquire()
                    .value()
                    .release());
    EXPECT_TRUE(open("sqlite://" + path()).value().mutex("job").try_acquire());
}

}  // namespace
}  // namespace holdfast::test
