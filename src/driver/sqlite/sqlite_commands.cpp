// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/sqlite_commands.hpp"

#include "driver/sqlite/key_transaction.hpp"
#include "keyed/keyed_commands.hpp"

#include <utility>

namespace holdfast::sqlite {

std::shared_ptr<command_engine> make_sqlite_commands(sqlite_options options, clock& time,
                                                     entropy& chance) {
    return keyed::make_keyed_commands(
        std::make_shared<key_transaction>(std::move(options), time, chance),
        "sqlite: has no subscriptions: processes share a file only");
}

}  // namespace holdfast::sqlite
