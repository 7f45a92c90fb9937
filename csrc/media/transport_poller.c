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

/* Room for what the kernel says of each message, or none. */
static void make_room(apy_transport_poller_t *poller, bool is_wanted)
{
    for (int i = 0; i < poller->io_vector; i++) {
        struct msghdr *header = &poller->messages[i].msg_hdr;
        header->msg_control = is_wanted ? poller->controls[i].room : NULL;
        header->msg_controllen = is_wanted ? sizeof(poller->controls[i].room) : 0;
    }
    poller->has_controls = is_wanted;
}

/* The system used up what it was given. */
static void restore(apy_transport_poller_t *poller, int index)
{
    struct msghdr *header = &poller->messages[index].msg_hdr;
    header->msg_namelen = sizeof(poller->sources[index]);
    header->msg_controllen = poller->has_controls ? sizeof(poller->controls[index].room) : 0;
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

static void give(apy_transport_poller_t *poller, const apy_polled_t *entry, const apy_datagram_t *datagram,
                 apy_datagram_handler handler, void *context)
{
    const apy_frame_tap_t *tap = entry->transport->tap;
    if (tap != NULL) {
        tap->on_frame(tap->context, false, datagram->source, datagram->data, datagram->length);
    }
    if (!apy_loss_interceptor_drops(&poller->loss, datagram->data, datagram->length)) {
        handler(context, entry->owner, datagram);
    }
}

/* One message, a datagram or a train of them: returns how many it held. */
static int give_each(apy_transport_poller_t *poller, const apy_polled_t *entry, int index, apy_datagram_handler handler,
                     void *context)
{
    struct mmsghdr *message = &poller->messages[index];
    const size_t length = message->msg_len;
    const size_t segment = entry->transport->takes_trains ? apy_udp_train_segment(&message->msg_hdr, length) : length;
    apy_datagram_t datagram = {poller->vectors[index].iov_base, segment, &poller->sources[index],
                               entry->transport->has_times ? time_of(&message->msg_hdr) : 0};
    int count = 1;
    for (size_t left = length; left > segment; count++) {
        give(poller, entry, &datagram, handler, context);
        datagram.data += segment;
        left -= segment;
        datagram.length = left < segment ? left : segment;
    }
    give(poller, entry, &datagram, handler, context);
    return count;
}

static int receive(apy_transport_poller_t *poller, const apy_polled_t *entry, apy_datagram_handler handler,
                   void *context, int64_t *bytes)
{
    const bool wants_controls = entry->transport->has_times || entry->transport->takes_trains;
    if (wants_controls != poller->has_controls) {
        make_room(poller, wants_controls);
    }
    const int taken = recvmmsg(entry->transport->fd, poller->messages, (unsigned int)poller->io_vector, 0, NULL);
    if (taken < 0) {
        /* A refused connection is the echo of an earlier datagram to a port where nobody listens. */
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNREFUSED || errno == EINTR) {
            return 0;
        }
        return apy_fail_os("cannot receive on socket %d", entry->transport->fd);
    }
    int count = 0;
    for (int i = 0; i < taken; i++) {
        *bytes += poller->messages[i].msg_len;
        count += give_each(poller, entry, i, handler, context);
        restore(poller, i);
    }
    return count;
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
