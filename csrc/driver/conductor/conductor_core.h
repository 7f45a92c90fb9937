#ifndef APY_CONDUCTOR_CORE_H
#define APY_CONDUCTOR_CORE_H

#include "apy/call_slot.h"
#include "apy/conductor.h"
#include "apy/pace.h"
#include "apy/wake.h"

/*
 * conductor_core is the state that the core's cycle (conductor.c, conductor_timer.c) and the decisions
 * (conductor_calls.c) share: all of it belongs to the core's thread but for the event ring, its wake and the slot.
 */

typedef struct apy_core_client {
    int64_t client_id;
    int64_t *heartbeat;
    bool is_expired; /* told once */
} apy_core_client_t;

typedef struct apy_core_publication {
    apy_network_publication_t *publication;
    bool is_over;          /* to be removed from the sender */
    bool is_removal_asked; /* the sender will answer */
} apy_core_publication_t;

typedef struct apy_core_image {
    apy_image_t *image;
    apy_receive_endpoint_t *endpoint;
    int32_t stream_id, session_id;
    bool is_unavailable; /* to be removed from the receiver */
    bool may_rejoin;     /* a session that ended may come back */
    bool is_cool_down_removed;
    bool is_removal_asked;
    bool is_released; /* the receiver answered */
    bool is_over;     /* its linger is */
} apy_core_image_t;

/* A growing array of one of the above, or of pointers. */
typedef struct apy_core_list {
    uint8_t *items;
    int32_t item_size, count, capacity;
} apy_core_list_t;

struct apy_conductor {
    apy_driver_context_t *context;
    apy_mpsc_ring_t *commands;
    apy_sender_t *sender;
    apy_receiver_t *receiver;

    apy_core_list_t clients, ipc_publications, publications, images;
    apy_subscriber_state_t *states; /* of one resource's subscribers, before its tick */
    int32_t states_capacity;

    int64_t cycle_start_ns;
    apy_pace_t pace;
    int64_t timer_deadline_ns;
    int64_t command_position, time_of_last_command_ns; /* when the consumer last moved */
    bool has_new_events;
    bool was_unrung; /* it slept, and nobody rang */
    int64_t time_of_foreign_command_ns;

    uint8_t *event_memory;
    apy_mpsc_ring_t events;
    apy_wake_t wake;
    apy_call_slot_t calls;
};

/* --- lists --- */

static inline void *apy_core_at(const apy_core_list_t *list, int32_t index)
{
    return list->items + (size_t)index * (size_t)list->item_size;
}
void *apy_core_list_add(apy_core_list_t *list); /* a zeroed item, or NULL with the error recorded */
void apy_core_list_remove(apy_core_list_t *list, int32_t index);

/* --- events --- */

/* Room for what one resource or one command can say at once? */
bool apy_core_has_room(const apy_conductor_t *conductor);
void apy_core_tell(apy_conductor_t *conductor, int32_t event, const void *head, int32_t head_length, const void *body,
                   int32_t body_length);
void apy_core_tell_resource(apy_conductor_t *conductor, int32_t event, int64_t id);

/* --- the timer's work --- */

int apy_core_on_timer(apy_conductor_t *conductor, int64_t now_ns);
/* Ask the agents to let go of what is over, where their queues had no room so far. */
int apy_core_ask_removals(apy_conductor_t *conductor);
int apy_core_read_inbox(apy_conductor_t *conductor);

#endif
