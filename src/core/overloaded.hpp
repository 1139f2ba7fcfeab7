// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One visitor made of several lambdas, for std::visit.
namespace holdfast::detail {

template <class... Cases>
struct overloaded : Cases... {
    using Cases::operator()...;
};

}  // namespace holdfast::detail
