// SPDX-License-Identifier: Apache-2.0
#include "commands/run/semaphore_size.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace holdfast::app {
namespace {

std::optional<std::uint32_t> size_of(const lease_mode& mode) {
    if (mode.type != lease_mode::kind::permit) return std::nullopt;
    return mode.limit;
}

// What those say who hold it, or wait for it.
std::optional<std::uint32_t> others_say(const lease_info& seen) {
    if (seen.held()) return size_of(seen.mode);
    for (const waiter_info& one : seen.queue) {
        if (const auto size = size_of(one.mode)) return size;
    }
    return std::nullopt;
}

}  // namespace

result<std::string> agree_on_size(client& on, const run_options& options) {
    if (options.semaphore == 0) return "";
    const auto ours = static_cast<std::uint32_t>(options.semaphore);
    if (options.resize) {
        const auto done = on.semaphore(options.name, ours).resize(ours);
        return done ? result<std::string>("") : std::unexpected(done.error());
    }
    const auto seen = on.inspect(options.name);
    if (!seen || !*seen) return "";  // trouble is the acquire's to tell: it may wait for its end
    if (const auto size = (*seen)->resized) {
        if (*size == ours) return "";
        return fmt::format(
            "'{}' was set to {} for all by --resize; your --semaphore {} is not used", options.name,
            *size, ours);
    }
    const auto theirs = others_say(**seen);
    if (!theirs || *theirs == ours) return "";
    return fail(errc::invalid_argument,
                fmt::format("'{}' is in use with --semaphore {}, and you use {}: use {} too, or "
                            "change it for all with --resize",
                            options.name, *theirs, ours, *theirs));
}

}  // namespace holdfast::app
