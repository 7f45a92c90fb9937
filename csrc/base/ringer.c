#include "apy/ringer.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_MAX_LENGTH 24 /* a slash, an int64 and its NUL */

void apy_ringer_open(apy_ringer_t *ringer, const char *aeron_directory)
{
    *ringer = (apy_ringer_t){.fd = -1};
    const int length =
        snprintf(ringer->directory, sizeof(ringer->directory), "%s/" APY_WAITERS_DIRECTORY, aeron_directory);
    if (length < 0 || length + NAME_MAX_LENGTH > APY_RINGER_PATH_MAX) {
        return;
    }
    ringer->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* Who waits orders our stores against our looks at what it announced, so that we need no fence for each message. */
    ringer->can_promise =
        ringer->fd >= 0 && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void apy_ringer_close(apy_ringer_t *ringer)
{
    if (ringer->fd >= 0) {
        close(ringer->fd);
        ringer->fd = -1;
    }
}

bool apy_ringer_ring(const apy_ringer_t *ringer, int64_t id)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (ringer->fd < 0) {
        return true;
    }
    const int length = snprintf(address.sun_path, sizeof(address.sun_path), "%.*s/%lld",
                                APY_RINGER_PATH_MAX - NAME_MAX_LENGTH, ringer->directory, (long long)id);
    if (length < 0 || length >= (int)sizeof(address.sun_path)) {
        return false;
    }
    if (sendto(ringer->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address, sizeof(address)) >=
        0) {
        return true;
    }
    if (errno == ECONNREFUSED) {
        (void)unlink(address.sun_path); /* left behind by one that was killed */
        return false;
    }
    return errno != ENOENT;
}
