// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_client.hpp"
#include "keyed/key_store.hpp"

#include <holdfast/entropy.hpp>

#include <memory>

/// Keys in an etcd cluster, under `<root>.keys/`.
///
/// A transaction reads its keys at one revision, works on them here, and writes what changed in one
/// transaction of etcd, which does nothing if any of the keys, written or only read, has changed
/// meanwhile. Then it is worked out again on what etcd has now, until `give_up`. So what commands
/// see and do is as if they were carried out one after the other. Commands that change nothing are
/// one read.
///
/// A transaction whose answer was lost is looked for: each record says which transaction wrote it.
/// If it is not found, the outcome is unknown, unless the commands may be repeated.
///
/// etcd has no clock to ask. The time is that of the client's machine, and never goes back for a
/// key (key_record.hpp).
namespace holdfast::etcd {

class key_work;

class etcd_key_store final : public keyed::key_store {
public:
    etcd_key_store(std::shared_ptr<etcd_client> client, entropy& chance);
    ~etcd_key_store() override;

    [[nodiscard]] result<bool> carry_out(std::span<const command> commands,
                                         std::span<result<reply>> replies, time_point give_up,
                                         const keyed::seen_versions* watched) override;
    [[nodiscard]] result<void> see(std::span<const std::string_view> keys,
                                   keyed::seen_versions& into, time_point give_up) override;
    void submit(const command& c, time_point give_up, command_engine::completion done) override;
    [[nodiscard]] clock& time() const noexcept override;

private:
    [[nodiscard]] result<void> admit(std::span<const command> commands) const;

    std::shared_ptr<key_work> work_;
    const unsigned generation_;
};

}  // namespace holdfast::etcd
