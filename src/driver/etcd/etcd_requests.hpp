// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd.pb.h"
#include "lease/ordered/name_keys.hpp"
#include "lease/ordered/queue_entry.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The parts of etcd's transactions, each by what it means.
namespace holdfast::etcd {

[[nodiscard]] wire::Compare nothing_in(const ordered::key_range& keys);
[[nodiscard]] wire::Compare absent(const std::string& key);
/// Nobody has written the key since: it is the same entry, and says the same.
[[nodiscard]] wire::Compare unchanged(const std::string& key, std::uint64_t version);

[[nodiscard]] wire::RequestOp put(const std::string& key, std::string value, std::int64_t lease);
[[nodiscard]] wire::RequestOp remove(const std::string& key);
[[nodiscard]] wire::RequestOp get(const std::string& key);
[[nodiscard]] wire::RequestOp get(const ordered::key_range& keys);

[[nodiscard]] wire::RangeRequest range_of(const ordered::key_range& keys);

[[nodiscard]] ordered::queue_entry entry_of(const wire::KeyValue& stored);
/// The entries of that name alone, of an answer that may have those of names below it.
[[nodiscard]] std::vector<ordered::queue_entry> entries_of(const wire::RangeResponse& stored,
                                                           const ordered::name_keys& keys,
                                                           std::string_view name);

}  // namespace holdfast::etcd
