// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

/// A store behind a network that can be cut: for what a lost request or a lost answer does.
namespace holdfast::test {

class interposed_store final : public lease_store {
public:
    enum class line : std::uint8_t {
        whole,
        cut,         ///< Requests do not arrive: unavailable.
        one_way,     ///< Requests arrive and are carried out, answers do not: outcome_unknown.
        black_hole,  ///< Requests do not arrive, and nobody says so: outcome_unknown.
    };

    explicit interposed_store(std::shared_ptr<lease_store> inner) : inner_(std::move(inner)) {}

    void set(line state) { state_ = state; }
    /// The next `count` exchanges meet `state`, and the ones after that a whole line.
    void set_for(line state, int count) {
        remaining_ = count;
        state_ = state;
    }

    [[nodiscard]] capabilities can() const noexcept override { return inner_->can(); }
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override {
        const line now = state_;
        if (now == line::whole || now == line::one_way)
            inner_->exchange(requests, replies, give_up);
        if (now == line::whole) return;
        const bool unknown = now != line::cut;
        for (auto& reply : replies) {
            reply = fail(unknown ? errc::outcome_unknown : errc::unavailable, "the line is cut");
        }
        if (remaining_ > 0 && --remaining_ == 0) state_ = line::whole;
    }
    void on_push(push_handler handler) override { inner_->on_push(std::move(handler)); }
    result<std::vector<lease_info>> list(std::string_view prefix, time_point give_up) override {
        return inner_->list(prefix, give_up);
    }
    void introduce(const client_id& id, const client_label& who) override {
        inner_->introduce(id, who);
    }
    result<std::optional<lease_info>> inspect(const lock_name& name, time_point give_up) override {
        return inner_->inspect(name, give_up);
    }
    result<lease_reply> adopt(const lease_adoption& asked, time_point give_up) override {
        return inner_->adopt(asked, give_up);
    }
    result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                time_point give_up) override {
        return inner_->evict(name, reason, give_up);
    }
    result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                 time_point give_up) override {
        return inner_->evictions(name, give_up);
    }

private:
    std::shared_ptr<lease_store> inner_;
    std::atomic<line> state_ = line::whole;
    std::atomic<int> remaining_ = 0;
};

}  // namespace holdfast::test
