// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/engine_core.hpp"

#include "engine/memory/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::memory {
namespace {

constexpr std::size_t expired_per_command = 16;

// A transaction is held in memory until EXEC: bounded, so that a caller that never sends it fails.
constexpr std::size_t most_queued_words = 1'000'000;

std::uint64_t draw_seed(entropy& chance) {
    std::uint64_t seed = 0;
    chance.fill(std::as_writable_bytes(std::span(&seed, 1)));
    return seed;
}

std::string unknown_command(std::span<const std::string_view> args) {
    constexpr std::size_t room = 128;
    std::string rest;
    // Redis prints what it was given as a C string: it ends at a zero byte.
    const auto printed = [](std::string_view text, std::size_t most) {
        return text.substr(0, std::min(most, text.find('\0')));
    };
    for (std::size_t i = 1; i < args.size() && rest.size() < room; ++i) {
        rest += fmt::format("'{}' ", printed(args[i], room - rest.size()));
    }
    std::string text = fmt::format("ERR unknown command '{}', with args beginning with: {}",
                                   printed(args[0], room), rest);
    std::ranges::replace(text, '\r', ' ');
    std::ranges::replace(text, '\n', ' ');
    return text;
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
    const command_spec* spec = args.empty() ? nullptr : table_.find(args[0]);
    if (spec == nullptr || !spec->takes(args.size())) return reject(from, spec, args, out);
    if (refuses_growth_ && (spec->flags & grows) != 0) return reject_growth(from, out);
    if (from.in_multi && (spec->flags & at_once) == 0) return queue(from, *spec, args, out);
    run(*spec, from, args, out);
    if (!ready_.empty()) serve_waiting();
}

void engine_core::reject(connection& from, const command_spec* spec,
                         std::span<const std::string_view> args, sink& out) {
    ++stats_.errors;
    if (from.in_multi) from.multi_failed = true;
    if (args.empty()) return out.error("ERR empty command");
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
    if (from.queued_words + args.size() > most_queued_words) {
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

// Waiting for lists. A key that may serve someone is noted while a command runs and served when the
// command is over, so that a transaction or a script is never seen half done.

void engine_core::note_ready(const key_node& n) {
    if (!std::holds_alternative<std::unique_ptr<list_value>>(n.value.data)) return;
    if (waiting_.contains(n.key) && std::ranges::find(ready_, n.key) == ready_.end()) {
        ready_.push_back(n.key);
    }
}

void engine_core::wait_for_lists(list_wait& w) {
    for (const std::string& key : w.keys) {
        auto& line = waiting_[key];
        if (std::ranges::find(line, &w) == line.end()) line.push_back(&w);
    }
}

void engine_core::stop_waiting(list_wait& w) noexcept {
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
    while (true) {
        key_node* source = db_.find(key);
        const auto line = waiting_.find(key);
        if (source == nullptr || line == waiting_.end()) return;
        if (get_if<list_value>(source->value.data) == nullptr) return;
        list_wait& w = *line->second.front();
        stop_waiting(w);
        w.answer = serve(w, *source);
        w.served.notify_all();
    }
}

reply engine_core::serve(list_wait& w, key_node& source) {
    list_value& list = *get_if<list_value>(source.value.data);
    const std::string key = source.key;
    if (w.move_to) {
        key_node* target = db_.find(w.move_to->key);
        if (target != nullptr && get_if<list_value>(target->value.data) == nullptr) {
            return reply::error(
                "WRONGTYPE Operation against a key holding the wrong kind of value");
        }
        if (target == nullptr) {
            target = &db_.insert(w.move_to->key, std::make_unique<list_value>());
        }
        std::string text = pop_end(list, w.from);
        reply answer = reply::string(text);
        push_end(*get_if<list_value>(target->value.data), w.move_to->end, std::move(text));
        if (list.empty()) db_.erase(source);
        db_.modified(key);
        db_.modified(w.move_to->key);
        list_may_be_ready(*target);
        return answer;
    }
    std::vector<reply> pair{reply::string(key), reply::string(pop_end(list, w.from))};
    if (list.empty()) db_.erase(source);
    db_.modified(key);
    return reply::array(std::move(pair));
}

}  // namespace holdfast::memory
