// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/engine_core.hpp"

#include "driver/memory/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

constexpr std::size_t expired_per_command = 16;

// A transaction is held in memory until EXEC: bounded, so that a caller that never sends it fails.
constexpr std::size_t most_queued_words = 1'000'000;
constexpr std::size_t most_queued_bytes = std::size_t{512} * 1024 * 1024;

std::uint64_t draw_seed(entropy& chance) {
    std::uint64_t seed = 0;
    chance.fill(std::as_writable_bytes(std::span(&seed, 1)));
    return seed;
}

std::string in_one_line(std::string text) {
    std::ranges::replace(text, '\r', ' ');
    std::ranges::replace(text, '\n', ' ');
    return text;
}

std::string unknown_part(const command_spec& family, std::string_view word) {
    std::string name(family.name);
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c - 32); });
    return in_one_line(
        fmt::format("ERR unknown subcommand '{}'. Try {} HELP.", printed(word, 128), name));
}

std::string unknown_command(std::span<const std::string_view> args) {
    constexpr std::size_t room = 128;
    std::string rest;
    for (std::size_t i = 1; i < args.size() && rest.size() < room; ++i) {
        rest += fmt::format("'{}' ", printed(args[i], room - rest.size()));
    }
    return in_one_line(fmt::format("ERR unknown command '{}', with args beginning with: {}",
                                   printed(args[0], room), rest));
}

}  // namespace

engine_core::engine_core(const memory_options& options)
    : time_(options.time != nullptr ? *options.time : system_clock()),
      chance_(options.chance != nullptr ? *options.chance : system_entropy()),
      table_(command_table::instance()),
      start_(time_.now()),
      wall_start_us_(time_.wall().time_since_epoch().count()),
      now_us_(wall_start_us_),
      db_(draw_seed(chance_)),
      scripts_(*this, options) {
    run_id_ = fmt::format("{:016x}{:016x}{:08x}", draw_seed(chance_), draw_seed(chance_),
                          static_cast<std::uint32_t>(draw_seed(chance_)));
    replication_id_ = run_id_;
    bound_memory(options.max_memory, options.eviction);
}

void engine_core::replicates(std::string id, std::string before) {
    replication_id_ = std::move(id);
    if (!before.empty()) replication_before_ = std::move(before);
}

time_point engine_core::begin() {
    const time_point now = time_.now();
    const auto passed = std::chrono::floor<std::chrono::microseconds>(now - start_);
    now_us_ = wall_start_us_ + passed.count();
    db_.set_now(now_us_ / 1000);
    db_.expire_due(expired_per_command);
    return now;
}

void engine_core::process(connection& from, std::span<const std::string_view> args, sink& out) {
    ++stats_.commands;
    const command_spec* spec = table_.find(args);
    if (spec == nullptr || !spec->takes(args.size())) return reject(from, spec, args, out);
    no_room_ = most_bytes_ != 0 && !make_room();
    if (refuses_growth() && may_grow(from, *spec)) return reject_growth(from, out);
    if (from.in_multi && (spec->flags & no_multi) != 0) return reject_in_multi(from, out);
    if (from.in_multi && (spec->flags & at_once) == 0) return queue(from, *spec, args, out);
    run(*spec, from, args, out);
    if (!ready_.empty()) serve_waiting();
}

void engine_core::reject(connection& from, const command_spec* spec,
                         std::span<const std::string_view> args, sink& out) {
    ++stats_.errors;
    if (from.in_multi) from.multi_failed = true;
    if (args.empty()) return out.error("ERR empty command");
    if (const command_spec* family = table_.find(args[0]); spec == nullptr && family != nullptr) {
        return out.error(unknown_part(*family, args[1]));
    }
    if (spec == nullptr) return out.error(unknown_command(args));
    const bool ends_transaction = spec->name == "exec";  // however it was written
    if (ends_transaction) {
        from.end_transaction();
        unwatch(from);
    }
    out.error(fmt::format("{} wrong number of arguments for '{}' command",
                          ends_transaction ? "EXECABORT Transaction discarded because of:" : "ERR",
                          spec->name));
}

// What EXEC would carry out counts too: memory may have become short since it was queued.
bool engine_core::may_grow(const connection& from, const command_spec& spec) {
    if ((spec.flags & grows) != 0) return true;
    return spec.name == "exec" && std::ranges::any_of(from.queued, [](const auto& q) {
               return (q.spec->flags & grows) != 0;
           });
}

void engine_core::reject_in_multi(connection& from, sink& out) {
    ++stats_.errors;
    from.multi_failed = true;
    out.error("ERR Command not allowed inside a transaction");
}

void engine_core::bound_memory(std::size_t most, eviction_policy policy) {
    most_bytes_ = most;
    policy_ = policy;
    db_.count_bytes(most != 0, policy);
}

// Many keys may have to go when the bound was lowered; then the next commands go on with it.
bool engine_core::make_room() {
    constexpr std::size_t most_at_once = 10'000;
    for (std::size_t gone = 0; db_.bytes() > most_bytes_ && gone < most_at_once; ++gone) {
        key_node* n = db_.victim();
        if (n == nullptr) return false;
        db_.evict(*n);
    }
    return true;
}

void engine_core::reject_growth(connection& from, sink& out) {
    ++stats_.errors;
    if (from.in_multi) from.multi_failed = true;
    out.error(no_memory);
}

void engine_core::run(const command_spec& spec, connection& from,
                      std::span<const std::string_view> args, sink& out) {
    try {
        call c{*this, db_, from, out, args, &spec};
        spec.run(c);
    } catch (const refusal& r) {
        ++stats_.errors;
        out.error(r.text);
    }
}

void engine_core::queue(connection& from, const command_spec& spec,
                        std::span<const std::string_view> args, sink& out) {
    for (const std::string_view word : args) from.queued_bytes += word.size();
    if (from.queued_words + args.size() > most_queued_words ||
        from.queued_bytes > most_queued_bytes) {
        from.multi_failed = true;
        return out.error("ERR transaction is too long");
    }
    from.queued_words += args.size();
    from.queued.push_back({&spec, {args.begin(), args.end()}});
    out.status("QUEUED");
}

void engine_core::unwatch(connection& from) {
    for (const auto& w : from.watched) db_.unwatch(w.key, from.changes);
    from.watched.clear();
    from.changes.touched = false;
}

// Waiting for keys. A key that may serve someone is noted while a command runs and served when the
// command is over, so that a transaction or a script is never seen half done.

void engine_core::note_ready(const key_node& n) {
    if (waiting_.contains(n.key) && std::ranges::find(ready_, n.key) == ready_.end()) {
        ready_.push_back(n.key);
    }
}

void engine_core::wait_for_keys(key_wait& w) {
    for (const std::string& key : w.keys) {
        auto& line = waiting_[key];
        if (std::ranges::find(line, &w) == line.end()) line.push_back(&w);
    }
}

void engine_core::stop_waiting(key_wait& w) noexcept {
    for (const std::string& key : w.keys) {
        const auto found = waiting_.find(key);
        if (found == waiting_.end()) continue;
        std::erase(found->second, &w);
        if (found->second.empty()) waiting_.erase(found);
    }
}

void engine_core::serve_waiting() {
    while (!ready_.empty()) {
        const std::vector<std::string> keys = std::exchange(ready_, {});
        for (const std::string& key : keys) serve_key(key);
    }
}

void engine_core::serve_key(const std::string& key) {
    const auto line = waiting_.find(key);
    if (line == waiting_.end()) return;
    for (key_wait* w : std::vector(line->second.begin(), line->second.end())) {
        key_node* source = db_.find(key);
        if (source == nullptr) return;
        auto answer = w->serve(*this, *source);
        if (!answer) continue;
        stop_waiting(*w);
        w->answer = std::move(answer);
        w->served.notify_all();
        if (w->on_served) w->on_served();
    }
}

}  // namespace holdfast::memory
