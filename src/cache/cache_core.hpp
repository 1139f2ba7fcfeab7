// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/background_loads.hpp"
#include "cache/cache_entries.hpp"
#include "cache/circuit_breaker.hpp"
#include "cache/key_events.hpp"
#include "cache/load_flights.hpp"
#include "cache/local_cache.hpp"
#include "cache/pending_invalidations.hpp"

#include <holdfast/cache.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

/// A cache of bytes: who loads, who waits, what is answered meanwhile. cache<T> is this and a
/// codec.
///
/// A read is: the copy in the process; one look at the engine; if there is nothing fresh, the lease
/// in the entry decides who loads. Whoever has it loads, stores under its token, and everybody else
/// is told by a message on the cache's channel. cache_entries.hpp has the trips, and
/// docs/internals/cache_format.md the argument why nothing stale stays.
///
/// The time by which a value is fresh is the server's. A process estimates it from the answers of
/// scripts; the estimate only decides whether to ask, and the script that is asked decides again.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class cache_core final : public cache_bytes {
public:
    cache_core(command_access where, cache_options options, byte_loader background);
    ~cache_core() override;

    bool find_local(std::string_view key, reader read, void* to) override;
    load_result get(std::string_view key, const byte_loader& load) override;
    std::vector<load_result> get_many(std::span<const std::string_view> keys,
                                      const byte_loader& load) override;
    result<std::optional<peeked_bytes>> peek(std::string_view key) override;
    result<void> put(std::string_view key, const std::optional<std::string>& value) override;
    result<bool> invalidate(std::string_view key) override;
    load_result refresh(std::string_view key, const byte_loader& load) override;
    result<update_outcome> update(std::string_view key,
                                  const std::function<result<void>()>& write) override;
    result<std::size_t> work_off() override;
    result<void> changed(std::string_view key) override;
    result<void> keep_fresh(const std::stop_token& stop) override;
    [[nodiscard]] cache_statistics statistics() const override;
    [[nodiscard]] const command_access& where() const override { return where_; }
    [[nodiscard]] const cache_options& options() const override { return options_; }
    [[nodiscard]] const byte_loader& background() const override { return background_; }

private:
    struct counters {
        std::atomic<std::uint64_t> local_hits, hits, stale_hits, misses, loads, failed_loads,
            refused_stores, waits, away_loads, away_refused, invalidations;
    };
    enum class age : std::uint8_t { fresh, early, stale };
    /// What was known before a look: a copy of what it finds is as old as that.
    struct question {
        time_point asked;
        std::uint64_t local_mark;
    };
    /// What one look led to: an answer, or "look again".
    using step = std::optional<load_result>;

    [[nodiscard]] result<void> check_options() const;
    [[nodiscard]] result<void> check(std::string_view key) const;
    [[nodiscard]] time_point now() const { return where_.engine()->time().now(); }
    [[nodiscard]] time_point give_up() const;

    void listen();
    void hear(const push_event& event);
    [[nodiscard]] bool track();
    void hear_change(const push_event& event);
    [[nodiscard]] std::uint64_t copy_mark(std::string_view key) const;

    [[nodiscard]] result<std::string> look(std::string_view key, std::string_view token,
                                           time_point give_up);
    [[nodiscard]] step answer(std::string_view key, std::string_view token, std::string entry,
                              const question& when, const byte_loader& load);
    [[nodiscard]] step claim_and_load(std::string_view key, std::string_view token, claim_mode mode,
                                      const byte_loader& load);
    [[nodiscard]] step wait_for_other(std::string_view key, std::string_view token,
                                      std::uint64_t seen, time_point until);
    [[nodiscard]] load_result load_and_store(std::string_view key, std::string_view token,
                                             const byte_loader& load, std::string old);
    [[nodiscard]] load_result run(std::string_view key, const byte_loader& load);
    [[nodiscard]] load_result failed_load(std::string_view key, std::string_view token, error why,
                                          const std::string& old);
    void keep(std::string_view key, std::string_view token, const load_result& loaded,
              duration took);
    [[nodiscard]] load_result load_while_away(std::string_view key, const byte_loader& load,
                                              const error& why);
    [[nodiscard]] bool refresh_in_background(std::string_view key, std::string_view token,
                                             const std::string& old);
    [[nodiscard]] age age_of(const entry_view& seen, time_point at);
    void learn_time(std::int64_t server_us);
    [[nodiscard]] std::string changes_key() const;
    void handle_changes(const std::string& stream, const reply& list);
    void forget(std::string_view key);
    /// Did the engine answer? Tells its breaker.
    template <class T>
    bool answered(const result<T>& from);

    const command_access where_;
    const cache_options options_;
    const byte_loader background_;
    token_source tokens_;
    const std::string process_;
    cache_entries entries_;
    local_cache local_;
    key_events events_;
    load_flights flights_;
    circuit_breaker engine_;
    circuit_breaker source_;
    load_limit away_;
    pending_invalidations pending_;
    const result<void> fit_;  ///< What is wrong with the options.
    counters counted_{};

    std::atomic<std::int64_t> server_offset_us_ = unknown_offset;
    static constexpr std::int64_t unknown_offset = INT64_MIN;

    /// Hashes of keys that were hits lately: for these a plain GET is sent, for others one that
    /// takes the lease if there is nothing. So a hit costs a GET, and a cold miss two trips.
    std::array<std::atomic<std::uint32_t>, 4096> warm_{};
    [[nodiscard]] std::atomic<std::uint32_t>& warm_slot(std::string_view key, std::uint32_t& tag);

    std::atomic<time_point::rep> next_work_off_ = 0;
    std::atomic<bool> listening_ = false;
    std::mutex listen_mutex_;
    time_point next_listen_{};
    std::unique_ptr<subscription> heard_;
    std::unique_ptr<subscription> tracked_;
    std::atomic<bool> tracking_ = false;
    /// Copies that are older do not answer.
    std::atomic<time_point::rep> tracked_since_ = time_point::min().time_since_epoch().count();
    /// Last, so that it ends first: its jobs use the members above.
    std::unique_ptr<background_loads> workers_;
};

}  // namespace holdfast::detail
