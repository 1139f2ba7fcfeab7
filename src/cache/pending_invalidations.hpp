// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Invalidations that are still to be done: on the engine, so that any process can do them.
///
/// A note is made before the source is written and removed after the entry was deleted. A writer
/// that dies between, or that cannot reach the engine any more, leaves the note; it falls due, and
/// whoever works the list off deletes the entry. A key may be noted several times: a note belongs
/// to one write. What could not be noted, because the engine was away already, is kept in the
/// process.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class pending_invalidations {
public:
    static constexpr std::size_t most_noted = 1'000'000;
    static constexpr std::size_t most_local = 10'000;
    static constexpr std::size_t most_taken = 100;

    pending_invalidations(command_access where, std::string_view prefix);

    /// The note's name. Errors: the engine's; busy, if the list is full.
    [[nodiscard]] result<std::string> note(std::string_view key, duration due, time_point give_up);
    [[nodiscard]] result<void> remove(std::string_view note, time_point give_up);
    /// The same without waiting: if it fails, the entry is deleted once more.
    void remove_soon(std::string_view note, time_point give_up);
    /// What is due, at most `most_taken`; due again after `again`.
    [[nodiscard]] result<std::vector<std::string>> take(duration again, time_point give_up);
    [[nodiscard]] static std::string_view key_of(std::string_view note);

    /// False: too many already.
    [[nodiscard]] bool keep_local(std::string_view key);
    [[nodiscard]] std::vector<std::string> local() const;
    void drop_local(const std::string& key);

private:
    command_access where_;
    std::string list_;
    mutable std::mutex mutex_;
    std::set<std::string> local_;
};

}  // namespace holdfast::detail
