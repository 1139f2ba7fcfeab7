// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/cpu_split.hpp"

#include <sched.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::app {

result<void> split_processors(pid_t server) {
    cpu_set_t ours;
    if (::sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) < 2) {
        return fail(errc::unavailable,
                    "--cpus apart: there is only one processor; leave the option out");
    }
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &ours)) --last;
    cpu_set_t theirs;
    CPU_ZERO(&theirs);
    CPU_SET(last, &theirs);
    CPU_CLR(last, &ours);
    if (::sched_setaffinity(server, sizeof theirs, &theirs) != 0 ||
        ::sched_setaffinity(0, sizeof ours, &ours) != 0) {
        return fail(errc::unavailable,
                    "--cpus apart: the kernel refuses: " + std::generic_category().message(errno));
    }
    return {};
}

}  // namespace holdfast::app
