// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/ops_troubles.hpp"

#include "time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using level = trouble::level;

// Fewer in the last seconds are chance, or one person at a keyboard.
constexpr std::uint64_t enough = 5;
// A room or a queue that stands still for so long is not merely between two broadcasts.
constexpr duration too_long = 3s;

std::optional<trouble> duplicates_of(const ops_room& room) {
    const push::room_figures& recent = room.counted.recent;
    if (recent.duplicates < enough || recent.duplicates < 4 * recent.messages) return std::nullopt;
    return trouble{
        level::warning,
        "duplicates",
        room.state.name,
        fmt::format("Almost all messages to {} are skipped as duplicates", room.state.name),
        fmt::format("{} of {} messages in the last seconds had an id that was used before.",
                    recent.duplicates, recent.duplicates + recent.messages),
        "Give each message its own messageId. Without one the id is derived from room, user and "
        "content, so the same words twice are one message; --require-ids on refuses such posts."};
}

trouble strange_cooldown(const ops_room& room) {
    return {level::broken,
            "cooldown",
            room.state.name,
            fmt::format("The cooldown of {} does not end", room.state.name),
            room.state.cooldown_endless
                ? fmt::format("The key room:cooldown:{} has no expiry, and ours always have one.",
                              room.state.name)
                : fmt::format("It lasts another {}, but the setting is {}.",
                              show_roughly(room.state.cooldown_left), show_roughly(room.cooldown)),
            "Another program has set the key, or processes have different settings: clear the "
            "cooldown here, then give all processes the same --config file."};
}

std::optional<trouble> cooldown_of(const ops_room& room) {
    if (room.state.mode == push::mode::none) return std::nullopt;
    if (room.state.cooldown_endless || room.state.cooldown_left > 2 * room.cooldown + 1s) {
        return strange_cooldown(room);
    }
    const push::room_figures& recent = room.counted.recent;
    const std::uint64_t met = recent.deferred + recent.skipped;
    if (met < 2 * enough || met < 3 * recent.frames) return std::nullopt;
    const bool drops = recent.skipped > 0;
    return trouble{
        drops ? level::warning : level::note,
        "cooldown",
        room.state.name,
        drops ? fmt::format("{} is always in cooldown and loses messages", room.state.name)
              : fmt::format("{} is always in cooldown: messages wait and share frames",
                            room.state.name),
        fmt::format("In the last seconds {} posts met the cooldown of {} and {} frames went out.",
                    met, show_roughly(room.cooldown), recent.frames),
        drops ? "Mode drop skips what meets a cooldown. Set --mode coalesce, so that it waits "
                "instead, or a shorter --cooldown; important messages are never skipped."
              : "This is what the window is for, and nothing is lost. For less delay set a shorter "
                "--cooldown, or a rule for this room."};
}

std::string waiting_text(std::uint64_t messages) {
    return messages == 1 ? "1 message waits" : fmt::format("{} messages wait", messages);
}

std::optional<trouble> lock_of(const ops_room& room, duration lock_life) {
    if (!room.state.locked || room.state.tail <= room.state.cursor) return std::nullopt;
    const bool endless = !room.state.lock_left;
    if (!endless && room.stuck < too_long) return std::nullopt;
    return trouble{
        level::broken,
        "lock",
        room.state.name,
        fmt::format("The lock of {} cannot be had, and its messages wait", room.state.name),
        endless ? fmt::format("{}. lock:broadcast:{} has no expiry: another program "
                              "has set it.",
                              waiting_text(room.state.tail - room.state.cursor), room.state.name)
                : fmt::format("{} for {}. The holder has it for another {}.",
                              waiting_text(room.state.tail - room.state.cursor),
                              show_roughly(room.stuck), show_roughly(*room.state.lock_left)),
        fmt::format("Evict the holder. A consumer that died leaves the lock after {} by itself; "
                    "one that renews it and sends nothing hangs: look at its log.",
                    show_roughly(lock_life))};
}

void about_rooms(const ops_view& view, std::vector<trouble>& out) {
    for (const ops_room& room : view.rooms) {
        if (auto found = lock_of(room, view.lock_life)) out.push_back(std::move(*found));
        if (auto found = cooldown_of(room)) out.push_back(std::move(*found));
        if (auto found = duplicates_of(room)) out.push_back(std::move(*found));
    }
}

bool locks_explain_it(const std::vector<trouble>& so_far) {
    return std::ranges::any_of(so_far, [](const trouble& one) {
        return one.weight == level::broken && (one.kind == "lock" || one.kind == "cooldown");
    });
}

void about_service(const ops_view& view, std::vector<trouble>& out) {
    if (view.queue > 0 && view.queue_stuck >= too_long && !locks_explain_it(out)) {
        out.push_back({level::broken, "no_consumer", "", "Nobody takes messages from the queue",
                       fmt::format("{} posts wait, and nothing was broadcast for {}.", view.queue,
                                   show_roughly(view.queue_stuck)),
                       "Start a process with --role job (or all), and look at its log for "
                       "'Broadcast failed'."});
    }
    if (view.recent.failures > 0) {
        out.push_back({level::warning, "failures", "", "Broadcasts fail",
                       fmt::format("{} failed in the last seconds.", view.recent.failures),
                       "The log has 'Broadcast failed' with the reason; each is tried again."});
    }
    if (view.recent.closed_slow > 0) {
        out.push_back({level::note, "slow_viewers", "", "Viewers do not keep up",
                       fmt::format("{} were closed in the last seconds; they resume by themselves.",
                                   view.recent.closed_slow),
                       "If it goes on, look at the network, or set a larger --viewer-queue."});
    }
    if (view.recent.lost + view.recent.fenced > 0) {
        out.push_back({level::warning, "lost_leases", "", "Leases were lost",
                       fmt::format("{} were lost and {} late broadcasts refused in the last "
                                   "seconds.",
                                   view.recent.lost, view.recent.fenced),
                       "Somebody evicted them, or this process or the engine was paused for longer "
                       "than a lease. Nothing was sent twice: the fence refuses it."});
    }
}

}  // namespace

std::vector<trouble> find_troubles(const ops_view& view) {
    std::vector<trouble> out;
    if (!view.engine_error.empty()) {
        out.push_back({level::broken, "engine", "", "The engine does not answer", view.engine_error,
                       "Look whether it runs and can be reached from here; holdfast doctor says "
                       "more. Messages are refused meanwhile and none is lost."});
    }
    about_rooms(view, out);
    about_service(view, out);
    for (const finding& one : view.health) {
        if (one.weight != finding::level::unsafe) continue;
        out.push_back({level::warning, "unsafe", "", fmt::format("Unsafe engine: {}", one.about),
                       one.text, one.fix});
    }
    std::ranges::stable_sort(out, std::ranges::greater{}, &trouble::weight);
    return out;
}

std::string_view to_string(level weight) noexcept {
    switch (weight) {
        case level::note: return "note";
        case level::warning: return "warning";
        case level::broken: return "broken";
    }
    return "";
}

}  // namespace holdfast::app
