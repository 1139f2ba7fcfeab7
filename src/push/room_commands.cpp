// SPDX-License-Identifier: Apache-2.0
#include "push/room_commands.hpp"

#include "command/script_call.hpp"
#include "push/frame_text.hpp"

namespace holdfast::push {
namespace {

std::uint64_t whole(const reply& r) {
    return r.number() > 0 ? static_cast<std::uint64_t>(r.number()) : 0;
}

}  // namespace

owned_call admit_call(const settings& s, const post& p, const std::vector<std::string>& ids,
                      const std::string& fresh_epoch, const std::string& token) {
    const room_keys keys(s, p.room);
    std::vector<std::string> names{keys.cooldown(), keys.meta(), keys.history(), keys.queue(),
                                   keys.rooms()};
    for (const std::string& id : ids) {
        names.push_back(keys.processed(id));
        names.push_back(keys.place(id));
    }
    owned_call call(push_scripts::all().admit, names);
    call.add(fresh_epoch);
    call.add(p.room);
    call.add(detail::to_ms(s.dedup));
    call.add(s.history_length);
    call.add(detail::to_ms(s.history_age));
    call.add(detail::to_ms(s.room_age));
    call.add(s.queue_length);
    call.add(token);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        call.add(ids[i]);
        call.add(class_text(p.messages[i].kind));
        call.add(message_body(p, p.messages[i], ids[i]));
    }
    return call;
}

owned_call look_call(const settings& s, const std::string& room) {
    const room_keys keys(s, room);
    const std::vector<std::string> names{keys.cooldown(), keys.meta(), keys.comets(),
                                         keys.history()};
    return {push_scripts::all().state, names};
}

std::optional<room_view> read_look(const reply& answer) {
    const std::vector<reply>& all = answer.elements();
    if (all.size() != 10) return {};
    return room_view{.epoch = all[1].text(),
                     .tail = whole(all[2]),
                     .cursor = whole(all[3]),
                     .cooldown_ms = all[0].number()};
}

owned_call broadcast_call(const settings& s, const std::string& room, const broadcast_order& order,
                          std::uint64_t fence) {
    const room_keys keys(s, room);
    const std::vector<std::string> names{keys.cooldown(), keys.meta(),   keys.history(),
                                         keys.queue(),    keys.comets(), keys.channel()};
    owned_call call(push_scripts::all().broadcast, names);
    call.add(fence);
    call.add(order.epoch);
    call.add(to_string(order.mode));
    call.add(std::string_view(order.all ? "all" : "first"));
    call.add(order.first);
    call.add(order.last);
    call.add(detail::to_ms(order.cooldown));
    call.add(s.frame_messages);
    call.add(s.frame_bytes);
    call.add(std::string_view(s.tagged ? "SPUBLISH" : "PUBLISH"));
    call.add(job_group);
    call.add(detail::to_ms(s.history_age));
    call.add(detail::to_ms(s.room_age));
    call.add(std::string_view(order.more ? "1" : "0"));
    for (const auto& [id, last] : order.entries) {
        call.add(id);
        call.add(last);
    }
    return call;
}

std::optional<broadcast_answer> read_broadcast(const reply& answer) {
    const std::vector<reply>& all = answer.elements();
    if (all.size() != 7) return {};
    using kind = broadcast_answer::kind;
    broadcast_answer read{.cursor = whole(all[1]),
                          .tail = whole(all[2]),
                          .count = whole(all[3]),
                          .viewers = whole(all[5]),
                          .waited_ms = whole(all[6])};
    const std::string& what = all[0].text();
    if (what == "sent") {
        read.what = kind::sent;
    } else if (what == "fenced") {
        read.what = kind::fenced;
    } else if (what == "gone") {
        read.what = kind::gone;
    } else if (what == "cooling") {
        read.what = kind::cooling;
        read.count = 0;
        read.cooldown_ms = all[3].number();
    }
    return read;
}

std::vector<queue_entry> read_entries(const reply& list) {
    std::vector<queue_entry> entries;
    for (const reply& one : list.elements()) {
        if (one.elements().size() != 2) continue;
        queue_entry entry{.id = one.elements()[0].text(), .room = {}};
        const std::vector<reply>& fields = one.elements()[1].elements();
        for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
            const std::string& name = fields[i].text();
            const std::string& value = fields[i + 1].text();
            if (name == "room") entry.room = value;
            if (name == "epoch") entry.epoch = value;
            if (name == "duplicate") entry.duplicate = value;
            if (name == "first") entry.first = parse_number(value).value_or(0);
            if (name == "last") entry.last = parse_number(value).value_or(0);
            if (name == "important") entry.important = value == "1";
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

owned_call read_call(const settings& s, const std::string& room, const read_order& order) {
    const room_keys keys(s, room);
    const std::vector<std::string> names{keys.meta(), keys.history()};
    owned_call call(push_scripts::all().read, names);
    call.add(order.epoch);
    call.add(order.after);
    call.add(order.most);
    call.add("cursor");
    call.add(std::string_view(order.seen ? "1" : "0"));
    call.add(order.fresh_epoch);
    call.add(detail::to_ms(s.room_age));
    return call;
}

std::optional<read_answer> read_room(const reply& answer) {
    if (answer.type() != reply::kind::array) return {};
    const std::vector<reply>& all = answer.elements();
    if (all.empty()) return read_answer{};
    if (all.size() < 5) return {};
    read_answer read{.epoch = all[0].text(),
                     .cursor = whole(all[1]),
                     .tail = whole(all[2]),
                     .floor = whole(all[3]),
                     .last = whole(all[4]),
                     .messages = {}};
    for (std::size_t i = 5; i + 2 < all.size(); i += 3) {
        const std::uint64_t offset = whole(all[i]);
        read.messages.push_back(
            {offset, class_of(all[i + 1].text()), with_offset(all[i + 2].text(), offset)});
    }
    return read;
}

}  // namespace holdfast::push
