// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/wake_hub.hpp"

#include "runtime/fork_watch.hpp"

#include <holdfast/entropy.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace holdfast::sql {
namespace {

struct ear {
    std::shared_mutex mutex;  // shared while the handler runs
    lease_store::push_handler handler;
};

struct hub {
    explicit hub(unsigned of)
        : generation(of),
          process(static_cast<std::int64_t>(system_entropy().below(1ULL << 62)) + 1) {}

    std::shared_ptr<ear> find(std::int64_t number) {
        const std::scoped_lock guard(mutex);
        const auto found = ears.find(number);
        return found == ears.end() ? nullptr : found->second;
    }

    const unsigned generation;
    const std::int64_t process;
    std::mutex mutex;
    std::int64_t last = 0;
    std::map<std::int64_t, std::shared_ptr<ear>> ears;
};

// A child of fork() makes its own and leaves its parent's where it is: that may be locked for ever.
hub& here() {
    static std::atomic<hub*> current = nullptr;
    const unsigned generation = detail::fork_generation();
    hub* seen = current.load(std::memory_order_acquire);
    while (seen == nullptr || seen->generation != generation) {
        auto fresh = std::make_unique<hub>(generation);
        if (current.compare_exchange_strong(seen, fresh.get(), std::memory_order_acq_rel)) {
            seen = fresh.release();
        }
    }
    return *seen;
}

}  // namespace

listener::listener() {
    hub& all = here();
    const std::scoped_lock guard(all.mutex);
    id_ = {all.process, ++all.last};
    all.ears.emplace(id_.number, std::make_shared<ear>());
}

listener::~listener() {
    hub& all = here();
    if (all.process != id_.process) return;
    std::shared_ptr<ear> mine;
    {
        const std::scoped_lock guard(all.mutex);
        mine = std::move(all.ears[id_.number]);
        all.ears.erase(id_.number);
    }
    const std::scoped_lock guard(mine->mutex);
    mine->handler = nullptr;
}

void listener::on_push(lease_store::push_handler handler) {
    const auto mine = here().find(id_.number);
    if (mine == nullptr) return;
    const std::scoped_lock guard(mine->mutex);
    mine->handler = std::move(handler);
}

hearing where_is(const listener_id& id) {
    hub& all = here();
    if (id.process != all.process) return hearing::elsewhere;
    return all.find(id.number) != nullptr ? hearing::here : hearing::gone;
}

void tell(std::span<const note> notes) {
    hub& all = here();
    for (const note& one : notes) {
        if (one.to.process != all.process) continue;
        const auto whose = all.find(one.to.number);
        if (whose == nullptr) continue;
        const std::shared_lock guard(whose->mutex);
        if (whose->handler) whose->handler(one.push);
    }
}

void tell_to_poll_again(const listener_id& id) {
    hub& all = here();
    const auto whose = id.process == all.process ? all.find(id.number) : nullptr;
    if (whose == nullptr) return;
    const std::shared_lock guard(whose->mutex);
    if (whose->handler) whose->handler(poll_again{});
}

}  // namespace holdfast::sql
