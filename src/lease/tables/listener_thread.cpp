// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/listener_thread.hpp"

#include "lease/tables/wake_hub.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;

constexpr duration shortest_pause = 50ms;
constexpr duration longest_pause = 1s;

}  // namespace

bool wait_to_read(int fd, int closing, duration at_most) {
    pollfd both[2]{{.fd = closing, .events = POLLIN, .revents = 0},
                   {.fd = fd, .events = POLLIN, .revents = 0}};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    ::poll(both, fd < 0 ? 1 : 2, static_cast<int>(ms));
    return fd >= 0 && both[1].revents != 0;
}

struct listener_thread::state {
    explicit state(std::unique_ptr<listening_connection> with)
        : by(std::move(with)), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~state() { ::close(wake); }

    const std::unique_ptr<listening_connection> by;  // the thread's own
    const int wake;
    listener_id whose;

    std::mutex mutex;
    std::condition_variable changed;
    bool listening = false;
    bool closing = false;
    std::uint64_t attempts = 0;
    std::optional<error> trouble;  // of the last attempt

    [[nodiscard]] bool is_closing() {
        const std::scoped_lock guard(mutex);
        return closing;
    }
    void say(bool now_listening, std::optional<error> why) {
        {
            const std::scoped_lock guard(mutex);
            listening = now_listening;
            trouble = std::move(why);
            ++attempts;
        }
        changed.notify_all();
    }
};

void listener_thread::run(const std::shared_ptr<state>& all) {
    duration pause = shortest_pause;
    while (!all->is_closing()) {
        auto connected = all->by->connect(all->whose);
        if (connected) {
            pause = shortest_pause;
            all->say(true, std::nullopt);
            tell_to_poll_again(all->whose);
            all->by->attend(all->whose, all->wake);
            all->say(false, std::nullopt);
        } else {
            all->say(false, std::move(connected.error()));
        }
        all->by->close();
        if (all->is_closing()) return;
        static_cast<void>(wait_to_read(-1, all->wake, pause));
        pause = std::min(pause * 2, longest_pause);
    }
}

listener_thread::listener_thread(std::unique_ptr<listening_connection> by)
    : state_(std::make_shared<state>(std::move(by))) {}

listener_thread::~listener_thread() {
    if (state_ == nullptr) return;
    {
        const std::scoped_lock guard(state_->mutex);
        state_->closing = true;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(state_->wake, &one, sizeof one);
    if (!thread_.joinable()) return;
    // The last reference to a store may go in one of its own handlers.
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void listener_thread::forget() noexcept {
    static_cast<void>(new std::shared_ptr<state>(std::move(state_)));
    static_cast<void>(new std::thread(std::move(thread_)));
}

result<void> listener_thread::hear(const listener_id& whose, time_point deadline) {
    std::unique_lock guard(state_->mutex);
    if (state_->listening) return {};
    if (!thread_.joinable()) {
        state_->whose = whose;
        thread_ = std::thread([all = state_] { run(all); });
    }
    const std::uint64_t before = state_->attempts;
    while (!state_->listening) {
        if (state_->attempts != before && state_->trouble) return std::unexpected(*state_->trouble);
        if (system_clock().now() >= deadline) {
            return fail(errc::unavailable,
                        fmt::format("{}: the connection that listens was not made in time",
                                    state_->by->label()));
        }
        system_clock().wait_until(guard, state_->changed, deadline);
    }
    return {};
}

}  // namespace holdfast::sql
