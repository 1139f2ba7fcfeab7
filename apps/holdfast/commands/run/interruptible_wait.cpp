// SPDX-License-Identifier: Apache-2.0
#include "commands/run/interruptible_wait.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <future>
#include <stop_token>
#include <utility>

namespace holdfast::app {
namespace {

void ask(client& on, const run_options& options, std::stop_token stop,
         mutex::acquire_completion done) {
    const std::string_view note = options.note.empty() ? std::string_view() : options.note;
    const acquire_options how{
        .ttl = options.ttl, .wait = options.wait, .note = note, .stop = std::move(stop)};
    if (options.shared) {
        on.shared_mutex(options.name).acquire_shared_async(how, std::move(done));
        return;
    }
    if (options.semaphore > 0) {
        on.semaphore(options.name, static_cast<std::uint32_t>(options.semaphore))
            .acquire_async(how, std::move(done));
        return;
    }
    on.mutex(options.name).acquire_async(how, std::move(done));
}

}  // namespace

// Asks without blocking, so that this thread can listen; a client that asks so also introduces
// itself at once, and whoever lists the locks sees the command from its first moment on.
result<lease> patience::acquire(client& on, const run_options& options) {
    const descriptor bell(::eventfd(0, EFD_CLOEXEC));
    std::stop_source stop;
    std::promise<result<lease>> promise;
    std::future<result<lease>> answer = promise.get_future();
    ask(on, options, stop.get_token(), [&](result<lease> got) {
        promise.set_value(std::move(got));
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t put = ::write(bell.get(), &one, sizeof one);
    });
    if (wait(bell.get(), time_point::max()) == outcome::asked_to_end) stop.request_stop();
    std::uint64_t rung = 0;  // also if it was asked to end: nothing here is used after the bell
    while (::read(bell.get(), &rung, sizeof rung) < 0 && errno == EINTR) {
    }
    auto got = answer.get();
    if (asked_ && got) {
        static_cast<void>(std::move(*got).release());
        return fail(errc::cancelled, "asked to end");
    }
    return got;
}

bool patience::sleep(duration length) {
    return wait(-1, system_clock().now() + length) == outcome::time_over;
}

patience::outcome patience::wait(int other, time_point until) {
    constexpr duration longest = std::chrono::minutes(1);
    while (true) {
        while (const auto signal = signals_.next()) {
            if (*signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);
            if (!asks_to_end(*signal)) continue;
            asked_ = *signal;
            return outcome::asked_to_end;
        }
        const time_point now = system_clock().now();
        if (now >= until) return outcome::time_over;
        const duration nap = std::min<duration>(longest, until - now);
        std::array<pollfd, 2> seen{pollfd{signals_.readable(), POLLIN, 0},
                                   pollfd{other, POLLIN, 0}};
        ::poll(seen.data(), seen.size(),
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(nap).count()));
        if ((seen[1].revents & POLLIN) != 0) return outcome::ready;
    }
}

}  // namespace holdfast::app
