// SPDX-License-Identifier: Apache-2.0
//
// A worker that kills itself (SIGKILL) at a named moment. Each step of a worker is one statement,
// or stands between two: so the moments are "before" or "after" one of them.
//
//   crash_worker FILE PLACE LEASE_MS MOMENT
//
// MOMENT: never, working, or before-S and after-S with S claim, renew, publish, finish.
#include "support/wait_for.hpp"
#include "task_bed.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using detail::task_sentence;

[[noreturn]] void die() {
    ::kill(::getpid(), SIGKILL);
    while (true) ::pause();
}

/// Dies before or after the first statement of a kind.
class mortal_connection final : public sql::connection {
public:
    mortal_connection(std::unique_ptr<sql::connection> real, std::string moment)
        : real_(std::move(real)), moment_(std::move(moment)) {}

    [[nodiscard]] result<void> ready(time_point give_up) override { return real_->ready(give_up); }
    [[nodiscard]] result<void> begin() override { return real_->begin(); }
    [[nodiscard]] result<void> commit() override { return real_->commit(); }
    void roll_back() noexcept override { real_->roll_back(); }
    [[nodiscard]] result<std::int64_t> run(sql::sentence what, std::span<const sql::value> values,
                                           const sql::row_reader& reader) override {
        const std::string name = name_of(what);
        if (!name.empty() && moment_ == "before-" + name) die();
        auto done = real_->run(what, values, reader);
        if (!name.empty() && moment_ == "after-" + name) die();
        return done;
    }
    [[nodiscard]] std::int64_t told() const noexcept override { return real_->told(); }
    void announce(std::int64_t process) override { real_->announce(process); }
    [[nodiscard]] bool may_live(std::int64_t process) override { return real_->may_live(process); }
    [[nodiscard]] result<wall_time> time_of_day() override { return real_->time_of_day(); }

private:
    static std::string name_of(sql::sentence what) {
        static const std::map<sql::sentence, std::string> names{
            {sentence_of(task_sentence::claim), "claim"},
            {sentence_of(task_sentence::renew), "renew"},
            {sentence_of(task_sentence::publish), "publish"},
            {sentence_of(task_sentence::finish), "finish"}};
        const auto found = names.find(what);
        return found == names.end() ? "" : found->second;
    }

    std::unique_ptr<sql::connection> real_;
    const std::string moment_;
};

/// Three files, and a renewal before the last.
result<std::string> work(task_context& context, const std::string& place,
                         const std::string& moment) {
    auto staged = context.output(place);
    if (!staged) return std::unexpected(std::move(staged.error()));
    std::ofstream(*staged + "/one") << "one";
    std::ofstream(*staged + "/two") << "two";
    if (moment == "working") die();
    context.progress(0.5, "two of three");
    while (moment.ends_with("renew") && !context.stop().stop_requested()) {
        ::poll(nullptr, 0, 5);  // until it dies with its renewal
    }
    std::ofstream(*staged + "/three") << "three";
    return "fence " + std::to_string(context.fence().value);
}

int run(const std::string& file, const std::string& place, int lease_ms,
        const std::string& moment) {
    auto database = std::make_unique<test::wrapped_task_file>(
        file, system_clock(), [&](std::unique_ptr<sql::connection> real) {
            return std::make_unique<mortal_connection>(std::move(real), moment);
        });
    task_store tasks(std::make_shared<detail::task_table>(
        std::move(database), detail::writers::one_at_a_time, task_store_options{}));
    task_runner runner(tasks, [&](task_context& context) { return work(context, place, moment); },
                       {.lease = std::chrono::milliseconds(lease_ms)});
    runner.start();
    test::wait_for(
        "the task to end",
        [&] {
            const auto row = tasks.find("a1");
            return row && *row && has_ended((*row)->state);
        },
        120s);
    return 0;
}

}  // namespace
}  // namespace holdfast

int main(int count, char** words) {
    if (count != 5) {
        std::fputs("crash_worker FILE PLACE LEASE_MS MOMENT\n", stderr);
        return 2;
    }
    return holdfast::run(words[1], words[2], std::stoi(words[3]), words[4]);
}
