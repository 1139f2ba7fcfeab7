// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How often a program allocates: it replaces operator new. Only for a program that links
/// holdfast_allocation_count, and not under a sanitizer, which has an operator new of its own.
namespace holdfast::test {

/// By all threads, since the start.
[[nodiscard]] long allocations() noexcept;

}  // namespace holdfast::test
