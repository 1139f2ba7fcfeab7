// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/viewers.hpp>

#include "core/require.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

// A member is a connection in a room. It is `joining` until the room's position is known, `reading`
// while it catches up from history, then `live`. Each has its own position, so whatever comes twice
// or overlaps is cut, and a frame that it does not get while it reads is read.

namespace holdfast::push {
namespace {

std::string position_text(std::string_view type, const std::string& room, const position& at,
                          std::string_view more) {
    std::string text = fmt::format(R"({{"type":"{}","room":)", type);
    append_json(text, room);
    text += R"(,"epoch":)";
    append_json(text, at.epoch);
    text += fmt::format(R"(,"offset":{}{}}})", at.offset, more);
    return text;
}

shared_text shared(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

class viewers::impl {
public:
    impl(comet_link& link, std::size_t loop, const settings& s, viewer_limits limits,
         counters* counts)
        : link_(link),
          loop_(loop),
          settings_(s),
          limits_(limits),
          counts_(counts == nullptr ? own_counts_ : *counts) {}
    ~impl() {
        for (const id which : all()) close(which);
    }

    id open(viewer& to, std::string user);
    void close(id which);
    join_outcome join(id which, std::string_view room_name, std::optional<position> resume);
    bool leave(id which, std::string_view room_name);
    bool say(id which, shared_text text);
    shared_text next(id which);
    void hear(const comet_event& event);
    shared_text closing_text(id which, std::string_view reason) const;
    std::vector<id> all() const;
    std::size_t size() const noexcept { return connections_.size(); }
    const connection_name* name_of(id which) const;

private:
    struct connection;
    struct room;
    enum class phase : std::uint8_t { joining, reading, live };
    struct member {
        connection* who;
        room* where;
        std::size_t index;  // in the room's members
        phase now = phase::joining;
        bool announced = false;  // `joined` was said
        std::uint64_t ticket = 0;
        std::optional<position> resume = {};
        position at = {};
    };
    struct room {
        std::string name;
        bool ready = false;
        position at = {};
        std::vector<member*> members = {};
        std::vector<member*> joining = {};  // whose entry is not confirmed yet
    };
    struct connection {
        viewer* to;
        id number;
        std::string user;
        connection_name name;
        outbox queue;
        std::vector<std::unique_ptr<member>> rooms = {};
        bool slow = false;
    };

    void hear(const room_ready& event);
    void hear(const room_frame& event);
    void hear(const room_history& event);
    void begin(member& m);
    void ask(member& m, position after);
    void go_live(member& m, position at, std::optional<bool> recovered);
    void give(member& m, const shared_frame& f);
    void tell(connection& c, std::string text);
    void was_put(connection& c, bool was_empty, outbox::outcome how);
    void end_slow();
    void remove(connection& c, std::size_t index);
    connection* find(id which) const;
    static member* find(connection& c, std::string_view room_name);

    comet_link& link_;
    const std::size_t loop_;
    const settings& settings_;
    const viewer_limits limits_;
    counters own_counts_;
    counters& counts_;
    id last_id_ = 0;
    std::uint64_t last_ticket_ = 0;
    std::unordered_map<id, std::unique_ptr<connection>> connections_;
    std::unordered_map<std::string, std::unique_ptr<room>> rooms_;
    std::unordered_map<std::uint64_t, member*> reads_;
    std::vector<connection*> slow_;
};

viewers::impl::connection* viewers::impl::find(id which) const {
    const auto at = connections_.find(which);
    return at == connections_.end() || at->second->slow ? nullptr : at->second.get();
}

viewers::impl::member* viewers::impl::find(connection& c, std::string_view room_name) {
    const auto at =
        std::ranges::find_if(c.rooms, [&](const auto& m) { return m->where->name == room_name; });
    return at == c.rooms.end() ? nullptr : at->get();
}

viewers::id viewers::impl::open(viewer& to, std::string user) {
    const id number = ++last_id_;
    connections_.emplace(number,
                         std::make_unique<connection>(connection{.to = &to,
                                                                 .number = number,
                                                                 .user = std::move(user),
                                                                 .name = link_.new_connection(),
                                                                 .queue = outbox(limits_.queue)}));
    ++counts_.viewers;
    return number;
}

void viewers::impl::remove(connection& c, std::size_t index) {
    const std::unique_ptr<member> gone = std::move(c.rooms[index]);
    c.rooms.erase(c.rooms.begin() + static_cast<std::ptrdiff_t>(index));
    room& r = *gone->where;
    r.members.back()->index = gone->index;
    r.members[gone->index] = r.members.back();
    r.members.pop_back();
    std::erase(r.joining, gone.get());
    if (gone->ticket != 0) reads_.erase(gone->ticket);
    c.queue.forget(r.name);
    link_.leave(loop_, r.name, c.name, c.user);
    if (r.members.empty()) rooms_.erase(std::string(r.name));
}

void viewers::impl::close(id which) {
    const auto at = connections_.find(which);
    if (at == connections_.end()) return;
    connection& c = *at->second;
    while (!c.rooms.empty()) remove(c, c.rooms.size() - 1);
    connections_.erase(at);
    --counts_.viewers;
}

join_outcome viewers::impl::join(id which, std::string_view room_name,
                                 std::optional<position> resume) {
    connection* const c = find(which);
    if (c == nullptr) return join_outcome::already_there;
    if (find_room_fault(room_name, settings_)) return join_outcome::bad_name;
    if (find(*c, room_name) != nullptr) return join_outcome::already_there;
    if (c->rooms.size() >= limits_.rooms) return join_outcome::too_many_rooms;

    std::unique_ptr<room>& place = rooms_[std::string(room_name)];
    if (place == nullptr) place = std::make_unique<room>(room{.name = std::string(room_name)});
    c->rooms.push_back(std::make_unique<member>(
        member{.who = c, .where = place.get(), .index = place->members.size()}));
    member& m = *c->rooms.back();
    m.resume = std::move(resume);
    place->members.push_back(&m);
    place->joining.push_back(&m);
    link_.enter(loop_, place->name, c->name, c->user);
    end_slow();
    return join_outcome::joining;
}

bool viewers::impl::leave(id which, std::string_view room_name) {
    connection* const c = find(which);
    if (c == nullptr) return false;
    const auto at =
        std::ranges::find_if(c->rooms, [&](const auto& m) { return m->where->name == room_name; });
    if (at == c->rooms.end()) return false;
    std::string text = R"({"type":"left","room":)";
    append_json(text, room_name);
    text += '}';
    remove(*c, static_cast<std::size_t>(at - c->rooms.begin()));
    tell(*c, std::move(text));
    end_slow();
    return true;
}

bool viewers::impl::say(id which, shared_text text) {
    connection* const c = find(which);
    if (c == nullptr) return false;
    const bool was_empty = c->queue.empty();
    was_put(*c, was_empty, c->queue.put(std::move(text)));
    const bool kept = !c->slow;
    end_slow();
    return kept;
}

shared_text viewers::impl::next(id which) {
    connection* const c = find(which);
    return c == nullptr ? nullptr : c->queue.next();
}

// The room's position is known: the member begins there, or reads what it missed.
void viewers::impl::begin(member& m) {
    if (m.resume) return ask(m, *std::exchange(m.resume, {}));
    go_live(m, m.where->at, {});
}

void viewers::impl::ask(member& m, position after) {
    m.now = phase::reading;
    m.ticket = ++last_ticket_;
    m.at = std::move(after);
    reads_[m.ticket] = &m;
    link_.read(loop_, m.where->name, m.at, m.ticket);
}

void viewers::impl::go_live(member& m, position at, std::optional<bool> recovered) {
    m.now = phase::live;
    m.at = std::move(at);
    if (m.announced) return;
    m.announced = true;
    m.who->queue.start_at(m.where->name, m.at);
    std::string_view more;
    if (recovered) more = *recovered ? R"(,"recovered":true)" : R"(,"recovered":false)";
    tell(*m.who, position_text("joined", m.where->name, m.at, more));
}

void viewers::impl::tell(connection& c, std::string text) {
    if (c.slow) return;
    const bool was_empty = c.queue.empty();
    was_put(c, was_empty, c.queue.put(shared(std::move(text))));
}

void viewers::impl::was_put(connection& c, bool was_empty, outbox::outcome how) {
    if (how == outbox::outcome::overflow) {
        c.slow = true;
        slow_.push_back(&c);
    } else if (was_empty) {
        c.to->ready();
    }
}

// Closes those that were too slow; not while members of a room are gone through.
void viewers::impl::end_slow() {
    for (connection* const c : std::exchange(slow_, {})) {
        ++counts_.closed_slow;
        viewer& to = *c->to;
        shared_text hint = closing_text(c->number, "slow");
        close(c->number);
        to.too_slow(std::move(hint));
    }
}

void viewers::impl::give(member& m, const shared_frame& f) {
    connection& c = *m.who;
    if (m.now != phase::live || c.slow) return;
    if (f->epoch() != m.at.epoch) {
        const bool first_message = m.at.epoch.empty() && m.at.offset == 0;
        m.at = {f->epoch(), f->first() - 1};
        if (!first_message) tell(c, position_text("reset", m.where->name, m.at, ""));
    }
    if (f->last() <= m.at.offset) return;
    const shared_frame rest = f->first() <= m.at.offset ? cut(f, m.at.offset) : f;
    m.at.offset = f->last();
    const bool was_empty = c.queue.empty();
    const std::uint64_t shed = c.queue.shed();
    const std::uint64_t merged = c.queue.merged();
    const outbox::outcome how = c.queue.put(rest);
    counts_.shed += c.queue.shed() - shed;
    counts_.board.add(f->room(), &room_figures::shed, c.queue.shed() - shed);
    counts_.frames_merged += c.queue.merged() - merged;
    ++counts_.frames_out;
    counts_.messages_out += rest->messages().size();
    was_put(c, was_empty, how);
}

void viewers::impl::hear(const comet_event& event) {
    std::visit([this](const auto& what) { hear(what); }, event);
    end_slow();
}

void viewers::impl::hear(const room_ready& event) {
    const auto found = rooms_.find(event.room);
    if (found == rooms_.end()) return;
    room& r = *found->second;
    r.ready = true;
    r.at = event.at;
    for (member* const m : std::exchange(r.joining, {})) begin(*m);
}

void viewers::impl::hear(const room_frame& event) {
    const auto found = rooms_.find(event.frame->room());
    if (found == rooms_.end() || !found->second->ready) return;
    room& r = *found->second;
    r.at = {event.frame->epoch(), event.frame->last()};
    for (member* const m : r.members) give(*m, event.frame);
}

void viewers::impl::hear(const room_history& event) {
    const auto found = reads_.find(event.ticket);
    if (found == reads_.end()) return;
    member& m = *found->second;
    reads_.erase(found);
    m.ticket = 0;
    const position& room_at = m.where->at;
    if (event.failure || !event.recoverable) {
        ++counts_.not_recoverable;
        if (m.announced) tell(*m.who, position_text("reset", m.where->name, room_at, ""));
        return go_live(m, room_at, false);
    }
    if (!m.announced) ++counts_.resumed;
    // It has not seen what it reads: so the epoch is the one that is read, and nothing is reset.
    go_live(m, {event.at.epoch, m.at.offset}, true);
    if (event.missed != nullptr) give(m, event.missed);
    if (m.at.epoch == room_at.epoch && m.at.offset < room_at.offset) {
        ask(m, m.at);
    } else if (m.at.epoch != room_at.epoch && !room_at.epoch.empty()) {
        tell(*m.who, position_text("reset", m.where->name, {room_at.epoch, 0}, ""));
        ask(m, {room_at.epoch, 0});
    }
}

shared_text viewers::impl::closing_text(id which, std::string_view reason) const {
    std::string text = R"({"type":"closing","reason":)";
    append_json(text, reason);
    text += R"(,"resume":[)";
    const auto at = connections_.find(which);
    if (at != connections_.end()) {
        std::string_view comma;
        for (const auto& [name, where] : at->second->queue.written()) {
            text += comma;
            text += R"({"room":)";
            append_json(text, name);
            text += R"(,"epoch":)";
            append_json(text, where.epoch);
            text += fmt::format(R"(,"offset":{}}})", where.offset);
            comma = ",";
        }
    }
    text += "]}";
    return shared(std::move(text));
}

std::vector<viewers::id> viewers::impl::all() const {
    std::vector<id> ids;
    ids.reserve(connections_.size());
    for (const auto& [number, c] : connections_) ids.push_back(number);
    return ids;
}

const connection_name* viewers::impl::name_of(id which) const {
    const connection* const c = find(which);
    return c == nullptr ? nullptr : &c->name;
}

viewers::viewers(comet_link& link, std::size_t loop, const settings& s, viewer_limits limits,
                 counters* counts)
    : impl_(std::make_unique<impl>(link, loop, s, limits, counts)) {}
viewers::~viewers() = default;
viewers::id viewers::open(viewer& to, std::string user) {
    return impl_->open(to, std::move(user));
}
void viewers::close(id which) {
    impl_->close(which);
}
join_outcome viewers::join(id which, std::string_view room, std::optional<position> resume) {
    return impl_->join(which, room, std::move(resume));
}
bool viewers::leave(id which, std::string_view room) {
    return impl_->leave(which, room);
}
bool viewers::say(id which, shared_text text) {
    return impl_->say(which, std::move(text));
}
shared_text viewers::next(id which) {
    return impl_->next(which);
}
void viewers::hear(const comet_event& event) {
    impl_->hear(event);
}
shared_text viewers::closing_text(id which, std::string_view reason) const {
    return impl_->closing_text(which, reason);
}
std::vector<viewers::id> viewers::all() const {
    return impl_->all();
}
std::size_t viewers::size() const noexcept {
    return impl_->size();
}
const connection_name* viewers::name_of(id which) const {
    return impl_->name_of(which);
}

}  // namespace holdfast::push
