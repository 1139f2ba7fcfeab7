// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_client.hpp"
#include "driver/etcd/expiry_leases.hpp"
#include "driver/etcd/key_bench.hpp"
#include "driver/etcd/key_turns.hpp"
#include "driver/etcd/recent_keys.hpp"
#include "keyed/key_store.hpp"

#include <holdfast/entropy.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

/// One transaction on keys in etcd, as a coroutine: read, work, write if nothing has changed.
namespace holdfast::etcd {

struct key_done {
    bool current = true;  ///< False, and nothing was done: a watched key is not as it was seen.
    std::vector<result<reply>> replies;
};

/// Thread safety: all members may be called from any thread.
class key_work {
public:
    key_work(std::shared_ptr<etcd_client> client, entropy& chance);

    /// The commands as one transaction. Requires: they live until it is done.
    /// Errors: unsupported (too many keys), invalid_argument (a key too large; a key that a script
    /// did not name), timed_out, unavailable: nothing was done; outcome_unknown.
    static pending<result<key_done>> carry_out(std::shared_ptr<key_work> self,
                                               std::span<const command> commands,
                                               keyed::seen_versions watched, time_point give_up);

    /// The keys, all at one revision.
    static pending<result<stored_keys>> read(std::shared_ptr<key_work> self,
                                             std::vector<std::string> keys, time_point give_up);

    [[nodiscard]] clock& time() const noexcept { return client_->time(); }

private:
    /// What a try to write came to.
    struct written {
        enum class kind : std::uint8_t { done, conflict, lease_gone, failed };
        kind how = kind::failed;
        error why{};
        stored_keys now{};  ///< After a conflict.
    };
    struct order;

    static pending<result<key_done>> in_turn(std::shared_ptr<key_work> self,
                                             std::shared_ptr<order> of);
    static pending<written> write(std::shared_ptr<key_work> self, std::shared_ptr<order> of,
                                  stored_keys seen, key_outcome outcome);
    static pending<called<std::vector<std::int64_t>>> leases_for(std::shared_ptr<key_work> self,
                                                                 const key_outcome& outcome,
                                                                 time_point give_up);
    [[nodiscard]] written judge(const order& of, const called<wire::TxnResponse>& answer,
                                std::uint64_t writer, const key_outcome& outcome);
    [[nodiscard]] std::string place_of(std::string_view key) const;
    [[nodiscard]] result<stored_keys> stored_in(
        const std::vector<std::string>& keys,
        const google::protobuf::RepeatedPtrField<wire::ResponseOp>& answers) const;
    [[nodiscard]] std::int64_t wall_us() const;

    const std::shared_ptr<etcd_client> client_;
    entropy& chance_;
    const std::shared_ptr<key_turns> turns_;
    const std::shared_ptr<expiry_leases> leases_;
    key_bench bench_;
    recent_keys recent_;
};

}  // namespace holdfast::etcd
