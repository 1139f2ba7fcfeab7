// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_options.hpp"
#include "lease/ordered/queue_entry.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where the entries of a name are: `<root>/<name>/<owner>__lock__0000000003`. Pure.
///
/// A name is one node, so that a listing is one request: '/' in it is written %2F, and so is
/// whatever ZooKeeper takes in no path. The mode is in the node's name, because the children of a
/// node are listed without their data:
///
///     6f1d…__lock__0000000003           exclusive, as kazoo's Lock and WriteLock name it
///     6f1d…__rlock__0000000004          shared, as kazoo's ReadLock names it
///     6f1d…-2of5__lock__0000000005      2 permits of 5
///
/// With recipe::curator they end in `-lock-0000000003`, which Curator's InterProcessMutex sorts
/// into its own queue: `_c_6f1d…-lock-…`, `_c_6f1d…-shared-lock-…`, `_c_6f1d…-2of5-lock-…`.
///
/// Entries of all these recipes are read, whichever one ours are named after. The server adds the
/// number at the end. It counts the children of the node, wraps after 2^31 and begins again when
/// the node is made anew: it orders the entries that are there together, and nothing else.
namespace holdfast::zookeeper {

class entry_names {
public:
    entry_names(std::string root, recipe names) : root_(std::move(root)), recipe_(names) {}

    [[nodiscard]] const std::string& root() const noexcept { return root_; }
    /// The node of a name.
    [[nodiscard]] std::string directory(std::string_view name) const;
    /// Where the reasons of evictions from a name are.
    [[nodiscard]] std::string evictions(std::string_view name) const;
    /// The name whose node is called so; nothing if it is none of ours.
    [[nodiscard]] static std::optional<std::string> name_of(std::string_view node);

    /// What an entry's node is called, up to its number.
    [[nodiscard]] std::string prefix(std::string_view owner, const lease_mode& mode) const;
    /// The number of an entry as it is written in its node's name.
    [[nodiscard]] static std::string_view number_text(std::string_view key);

    /// The entries among the children of a name's node. Each has its key, owner, mode and position.
    [[nodiscard]] static std::vector<ordered::queue_entry> read(
        const std::vector<std::string>& children);

private:
    std::string root_;
    recipe recipe_;
};

}  // namespace holdfast::zookeeper
