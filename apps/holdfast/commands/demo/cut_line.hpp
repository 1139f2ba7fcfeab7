// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <atomic>
#include <memory>
#include <optional>

/// A lease store whose line can be cut, as a dead network or a long pause of the program cuts it.
///
/// While it is cut nothing reaches the store behind it, and every request ends as one that was
/// never sent. The client on this side knows no more than that.
namespace holdfast::app {

class cut_line final : public lease_store {
public:
    explicit cut_line(std::shared_ptr<lease_store> behind) : behind_(std::move(behind)) {}

    void cut() noexcept { cut_ = true; }
    void restore() noexcept { cut_ = false; }

    [[nodiscard]] capabilities can() const noexcept override { return behind_->can(); }

    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override {
        if (!cut_) return behind_->exchange(requests, replies, give_up);
        for (auto& reply : replies) reply = fail(errc::unavailable, "the line is cut");
    }

    void on_push(push_handler handler) override {
        behind_->on_push([this, handler = std::move(handler)](const lease_push& push) {
            if (!cut_) handler(push);
        });
    }

    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override {
        if (cut_) return fail(errc::unavailable, "the line is cut");
        return behind_->list(prefix, give_up);
    }

    void introduce(const client_id& id, const client_label& who) override {
        behind_->introduce(id, who);
    }

    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up) override {
        if (cut_) return fail(errc::unavailable, "the line is cut");
        return behind_->inspect(name, give_up);
    }

    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                              time_point give_up) override {
        if (cut_) return fail(errc::unavailable, "the line is cut");
        return behind_->evict(name, reason, give_up);
    }

private:
    std::shared_ptr<lease_store> behind_;
    std::atomic<bool> cut_ = false;
};

}  // namespace holdfast::app
