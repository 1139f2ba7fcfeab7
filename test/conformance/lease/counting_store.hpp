// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

/// A store that counts what it is asked for by users; renewals come by themselves and do not count.
namespace holdfast::test {

class counting_store final : public lease_store {
public:
    explicit counting_store(std::shared_ptr<lease_store> inner) : inner_(std::move(inner)) {}

    [[nodiscard]] int requests() const { return requests_; }
    [[nodiscard]] int renewals() const { return renewals_; }
    /// Calls of exchange(), each a trip if nobody else wants the names.
    [[nodiscard]] int exchanges() const { return exchanges_; }

    [[nodiscard]] capabilities can() const noexcept override { return inner_->can(); }
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override {
        for (const auto& request : requests) count(request);
        ++exchanges_;
        inner_->exchange(requests, replies, give_up);
    }
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override {
        for (const auto& request : requests) count(request);
        inner_->submit(std::move(requests), give_up, std::move(on_reply));
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

private:
    void count(const lease_request& request) {
        ++(std::holds_alternative<ask::renew>(request) ? renewals_ : requests_);
    }

    const std::shared_ptr<lease_store> inner_;
    std::atomic<int> requests_ = 0;
    std::atomic<int> renewals_ = 0;
    std::atomic<int> exchanges_ = 0;
};

}  // namespace holdfast::test
