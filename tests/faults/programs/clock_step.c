/*
 * Preloaded into a process: its wall clock is off by as many nanoseconds as a file of eight bytes says, now.
 * Only CLOCK_REALTIME and what is read from it: a step of the wall clock leaves the monotonic one alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void attach(void)
{
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CLOCK_STEP_FILE");
    const int fd = path == NULL ? -1 : open(path, O_RDONLY);
    if (fd < 0) {
        abort(); /* a test of a clock that cannot be stepped would show nothing */
    }
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED) {
        abort();
    }
    offset_ns = mapped;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (real_clock_gettime == NULL) {
        real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int rc = real_clock_gettime(id, now);
    if (rc == 0 && id == CLOCK_REALTIME && offset_ns != NULL) {
        const int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *offset_ns;
        now->tv_sec = ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec exact;
    const int rc = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *out)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out != NULL) {
        *out = exact.tv_sec;
    }
    return exact.tv_sec;
}
