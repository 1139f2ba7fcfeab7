// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/cluster_shards.hpp"

#include "core/hash_slot.hpp"

#include <fmt/format.h>

namespace holdfast {

result<std::vector<slot_range>> read_shards(command_engine& engine, time_point give_up) {
    const auto map = engine.execute(words("CLUSTER", "SLOTS").idempotent(), give_up);
    if (!map) return std::unexpected(map.error());
    std::vector<slot_range> read;
    for (const reply& one : map->elements()) {
        const auto& parts = one.elements();
        if (parts.size() < 3 || parts[2].elements().size() < 3) {
            return fail(errc::corrupt, "CLUSTER SLOTS: " + to_string(one));
        }
        const auto slot = [&](std::size_t i) {
            return static_cast<unsigned>(parts[i].number()) % slot_count;
        };
        const auto& master = parts[2].elements();
        read.push_back(
            {slot(0), slot(1), master[2].text(),
             fmt::format("{}:{}", master[0].is_nil() ? std::string("?") : master[0].text(),
                         master[1].number())});
    }
    return read;
}

}  // namespace holdfast
