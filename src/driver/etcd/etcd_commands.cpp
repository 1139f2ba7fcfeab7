// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/etcd_commands.hpp"

#include "driver/etcd/etcd_key_store.hpp"
#include "keyed/keyed_commands.hpp"

#include <utility>

namespace holdfast::etcd {

result<std::shared_ptr<command_engine>> make_etcd_commands(etcd_options options, clock& time,
                                                           entropy& chance) {
    auto client = etcd_client::make(std::move(options), time);
    if (!client) return std::unexpected(std::move(client.error()));
    return keyed::make_keyed_commands(
        std::make_shared<etcd_key_store>(std::move(*client), chance),
        "etcd: has no subscriptions: a client that waits for a key looks at it");
}

}  // namespace holdfast::etcd
