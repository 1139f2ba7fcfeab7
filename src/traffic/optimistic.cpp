// SPDX-License-Identifier: Apache-2.0
//
// One try is: WATCH; what the caller reads; MULTI, its writes, EXEC, in one pipeline. EXEC answers
// nil if a watched key was written meanwhile: then nothing was carried out, and it is tried again
// after a pause. Whatever ends a try early sends UNWATCH, so that the connection can be lent again.
#include <holdfast/optimistic.hpp>

#include "command/script_call.hpp"
#include "core/command_word.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

constexpr std::size_t most_keys = 100;
constexpr std::size_t most_writes = 1000;
constexpr int most_attempts = 1000;

result<void> check_call(const command_access& where, std::span<const std::string_view> keys,
                        const optimistic_options& options) {
    if (keys.empty() || keys.size() > most_keys) {
        return fail(errc::invalid_argument,
                    fmt::format("{} keys to watch: give 1 to {}", keys.size(), most_keys));
    }
    if (options.attempts < 1 || options.attempts > most_attempts) {
        return fail(errc::invalid_argument, fmt::format("attempts is {}: give it 1 to {}",
                                                        options.attempts, most_attempts));
    }
    if (options.backoff < duration::zero() || options.backoff_max < options.backoff) {
        return fail(errc::invalid_argument, "backoff: give it 0 to backoff_max");
    }
    return detail::first_failure(
        {detail::check_place(where), detail::check_timeout(options.timeout)});
}

constexpr std::array<std::string_view, 6> of_transactions{"MULTI", "EXEC",    "DISCARD",
                                                          "WATCH", "UNWATCH", "RESET"};

// The words of the writes as commands, between MULTI and EXEC.
struct transaction_words {
    std::vector<std::vector<std::string_view>> lists;
    std::vector<command> commands;

    explicit transaction_words(const std::vector<std::vector<std::string>>& writes) {
        lists.reserve(writes.size() + 2);
        lists.push_back({"MULTI"});
        for (const auto& words : writes) lists.emplace_back(words.begin(), words.end());
        lists.push_back({"EXEC"});
        for (const auto& list : lists) commands.push_back({list});
    }
};

// Sleeps until `when`; false if the caller's stop token fired.
bool pause_until(clock& time, time_point when, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable woken;
    const std::stop_callback told(stop, [&] {
        const std::scoped_lock guard(mutex);
        woken.notify_all();
    });
    std::unique_lock held(mutex);
    while (!stop.stop_requested() && time.now() < when) time.wait_until(held, woken, when);
    return !stop.stop_requested();
}

}  // namespace

result<reply> attempt::read(std::initializer_list<std::string_view> words) {
    if (words.size() == 0) return fail(errc::invalid_argument, "a command needs words");
    return session_.execute({std::span(words.begin(), words.size())}, give_up_);
}

void attempt::write(std::vector<std::string> words) {
    writes_.push_back(std::move(words));
}

class optimistic_run {
public:
    optimistic_run(const command_access& where, std::span<const std::string_view> keys,
                   const std::function<result<void>(attempt&)>& decide,
                   const optimistic_options& options)
        : engine_(*where.engine()),
          chance_(where.chance()),
          keys_(keys),
          decide_(decide),
          options_(options),
          give_up_(later(engine_.time().now(), options.timeout)) {}

    result<std::vector<reply>> run() {
        auto session = engine_.open_session(keys_.front(), give_up_);
        if (!session) return std::unexpected(std::move(session.error()));
        for (int number = 1; number <= options_.attempts; ++number) {
            if (number > 1) {
                if (auto rested = rest(number); !rested) return std::unexpected(rested.error());
            }
            auto tried = try_once(**session, number);
            if (!tried) return std::unexpected(std::move(tried.error()));
            if (*tried) return std::move(**tried);
        }
        return fail(errc::busy, fmt::format("'{}' was written by others at each of {} tries",
                                            keys_.front(), options_.attempts));
    }

private:
    using replies = std::vector<reply>;

    // Nothing: somebody else wrote meanwhile.
    result<std::optional<replies>> try_once(command_session& session, int number) {
        std::vector<std::string_view> watch{"WATCH"};
        watch.insert(watch.end(), keys_.begin(), keys_.end());
        if (auto seen = session.execute({watch, repeat::idempotent}, give_up_); !seen) {
            return std::unexpected(std::move(seen.error()));
        }
        attempt now(session, give_up_, number);
        auto decided = decide_(now);
        if (decided) decided = check_writes(now.writes_);
        if (!decided || now.writes_.empty()) {
            static_cast<void>(session.execute(words("UNWATCH").idempotent(), give_up_));
            if (!decided) return std::unexpected(std::move(decided.error()));
            return replies{};
        }
        return commit(session, now.writes_);
    }

    static result<void> check_writes(const std::vector<std::vector<std::string>>& writes) {
        if (writes.size() > most_writes) {
            return fail(errc::invalid_argument,
                        fmt::format("{} writes: at most {}", writes.size(), most_writes));
        }
        if (std::ranges::any_of(writes, [](const auto& words) { return words.empty(); })) {
            return fail(errc::invalid_argument, "a command needs words");
        }
        for (const auto& words : writes) {
            if (!detail::is_among(words.front(), of_transactions)) continue;
            return fail(
                errc::invalid_argument,
                words.front() + ": begin and end of the transaction are not the decision's");
        }
        return {};
    }

    result<std::optional<replies>> commit(command_session& session,
                                          const std::vector<std::vector<std::string>>& writes) {
        const transaction_words all(writes);
        std::vector<result<reply>> answered(all.commands.size());
        session.exchange(all.commands, answered, give_up_);
        auto& exec = answered.back();
        if (!exec) return std::unexpected(std::move(exec.error()));
        if (exec->is_nil()) return std::nullopt;
        if (!exec->is_error()) return std::move(*exec).elements();
        // EXECABORT: the command that was refused says why.
        for (const auto& one : answered) {
            if (one && one->is_error()) return std::unexpected(to_error(*one));
        }
        return std::unexpected(to_error(*exec));
    }

    result<void> rest(int number) {
        const int doublings = std::min(number - 2, 30);
        const duration most =
            std::min(options_.backoff * (std::int64_t{1} << doublings), options_.backoff_max);
        const auto drawn = most > duration::zero()
                               ? chance_.below(static_cast<std::uint64_t>(most.count()) + 1)
                               : std::uint64_t{0};
        const time_point when = engine_.time().now() + duration(static_cast<std::int64_t>(drawn));
        if (when >= give_up_) {
            return fail(errc::timed_out, "others wrote at every try until the time was over");
        }
        if (pause_until(engine_.time(), when, options_.stop)) return {};
        return fail(errc::cancelled, "the stop token fired between two tries");
    }

    command_engine& engine_;
    entropy& chance_;
    std::span<const std::string_view> keys_;
    const std::function<result<void>(attempt&)>& decide_;
    const optimistic_options& options_;
    const time_point give_up_;
};

result<std::vector<reply>> optimistic(const command_access& where,
                                      std::span<const std::string_view> keys,
                                      const std::function<result<void>(attempt&)>& decide,
                                      const optimistic_options& options) {
    if (auto fit = check_call(where, keys, options); !fit) return std::unexpected(fit.error());
    return optimistic_run(where, keys, decide, options).run();
}

result<std::vector<reply>> optimistic(const command_access& where,
                                      std::initializer_list<std::string_view> keys,
                                      const std::function<result<void>(attempt&)>& decide,
                                      const optimistic_options& options) {
    return optimistic(where, std::span(keys.begin(), keys.size()), decide, options);
}

}  // namespace holdfast
