// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/counters.hpp>

namespace holdfast::push {

std::array<counter_value, counter_count> read(const counters& c) {
    const auto total = [](std::string_view name, std::string_view help,
                          const counters::counter& of) {
        return counter_value{name, help, of.load(std::memory_order_relaxed), false};
    };
    const auto gauge = [](std::string_view name, std::string_view help,
                          const counters::counter& of) {
        return counter_value{name, help, of.load(std::memory_order_relaxed), true};
    };
    return {
        total("push_posts_total", "Posts admitted.", c.posts),
        total("push_messages_total", "Messages admitted.", c.messages),
        total("push_duplicates_total", "Messages that were sent before.", c.duplicates),
        total("push_refused_total", "Posts refused.", c.refused),
        total("push_received_total", "Queue entries read by consumers.", c.received),
        total("push_deferred_total", "Queue entries that wait for a cooldown.", c.deferred),
        total("push_skipped_total", "Queue entries dropped in a cooldown.", c.skipped),
        total("push_contended_total", "Rooms that another consumer had.", c.contended),
        total("push_broadcasts_total", "Frames published.", c.broadcasts),
        total("push_broadcast_messages_total", "Messages published.", c.broadcast_messages),
        total("push_broadcast_failures_total", "Broadcasts that failed.", c.broadcast_failures),
        total("push_claimed_total", "Queue entries of dead consumers.", c.claimed),
        total("push_fenced_total", "Broadcasts of a holder that was late.", c.fenced),
        total("push_queue_microseconds_total", "Wait of each frame's oldest message.", c.queue_us),
        total("push_frames_in_total", "Frames heard.", c.frames_in),
        total("push_frames_out_total", "Frames given to connections.", c.frames_out),
        total("push_messages_out_total", "Messages given to connections.", c.messages_out),
        total("push_frames_merged_total", "Frames merged for slow connections.", c.frames_merged),
        total("push_shed_total", "Messages that slow connections did not get.", c.shed),
        total("push_closed_slow_total", "Connections that were too slow.", c.closed_slow),
        total("push_gaps_total", "Lost or late frames noticed.", c.gaps),
        total("push_repaired_total", "Messages read from history instead.", c.repaired),
        total("push_resumed_total", "Joins that got what they had missed.", c.resumed),
        total("push_not_recoverable_total", "Joins that could not.", c.not_recoverable),
        gauge("push_viewers", "Connections now.", c.viewers),
        gauge("push_rooms", "Rooms with viewers here now.", c.rooms),
    };
}

}  // namespace holdfast::push
