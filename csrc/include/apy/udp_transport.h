#ifndef APY_UDP_TRANSPORT_H
#define APY_UDP_TRANSPORT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "apy/udp_channel.h"
#include "apy/udp_train.h"

/*
 * udp_transport is one non-blocking socket that sends and takes datagrams in batches, and a poller of many.
 *
 * Threads: open and close by the decision thread while no agent uses it; the rest by its agent.
 * Allocates: in open.  Blocks: never.
 */

/* Who is shown each datagram that went out, or came in. */
typedef struct apy_frame_tap {
    void (*on_frame)(void *context, bool is_out, const struct sockaddr_storage *address, const uint8_t *datagram,
                     size_t length);
    void *context;
} apy_frame_tap_t;

#define APY_TRAIN_REFUSALS_MAX 8

typedef struct apy_udp_transport {
    int fd;                            /* -1: closed */
    bool has_times;                    /* the kernel says when each datagram came */
    bool sends_trains, takes_trains;   /* the kernel couples datagrams: outwards, inwards */
    struct sockaddr_storage bound;     /* as the system gave it */
    struct sockaddr_storage connected; /* ss_family 0: not connected */
    const apy_frame_tap_t *tap;        /* NULL: nobody; set after open */
    int refusal_count, next_refusal;   /* of the addresses below; when full the oldest gives way */
    struct sockaddr_storage refusals[APY_TRAIN_REFUSALS_MAX]; /* trains do not pass there: a smaller MTU, say */
} apy_udp_transport_t;

/* bind_to may have port 0. connect_to may be NULL. group: join it on the channel's interface when not NULL. */
int apy_udp_transport_open(apy_udp_transport_t *transport, const apy_udp_channel_t *channel,
                           const struct sockaddr_storage *bind_to, const struct sockaddr_storage *connect_to,
                           const struct sockaddr_storage *group);
/* Send to another address from now on, and hear only it. */
int apy_udp_transport_connect(apy_udp_transport_t *transport, const struct sockaddr_storage *address);
void apy_udp_transport_close(apy_udp_transport_t *transport);
/* Have the kernel say when each datagram comes from now on: no trains then, which have one time for all. */
int apy_udp_transport_ask_times(apy_udp_transport_t *transport);
/* Have trains handed over whole from now on, for the poller to take apart, where the kernel can. */
void apy_udp_transport_ask_trains(apy_udp_transport_t *transport);

/* Do datagrams go to this address in trains? to may be NULL when connected. */
bool apy_udp_transport_couples(const apy_udp_transport_t *transport, const struct sockaddr_storage *to);
/*
 * Datagrams that went out, of count; to may be NULL when connected. Fewer when the socket is full; APY_E_OS. They go
 * in trains where they can, and one by one to an address that refused a train once.
 */
int apy_udp_transport_send(apy_udp_transport_t *transport, const struct sockaddr_storage *to,
                           const struct iovec *datagrams, int count, int64_t *bytes_sent);

/* "a.b.c.d:port" or "[v6]:port"; returns the length. */
int apy_address_format(const struct sockaddr_storage *address, char *text, size_t size);
socklen_t apy_address_length(const struct sockaddr_storage *address);
bool apy_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
