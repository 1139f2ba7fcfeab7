// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/stream.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// All keys of an embedded engine at one moment, as values: what a replica gets, what a disk has.
///
/// Expiries are absolute, as in a Redis file: what was over meanwhile is gone when it is loaded.
namespace holdfast::memory {

class keyspace;

struct memory_image {
    using hash = std::vector<std::pair<std::string, std::string>>;
    struct list {
        std::vector<std::string> elements;
    };
    struct set {
        std::vector<std::string> members;
    };
    using sorted = std::vector<std::pair<std::string, double>>;

    struct entry {
        std::string key;
        std::int64_t expires_ms;  ///< no_expiry: never.
        std::variant<std::string, hash, list, set, sorted, stream> value;
    };
    std::vector<entry> entries;
};

[[nodiscard]] memory_image image_of(const keyspace& db);

/// Replaces everything.
void load_image(keyspace& db, const memory_image& image);

}  // namespace holdfast::memory
