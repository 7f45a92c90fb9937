#include "apy/waiter.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/error.h"

static bool watch(const apy_waiter_t *waiter, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(waiter->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* As open as the driver's directory itself. */
static bool make_directory(const char *aeron_directory, const char *path)
{
    struct stat parent;
    if (stat(aeron_directory, &parent) != 0) {
        return false;
    }
    return mkdir(path, parent.st_mode & 0777) == 0 || errno == EEXIST;
}

static void open_socket(apy_waiter_t *waiter, const char *aeron_directory)
{
    char directory[APY_RINGER_PATH_MAX];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int folder = snprintf(directory, sizeof(directory), "%s/" APY_WAITERS_DIRECTORY, aeron_directory);
    const int length = snprintf(waiter->path, sizeof(waiter->path), "%s/" APY_WAITERS_DIRECTORY "/%lld",
                                aeron_directory, (long long)waiter->id);
    if (folder < 0 || folder >= (int)sizeof(directory) || length < 0 || length >= (int)sizeof(waiter->path) ||
        !make_directory(aeron_directory, directory)) {
        return;
    }
    memcpy(address.sun_path, waiter->path, (size_t)length + 1);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    (void)unlink(waiter->path); /* ids are of one driver's life, directories may be older */
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 && watch(waiter, fd)) {
        waiter->socket = fd;
    } else {
        close(fd);
    }
}

int apy_waiter_open(apy_waiter_t *waiter, const char *aeron_directory, int64_t id)
{
    *waiter = (apy_waiter_t){.fd = -1, .socket = -1, .timer = -1, .id = id};
    waiter->fd = epoll_create1(EPOLL_CLOEXEC);
    waiter->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (waiter->fd < 0 || waiter->timer < 0 || !watch(waiter, waiter->timer)) {
        const int rc = apy_fail_os("no descriptors to wait on");
        apy_waiter_close(waiter);
        return rc;
    }
    open_socket(waiter, aeron_directory);
    return APY_OK;
}

void apy_waiter_forget(apy_waiter_t *waiter)
{
    waiter->path[0] = '\0';
    apy_waiter_close(waiter);
}

void apy_waiter_close(apy_waiter_t *waiter)
{
    if (waiter->socket >= 0) {
        (void)unlink(waiter->path); /* empty: there is no such file */
        close(waiter->socket);
    }
    if (waiter->timer >= 0) {
        close(waiter->timer);
    }
    if (waiter->fd >= 0) {
        close(waiter->fd);
    }
    waiter->fd = waiter->socket = waiter->timer = -1;
}

void apy_waiter_drain(apy_waiter_t *waiter)
{
    char byte;
    uint64_t expirations;
    while (waiter->socket >= 0 && recv(waiter->socket, &byte, sizeof(byte), MSG_DONTWAIT) >= 0) {
        waiter->is_rung = true;
    }
    (void)!read(waiter->timer, &expirations, sizeof(expirations));
}

bool apy_waiter_take_rung(apy_waiter_t *waiter)
{
    const bool was_rung = waiter->is_rung;
    waiter->is_rung = false;
    return was_rung;
}

static void set_timer(const apy_waiter_t *waiter, int64_t first_ns, int64_t every_ns)
{
    const struct itimerspec when = {.it_value = {first_ns / 1000000000, first_ns % 1000000000},
                                    .it_interval = {every_ns / 1000000000, every_ns % 1000000000}};
    (void)timerfd_settime(waiter->timer, 0, &when, NULL);
}

void apy_waiter_sleep_at_most(apy_waiter_t *waiter, int64_t timeout_ns)
{
    waiter->has_backstop = false;
    set_timer(waiter, timeout_ns > 0 ? timeout_ns : 1, 0);
}

void apy_waiter_backstop(apy_waiter_t *waiter)
{
    if (!waiter->has_backstop) {
        waiter->has_backstop = true;
        set_timer(waiter, APY_WAITER_BACKSTOP_NS, APY_WAITER_BACKSTOP_NS);
    }
}

void apy_waiter_wake(apy_waiter_t *waiter)
{
    apy_waiter_sleep_at_most(waiter, 1);
}

bool apy_waiter_wait(const apy_waiter_t *waiter, int64_t timeout_ns)
{
    struct epoll_event event;
    const int64_t up_ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    return epoll_wait(waiter->fd, &event, 1, timeout_ns <= 0 ? 0 : up_ms > INT32_MAX ? INT32_MAX : (int)up_ms) > 0;
}

bool apy_waiter_order(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}
