// SPDX-License-Identifier: Apache-2.0
//
// PgBouncer between a client and the server. In transaction mode it may give each transaction
// another server connection, and with it other locks, prepared statements and LISTENs.
#include "postgresql/postgresql_ground.hpp"

#include "support/child_process.hpp"
#include "support/free_port.hpp"
#include "support/temporary_directory.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Acquires and releases a name.
result<void> use_lease_at(const std::string& url) {
    auto on = open(url);
    if (!on) return std::unexpected(on.error());
    auto held = on->mutex("pooled").try_acquire();
    if (!held) return std::unexpected(held.error());
    return std::move(*held).release();
}

/// A PgBouncer before a server, which lets everybody in.
class pooler {
public:
    pooler(const postgres_server& server, const std::string& mode) : port_(free_port()) {
        namespace fs = std::filesystem;
        const auto ini = directory_.path() / "pgbouncer.ini";
        std::ofstream(ini) << "[databases]\n* = host=127.0.0.1 port=" << server.port()
                           << " user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = "
                           << port_ << "\nunix_socket_dir =\nauth_type = any\npool_mode = " << mode
                           << "\nignore_startup_parameters = extra_float_digits,options\n";
        fs::permissions(directory_.path(), fs::perms::others_exec | fs::perms::others_read,
                        fs::perm_options::add);
        fs::permissions(ini, fs::perms::others_read, fs::perm_options::add);
        std::vector<std::string> words{"/usr/sbin/pgbouncer", ini.string()};
        if (::geteuid() == 0) {  // it refuses to run as root
            words.insert(words.begin(), {"setpriv", "--reuid=postgres", "--regid=postgres",
                                         "--init-groups", "--pdeathsig", "KILL", "--"});
        }
        process_ = std::make_unique<child_process>(
            process_options{.argv = words, .output = directory_.path() / "log"});
        wait_for("PgBouncer to listen", [&] {
            if (!process_->running()) {
                throw std::runtime_error("PgBouncer ended:\n" + process_->log_tail());
            }
            const auto used = use_lease_at(url());
            return used || used.error() != errc::unavailable;
        });
    }
    [[nodiscard]] std::string url(const std::string& options = "") const {
        return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres" + options;
    }

private:
    temporary_directory directory_;
    std::uint16_t port_;
    std::unique_ptr<child_process> process_;
};

TEST(postgresql_pooler, transaction_mode_is_refused_with_an_explanation) {
    const pooler between(shared_postgres(), "transaction");
    for (const char* mode : {"", "?mode=session"}) {
        SCOPED_TRACE(mode);
        const auto used = use_lease_at(between.url(mode));
        ASSERT_FALSE(used);
        EXPECT_EQ(used.error(), errc::unsupported);
        EXPECT_THAT(used.error().detail,
                    AllOf(HasSubstr("a pooler stands before the server"),
                          HasSubstr("connect to the server itself"), HasSubstr("pooler=session")));
    }
}

TEST(postgresql_pooler, session_mode_serves_once_the_url_says_so) {
    const pooler between(shared_postgres(), "session");
    EXPECT_FALSE(use_lease_at(between.url()));
    for (const char* mode : {"?pooler=session", "?pooler=session&mode=session"}) {
        SCOPED_TRACE(mode);
        const auto used = use_lease_at(between.url(mode));
        EXPECT_TRUE(used) << used.error().detail;
    }
}

}  // namespace
}  // namespace holdfast::test
