#include "apy/transport_poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "apy/error.h"

#define ITERATE_MAX 5 /* sockets that are cheaper to ask one by one */
#define EVENTS_MAX 64

int apy_transport_poller_init(apy_transport_poller_t *poller, int io_vector, const apy_loss_interceptor_t *loss)
{
    memset(poller, 0, sizeof(*poller));
    poller->io_vector = io_vector < 1 ? 1 : io_vector > APY_IO_VECTOR_MAX ? APY_IO_VECTOR_MAX : io_vector;
    poller->loss = *loss;
    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll_fd < 0) {
        return apy_fail_os("cannot poll sockets");
    }
    poller->buffers = aligned_alloc(64, (size_t)poller->io_vector * APY_DATAGRAM_MAX);
    if (poller->buffers == NULL) {
        close(poller->epoll_fd);
        return apy_fail(APY_E_MEMORY, "no memory for %d receive buffers", poller->io_vector);
    }
    for (int i = 0; i < poller->io_vector; i++) {
        poller->vectors[i] = (struct iovec){poller->buffers + (size_t)i * APY_DATAGRAM_MAX, APY_DATAGRAM_MAX};
        poller->messages[i].msg_hdr = (struct msghdr){.msg_name = &poller->sources[i],
                                                      .msg_namelen = sizeof(poller->sources[i]),
                                                      .msg_iov = &poller->vectors[i],
                                                      .msg_iovlen = 1};
    }
    return APY_OK;
}

void apy_transport_poller_free(apy_transport_poller_t *poller)
{
    for (int i = 0; i < poller->count; i++) {
        free(poller->polled[i]);
    }
    free(poller->polled);
    free(poller->buffers);
    close(poller->epoll_fd);
}

int apy_transport_poller_add(apy_transport_poller_t *poller, apy_udp_transport_t *transport, void *owner)
{
    if (poller->count == poller->capacity) {
        const int capacity = poller->capacity == 0 ? 8 : 2 * poller->capacity;
        apy_polled_t **grown = realloc(poller->polled, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory to poll %d sockets", capacity);
        }
        poller->polled = grown;
        poller->capacity = capacity;
    }
    apy_polled_t *entry = malloc(sizeof(*entry));
    if (entry == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory to poll one more socket than %d", poller->count);
    }
    *entry = (apy_polled_t){transport, owner};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = entry};
    if (epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, transport->fd, &event) != 0) {
        free(entry);
        return apy_fail_os("cannot poll socket %d", transport->fd);
    }
    poller->polled[poller->count++] = entry;
    return APY_OK;
}

void apy_transport_poller_remove(apy_transport_poller_t *poller, const apy_udp_transport_t *transport)
{
    for (int i = 0; i < poller->count; i++) {
        if (poller->polled[i]->transport == transport) {
            epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, transport->fd, NULL);
            free(poller->polled[i]);
            poller->polled[i] = poller->polled[--poller->count];
            return;
        }
    }
}

/* Room for the kernel's times, or none: the system uses it up with each call. */
static void make_room(apy_transport_poller_t *poller, bool wants_times)
{
    if (!wants_times && !poller->has_controls) {
        return;
    }
    for (int i = 0; i < poller->io_vector; i++) {
        struct msghdr *header = &poller->messages[i].msg_hdr;
        header->msg_control = wants_times ? poller->controls[i].room : NULL;
        header->msg_controllen = wants_times ? sizeof(poller->controls[i].room) : 0;
    }
    poller->has_controls = wants_times;
}

static int64_t time_of(struct msghdr *header)
{
    for (struct cmsghdr *each = CMSG_FIRSTHDR(header); each != NULL; each = CMSG_NXTHDR(header, each)) {
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec time;
            memcpy(&time, CMSG_DATA(each), sizeof(time));
            return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        }
    }
    return 0;
}

static void show(const apy_transport_poller_t *poller, const apy_frame_tap_t *tap, int taken)
{
    for (int i = 0; i < taken; i++) {
        tap->on_frame(tap->context, false, &poller->sources[i], poller->vectors[i].iov_base,
                      poller->messages[i].msg_len);
    }
}

static int receive(apy_transport_poller_t *poller, const apy_polled_t *entry, apy_datagram_handler handler,
                   void *context, int64_t *bytes)
{
    const bool has_times = entry->transport->has_times;
    make_room(poller, has_times);
    const int taken = recvmmsg(entry->transport->fd, poller->messages, (unsigned int)poller->io_vector, 0, NULL);
    if (taken < 0) {
        /* A refused connection is the echo of an earlier datagram to a port where nobody listens. */
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNREFUSED || errno == EINTR) {
            return 0;
        }
        return apy_fail_os("cannot receive on socket %d", entry->transport->fd);
    }
    if (entry->transport->tap != NULL) {
        show(poller, entry->transport->tap, taken);
    }
    for (int i = 0; i < taken; i++) {
        struct mmsghdr *message = &poller->messages[i];
        const apy_datagram_t datagram = {poller->vectors[i].iov_base, message->msg_len, &poller->sources[i],
                                         has_times ? time_of(&message->msg_hdr) : 0};
        *bytes += message->msg_len;
        message->msg_hdr.msg_namelen = sizeof(poller->sources[i]);
        if (!apy_loss_interceptor_drops(&poller->loss, datagram.data, datagram.length)) {
            handler(context, entry->owner, &datagram);
        }
    }
    return taken;
}

int apy_transport_poller_poll(apy_transport_poller_t *poller, apy_datagram_handler handler, void *context,
                              int64_t *bytes)
{
    struct epoll_event events[EVENTS_MAX];
    const bool is_iterated = poller->count <= ITERATE_MAX;
    int count = poller->count;
    int failure = APY_OK;
    int total = 0;

    *bytes = 0;
    if (!is_iterated) {
        count = epoll_wait(poller->epoll_fd, events, EVENTS_MAX, 0);
        if (count < 0) {
            return errno == EINTR ? 0 : apy_fail_os("cannot poll %d sockets", poller->count);
        }
    }
    for (int i = 0; i < count; i++) {
        const apy_polled_t *entry = is_iterated ? poller->polled[i] : events[i].data.ptr;
        const int taken = receive(poller, entry, handler, context, bytes);
        if (taken < 0) {
            failure = taken;
        } else {
            total += taken;
        }
    }
    return failure == APY_OK ? total : failure;
}
