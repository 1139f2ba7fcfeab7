// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/job.hpp>

#include "command/script_call.hpp"
#include "core/require.hpp"
#include "push/consumer.hpp"

#include <thread>
#include <utility>
#include <vector>

namespace holdfast::push {

class job::impl {
public:
    impl(client& hf, settings s, log_sink log, counters* counts, job_options options)
        : hf_(hf),
          settings_(std::move(s)),
          log_(std::move(log)),
          counts_(counts == nullptr ? own_counts_ : *counts),
          options_(std::move(options)) {
        detail::require(hf.commands() != nullptr, "live push needs an engine of Redis commands");
    }

    result<void> start() {
        if (auto fit = check(settings_); !fit) return fit;
        const std::string node = detail::draw_token(hf_.chance());
        for (std::size_t i = 0; i < settings_.consumers; ++i) {
            consumers_.push_back(
                std::make_unique<consumer>(hf_, settings_, i, node, log_, counts_, options_));
        }
        for (const auto& one : consumers_) threads_.emplace_back([&one] { one->run(); });
        return {};
    }

    void stop() {
        for (const auto& one : consumers_) one->stop();
        for (std::thread& one : threads_) one.join();
        threads_.clear();
        consumers_.clear();
    }

private:
    client& hf_;
    const settings settings_;
    const log_sink log_;
    counters own_counts_;
    counters& counts_;
    const job_options options_;
    std::vector<std::unique_ptr<consumer>> consumers_;
    std::vector<std::thread> threads_;
};

job::job(client& hf, settings s, log_sink log, counters* counts, job_options options)
    : impl_(std::make_unique<impl>(hf, std::move(s), std::move(log), counts, std::move(options))) {}
job::~job() {
    impl_->stop();
}
result<void> job::start() {
    return impl_->start();
}
void job::stop() {
    impl_->stop();
}

}  // namespace holdfast::push
