// SPDX-License-Identifier: Apache-2.0
#include "run/patience.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#if __has_include(<holdfast/shared_mutex.hpp>)
#define HOLDFAST_APP_FAMILY
#endif

namespace holdfast::app {
namespace {

result<lease> acquire_as_asked(client& on, const run_options& options, std::stop_token stop) {
    const acquire_options how{.ttl = options.ttl, .wait = options.wait, .stop = std::move(stop)};
#ifdef HOLDFAST_APP_FAMILY
    if (options.shared) return on.shared_mutex(options.name).acquire_shared(how);
    if (options.semaphore > 0) {
        return on.semaphore(options.name, static_cast<std::uint32_t>(options.semaphore))
            .acquire(how);
    }
#else
    if (options.shared || options.semaphore > 0) {
        return fail(errc::unsupported, "this build has no shared locks and no semaphores");
    }
#endif
    return on.mutex(options.name).acquire(how);
}

}  // namespace

result<lease> patience::acquire(client& on, const run_options& options) {
    const descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::stop_source stop;
    std::optional<result<lease>> got;
    std::thread asking([&] {
        got = acquire_as_asked(on, options, stop.get_token());
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t put = ::write(bell.get(), &one, sizeof one);
    });
    if (wait(bell.get(), time_point::max()) == outcome::asked_to_end) stop.request_stop();
    asking.join();
    if (asked_ && got->has_value()) {
        static_cast<void>(std::move(got->value()).release());
        return fail(errc::cancelled, "asked to end");
    }
    return std::move(*got);
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
