#include <assert.h>
#include <errno.h>
#include <string.h>

#include "apy/error.h"
#include "apy/udp_train.h"
#include "apy/udp_transport.h"

#define MESSAGES_MAX 16 /* datagrams or trains in one system call */

/* What one system call takes. */
typedef struct batch {
    int count;
    int datagrams[MESSAGES_MAX]; /* in each message */
    struct mmsghdr messages[MESSAGES_MAX];
    struct iovec wholes[MESSAGES_MAX]; /* of each train that lies in one stretch */
    union {
        struct cmsghdr header; /* for its alignment */
        uint8_t room[APY_TRAIN_CONTROL];
    } controls[MESSAGES_MAX];
} batch_t;

/* --- who refused a train --- */

static const struct sockaddr_storage *address_of(const apy_udp_transport_t *transport,
                                                 const struct sockaddr_storage *to)
{
    return transport->connected.ss_family != 0 ? &transport->connected : to;
}

bool apy_udp_transport_couples(const apy_udp_transport_t *transport, const struct sockaddr_storage *to)
{
    const struct sockaddr_storage *address = address_of(transport, to);
    if (!transport->sends_trains) {
        return false;
    }
    for (int i = 0; i < transport->refusal_count; i++) {
        if (apy_address_equal(&transport->refusals[i], address)) {
            return false;
        }
    }
    return true;
}

static void remember_refusal(apy_udp_transport_t *transport, const struct sockaddr_storage *address)
{
    if (transport->refusal_count < APY_TRAIN_REFUSALS_MAX) {
        transport->refusals[transport->refusal_count++] = *address;
    } else {
        transport->refusals[transport->next_refusal] = *address;
        transport->next_refusal = (transport->next_refusal + 1) % APY_TRAIN_REFUSALS_MAX;
    }
}

/* --- one system call --- */

/* One stretch of memory costs the kernel less than many; false where they lie apart. */
static bool join(const struct iovec *datagrams, int count, struct iovec *whole)
{
    const uint8_t *end = datagrams[0].iov_base;
    for (int i = 0; i < count; i++) {
        if (datagrams[i].iov_base != end) {
            return false;
        }
        end += datagrams[i].iov_len;
    }
    *whole = (struct iovec){datagrams[0].iov_base, (size_t)(end - (const uint8_t *)datagrams[0].iov_base)};
    return true;
}

static int take_train(const struct iovec *datagrams, int count, apy_udp_train_t *train)
{
    *train = (apy_udp_train_t){0};
    while (train->count < count && apy_udp_train_couple(train, datagrams[train->count].iov_len)) {
    }
    return train->count;
}

static void fill(batch_t *batch, const apy_udp_transport_t *transport, const struct sockaddr_storage *to,
                 const struct iovec *datagrams, int count, bool couples)
{
    const bool is_connected = transport->connected.ss_family != 0;
    int at = 0;
    batch->count = 0;
    while (at < count && batch->count < MESSAGES_MAX) {
        const int index = batch->count++;
        const struct iovec *first = &datagrams[at];
        struct msghdr *header = &batch->messages[index].msg_hdr;
        apy_udp_train_t train;
        const int coupled = take_train(first, couples ? count - at : 1, &train);
        *header = (struct msghdr){
            .msg_name = is_connected ? NULL : (void *)(uintptr_t)to,
            .msg_namelen = is_connected ? 0 : apy_address_length(to),
            .msg_iov = (struct iovec *)(uintptr_t)first,
            .msg_iovlen = (size_t)coupled,
        };
        if (coupled > 1) {
            apy_udp_train_announce(header, batch->controls[index].room, train.segment);
            if (join(first, coupled, &batch->wholes[index])) {
                header->msg_iov = &batch->wholes[index];
                header->msg_iovlen = 1;
            }
        }
        batch->datagrams[index] = coupled;
        at += coupled;
    }
}

/* Messages that went out, or -1 with errno. One alone, which is what a quiet stream sends, goes the short way. */
static int pass(const apy_udp_transport_t *transport, const struct sockaddr_storage *to, batch_t *batch)
{
    if (batch->count > 1 || batch->datagrams[0] > 1) {
        return sendmmsg(transport->fd, batch->messages, (unsigned int)batch->count, 0);
    }
    const bool is_connected = transport->connected.ss_family != 0;
    const struct iovec *only = batch->messages[0].msg_hdr.msg_iov;
    const ssize_t sent =
        sendto(transport->fd, only->iov_base, only->iov_len, 0, is_connected ? NULL : (const struct sockaddr *)to,
               is_connected ? 0 : apy_address_length(to));
    return sent < 0 ? -1 : 1;
}

/* What a full socket, a signal, or the echo of an earlier datagram to a closed port says: nothing happened. */
static bool is_expected(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == ECONNREFUSED || error == EINTR;
}

/* --- all of them --- */

static void show(const apy_udp_transport_t *transport, const struct sockaddr_storage *to, const struct iovec *datagrams,
                 int sent)
{
    for (int i = 0; i < sent; i++) {
        transport->tap->on_frame(transport->tap->context, true, address_of(transport, to), datagrams[i].iov_base,
                                 datagrams[i].iov_len);
    }
}

static int send_all(apy_udp_transport_t *transport, const struct sockaddr_storage *to, const struct iovec *datagrams,
                    int count)
{
    bool couples = count > 1 && apy_udp_transport_couples(transport, to);
    int sent = 0;
    while (sent < count) {
        batch_t batch;
        fill(&batch, transport, to, datagrams + sent, count - sent, couples);
        const int passed = pass(transport, to, &batch);
        if (passed < 0 && couples && batch.datagrams[0] > 1 && apy_udp_train_is_refusal(errno)) {
            remember_refusal(transport, address_of(transport, to));
            couples = false;
            continue;
        }
        if (passed < 0) {
            if (sent > 0 || is_expected(errno)) {
                break; /* a failure shows again with the next */
            }
            char text[64];
            const int error = errno;
            apy_address_format(address_of(transport, to), text, sizeof(text));
            errno = error;
            return apy_fail_os("cannot send to %s", text);
        }
        for (int i = 0; i < passed; i++) {
            sent += batch.datagrams[i];
        }
    }
    return sent;
}

int apy_udp_transport_send(apy_udp_transport_t *transport, const struct sockaddr_storage *to,
                           const struct iovec *datagrams, int count, int64_t *bytes_sent)
{
    assert(count > 0 && (transport->connected.ss_family != 0 || to != NULL));
    const int sent = send_all(transport, to, datagrams, count);
    if (sent < 0) {
        return sent;
    }
    int64_t bytes = 0;
    for (int i = 0; i < sent; i++) {
        bytes += (int64_t)datagrams[i].iov_len;
    }
    if (transport->tap != NULL) {
        show(transport, to, datagrams, sent);
    }
    *bytes_sent = bytes;
    return sent;
}
