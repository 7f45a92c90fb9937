#ifndef APY_UDP_TRAIN_H
#define APY_UDP_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * udp_train couples datagrams that cross the border to the kernel together: those of one length in a row, of which the
 * last may be shorter. The kernel, or the network card, takes them apart again: on the wire each is a datagram.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

#define APY_TRAIN_DATAGRAMS_MAX 64
#define APY_TRAIN_BYTES_MAX 65000 /* what one IP packet can hold, less its headers */

/* Zeroed: empty. */
typedef struct apy_udp_train {
    size_t segment; /* the length of each but the last */
    size_t bytes;
    int count;
    bool is_ended; /* by a shorter one */
} apy_udp_train_t;

/* Couple one more datagram; false, and the train as it was, when it begins another. An empty one takes any. */
static inline bool apy_udp_train_couple(apy_udp_train_t *train, size_t length)
{
    if (train->count > 0 && (train->is_ended || length > train->segment || train->count == APY_TRAIN_DATAGRAMS_MAX ||
                             train->bytes + length > APY_TRAIN_BYTES_MAX)) {
        return false;
    }
    if (train->count == 0) {
        train->segment = length;
    }
    train->is_ended = length < train->segment || length == 0;
    train->bytes += length;
    train->count++;
    return true;
}

/* Room for what is said about a train: to the kernel, and by it. */
#define APY_TRAIN_CONTROL CMSG_SPACE(sizeof(uint16_t))
#define APY_TRAIN_GIVEN CMSG_SPACE(sizeof(int))

/* Can this socket send trains? */
bool apy_udp_train_is_known(int fd);
/* Have trains handed over whole from now on, or not any more; false where the kernel knows none. */
bool apy_udp_train_accept(int fd, bool is_wanted);
/* Say how long its datagrams are: room of APY_TRAIN_CONTROL bytes, aligned as a cmsghdr. */
void apy_udp_train_announce(struct msghdr *message, void *room, size_t segment);
/* How long they are in what came in: its whole length where it is no train. */
size_t apy_udp_train_segment(struct msghdr *message, size_t length);
/* Does this error say that a train does not pass where single datagrams may? */
bool apy_udp_train_is_refusal(int error);

#endif
