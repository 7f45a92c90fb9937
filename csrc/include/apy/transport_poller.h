#ifndef APY_TRANSPORT_POLLER_H
#define APY_TRANSPORT_POLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "apy/loss_interceptor.h"
#include "apy/udp_transport.h"

/*
 * transport_poller takes what came in on many sockets, a batch from each: by asking each of a few, by epoll
 * when there are more.
 *
 * Threads: belongs to one agent; init and free while it does not run.
 * Allocates: the receive buffers in init; in add.  Blocks: never.
 */

#define APY_DATAGRAM_MAX 65536
#define APY_IO_VECTOR_MAX 16

typedef struct apy_datagram {
    uint8_t *data;
    size_t length;
    const struct sockaddr_storage *source;
    int64_t time_ns; /* since 1970, by the kernel; 0 where the transport did not ask for it */
} apy_datagram_t;

/* owner is what the transport was added with. The bytes are the handler's until it returns. */
typedef void (*apy_datagram_handler)(void *context, void *owner, const apy_datagram_t *datagram);

typedef struct apy_polled {
    apy_udp_transport_t *transport;
    void *owner;
} apy_polled_t;

typedef struct apy_transport_poller {
    apy_polled_t **polled;
    int count, capacity;
    int epoll_fd;
    int io_vector;
    apy_loss_interceptor_t loss;
    uint8_t *buffers; /* io_vector of APY_DATAGRAM_MAX */
    struct sockaddr_storage sources[APY_IO_VECTOR_MAX];
    struct iovec vectors[APY_IO_VECTOR_MAX];
    struct mmsghdr messages[APY_IO_VECTOR_MAX];
    bool has_controls; /* messages have room for times and lengths */
    union {
        struct cmsghdr header; /* for its alignment */
        uint8_t room[CMSG_SPACE(sizeof(struct timespec)) + APY_TRAIN_GIVEN];
    } controls[APY_IO_VECTOR_MAX];
} apy_transport_poller_t;

/*
 * io_vector: datagrams taken from one socket in one system call, cut to 1 to APY_IO_VECTOR_MAX; where the socket takes
 * trains, that many trains. The handler gets datagrams in either case.
 */
int apy_transport_poller_init(apy_transport_poller_t *poller, int io_vector, const apy_loss_interceptor_t *loss);
void apy_transport_poller_free(apy_transport_poller_t *poller);

int apy_transport_poller_add(apy_transport_poller_t *poller, apy_udp_transport_t *transport, void *owner);
void apy_transport_poller_remove(apy_transport_poller_t *poller, const apy_udp_transport_t *transport);

/*
 * One batch from each socket that has something; not to be called from a handler. Returns the datagrams handled,
 * or APY_E_OS when a socket failed (the others were served); *bytes counts what arrived in either case.
 */
int apy_transport_poller_poll(apy_transport_poller_t *poller, apy_datagram_handler handler, void *context,
                              int64_t *bytes);

#endif
