// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "keyed/key_store.hpp"

#include <memory>
#include <string_view>

/// The command seam on a store of keys: every primitive of traffic control, with the very same
/// scripts.
///
/// Limits: a script works on the keys in KEYS alone; others seem not to exist, and to write one
/// fails the call. No subscriptions, nothing that waits (BLPOP), walks (SCAN) or speaks of a server
/// (INFO): these are `unsupported`. MULTI … EXEC is one call. A script that another process loaded
/// is not known here, unless the command brings its body.
namespace holdfast::keyed {

/// `no_subscriptions` is the sentence for those who subscribe; it must outlive the engine.
[[nodiscard]] std::shared_ptr<command_engine> make_keyed_commands(
    std::shared_ptr<key_store> store, std::string_view no_subscriptions);

}  // namespace holdfast::keyed
