#include "apy/socket_buffers.h"

#include <sys/socket.h>
#include <unistd.h>

#include "apy/error.h"

int apy_socket_buffer_length(bool is_send, int wanted, int *length)
{
    const int option = is_send ? SO_SNDBUF : SO_RCVBUF;
    const char *name = is_send ? "SO_SNDBUF" : "SO_RCVBUF";
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return apy_fail_os("cannot open a socket to ask for %s", name);
    }
    int actual = 0;
    socklen_t size = sizeof(actual);
    int rc = APY_OK;
    if (wanted > 0 && setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof(wanted)) != 0) {
        rc = apy_fail_os("cannot set %s to %d", name, wanted);
    } else if (getsockopt(fd, SOL_SOCKET, option, &actual, &size) != 0) {
        rc = apy_fail_os("cannot ask for %s", name);
    }
    (void)close(fd);
    if (rc == APY_OK) {
        *length = actual;
    }
    return rc;
}
