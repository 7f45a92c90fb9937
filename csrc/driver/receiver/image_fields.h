#ifndef APY_IMAGE_FIELDS_H
#define APY_IMAGE_FIELDS_H

#include "apy/atomic.h"
#include "apy/frame.h"
#include "apy/image.h"
#include "apy/loss_detector.h"
#include "apy/transport_poller.h"
#include "apy/untethered.h"
#include "endpoint_fields.h"

/*
 * image_fields is one image as its two agents share it: the receiver (image.c, image_answer.c) and the conductor
 * core (image_conductor.c) each write their own lines only. Proposals go from the core to the receiver under
 * change numbers, with one writer: begin goes up before the fields change, end after.
 */

#define APY_REASON_MAX 1023
#define APY_NO_RESPONSE INT64_MIN

/* How the stream comes in by one destination of the endpoint. */
typedef struct apy_image_connection {
    apy_receive_destination_t *destination; /* NULL: this one never carried the stream */
    struct sockaddr_storage control;        /* where answers go; ss_family 0: not known yet */
    int64_t time_of_last_activity_ns, time_of_last_frame_ns;
    bool is_end_of_stream;
    int64_t end_of_stream_position;
} apy_image_connection_t;

struct apy_image {
    /* constant */
    apy_driver_context_t *context;
    apy_receive_endpoint_t *endpoint;
    apy_log_t log;
    apy_image_params_t params; /* with strings of its own */
    int64_t receiver_id;

    /* the receiver's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int64_t hwm_position;
        int64_t last_sm_position, overrun_threshold;
        int64_t sm_deadline_ns;
        bool is_sm_enabled;
        int64_t sm_change_seen, loss_change_seen, deadline_reset_seen;
        int32_t active_transport_count;
        int32_t connection_count;
        apy_image_connection_t *connections; /* by the index of the destination */
        apy_image_connection_t first;        /* all of them, as long as there is one destination */
        apy_rtt_meter_t rtt;
    } receiver;

    /* what the receiver tells the core, besides the rcv-hwm counter */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int64_t time_of_last_packet_ns;
        int32_t is_end_of_stream, is_revoked;
    } from_receiver;

    /* what the core tells the receiver, besides the rcv-pos counter */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int64_t sm_begin, sm_position, sm_end;
        int64_t loss_begin, loss_end;
        int32_t sm_window;
        int32_t loss_term_id, loss_term_offset, loss_length;
        int64_t deadline_reset; /* a number: answer at once when it is new */
        int32_t is_sending_eos;
        int32_t state;
        int64_t response_session; /* APY_NO_RESPONSE, or a session id */
        int32_t is_rejected;      /* after the reason is there */
        int32_t reason_length;
        char reason[APY_REASON_MAX];
    } from_core;

    /* the core's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        apy_subscribers_t subscribers;
        bool had_subscribers;
        apy_untethered_t untethered;
        apy_loss_detector_t loss_detector;
        apy_congestion_control_t congestion;
        int64_t next_sm_position;
        int32_t next_sm_window;
        int64_t clean_position;
        int64_t paced_position;
        int64_t time_of_state_ns;
        int64_t loss_entry; /* in the loss report: -1 none yet, -2 no room */
        apy_lost_range_t reported;
    } core;
};

/* --- the receiver's --- */

/* A data or padding datagram, or a heartbeat; anything may be in it. Timestamps are written into it. */
void apy_image_on_packet(apy_image_t *image, apy_receive_destination_t *destination, const apy_datagram_t *datagram,
                         int64_t now_ns);
/* Its source is alive. */
void apy_image_on_setup(apy_image_t *image, apy_receive_destination_t *destination,
                        const struct sockaddr_storage *source, int64_t now_ns);
void apy_image_on_rttm(apy_image_t *image, apy_receive_destination_t *destination, const apy_rttm_t *rttm,
                       const struct sockaddr_storage *source, int64_t now_ns);
/* Status messages, NAKs or error frames, whatever is due; returns how many. */
int apy_image_answer(apy_image_t *image, int64_t now_ns);
/* Another image took over the stream. */
void apy_image_stop_sms(apy_image_t *image);
bool apy_image_is_end_of_stream(const apy_image_t *image);

/* --- the receiver's: connections (image_connections.c) --- */

/* Room for one connection for each slot of the endpoint. */
int apy_image_reserve_connections(apy_image_t *image, int32_t slot_count);
/* The stream comes, or may come, by this destination; source NULL where none was seen. */
void apy_image_connect(apy_image_t *image, apy_receive_destination_t *destination,
                       const struct sockaddr_storage *source, int64_t now_ns);
void apy_image_disconnect(apy_image_t *image, const apy_receive_destination_t *destination);
bool apy_image_connection_is_alive(const apy_image_connection_t *connection, int64_t now_ns);
/* The name behind a destination's control address stands for another address now. */
void apy_image_redirect(apy_image_t *image, const apy_receive_destination_t *destination);

#endif
