// SPDX-License-Identifier: Apache-2.0
//
// A library to preload into a program that is to believe another time.
//
//   HOLDFAST_CLOCK_FILE=path         the time of day is the 64-bit number of microseconds in the
//                                    first bytes of the file, which the test maps and moves
//   HOLDFAST_CLOCK_AHEAD_S=seconds   the time of day and the time since boot are ahead by that
//
// CLOCK_MONOTONIC stays as it is: programs wait by it.
// style: allow clock, because standing in for the machine's clock is the purpose of this file
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t million = 1'000'000;

const std::atomic<std::int64_t>* told_time() {
    static const auto* const mapped = []() -> const std::atomic<std::int64_t>* {
        const char* path = std::getenv("HOLDFAST_CLOCK_FILE");
        if (path == nullptr) return nullptr;
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        void* const page = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
        ::close(fd);
        if (page == MAP_FAILED) std::abort();
        return static_cast<const std::atomic<std::int64_t>*>(page);
    }();
    return mapped;
}

std::int64_t ahead() {
    static const std::int64_t seconds = [] {
        const char* text = std::getenv("HOLDFAST_CLOCK_AHEAD_S");
        return text == nullptr ? std::int64_t{0} : std::strtoll(text, nullptr, 10);
    }();
    return seconds;
}

int read_clock(clockid_t id, timespec* out) {
    const bool civil = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (civil && told_time() != nullptr) {
        const std::int64_t us = told_time()->load(std::memory_order_acquire);
        *out = {us / million, us % million * 1000};
        return 0;
    }
    const long done = ::syscall(SYS_clock_gettime, id, out);
    if (done == 0 && (civil || id == CLOCK_BOOTTIME)) out->tv_sec += ahead();
    return static_cast<int>(done);
}

}  // namespace

extern "C" {

// style: allow clock, because this is the function that is stood in for
int clock_gettime(clockid_t id, timespec* out) {
    return read_clock(id, out);
}

// style: allow clock, because this is the function that is stood in for
int gettimeofday(timeval* out, void*) {
    timespec now{};
    read_clock(CLOCK_REALTIME, &now);
    *out = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t* out) {
    timespec now{};
    read_clock(CLOCK_REALTIME, &now);
    if (out != nullptr) *out = now.tv_sec;
    return now.tv_sec;
}

}  // extern "C"
