// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <memory>

/// The store that a simulated program's client uses: it hands everything on to another, and tells
/// the judges what was asked, answered and pushed.
namespace holdfast::sim {

class world;
class process;

class recording_store final : public lease_store {
public:
    /// Requires: both outlive it.
    recording_store(world& around, process& host, std::shared_ptr<lease_store> inner);

    [[nodiscard]] capabilities can() const noexcept override { return inner_->can(); }
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;

private:
    world& world_;
    process& host_;
    const std::shared_ptr<lease_store> inner_;
};

}  // namespace holdfast::sim
