// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/sqlite_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/entropy.hpp>

#include <memory>

/// Redis commands on keys that are in a SQLite file: so that traffic control works across the
/// processes of one machine, with the very same scripts.
///
/// A call is one transaction. It loads the keys that its commands name into an embedded engine,
/// carries them out there, and writes back what changed. So it is atomic, durable as the file is,
/// and as slow as a write: tens of microseconds, one writer at a time.
///
/// Limits: a script works on the keys in KEYS alone; others seem not to exist, and to write one
/// fails the call. No subscriptions: PUBLISH and the like are `unsupported`, and so is what waits
/// (BLPOP), what walks (SCAN), and what speaks of a server (INFO). MULTI … EXEC is one call. A
/// script that another process loaded is not known here, unless the command brings its body.
namespace holdfast::sqlite {

/// Does no I/O: the file is opened by the first command.
[[nodiscard]] std::shared_ptr<command_engine> make_sqlite_commands(sqlite_options options,
                                                                   clock& time, entropy& chance);

}  // namespace holdfast::sqlite
