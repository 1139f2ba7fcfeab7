// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/testbed.hpp"
#include "driver/sqlite/sqlite_connection.hpp"
#include "lease/tables/sql_lease_store.hpp"

#include "support/run_sql.hpp"
#include "support/temporary_directory.hpp"

#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// A file, in virtual time: the database reads the clock that its stores were given.
class sqlite_testbed final : public testbed {
public:
    std::shared_ptr<lease_store> make_store() override { return store_on_file(); }
    clock& time() override { return clock_; }
    void pass(duration d) override { clock_.advance(d); }
    [[nodiscard]] duration ttl() const override { return 30s; }
    void forget(const std::string& name) override {
        let_fences_pass();
        run("DELETE FROM holdfast_names WHERE name = '" + name + "'");
        run("DELETE FROM holdfast_parties WHERE name = '" + name + "'");
    }
    /// What is over is swept by the way, a little at a time; here all at once.
    std::vector<std::string> leftovers() override {
        let_fences_pass();
        if (!store_on_file()->sweep_all(clock_.now() + 5s)) return {"(not swept)"};
        auto names = run("SELECT name FROM holdfast_names");
        std::ranges::copy(run("SELECT name FROM holdfast_parties"), std::back_inserter(names));
        return names;
    }

private:
    std::shared_ptr<sql::sql_lease_store> store_on_file() {
        return std::make_shared<sql::sql_lease_store>(
            std::make_unique<sqlite::sqlite_connection>(
                sqlite::sqlite_options{.path = folder_.path() / "leases.db"}, clock_),
            clock_);
    }
    /// A row stays until the clock has passed its fences, some microseconds. Virtual time stands
    /// still until it is told.
    void let_fences_pass() { clock_.advance(5ms); }
    /// The first column of what another program reads or does in the file.
    std::vector<std::string> run(const std::string& text) {
        return run_sql(folder_.path() / "leases.db", text);
    }

    temporary_directory folder_;
    virtual_clock clock_;
};

const offered_testbed on_sqlite{"sqlite", [] { return std::make_unique<sqlite_testbed>(); }};

}  // namespace
}  // namespace holdfast::test
