#ifndef APY_SEND_DESTINATIONS_H
#define APY_SEND_DESTINATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "apy/udp_transport.h"

/*
 * send_destinations is where a publication with many destinations sends to: those that clients name (manual), or
 * those that send status messages (dynamic).
 *
 * Threads: the sender; init and free while it does not know them.
 * Allocates: when there are more than ever.  Blocks: never.
 */

#define APY_DESTINATION_TIMEOUT_NS INT64_C(5000000000)
#define APY_NO_DESTINATION (-1)

typedef struct apy_send_destination {
    int64_t id; /* of the client's add; of a dynamic one APY_NO_DESTINATION */
    int64_t receiver_id;
    bool has_receiver_id;            /* a manual one learns it from its first status message */
    struct sockaddr_storage address; /* ss_family 0: its name is not resolved yet */
    int64_t time_of_last_sm_ns;
} apy_send_destination_t;

typedef struct apy_send_destinations {
    apy_send_destination_t *items;
    int32_t count, capacity;
    int32_t next; /* who is served first */
    bool is_manual;
    int64_t *count_value; /* of the counter */
} apy_send_destinations_t;

void apy_send_destinations_init(apy_send_destinations_t *destinations, bool is_manual, int64_t *count_value);
void apy_send_destinations_free(apy_send_destinations_t *destinations);

/* As many of the datagrams as reached every destination; all of them when there is none. Failures are APY_E_*. */
int apy_send_destinations_send(apy_send_destinations_t *destinations, apy_udp_transport_t *transport,
                               const struct iovec *datagrams, int count, int64_t now_ns, int64_t *bytes);

/* A valid status message came in: APY_E_MEMORY when a new destination cannot be kept. */
int apy_send_destinations_on_sm(apy_send_destinations_t *destinations, int64_t receiver_id,
                                const struct sockaddr_storage *source, int64_t now_ns);

/* --- manual ones --- */

int apy_send_destinations_add(apy_send_destinations_t *destinations, int64_t id, const struct sockaddr_storage *address,
                              int64_t now_ns);
void apy_send_destinations_remove(apy_send_destinations_t *destinations, int64_t id);
void apy_send_destinations_move(apy_send_destinations_t *destinations, int64_t id,
                                const struct sockaddr_storage *address);
/* Which one a control frame comes from, or APY_NO_DESTINATION. */
int64_t apy_send_destinations_find(const apy_send_destinations_t *destinations, int64_t receiver_id,
                                   const struct sockaddr_storage *source);

#endif
