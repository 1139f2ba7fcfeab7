// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/lock_workers.hpp"

#include "commands/bench/bench_engine.hpp"
#include "commands/bench/lock_tasks.hpp"
#include "commands/bench/pace.hpp"

#include <holdfast/holdfast.hpp>

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace holdfast::app {
namespace {

using holding = std::variant<lease, lease_set>;
using taker = std::function<result<holding>()>;

constexpr std::uint32_t permits = 8;

// An answer as one of the two kinds of holding.
result<holding> kept(auto&& held) {
    if (!held) return std::unexpected(std::move(held.error()));
    return holding(std::move(*held));
}

taker taker_of(client& on, const lock_worker_options& options, const std::string& name) {
    if (options.names > 1) {
        std::vector<std::string> names;
        for (int i = 0; i < options.names; ++i) names.push_back(fmt::format("{}/{}", name, i));
        return [&on, names = std::move(names)] {
            const std::vector<std::string_view> views(names.begin(), names.end());
            return kept(on.acquire_all(views));
        };
    }
    if (options.lock_kind == "shared") {
        return [m = std::make_shared<holdfast::shared_mutex>(on, name)] {
            return kept(m->acquire_shared());
        };
    }
    if (options.lock_kind == "semaphore") {
        return [m = std::make_shared<holdfast::semaphore>(on, name, permits)] {
            return kept(m->acquire());
        };
    }
    return [m = std::make_shared<holdfast::mutex>(on, name)] { return kept(m->acquire()); };
}

class lock_operation final : public operation {
public:
    explicit lock_operation(taker take) : take_(std::move(take)) {}

    result<void> take() override {
        auto held = take_();
        if (!held) return std::unexpected(std::move(held.error()));
        held_.emplace(std::move(*held));
        return {};
    }
    result<void> release() override {
        holding held = std::move(*held_);
        held_.reset();
        return std::visit([](auto& one) { return std::move(one).release(); }, held);
    }

private:
    taker take_;
    std::optional<holding> held_;
};

std::string name_of(int worker) {
    return fmt::format("bench/{}", worker);
}

std::unique_ptr<bench::task_lock> task_lock_of(client& on, const std::string& kind, int worker) {
    using bench::task_lock;
    const std::string name = name_of(worker);
    if (kind == "shared") {
        return std::make_unique<task_lock>(std::in_place_type<holdfast::shared_mutex>, on, name);
    }
    if (kind == "semaphore") {
        return std::make_unique<task_lock>(std::in_place_type<holdfast::semaphore>, on, name,
                                           permits);
    }
    return std::make_unique<task_lock>(std::in_place_type<holdfast::mutex>, on, name);
}

result<worker_result> by_tasks(const std::string& url, const lock_worker_options& options) {
    const worker_setup& worker_group = options.worker_group;
    auto on = open(url);
    if (!on) return std::unexpected(std::move(on.error()));
    std::vector<std::unique_ptr<bench::task_lock>> locks;
    for (int id = 0; id < worker_group.workers; ++id) {
        locks.push_back(task_lock_of(*on, options.lock_kind, id));
    }
    lock_operation first(taker_of(*on, options, name_of(0)));
    auto warm = first.take();
    if (warm) warm = first.release();
    if (!warm) return std::unexpected(std::move(warm.error()));
    if (worker_group.when_ready) worker_group.when_ready();
    const double cpu = own_cpu_seconds();
    const auto sent = commands_sent(*on);
    const time_point start = system_clock().now();
    const bench::pace at{start, worker_group.workers, worker_group.rate};
    auto logs = bench::lock_pairs_by_coroutines(
        locks, worker_group.length,
        [&](int task, std::uint64_t number) { return at.due(task, number); });
    if (!logs) return std::unexpected(std::move(logs.error()));
    worker_result out;
    out.seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    out.cpu_seconds = own_cpu_seconds() - cpu;
    if (sent) out.commands = *commands_sent(*on) - *sent;
    for (const auto& one : *logs) {
        out.done += one.pairs;
        out.per_worker.push_back(one.pairs);
        out.acquire_us.insert(out.acquire_us.end(), one.acquire_us.begin(), one.acquire_us.end());
        out.release_us.insert(out.release_us.end(), one.release_us.begin(), one.release_us.end());
        for (const float us : one.acquire_us) {
            out.longest_acquire_us = std::max(out.longest_acquire_us, static_cast<double>(us));
        }
    }
    return out;
}

}  // namespace

std::vector<std::string> lock_kinds() {
    return {"mutex", "shared", "semaphore"};
}

result<worker_result> run_lock_workers(const std::string& url, const lock_worker_options& options) {
    if (options.worker_group.of == worker_setup::kind::tasks) return by_tasks(url, options);
    return run_workers(url, options.worker_group, [&options](client& on) -> operation_maker {
        return [&options, &on](int worker) -> std::unique_ptr<operation> {
            return std::make_unique<lock_operation>(taker_of(on, options, name_of(worker)));
        };
    });
}

}  // namespace holdfast::app
