#include "send_destinations.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "apy/atomic.h"
#include "apy/error.h"

#define DESTINATIONS_MAX 4096 /* of one endpoint; dynamic ones come from the network */

void apy_send_destinations_init(apy_send_destinations_t *destinations, bool is_manual, int64_t *count_value)
{
    *destinations = (apy_send_destinations_t){.is_manual = is_manual, .count_value = count_value};
}

void apy_send_destinations_free(apy_send_destinations_t *destinations)
{
    free(destinations->items);
    destinations->items = NULL;
}

static void tell_count(const apy_send_destinations_t *destinations)
{
    apy_store_release_i64(destinations->count_value, destinations->count);
}

static int append(apy_send_destinations_t *destinations, const apy_send_destination_t *destination)
{
    if (destinations->count == destinations->capacity) {
        const int32_t capacity = destinations->capacity == 0 ? 4 : 2 * destinations->capacity;
        apy_send_destination_t *grown =
            capacity > DESTINATIONS_MAX ? NULL : realloc(destinations->items, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no room for one more destination than %d", destinations->count);
        }
        destinations->items = grown;
        destinations->capacity = capacity;
    }
    destinations->items[destinations->count++] = *destination;
    tell_count(destinations);
    return APY_OK;
}

/* Keeps the others' order, in which they are served. */
static void remove_at(apy_send_destinations_t *destinations, int32_t at)
{
    destinations->count--;
    for (int32_t i = at; i < destinations->count; i++) {
        destinations->items[i] = destinations->items[i + 1];
    }
    tell_count(destinations);
}

/* --- sending --- */

static void expire(apy_send_destinations_t *destinations, int64_t now_ns)
{
    for (int32_t i = destinations->count - 1; i >= 0; i--) {
        if (now_ns > destinations->items[i].time_of_last_sm_ns + APY_DESTINATION_TIMEOUT_NS) {
            remove_at(destinations, i);
        }
    }
}

int apy_send_destinations_send(apy_send_destinations_t *destinations, apy_udp_transport_t *transport,
                               const struct iovec *datagrams, int count, int64_t now_ns, int64_t *bytes)
{
    int reached = count;
    int failure = APY_OK;
    if (!destinations->is_manual) {
        expire(destinations, now_ns);
    }
    *bytes = 0;
    for (int i = 0; i < count; i++) {
        *bytes += (int64_t)datagrams[i].iov_len;
    }
    if (destinations->next >= destinations->count) {
        destinations->next = 0;
    }
    const int32_t first = destinations->next++;
    for (int32_t i = 0; i < destinations->count; i++) {
        const int32_t at = first + i < destinations->count ? first + i : first + i - destinations->count;
        const apy_send_destination_t *destination = &destinations->items[at];
        int64_t sent_bytes = 0;
        if (destination->address.ss_family == 0) {
            continue;
        }
        const int sent = apy_udp_transport_send(transport, &destination->address, datagrams, count, &sent_bytes);
        if (sent < 0) {
            failure = sent;
        } else if (sent < reached) {
            reached = sent;
            *bytes = sent_bytes;
        }
    }
    return failure != APY_OK ? failure : reached;
}

/* --- who they are --- */

static in_port_t port_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)address)->sin6_port
                                          : ((const struct sockaddr_in *)(const void *)address)->sin_port;
}

/* By receiver id and port, since a receiver may answer from another address than it is sent to. */
static bool is_from(const apy_send_destinations_t *destinations, const apy_send_destination_t *destination,
                    int64_t receiver_id, const struct sockaddr_storage *source)
{
    return (destination->has_receiver_id && destination->receiver_id == receiver_id &&
            port_of(&destination->address) == port_of(source)) ||
           (destinations->is_manual && apy_address_equal(&destination->address, source));
}

int apy_send_destinations_on_sm(apy_send_destinations_t *destinations, int64_t receiver_id,
                                const struct sockaddr_storage *source, int64_t now_ns)
{
    for (int32_t i = 0; i < destinations->count; i++) {
        apy_send_destination_t *destination = &destinations->items[i];
        if (is_from(destinations, destination, receiver_id, source)) {
            destination->receiver_id = receiver_id;
            destination->has_receiver_id = true;
            destination->time_of_last_sm_ns = now_ns;
            return APY_OK;
        }
    }
    if (destinations->is_manual) {
        return APY_OK;
    }
    const apy_send_destination_t found = {APY_NO_DESTINATION, receiver_id, true, *source, now_ns};
    return append(destinations, &found);
}

int64_t apy_send_destinations_find(const apy_send_destinations_t *destinations, int64_t receiver_id,
                                   const struct sockaddr_storage *source)
{
    for (int32_t i = 0; i < destinations->count; i++) {
        if (is_from(destinations, &destinations->items[i], receiver_id, source)) {
            return destinations->items[i].id;
        }
    }
    return APY_NO_DESTINATION;
}

int apy_send_destinations_add(apy_send_destinations_t *destinations, int64_t id, const struct sockaddr_storage *address,
                              int64_t now_ns)
{
    const apy_send_destination_t added = {.id = id, .address = *address, .time_of_last_sm_ns = now_ns};
    return append(destinations, &added);
}

void apy_send_destinations_remove(apy_send_destinations_t *destinations, int64_t id)
{
    for (int32_t i = destinations->count - 1; i >= 0; i--) {
        if (destinations->items[i].id == id) {
            remove_at(destinations, i);
        }
    }
}

void apy_send_destinations_move(apy_send_destinations_t *destinations, int64_t id,
                                const struct sockaddr_storage *address)
{
    for (int32_t i = 0; i < destinations->count; i++) {
        if (destinations->items[i].id == id) {
            destinations->items[i].address = *address;
            destinations->items[i].has_receiver_id = false; /* somebody else may be there */
        }
    }
}
