// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/names.hpp>

#include <optional>
#include <string>
#include <string_view>

/// Where the entries of a name are: `<root>/<name>/<owner>`.
///
/// It is the layout of the Go recipe and of `etcdctl lock <root>/<name>`, which end in the number
/// of a lease instead, so that their locks exclude ours and are excluded. What else is stored has
/// prefixes of its own beside it, `<root>.evicted/…`.
namespace holdfast::ordered {

/// The keys from `first` to before `end`.
struct key_range {
    std::string first;
    std::string end;
};

/// All keys that begin with `prefix`. Requires: it is not empty.
[[nodiscard]] key_range with_prefix(std::string prefix);

class name_keys {
public:
    explicit name_keys(std::string root) : root_(std::move(root)) {}

    [[nodiscard]] std::string entry(std::string_view name, std::string_view owner) const;
    /// The entries of a name, and those of names below it: see name_of().
    [[nodiscard]] key_range queue(std::string_view name) const;
    /// The entries of all names that begin so.
    [[nodiscard]] key_range all(std::string_view name_prefix) const;
    [[nodiscard]] std::string eviction(std::string_view name, std::string_view owner) const;
    [[nodiscard]] key_range evictions(std::string_view name) const;

    /// The name of which the key is an entry, or else nothing: `<root>/a/b/<owner>` is one of a/b,
    /// although it is within queue("a").
    [[nodiscard]] std::optional<std::string_view> name_of(std::string_view key) const;

private:
    std::string root_;
};

}  // namespace holdfast::ordered
