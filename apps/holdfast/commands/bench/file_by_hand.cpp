// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/file_by_hand.hpp"

#ifdef HOLDFAST_BENCH_ETCD
#include "commands/bench/etcd_pairs.hpp"
#endif
#ifdef HOLDFAST_BENCH_MYSQL
#include "commands/bench/mysql_pairs.hpp"
#endif
#ifdef HOLDFAST_BENCH_POSTGRESQL
#include "commands/bench/postgresql_pairs.hpp"
#endif
#ifdef HOLDFAST_BENCH_SQLITE
#include "commands/bench/sqlite_pairs.hpp"
#endif
#ifdef HOLDFAST_BENCH_ZOOKEEPER
#include "commands/bench/zookeeper_pairs.hpp"
#endif

#include <holdfast/engine/url.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::app {

std::string synchronous_of(const std::string& engine_url) {
    const auto parsed = parse_url(engine_url);
    if (!parsed) return "normal";
    const auto found = std::ranges::find(parsed->options, "synchronous",
                                         &std::pair<std::string, std::string>::first);
    return found == parsed->options.end() ? "normal" : found->second;
}

bool uses_sessions(const std::string& engine_url) {
    const auto parsed = parse_url(engine_url);
    return parsed && std::ranges::find(parsed->options,
                                       std::pair<std::string, std::string>("mode", "session")) !=
                         parsed->options.end();
}

std::string database_reference(const std::string& engine_url) {
    if (engine_url.starts_with("etcd")) return "transactions";
    if (engine_url.starts_with("zookeeper")) return "the lock recipe";
    if (!uses_sessions(engine_url)) return "prepared statements";
    return engine_url.starts_with("m") ? "GET_LOCK" : "advisory locks";
}

result<bench::pairs_result> pairs_by_hand_in_a_database(
    [[maybe_unused]] const bench_engine& engine,
    [[maybe_unused]] const bench::pairs_options& wanted) {
#ifdef HOLDFAST_BENCH_ETCD
    if (engine.url.starts_with("etcd")) return bench::pairs_by_etcd(engine.url, wanted);
#endif
#ifdef HOLDFAST_BENCH_POSTGRESQL
    if (engine.url.starts_with("postgres")) return bench::pairs_by_postgresql(engine.url, wanted);
#endif
#ifdef HOLDFAST_BENCH_MYSQL
    if (engine.url.starts_with("m")) return bench::pairs_by_mysql(engine.url, wanted);
#endif
#ifdef HOLDFAST_BENCH_ZOOKEEPER
    if (engine.url.starts_with("zookeeper")) return bench::pairs_by_zookeeper(engine.url, wanted);
#endif
    return fail(errc::unsupported, "this program was built without that database");
}

#ifdef HOLDFAST_BENCH_SQLITE

namespace {

std::string file_beside(const bench_engine& engine) {
    return (engine.directory.path() / "by_hand.db").string();
}

}  // namespace

result<bench::pairs_result> pairs_by_hand_in_a_file(const bench_engine& engine,
                                                    const bench::pairs_options& wanted) {
    return bench::pairs_by_sqlite(file_beside(engine),
                                  {.pairs = wanted, .synchronous = synchronous_of(engine.url)});
}

result<bench::pairs_result> counts_by_hand_in_a_file(const bench_engine& engine,
                                                     const bench::pairs_options& wanted, int keys) {
    return bench::counts_by_sqlite(
        file_beside(engine), {.pairs = wanted, .synchronous = synchronous_of(engine.url)}, keys);
}

#else

result<bench::pairs_result> pairs_by_hand_in_a_file(const bench_engine&,
                                                    const bench::pairs_options&) {
    return fail(errc::unsupported, "this program was built without SQLite");
}

result<bench::pairs_result> counts_by_hand_in_a_file(const bench_engine&,
                                                     const bench::pairs_options&, int) {
    return fail(errc::unsupported, "this program was built without SQLite");
}

#endif

}  // namespace holdfast::app
