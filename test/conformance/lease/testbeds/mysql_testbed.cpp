// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbeds/real_testbed.hpp"
#include "driver/mysql/mysql_database.hpp"
#include "lease/tables/sql_lease_store.hpp"

#include "support/mariadb_server.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A MariaDB server, which all cases of a process share; each begins with nothing stored.
class mysql_testbed final : public real_testbed {
public:
    mysql_testbed() {
        static const bool made = store()->time_of_day(system_clock().now() + 10s).has_value();
        if (made) {
            server().sql(
                "DELETE FROM holdfast_names; DELETE FROM holdfast_parties; "
                "DELETE FROM holdfast_clients; DELETE FROM holdfast_notes");
        }
    }
    std::shared_ptr<lease_store> make_store() override { return store(); }
    // Each handoff wakes a sleeping connection: of more at once, the last would miss their claim.
    [[nodiscard]] std::size_t many() const override { return 400; }
    void forget(const std::string& name) override {
        server().sql("DELETE FROM holdfast_parties WHERE name = '" + name +
                     "'; DELETE FROM holdfast_names WHERE name = '" + name + "'");
    }
    /// What is over is swept by the way, a little at a time; here all at once.
    std::vector<std::string> leftovers() override {
        if (!store()->sweep_all(system_clock().now() + 5s)) return {"(not swept)"};
        auto names = server().sql("SELECT name FROM holdfast_names");
        std::ranges::copy(server().sql("SELECT name FROM holdfast_parties"),
                          std::back_inserter(names));
        return names;
    }

private:
    static mariadb_server& server() {
        static mariadb_server shared;
        return shared;
    }
    static std::shared_ptr<sql::sql_lease_store> store() {
        mysql::mysql_options options{
            .servers = {{"127.0.0.1", server().port()}}, .database = "app", .user = "root"};
        return std::make_shared<sql::sql_lease_store>(
            std::make_unique<mysql::mysql_database>(std::move(options), system_clock()),
            system_clock());
    }
};

const offered_testbed on_mysql{"mysql", [] { return std::make_unique<mysql_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
