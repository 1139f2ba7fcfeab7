// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/engine/url.hpp>

#include <memory>

/// How each engine is opened. An engine adds one file, and one line in the table of CMakeLists.txt.
namespace holdfast::detail {

/// What a client stands on: where leases are kept, and the engine below it if that speaks Redis
/// commands (else null).
struct opened_engine {
    std::shared_ptr<lease_store> store;
    std::shared_ptr<command_engine> commands;
};

/// An engine for the URL. Errors: as holdfast::open.
using engine_opener = result<opened_engine> (*)(const url& where, const client_options& options);

result<opened_engine> open_memory(const url& where, const client_options& options);

result<opened_engine> open_sqlite(const url& where, const client_options& options);

result<opened_engine> open_postgresql(const url& where, const client_options& options);

result<opened_engine> open_mysql(const url& where, const client_options& options);
result<opened_engine> open_etcd(const url& where, const client_options& options);
result<opened_engine> open_zookeeper(const url& where, const client_options& options);

result<opened_engine> open_redis(const url& where, const client_options& options);

result<opened_engine> open_redlock(const url& where, const client_options& options);

}  // namespace holdfast::detail
