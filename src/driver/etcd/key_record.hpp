// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/memory_engine.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What is stored under `<root>.keys/<key>`: the image of a key, who wrote it, and when.
///
/// The bytes: `K1`, then the writer, the time and the expiry, eight bytes each, the least first;
/// then the image (key_image.hpp).
namespace holdfast::etcd {

struct key_record {
    /// The transaction that wrote it: one whose answer was lost finds its own work by this.
    std::uint64_t writer = 0;
    /// By the writer's civil clock. The time of a key never goes back: who comes later, by a clock
    /// that is behind, counts from here.
    std::int64_t written_us = 0;
    key_image image;
};

[[nodiscard]] std::string to_bytes(const key_record& record);

/// Nothing if these are not the bytes of a record.
[[nodiscard]] std::optional<key_record> read_key_record(std::string_view bytes);

}  // namespace holdfast::etcd
