// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/dict.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

/// Members with scores, in order of score and then of bytes, with ranks in O(log n).
///
/// Two structures over the same nodes: a dict by member, which also gives ZSCAN its cursor, and a
/// ranked tree of pointers to the dict's nodes. The tree hides behind this header because its
/// templates are heavy to compile.
namespace holdfast::memory {

class sorted_set {
public:
    using members = dict<double>;
    using entry = members::node;

    explicit sorted_set(std::uint64_t seed);
    ~sorted_set();
    sorted_set(const sorted_set&) = delete;
    sorted_set& operator=(const sorted_set&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] const members& by_member() const noexcept { return members_; }
    [[nodiscard]] entry* find(std::string_view member) const noexcept {
        return members_.find(member);
    }

    /// Requires: the member is not there; the score is a number.
    void insert(std::string_view member, double score);
    void set_score(entry& e, double score);
    void erase(entry& e) noexcept;

    /// 0 is the lowest.
    [[nodiscard]] std::size_t rank(const entry& e) const noexcept;

    /// How many entries come before the first for which before(entry) is false.
    /// Requires: `before` is true for a front part of the order and false for the rest.
    [[nodiscard]] std::size_t count_before(const std::function<bool(const entry&)>& before) const;

    /// Requires: rank < size().
    [[nodiscard]] entry& at(std::size_t rank) const noexcept;

    /// Calls visit(entry&) for ranks first, first+step, … `count` times. Requires: step is 1 or -1.
    /// O(log n + count). `visit` must not change the set.
    void walk(std::size_t first, int step, std::size_t count,
              const std::function<void(entry&)>& visit) const;

private:
    struct order;
    members members_;
    std::unique_ptr<order> order_;
};

}  // namespace holdfast::memory
