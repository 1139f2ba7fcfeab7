/* SPDX-License-Identifier: Apache-2.0
 *
 * A library for LD_PRELOAD that shifts the time of day of one program, while it runs.
 *
 * The shift, in nanoseconds, is the first eight bytes of the file that SHIFTED_CLOCK names; who
 * steps the clock writes them. Only the time of day moves: clocks that cannot be set do not. The
 * program may ask for the time before its allocator works, so nothing here allocates.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

__attribute__((constructor)) static void find_shift(void) {
    const char *name = getenv("SHIFTED_CLOCK");
    const int file = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shift = page;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *out) {
    const int64_t second = 1000000000;
    const long failed = syscall(SYS_clock_gettime, which, out);
    if (failed != 0 || shift == NULL) return (int)failed;
    if (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE) return 0;
    const int64_t now = out->tv_sec * second + out->tv_nsec + *shift;
    out->tv_sec = now / second;
    out->tv_nsec = now % second;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}
