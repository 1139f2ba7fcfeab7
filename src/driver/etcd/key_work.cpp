// SPDX-License-Identifier: Apache-2.0
#include "driver/etcd/key_work.hpp"

#include "core/command_keys.hpp"
#include "driver/etcd/etcd_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::etcd {
namespace {

// etcd takes 128 operations in a transaction, and 1.5 MiB, unless it is told otherwise.
constexpr std::size_t most_keys = 128;
constexpr std::size_t most_bytes = std::size_t{1} << 20;

std::unexpected<error> too_late() {
    return fail(errc::timed_out, "the time was over before the command was carried out");
}

/// Reading changes nothing: nothing about it is unknown.
error of_a_read(error why, bool late) {
    if (why.code == errc::outcome_unknown) why.code = late ? errc::timed_out : errc::unavailable;
    return why;
}

std::vector<std::string> keys_of(std::span<const command> commands,
                                 const keyed::seen_versions& watched) {
    std::set<std::string, std::less<>> keys;
    for (const command& c : commands) {
        for (const std::string_view key : redis::key_words(c)) keys.emplace(key);
    }
    for (const auto& [key, version] : watched) keys.insert(key);
    return {keys.begin(), keys.end()};
}

bool as_seen(const stored_keys& now, const keyed::seen_versions& watched) {
    return std::ranges::all_of(watched, [&](const auto& one) {
        return now.find(one.first)->second.version == one.second;
    });
}

std::size_t bytes_of(const key_outcome& outcome) {
    std::size_t sum = 0;
    for (const key_change& one : outcome.changes) {
        sum += one.key.size() + (one.now ? one.now->bytes.size() : 0);
    }
    return sum;
}

}  // namespace

struct key_work::order {
    std::span<const command> commands;
    keyed::seen_versions watched;
    time_point give_up;
    std::vector<std::string> keys;  // in order, each once
    bool may_repeat = false;
};

key_work::key_work(std::shared_ptr<etcd_client> client, entropy& chance)
    : client_(std::move(client)),
      chance_(chance),
      turns_(std::make_shared<key_turns>(client_->time())),
      leases_(std::make_shared<expiry_leases>(client_)),
      bench_(chance) {}

std::string key_work::place_of(std::string_view key) const {
    return fmt::format("{}.keys/{}", client_->options().root, key);
}

std::int64_t key_work::wall_us() const {
    return client_->time().wall().time_since_epoch().count();
}

pending<result<key_done>> key_work::carry_out(std::shared_ptr<key_work> self,
                                              std::span<const command> commands,
                                              keyed::seen_versions watched, time_point give_up) {
    auto of = std::make_shared<order>();
    of->keys = keys_of(commands, watched);
    if (of->keys.size() > most_keys) {
        co_return fail(errc::unsupported,
                       fmt::format("etcd: one transaction works on {} keys, and this names {}",
                                   most_keys, of->keys.size()));
    }
    of->commands = commands;
    of->watched = std::move(watched);
    of->give_up = give_up;
    of->may_repeat = std::ranges::all_of(
        commands, [](const command& c) { return c.again == repeat::idempotent; });
    pending<bool> turn = key_turns::enter(self->turns_, of->keys, give_up);
    if (!co_await turn) co_return too_late();
    pending<result<key_done>> work = in_turn(self, of);
    result<key_done> done = co_await work;
    if (!done) self->recent_.forget(of->keys);
    self->turns_->leave(of->keys);
    co_return done;
}

pending<result<stored_keys>> key_work::read(std::shared_ptr<key_work> self,
                                            std::vector<std::string> keys, time_point give_up) {
    wire::TxnRequest ask;
    for (const std::string& key : keys) *ask.add_success() = get(self->place_of(key));
    if (keys.empty()) co_return stored_keys();
    pending<called<wire::TxnResponse>> flight = self->client_->txn(std::move(ask), give_up);
    called<wire::TxnResponse> answer = co_await flight;
    if (!answer.value) {
        const bool late = self->time().now() >= give_up;
        co_return std::unexpected(of_a_read(std::move(answer.value.error()), late));
    }
    co_return self->stored_in(keys, answer.value->responses());
}

result<stored_keys> key_work::stored_in(
    const std::vector<std::string>& keys,
    const google::protobuf::RepeatedPtrField<wire::ResponseOp>& answers) const {
    stored_keys all;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        stored_key& one = all[keys[i]];
        if (static_cast<int>(i) >= answers.size()) {
            return fail(errc::corrupt, "etcd: a transaction has fewer answers than questions");
        }
        const auto& found = answers[static_cast<int>(i)].response_range();
        if (found.kvs_size() == 0) continue;
        one.version = found.kvs(0).mod_revision();
        one.record = read_key_record(found.kvs(0).value());
        if (!one.record) {
            return fail(errc::corrupt,
                        fmt::format("what is stored under '{}' is damaged", keys[i]));
        }
    }
    return all;
}

// What was written here last saves the read, unless there turns out to be nothing to write.
pending<result<key_done>> key_work::in_turn(std::shared_ptr<key_work> self,
                                            std::shared_ptr<order> of) {
    stored_keys seen;
    bool is_read = !self->recent_.find(of->keys, seen);
    bool must_read = is_read;
    for (;;) {
        if (self->time().now() >= of->give_up) co_return too_late();
        if (must_read) {
            pending<result<stored_keys>> reading = read(self, of->keys, of->give_up);
            result<stored_keys> found = co_await reading;
            if (!found) co_return std::unexpected(std::move(found.error()));
            seen = std::move(*found);
            is_read = true;
            must_read = false;
        }
        const bool current = as_seen(seen, of->watched);
        if (is_read && !current) co_return key_done{.current = false, .replies = {}};
        result<key_outcome> outcome = self->bench_.work(of->commands, seen, self->wall_us());
        const bool writes = current && outcome && !outcome->changes.empty();
        if (!writes && !is_read) {
            must_read = true;
            continue;
        }
        if (!outcome) co_return std::unexpected(std::move(outcome.error()));
        std::vector<result<reply>> replies = std::move(outcome->replies);
        if (!writes) co_return key_done{.current = true, .replies = std::move(replies)};
        pending<written> writing = write(self, of, seen, std::move(*outcome));
        written now = co_await writing;
        if (now.how == written::kind::failed) co_return std::unexpected(std::move(now.why));
        if (now.how == written::kind::done) {
            co_return key_done{.current = true, .replies = std::move(replies)};
        }
        if (now.how == written::kind::conflict) {
            seen = std::move(now.now);
            is_read = true;
            self->recent_.forget(of->keys);
        }
    }
}

pending<called<std::vector<std::int64_t>>> key_work::leases_for(std::shared_ptr<key_work> self,
                                                                const key_outcome& outcome,
                                                                time_point give_up) {
    called<std::vector<std::int64_t>> out;
    std::vector<std::int64_t> leases;
    std::vector<duration> lives;
    for (const key_change& one : outcome.changes) {
        const bool ends = one.now && one.now->expires_ms >= 0;
        lives.push_back(ends ? std::chrono::milliseconds(one.now->expires_ms) -
                                   std::chrono::microseconds(outcome.moment_us)
                             : duration::zero());
    }
    for (const duration left : lives) {
        leases.push_back(0);
        if (left == duration::zero()) continue;
        pending<called<std::int64_t>> asked =
            expiry_leases::lease_for(self->leases_, left, give_up);
        called<std::int64_t> lease = co_await asked;
        if (!lease.value) {
            out.value = std::unexpected(std::move(lease.value.error()));
            co_return out;
        }
        leases.back() = *lease.value;
    }
    out.value = std::move(leases);
    co_return out;
}

pending<key_work::written> key_work::write(std::shared_ptr<key_work> self,
                                           std::shared_ptr<order> of, stored_keys seen,
                                           key_outcome outcome) {
    if (const std::size_t bytes = bytes_of(outcome); bytes > most_bytes) {
        co_return written{.why = {errc::invalid_argument,
                                  fmt::format("etcd: a transaction writes at most {} bytes, and "
                                              "this would write {}; nothing was done",
                                              most_bytes, bytes)}};
    }
    pending<called<std::vector<std::int64_t>>> asked = leases_for(self, outcome, of->give_up);
    called<std::vector<std::int64_t>> leases = co_await asked;
    if (!leases.value) {
        const bool late = self->time().now() >= of->give_up;
        co_return written{.why = of_a_read(std::move(leases.value.error()), late)};
    }
    const std::uint64_t writer = self->chance_.below(~std::uint64_t{0}) + 1;
    wire::TxnRequest request;
    for (const auto& [key, stored] : seen) {
        *request.add_compare() =
            unchanged(self->place_of(key), static_cast<std::uint64_t>(stored.version));
        *request.add_failure() = get(self->place_of(key));
    }
    for (std::size_t i = 0; i < outcome.changes.size(); ++i) {
        const key_change& one = outcome.changes[i];
        *request.add_success() =
            one.now ? put(self->place_of(one.key), to_bytes({writer, outcome.moment_us, *one.now}),
                          (*leases.value)[i])
                    : remove(self->place_of(one.key));
    }
    pending<called<wire::TxnResponse>> flight = self->client_->txn(std::move(request), of->give_up);
    called<wire::TxnResponse> answer = co_await flight;
    written now = self->judge(*of, answer, writer, outcome);
    if (now.how == written::kind::done && answer.value->succeeded()) {
        for (const auto& [key, stored] : seen) self->recent_.remember(key, stored);
        const std::int64_t revision = answer.value->header().revision();
        for (const key_change& one : outcome.changes) {
            stored_key kept;
            if (one.now) kept = {revision, key_record{writer, outcome.moment_us, *one.now}};
            self->recent_.remember(one.key, std::move(kept));
        }
    }
    co_return now;
}

key_work::written key_work::judge(const order& of, const called<wire::TxnResponse>& answer,
                                  std::uint64_t writer, const key_outcome& outcome) {
    if (!answer.value) {
        if (!answer.no_lease || answer.doubt) return {.why = answer.value.error()};
        leases_->forget_all();
        return {.how = written::kind::lease_gone};
    }
    if (answer.value->succeeded()) return {.how = written::kind::done};
    auto now = stored_in(of.keys, answer.value->responses());
    if (!now) return {.why = std::move(now.error())};
    if (!answer.doubt) return {.how = written::kind::conflict, .why = {}, .now = std::move(*now)};
    // An earlier attempt, whose answer was lost, may be what is in the way.
    const bool is_ours = std::ranges::any_of(outcome.changes, [&](const key_change& one) {
        const auto& stored = now->find(one.key)->second;
        return stored.record && stored.record->writer == writer;
    });
    if (is_ours) return {.how = written::kind::done};
    if (of.may_repeat) return {.how = written::kind::conflict, .why = {}, .now = std::move(*now)};
    return {.why = {errc::outcome_unknown,
                    "etcd: the answer was lost, and the keys have been written since"}};
}

}  // namespace holdfast::etcd
