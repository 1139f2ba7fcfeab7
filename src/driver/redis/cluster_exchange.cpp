// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for its commands: batches are divided by node, and the parts are under way at
// the same time.
#include "driver/redis/cluster_core.hpp"

#include "core/command_keys.hpp"
#include "driver/redis/redirect.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <list>

namespace holdfast::redis {
namespace {

constexpr std::array<std::string_view, 1> multi_words{"MULTI"};
constexpr std::array<std::string_view, 1> exec_words{"EXEC"};

// What may be repeated is decided here, for all nodes, and not by one node's link.
command once(command c) {
    c.again = repeat::never;
    return c;
}

bool troubled(const result<reply>& answer) {
    if (!answer) return true;
    return answer->is_error() && redirect_of(*answer, {}).type != redirect::kind::none;
}

}  // namespace

/// What goes to one node in one round.
struct cluster_core::parcel {
    node_use to;
    std::vector<command> commands;
    std::vector<std::size_t> whose;  ///< Index of the caller's command; ASKING is nobody's.
    std::deque<std::vector<std::string_view>> rewritten;
    std::vector<result<reply>> replies;
    server_link::flight flight;

    static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

    void add(std::size_t index, const command& c, bool asking) {
        if (!asking) {
            commands.push_back(once(c));
            whose.push_back(index);
            return;
        }
        // The one command behind ASKING is served: there is no room for loading a script.
        commands.push_back(command{asking_words});
        whose.push_back(nobody);
        commands.push_back(command{c.args});
        whose.push_back(index);
        if (c.body == nullptr) return;
        rewritten.emplace_back(c.args.begin(), c.args.end());
        rewritten.back()[0] = rewritten.back()[0].ends_with("RO") ? "EVAL_RO" : "EVAL";
        rewritten.back()[1] = c.body->source();
        commands.back().args = rewritten.back();
    }
};

void cluster_core::send_all(std::vector<work>& todo, std::span<const command> commands,
                            std::span<result<reply>> replies, time_point give_up) {
    std::list<parcel> parcels;
    for (const work& one : todo) {
        auto found = std::ranges::find(parcels, one.way.to, &parcel::to);
        if (found == parcels.end()) {
            found = parcels.emplace(parcels.end());
            found->to = one.way.to;
        }
        found->add(one.index, commands[one.index], one.way.asking);
    }
    for (parcel& p : parcels) {
        p.replies.resize(p.commands.size());
        p.flight.commands = p.commands;
        p.flight.replies = p.replies;
        p.flight.give_up = give_up;
        if (parcels.size() > 1) p.to->link->begin(p.flight);
    }
    for (parcel& p : parcels) {
        if (parcels.size() > 1)
            p.to->link->finish(p.flight);
        else
            p.to->link->exchange(p.commands, p.replies, give_up);
        for (std::size_t i = 0; i < p.whose.size(); ++i) {
            if (p.whose[i] != parcel::nobody) replies[p.whose[i]] = std::move(p.replies[i]);
        }
    }
}

// The way of almost every call: all keys in one slot, and the map is right. True: all is done.
bool cluster_core::in_one_trip(std::span<const command> commands, std::span<result<reply>> replies,
                               time_point give_up, std::vector<work>& left) {
    operation way;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const auto slot = slot_of(commands[i]);
        if (!slot || (i > 0 && *slot != way.slot)) return false;
        way.slot = *slot;
    }
    if (!route(way, give_up)) return false;
    if (commands.size() == 1) {
        const command one = once(commands[0]);
        way.to->link->exchange({&one, 1}, replies, give_up);
    } else {
        std::vector<command> all(commands.begin(), commands.end());
        for (command& c : all) c = once(c);
        way.to->link->exchange(all, replies, give_up);
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (troubled(replies[i])) left.push_back({i, way});
    }
    return left.empty();
}

void cluster_core::exchange(std::span<const command> commands, std::span<result<reply>> replies,
                            time_point give_up) {
    if (commands.empty()) return;
    std::vector<work> todo;
    if (in_one_trip(commands, replies, give_up, todo)) return;
    bool sent = !todo.empty();
    for (std::size_t i = 0; !sent && i < commands.size(); ++i) {
        const auto slot = slot_of(commands[i]);
        if (!slot) {
            replies[i] = std::unexpected(slot.error());
            continue;
        }
        todo.push_back({i, {}});
        todo.back().way.slot = *slot;
    }
    while (!todo.empty()) {
        if (!sent) {
            std::erase_if(todo, [&](work& one) {
                const auto found = route(one.way, give_up);
                if (found && *found) return false;
                if (!found) replies[one.index] = std::unexpected(found.error());
                replies[one.index] = final_answer(one.way, std::move(replies[one.index]));
                return true;
            });
            send_all(todo, commands, replies, give_up);
        }
        sent = false;
        step slowest = step::again;
        std::erase_if(todo, [&](work& one) {
            const step next = judge(one.way, commands[one.index].again, replies[one.index]);
            if (next == step::done) {
                replies[one.index] = final_answer(one.way, std::move(replies[one.index]));
                return true;
            }
            slowest = std::max(slowest, next);
            return false;
        });
        if (todo.empty()) return;
        const operation& slow =
            std::ranges::max_element(todo, {}, [](const work& w) { return w.way.waits; })->way;
        if (rest(slowest, slow, give_up)) continue;
        for (work& one : todo) {
            replies[one.index] = final_answer(one.way, std::move(replies[one.index]));
        }
        return;
    }
}

// Behind ASKING a whole MULTI … EXEC is served, if it comes on the same connection.
result<reply> cluster_core::transaction_at(const operation& way, std::span<const command> commands,
                                           time_point give_up) {
    std::vector<command> all(commands.begin(), commands.end());
    for (command& c : all) c = once(c);
    if (!way.asking) return way.to->link->transaction(all, give_up);
    auto session = way.to->link->open_session(give_up);
    if (!session) return std::unexpected(session.error());
    parcel p;
    p.commands = {command{asking_words}, command{multi_words}};
    for (const command& c : commands) {
        p.add(0, c, true);
        p.commands.erase(p.commands.end() - 2);  // one ASKING is enough
    }
    p.commands.push_back(command{exec_words});
    p.replies.resize(p.commands.size());
    (*session)->exchange(p.commands, p.replies, give_up);
    result<reply>& last = p.replies.back();
    if (!last || !last->is_error()) return std::move(last);
    for (const result<reply>& r : p.replies) {
        if (!r || !r->is_error() || &r == &last) continue;
        return reply::error("EXECABORT Transaction discarded because of: " + r->text());
    }
    return std::move(last);
}

result<reply> cluster_core::transaction(std::span<const command> commands, time_point give_up) {
    const auto slot = slot_of(commands);
    if (!slot) return std::unexpected(slot.error());
    const bool idempotent = std::ranges::all_of(
        commands, [](const command& c) { return c.again == repeat::idempotent; });
    operation way;
    way.slot = *slot;
    result<reply> answer;
    while (true) {
        const auto found = route(way, give_up);
        if (!found) answer = std::unexpected(found.error());
        if (!found || !*found) return final_answer(way, std::move(answer));
        answer = transaction_at(way, commands, give_up);
        const step next = judge(way, idempotent ? repeat::idempotent : repeat::never, answer);
        if (next == step::done || !rest(next, way, give_up)) {
            return final_answer(way, std::move(answer));
        }
    }
}

namespace {

// A session stays where it is. But what its server says about the map is worth hearing.
class cluster_session final : public command_session {
public:
    cluster_session(std::unique_ptr<command_session> inner, std::weak_ptr<cluster_core> core)
        : inner_(std::move(inner)), core_(std::move(core)) {}

    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up) override {
        inner_->exchange(commands, replies, give_up);
        if (!std::ranges::any_of(replies, troubled)) return;
        if (const auto core = core_.lock()) core->suspect();
    }

private:
    std::unique_ptr<command_session> inner_;
    std::weak_ptr<cluster_core> core_;
};

}  // namespace

result<std::unique_ptr<command_session>> cluster_core::open_session(std::string_view key,
                                                                    time_point give_up) {
    operation way;
    if (!key.empty()) way.slot = hash_slot(key);
    error why{errc::unavailable, {}};
    while (true) {
        const auto found = route(way, give_up);
        if (!found) return std::unexpected(found.error());
        if (!*found) return std::unexpected(why);
        auto inner = way.to->link->open_session(give_up);
        if (inner) return std::make_unique<cluster_session>(std::move(*inner), weak_from_this());
        why = inner.error();
        const step next = judge(way, repeat::never, std::unexpected(why));
        if (next == step::done || !rest(next, way, give_up)) return std::unexpected(why);
    }
}

}  // namespace holdfast::redis
