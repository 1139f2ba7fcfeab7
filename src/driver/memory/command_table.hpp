// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// The commands, and how one is found by its name.
///
/// Each family of commands is one file with one constexpr list. At start the lists are laid into an
/// open hash table; a lookup allocates nothing.
namespace holdfast::memory {

struct call;

enum command_flags : std::uint16_t {
    reads = 1U << 0U,      ///< Changes nothing.
    writes = 1U << 1U,     ///< Refused in read-only scripts.
    grows = 1U << 2U,      ///< May need memory: what a bound on memory will refuse.
    no_script = 1U << 3U,  ///< Not allowed from a script.
    blocks = 1U << 4U,     ///< May wait, on a session.
    at_once = 1U << 5U,    ///< Carried out inside MULTI instead of being queued.
    fast_path = 1U << 6U,  ///< O(1) or O(log n).
    no_multi = 1U << 7U,   ///< Refused inside MULTI.
};

struct command_spec {
    std::string_view name;  ///< In lower case; of a part of a family "xgroup|create".
    int arity;              ///< Words with the name; negative: at least that many.
    std::uint16_t flags;
    void (*run)(call&);  ///< Null for a family, whose parts are run.
    std::span<const command_spec> parts{};

    [[nodiscard]] bool takes(std::size_t words) const noexcept {
        return arity >= 0 ? words == static_cast<std::size_t>(arity)
                          : words >= static_cast<std::size_t>(-arity);
    }
};

/// Thread safety: immutable after construction.
class command_table {
public:
    [[nodiscard]] static const command_table& instance();

    /// The command that the first word names; null if there is none.
    [[nodiscard]] const command_spec* find(std::string_view name) const noexcept;
    /// The same for all words: of a family its part that the second word names.
    [[nodiscard]] const command_spec* find(std::span<const std::string_view> words) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] std::span<const command_spec* const> all() const noexcept { return all_; }

private:
    static constexpr std::size_t slots = 1024;
    static constexpr std::size_t longest_name = 24;

    command_table();
    void add(std::span<const command_spec> family);
    [[nodiscard]] const command_spec* look(std::string_view spelling,
                                           std::string_view name) const noexcept;

    std::array<const command_spec*, slots> table_{};
    std::vector<const command_spec*> all_;
};

/// One list per family file.
[[nodiscard]] std::span<const command_spec> string_commands();
[[nodiscard]] std::span<const command_spec> bit_commands();
[[nodiscard]] std::span<const command_spec> key_commands();
[[nodiscard]] std::span<const command_spec> expiry_commands();
[[nodiscard]] std::span<const command_spec> scan_commands();
[[nodiscard]] std::span<const command_spec> hash_commands();
[[nodiscard]] std::span<const command_spec> list_commands();
[[nodiscard]] std::span<const command_spec> list_move_commands();
[[nodiscard]] std::span<const command_spec> set_commands();
[[nodiscard]] std::span<const command_spec> set_algebra_commands();
[[nodiscard]] std::span<const command_spec> sorted_set_commands();
[[nodiscard]] std::span<const command_spec> sorted_set_range_commands();
[[nodiscard]] std::span<const command_spec> stream_commands();
[[nodiscard]] std::span<const command_spec> stream_read_commands();
[[nodiscard]] std::span<const command_spec> stream_group_commands();
[[nodiscard]] std::span<const command_spec> stream_claim_commands();
[[nodiscard]] std::span<const command_spec> stream_info_commands();
[[nodiscard]] std::span<const command_spec> publish_commands();
[[nodiscard]] std::span<const command_spec> transaction_commands();
[[nodiscard]] std::span<const command_spec> script_commands();
[[nodiscard]] std::span<const command_spec> server_commands();
[[nodiscard]] std::span<const command_spec> config_commands();
[[nodiscard]] std::span<const command_spec> command_commands();
[[nodiscard]] std::span<const command_spec> connection_commands();

}  // namespace holdfast::memory
