// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// What can go wrong, as a value.
///
/// A code tells the caller what to do next, not which line failed: `busy` means "try later",
/// `outcome_unknown` means "the engine may have done it", `invalid_argument` means "change the
/// call". The detail is one sentence for a person; it never contains a secret.
namespace holdfast {

enum class errc {
    /// Somebody else holds it. An answer, not a failure: retry later, or wait.
    busy = 1,
    /// The caller's own time ran out while waiting. Nothing is held and nothing is left behind.
    timed_out,
    /// The lease is lost: it expired, was evicted, or its engine forgot it. Stop work.
    lease_lost,
    /// The request was sent and no answer came. It may have been carried out.
    outcome_unknown,
    /// The engine cannot be reached or cannot serve now; nothing was done. Safe to retry.
    unavailable,
    /// The engine denies access: credentials or permissions. A retry does not help.
    denied,
    /// This engine cannot do that, ever. `capabilities` tell so before the call.
    unsupported,
    /// The call itself is wrong; the detail names the field and its valid values.
    invalid_argument,
    /// The caller's stop token fired. Nothing is held and nothing is left behind.
    cancelled,
    /// The stored value is not one of Holdfast's: another program's, or damaged. Nothing was
    /// touched.
    corrupt,
};

/// The code as the word used everywhere: API, command line, JSON, metrics.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// A code, and one sentence that says what was being done and to what.
struct error {
    errc code;
    std::string detail;

    friend bool operator==(const error& e, errc wanted) noexcept { return e.code == wanted; }
};

/// "busy: lock 'orders/42' is held by someone else".
[[nodiscard]] std::string to_string(const error& e);

/// Every fallible function of Holdfast returns one of these.
template <class T>
using result = std::expected<T, error>;

/// Makes the failing half of a result: `return fail(errc::busy, "…");`
[[nodiscard]] inline std::unexpected<error> fail(errc code, std::string detail) {
    return std::unexpected(error{code, std::move(detail)});
}

/// For the std-style functions (`lock()`), which throw std::system_error as the standard's do.
[[nodiscard]] const std::error_category& error_category() noexcept;
[[nodiscard]] std::error_code make_error_code(errc code) noexcept;

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
