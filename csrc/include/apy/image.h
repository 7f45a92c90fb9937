#ifndef APY_IMAGE_H
#define APY_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "apy/congestion_control.h"
#include "apy/driver_context.h"
#include "apy/log_buffer.h"
#include "apy/receive_endpoint.h"
#include "apy/subscribers.h"

/*
 * image rebuilds one stream from one source: the receiver inserts packets and sends status messages
 * and NAKs, the conductor core looks for loss, moves the window and lives through the states.
 *
 * Threads: create and free by the decision thread, while no agent knows it; functions say whose they are.
 * Allocates: in create.  Blocks: never.
 */

typedef struct apy_image apy_image_t;

typedef struct apy_image_params {
    int64_t correlation_id;
    int32_t session_id, stream_id;
    int32_t initial_term_id, active_term_id, term_offset; /* of the SETUP */
    int32_t window_length;                                /* of the receiver at most, clipped to half a term */
    int32_t mtu;
    apy_congestion_params_t congestion;
    bool reliable, group, rejoin;
    int64_t nak_delay_ns; /* of the URI, -1: the driver's */
    int64_t untethered_window_limit_ns, untethered_linger_ns, untethered_resting_ns;
    int64_t destination_id;                 /* of the destination that brought the SETUP */
    struct sockaddr_storage source;         /* of the SETUP */
    const char *channel, *source_identity;  /* for the loss report; copied */
    int64_t *rcv_hwm, *rcv_pos, *naks_sent; /* counter values, at the join position */
} apy_image_params_t;

/* Takes the log over: closed in free, but the file is the caller's to delete. */
int apy_image_create(apy_driver_context_t *context, apy_receive_endpoint_t *endpoint, apy_log_t *log,
                     const apy_image_params_t *params, apy_image_t **image);
void apy_image_free(apy_image_t *image);

/* --- the core's --- */

enum {
    APY_IMAGE_TICK_NOTHING = 0,
    APY_IMAGE_TICK_UNAVAILABLE = 1, /* drained: each subscriber gets "unavailable image"; remove it from the receiver */
    APY_IMAGE_TICK_RELEASE = 2      /* over: free it once the receiver let go */
};

typedef enum apy_image_state {
    APY_IMAGE_ACTIVE,
    APY_IMAGE_DRAINING,
    APY_IMAGE_LINGER,
    APY_IMAGE_DONE
} apy_image_state_t;

/* Every cycle: loss scan, rcv-pos, cleaning, window proposal. Returns work done. */
int apy_image_track_rebuild(apy_image_t *image, int64_t now_ns);
/* Bytes that came into the log since this was last asked, and the window that they use up: see pace.h. */
int64_t apy_image_moved(apy_image_t *image, int64_t *window);
int apy_image_on_timer(apy_image_t *image, int64_t now_ns); /* APY_IMAGE_TICK_* bits */
apy_image_state_t apy_image_state(const apy_image_t *image);
int64_t apy_image_id(const apy_image_t *image);
bool apy_image_is_accepting(const apy_image_t *image); /* may a late subscription still join? */
int64_t apy_image_join_position(const apy_image_t *image);
int apy_image_add_subscriber(apy_image_t *image, const apy_subscriber_t *subscriber);
int apy_image_remove_subscriber(apy_image_t *image, int64_t registration_id, apy_subscriber_t *removed);
const apy_subscribers_t *apy_image_subscribers(const apy_image_t *image);
/* The client refuses the stream: error frames with this reason in place of status messages. */
void apy_image_reject(apy_image_t *image, const char *reason, int32_t length);
/* Tell the source, with each status message that is due, which session answers it; NULL: no more. */
void apy_image_set_response(apy_image_t *image, const int32_t *session_id);

#endif
