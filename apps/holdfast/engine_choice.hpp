// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <cstdint>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

/// Which engine a command works on: what --engine says, or --engine-file, or HOLDFAST_ENGINE, or a
/// SQLite file in the user's state directory.
///
/// The words of a command line are seen by everyone on the machine (ps), so a password does not
/// belong there: the environment and a file are the ways for it. Nothing here ever repeats a URL
/// but redacted.
namespace holdfast::app {

struct engine_options {
    std::string url;
    std::string file;
};

/// --engine and --engine-file; and --verbose, which every command has that asks an engine.
void add_engine_options(CLI::App& to, engine_options& options);

/// What for. Who only looks makes neither the usual engine's directory nor its file: as long as
/// they are not there, nothing is held.
enum class purpose : std::uint8_t { work, look };

/// The URL of the chosen engine; for work, makes the directory of the usual one.
/// Errors: invalid_argument, unavailable (the file cannot be read, the directory not be made).
[[nodiscard]] result<std::string> chosen_engine(const engine_options& options,
                                                purpose what = purpose::work);

/// Opens what other processes share.
/// Errors: as chosen_engine() and open(); invalid_argument for memory:, which nobody else sees.
[[nodiscard]] result<client> open_shared(const engine_options& options,
                                         purpose what = purpose::work);

/// Overwrites passwords in the words of this process, so that ps does not show them any longer.
void hide_passwords(int argc, char** argv) noexcept;

}  // namespace holdfast::app
