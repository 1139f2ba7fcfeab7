// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/entropy.hpp>

#include <memory>
#include <utility>

/// Where traffic control keeps its state: an engine that speaks Redis commands.
///
/// A client converts to it, so you write `holdfast::once seen(hf, …)`. On an engine that speaks no
/// Redis commands, every call then returns `unsupported`. An engine of `open_redis()` converts to
/// it too; so everything also works on a Redis Cluster.
namespace holdfast {

class client;

class command_access {
public:
    /// Keeps the client's engine alive, not the client.
    command_access(const client& of);  // NOLINT(google-explicit-constructor): the usual way

    /// Requires: `chance` outlives the objects that use it.
    command_access(  // NOLINT(google-explicit-constructor): as above
        std::shared_ptr<command_engine> engine, entropy& chance = system_entropy()) noexcept
        : engine_(std::move(engine)), chance_(&chance) {}

    /// Null if the client's engine speaks no Redis commands.
    [[nodiscard]] const std::shared_ptr<command_engine>& engine() const noexcept { return engine_; }
    [[nodiscard]] entropy& chance() const noexcept { return *chance_; }

private:
    std::shared_ptr<command_engine> engine_;
    entropy* chance_;
};

}  // namespace holdfast
