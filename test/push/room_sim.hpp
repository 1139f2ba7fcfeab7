// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// A room in a world of faults: Logic, consumers, Comets and viewers as machines, in virtual time,
/// on the embedded engine with the real scripts. One thread, one seed: the same seed does the same.
///
/// Consumers die between any two steps, pause for longer than their lock lives, and lose answers;
/// published frames are lost, late and doubled; Comets lose their reads and die with all their
/// connections, which come back elsewhere and resume. At the end all is well for a while, and then
/// every viewer must have had every message, once and in order, and no two broadcasts may be closer
/// than the cooldown.
namespace holdfast::push::test {

/// Defects that the simulation must find.
enum class seeded_bug : std::uint8_t {
    none,
    acknowledge_early,   ///< Entries are acknowledged when they are read.
    no_claim,            ///< Entries of dead consumers are not taken over.
    no_tail_check,       ///< A lost frame that none follows is never noticed.
    hole_ignored,        ///< A frame behind a hole is passed on.
    no_second_look,      ///< The cooldown is not looked at again under the lock.
    resume_from_nowhere  ///< A viewer that comes back begins at the room's position.
};

/// What is wrong at the end, or empty.
[[nodiscard]] std::string simulate_room(std::uint64_t seed, seeded_bug bug = seeded_bug::none);

}  // namespace holdfast::push::test
