// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/client_label.hpp"
#include "lease/commands/contention_memory.hpp"
#include "lease/commands/grant_channels.hpp"
#include "lease/commands/known_servers.hpp"
#include "lease/commands/lease_commands.hpp"
#include "lease/commands/lease_request_machine.hpp"
#include "lease/commands/replicated_lanes.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

/// Leases on whatever speaks Redis commands.
///
/// A request takes one trip (lease_commands.hpp), and a second one when others turn out to want the
/// name, which is then remembered for a while. A waiter's grant comes as a message on this
/// client's own channel, sent by the script that released: a wake means owned.
namespace holdfast {

class command_lease_store final : public lease_store {
public:
    command_lease_store(std::shared_ptr<command_engine> engine, entropy& chance,
                        command_lease_options options = {});
    ~command_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    [[nodiscard]] bool hear_pushes(const push_wait& wait) override;
    [[nodiscard]] result<wall_time> time_of_day(time_point give_up) override;
    void introduce(const client_id& id, const client_label& who) override;
    [[nodiscard]] result<void> resize(const lock_name& name, std::uint32_t permits,
                                      time_point give_up) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up) override;
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                               time_point give_up) override;
    [[nodiscard]] result<lease_reply> adopt(const lease_adoption& asked,
                                            time_point give_up) override;
    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                              time_point give_up) override;

private:
    [[nodiscard]] std::optional<error> unfit_name(const lock_name& name) const;
    [[nodiscard]] std::optional<error> unfit(const lease_request& request) const;
    [[nodiscard]] std::string_view channel_of(const lease_request& request, time_point give_up);
    void stay_known(const lease_request& request, lease_way way);
    [[nodiscard]] lease_way way_for(const lease_request& request, time_point now) const;
    [[nodiscard]] lease_form form_for(const lease_request& request, time_point now);
    [[nodiscard]] bool outlasted(lease_request_machine& talk, const lock_name& name,
                                 time_point give_up);
    void exchange_one(const lease_request& request, result<lease_reply>& out, time_point give_up);
    void exchange_many(std::span<const lease_request> requests,
                       std::span<result<lease_reply>> replies, time_point give_up);
    void exchange_replicated(std::span<const lease_request> requests,
                             std::span<result<lease_reply>> replies, time_point give_up);
    void submit_one(lease_request request, std::string_view channel, time_point give_up,
                    std::function<void(result<lease_reply>)> done);

    const std::shared_ptr<command_engine> engine_;
    const std::shared_ptr<const command_lease_options> shared_options_;
    const command_lease_options& options_ = *shared_options_;
    const bool may_meet_own_keys_;
    label_writer who_;
    const std::shared_ptr<contention_memory> contended_ = std::make_shared<contention_memory>();
    const std::shared_ptr<known_servers> servers_ = std::make_shared<known_servers>();
    /// When somebody last spoke to the server here, or heard from it.
    std::atomic<time_point> talked_{time_point()};
    std::unique_ptr<replicated_lanes> lanes_;  // if replicas must confirm
    grant_channels channels_;                  // the last, because its destructor still submits
};

}  // namespace holdfast
