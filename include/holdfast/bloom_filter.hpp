// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// "Surely not there", or "perhaps": a set that all processes share, in a few bits for each item.
///
/// In front of a cache it keeps requests for keys that never existed from the source:
///
///     holdfast::bloom_filter known(hf, "articles", {.capacity = 1'000'000, .error_rate = 0.01});
///     auto may = known.contains(id);
///     if (may && !*may) return not_found();        // surely not
///     auto article = articles.get(id, load);       // perhaps
///
/// An item that was added is always found. One that was not is found with `error_rate` at most, as
/// long as there are no more than the filter can grow to: it grows by a chain of filters, each of
/// twice the capacity and half the error of the one before.
///
/// Items cannot be removed; rebuild() makes a new filter beside the old one and puts it in its
/// place in one step, so that nobody ever sees a half-filled one.
namespace holdfast {

enum class bloom_bits : std::uint8_t {
    /// Sized by capacity and error rate; grows.
    sized,
    /// For filters that other programs share: 1,000,000 bits under the plain key prefix + name, and
    /// two bits for an item: its FNV-1a hash and its hash by h * 31 + byte, both of 32 bits, each
    /// modulo 1,000,000. Does not grow: right for about 100,000 items at 3 %.
    two_hashes
};

struct bloom_options {
    /// How many items it is made for; 1 to 100,000,000. It grows by up to seven filters behind the
    /// first one, to 255 times as many, or to 2^32 bits.
    std::uint64_t capacity = 1'000'000;
    /// How often an item that was not added may be found. 0.000001 to 0.5.
    double error_rate = 0.01;
    bloom_bits bits = bloom_bits::sized;
    /// How long it stays after the last add().
    duration life = std::chrono::days(30);
    std::string prefix = "bloom:";
    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

struct bloom_info {
    std::uint64_t items = 0;  ///< How many were added that were not found before.
    int filters = 0;          ///< How many are in the chain.
    std::uint64_t bytes = 0;
};

/// Thread safety: all members may be called from any thread.
class bloom_filter {
public:
    static constexpr std::size_t max_batch = 1000;

    /// Does no I/O; bad arguments are told by the first call.
    bloom_filter(command_access where, std::string_view name, bloom_options options = {});

    /// Answers whether it was surely not there before.
    /// Errors: invalid_argument (name, options, other options than those the filter was made with,
    /// more than max_batch items), unsupported, corrupt; the engine's. Repeat it after any of them.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<bool> add(std::string_view item);
    [[nodiscard]] result<std::vector<bool>> add(std::span<const std::string_view> items);

    /// False: it was surely not added. Errors, Blocks: as add().
    [[nodiscard]] result<bool> contains(std::string_view item);
    [[nodiscard]] result<std::vector<bool>> contains(std::span<const std::string_view> items);

    /// Fills a new filter with what `feed` adds to it, then puts it in the place of the old one.
    /// What others add to the old one meanwhile is lost: let them add to both, or feed it after.
    /// Errors: what `feed` answers (the old filter stays); unsupported for `two_hashes` on a
    /// Cluster, whose two keys would not be in one slot; as add().
    using adder = std::function<result<void>(std::span<const std::string_view> items)>;
    [[nodiscard]] result<void> rebuild(const std::function<result<void>(const adder& add)>& feed);

    [[nodiscard]] result<bloom_info> info();
    [[nodiscard]] result<void> clear();

private:
    enum class side : std::uint8_t { current, next };
    struct keys {
        std::string meta;
        std::string bits;
    };
    [[nodiscard]] result<void> ready() const;
    [[nodiscard]] keys keys_of(side which) const;
    [[nodiscard]] result<std::vector<bool>> ask_sized(std::span<const std::string_view> items,
                                                      const char* what, side which);
    [[nodiscard]] result<std::vector<bool>> ask_plain(std::span<const std::string_view> items,
                                                      const char* command, side which);
    [[nodiscard]] result<std::vector<bool>> add_to(std::span<const std::string_view> items,
                                                   side which);

    command_access where_;
    std::string name_;
    bloom_options options_;
};

namespace detail {
/// The two positions of an item in a filter of `two_hashes`.
struct two_positions {
    std::uint32_t first;
    std::uint32_t second;
};
[[nodiscard]] two_positions two_hashes_of(std::string_view item) noexcept;
}  // namespace detail

}  // namespace holdfast
