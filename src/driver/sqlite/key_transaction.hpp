// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/memory_engine.hpp"
#include "driver/sqlite/sqlite_connection.hpp"
#include "keyed/key_store.hpp"
#include "lease/tables/bounded_turn.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Where commands are carried out: keys come out of the file, are worked on in an embedded engine,
/// and go back, in one transaction.
namespace holdfast::sqlite {

/// The database's time, as a clock for the embedded engine: all processes read the same.
class database_clock final : public clock {
public:
    database_clock(clock& machine, std::int64_t ahead) : machine_(machine), ahead_(ahead) {}
    [[nodiscard]] time_point now() const noexcept override;
    /// Of the moment that now() told last, so that an engine which reads both gets one time.
    [[nodiscard]] wall_time wall() const noexcept override;
    void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                    time_point when) override;

private:
    clock& machine_;
    const std::int64_t ahead_;
    mutable time_point last_;
};

using keyed::seen_versions;

/// Thread safety: all members may be called from any thread.
class key_transaction final : public keyed::key_store {
public:
    key_transaction(sqlite_options options, clock& time, entropy& chance);
    key_transaction(const key_transaction&) = delete;
    key_transaction& operator=(const key_transaction&) = delete;
    ~key_transaction() override;

    /// All commands of a call are one transaction.
    [[nodiscard]] result<bool> carry_out(std::span<const command> commands,
                                         std::span<result<reply>> replies, time_point give_up,
                                         const seen_versions* watched) override;
    [[nodiscard]] result<void> see(std::span<const std::string_view> keys, seen_versions& into,
                                   time_point give_up) override;

    [[nodiscard]] clock& time() const noexcept override { return clock_; }

private:
    struct loaded {
        std::optional<key_image> before;
        std::int64_t version = 0;
    };

    [[nodiscard]] result<sql::turn::held> enter(time_point give_up);
    void prepare_bench();
    [[nodiscard]] result<void> load(std::span<const command> commands);
    [[nodiscard]] result<void> load_key(std::string_view key);
    [[nodiscard]] result<void> load_all();
    [[nodiscard]] result<void> put_back();
    [[nodiscard]] bool unchanged(const seen_versions& watched) const;
    void sweep();

    clock& clock_;
    entropy& chance_;
    std::unique_ptr<sqlite_connection> db_;
    sql::turn turn_;
    const unsigned generation_;

    // By whose turn it is.
    std::unique_ptr<database_clock> database_time_;
    std::shared_ptr<memory_engine> bench_;
    std::int64_t bench_ahead_ = 0;
    std::map<std::string, loaded, std::less<>> keys_;
    std::int64_t swept_ = 0;
};

}  // namespace holdfast::sqlite
