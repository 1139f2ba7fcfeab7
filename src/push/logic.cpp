// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/logic.hpp>

#include "command/script_call.hpp"
#include "core/require.hpp"
#include "core/validity.hpp"
#include "push/frame_text.hpp"
#include "push/push_scripts.hpp"
#include "push/room_commands.hpp"
#include "push/room_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::push {
namespace {

std::uint64_t count_at(const std::vector<reply>& all, std::size_t i) {
    return i < all.size() ? static_cast<std::uint64_t>(std::max<std::int64_t>(all[i].number(), 0))
                          : 0;
}

refusal engine_refusal(const error& why) {
    return {.reason = refusal_reason::engine, .detail = why.detail, .cause = why.code};
}

result<reply> as_answer(result<reply> answered) {
    if (answered && answered->is_error()) return std::unexpected(to_error(*answered));
    return answered;
}

error unreadable(std::string_view what) {
    return {errc::corrupt, fmt::format("the answer about {} is not one of ours", what)};
}

}  // namespace

class logic::impl : public std::enable_shared_from_this<impl> {
public:
    impl(client& hf, settings s, counters* counts)
        : hf_(hf), settings_(std::move(s)), counts_(counts) {
        detail::require(hf.commands() != nullptr, "live push needs an engine of Redis commands");
    }

    [[nodiscard]] command_engine& engine() const { return *hf_.commands(); }
    [[nodiscard]] const settings& values() const { return settings_; }
    [[nodiscard]] time_point give_up() const {
        return later(engine().time().now(), settings_.timeout);
    }
    [[nodiscard]] result<reply> ask(const owned_call& call) const {
        const command c = call.view();
        result<reply> answered;
        engine().exchange({&c, 1}, {&answered, 1}, give_up());
        return as_answer(std::move(answered));
    }
    [[nodiscard]] client& hf() const { return hf_; }

    [[nodiscard]] owned_call make_call(const post& p, const std::vector<std::string>& ids) const {
        return admit_call(settings_, p, ids, detail::draw_token(hf_.chance()),
                          detail::draw_token(hf_.chance()));
    }
    [[nodiscard]] send_result to_result(std::string room, std::vector<std::string> ids,
                                        result<reply> answered) const;
    void count_refusal() const {
        if (counts_ != nullptr) ++counts_->refused;
    }

private:
    client& hf_;
    const settings settings_;
    counters* const counts_;
};

send_result logic::impl::to_result(std::string room, std::vector<std::string> ids,
                                   result<reply> answered) const {
    answered = as_answer(std::move(answered));
    if (!answered) {
        count_refusal();
        return std::unexpected(engine_refusal(answered.error()));
    }
    const std::vector<reply>& all = answered->elements();
    if (all.size() == 1 && all[0].text() == "full") {
        count_refusal();
        return std::unexpected(
            refusal{.reason = refusal_reason::queue_full,
                    .detail = fmt::format("{} posts wait to be broadcast: try again later",
                                          settings_.queue_length)});
    }
    if (all.size() != 2 + 2 * ids.size()) {
        return std::unexpected(engine_refusal(unreadable("a post")));
    }
    receipt taken{.room = std::move(room),
                  .epoch = all[0].text(),
                  .messages = {},
                  .due_in = std::chrono::milliseconds(all[1].number())};
    std::uint64_t duplicates = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const bool duplicate = all[3 + 2 * i].number() != 0;
        duplicates += duplicate ? 1 : 0;
        taken.messages.push_back({std::move(ids[i]), count_at(all, 2 + 2 * i), duplicate});
    }
    if (counts_ != nullptr) {
        ++counts_->posts;
        counts_->duplicates += duplicates;
        counts_->messages += ids.size() - duplicates;
        counts_->board.add(taken.room, &room_figures::duplicates, duplicates);
        counts_->board.add(taken.room, &room_figures::messages, ids.size() - duplicates);
    }
    return taken;
}

logic::logic(client& hf, settings s, counters* counts)
    : impl_(std::make_shared<impl>(hf, std::move(s), counts)) {}
logic::~logic() = default;

send_result logic::send(const post& p) {
    if (auto fault = find_fault(p, impl_->values())) {
        impl_->count_refusal();
        return std::unexpected(std::move(*fault));
    }
    std::vector<std::string> ids;
    for (const message& m : p.messages) ids.push_back(id_of(p, m));
    const owned_call call = impl_->make_call(p, ids);
    return impl_->to_result(p.room, std::move(ids), impl_->ask(call));
}

void logic::send_async(const post& p, send_completion done) {
    if (auto fault = find_fault(p, impl_->values())) {
        impl_->count_refusal();
        return done(std::unexpected(std::move(*fault)));
    }
    std::vector<std::string> ids;
    for (const message& m : p.messages) ids.push_back(id_of(p, m));
    const owned_call call = impl_->make_call(p, ids);
    impl_->engine().submit(
        call.view(), impl_->give_up(),
        [self = impl_, room = p.room, ids = std::move(ids),
         done = std::move(done)](result<reply> answered) mutable {
            done(self->to_result(std::move(room), std::move(ids), std::move(answered)));
        });
}

result<std::vector<room_summary>> logic::rooms(std::size_t limit) {
    const settings& s = impl_->values();
    // A score is the server's time, so its own time says how long ago it was.
    const auto clock = impl_->ask(owned_call({"TIME"}));
    if (!clock) return std::unexpected(clock.error());
    const auto seconds = parse_number(clock->elements().at(0).text()).value_or(0);
    const auto micros = parse_number(clock->elements().at(1).text()).value_or(0);
    const auto now = std::chrono::milliseconds(seconds * 1000 + micros / 1000);

    std::vector<room_summary> found;
    for (std::size_t i = 0; i < partition_count(s); ++i) {
        owned_call call({"ZREVRANGE", partition_rooms(s, i), "0"});
        call.add(static_cast<std::int64_t>(limit) - 1);
        call.add("WITHSCORES");
        const auto answered = impl_->ask(call);
        if (!answered) return std::unexpected(answered.error());
        const std::vector<reply>& all = answered->elements();
        for (std::size_t n = 0; n + 1 < all.size(); n += 2) {
            const std::chrono::milliseconds at(
                static_cast<std::int64_t>(parse_number(all[n + 1].text()).value_or(0)));
            found.push_back({all[n].text(), std::max<duration>(now - at, duration::zero())});
        }
    }
    std::ranges::sort(found, {}, &room_summary::idle);
    if (found.size() > limit) found.resize(limit);
    return found;
}

result<std::optional<room_state>> logic::room(std::string_view name) {
    const settings& s = impl_->values();
    if (auto fault = find_room_fault(name, s)) return fail(errc::invalid_argument, fault->detail);
    const room_keys keys(s, name);
    const std::vector<std::string> names{keys.cooldown(), keys.meta(), keys.comets(),
                                         keys.history()};
    const auto answered = impl_->ask(owned_call(push_scripts::all().state, names));
    if (!answered) return std::unexpected(answered.error());
    const std::vector<reply>& all = answered->elements();
    if (all.size() != 10) return std::unexpected(unreadable("a room"));

    room_state state{.name = std::string(name),
                     .epoch = all[1].text(),
                     .tail = count_at(all, 2),
                     .cursor = count_at(all, 3),
                     .first_kept = count_at(all, 9),
                     .viewers = count_at(all, 7),
                     .comets = count_at(all, 8),
                     .rate = static_cast<double>(count_at(all, 6)),
                     .mode = policy_of(s, name).mode,
                     .cooldown_left = std::chrono::milliseconds(count_at(all, 0)),
                     .cooldown_endless = all[0].number() == -1,
                     .fence = parse_number(all[5].text()).value_or(0)};
    if (state.epoch.empty() && state.viewers == 0) return std::optional<room_state>();
    const auto lock = impl_->hf().inspect(keys.lock());
    if (!lock) return std::unexpected(lock.error());
    if (*lock && (*lock)->held()) {
        state.locked = true;
        state.holder = (*lock)->holders.front().client;
        state.lock_left = (*lock)->remaining;
        state.waiters = (*lock)->waiters;
        if ((*lock)->fence.value != 0) state.fence = (*lock)->fence.value;
    }
    return state;
}

result<bool> logic::clear_cooldown(std::string_view room) {
    const settings& s = impl_->values();
    if (auto fault = find_room_fault(room, s)) return fail(errc::invalid_argument, fault->detail);
    const auto answered = impl_->ask(owned_call({"DEL", room_keys(s, room).cooldown()}));
    if (!answered) return std::unexpected(answered.error());
    return answered->number() > 0;
}

result<history_page> logic::history(std::string_view room, std::uint64_t after, std::size_t limit) {
    const settings& s = impl_->values();
    if (auto fault = find_room_fault(room, s)) return fail(errc::invalid_argument, fault->detail);
    const room_keys keys(s, room);
    const std::vector<std::string> names{keys.meta(), keys.history()};
    owned_call call(push_scripts::all().read, names);
    call.add("");
    call.add(after);
    call.add(std::min(limit, s.history_length));
    for (const std::string_view word : {"tail", "0", "", "1"}) call.add(word);
    const auto answered = impl_->ask(call);
    if (!answered) return std::unexpected(answered.error());

    const std::vector<reply>& all = answered->elements();
    history_page page;
    if (all.size() < 5) return page;
    page.epoch = all[0].text();
    page.cursor = count_at(all, 1);
    page.first_kept = count_at(all, 3) + 1;
    for (std::size_t i = 5; i + 2 < all.size(); i += 3) {
        const std::uint64_t offset = count_at(all, i);
        page.messages.push_back({offset, with_offset(all[i + 2].text(), offset)});
    }
    return page;
}

result<std::uint64_t> logic::queue_length() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < partition_count(impl_->values()); ++i) {
        const auto answered = impl_->ask(owned_call({"XLEN", partition_queue(impl_->values(), i)}));
        if (!answered) return std::unexpected(answered.error());
        sum += static_cast<std::uint64_t>(answered->number());
    }
    return sum;
}

}  // namespace holdfast::push
