#ifndef APY_IMAGE_FIELDS_H
#define APY_IMAGE_FIELDS_H

#include "apy/atomic.h"
#include "apy/frame.h"
#include "apy/image.h"
#include "apy/loss_detector.h"
#include "apy/untethered.h"

/*
 * image_fields is one image as its two agents share it: the receiver (image.c, image_answer.c) and the conductor
 * core (image_conductor.c) each write their own lines only. Proposals go from the core to the receiver under
 * change numbers, with one writer: begin goes up before the fields change, end after.
 */

#define APY_REASON_MAX 1023

/* How the stream comes in; one as yet, where several destinations will have one each. */
typedef struct apy_image_connection {
    struct sockaddr_storage control; /* where answers go */
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
        apy_image_connection_t connection;
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
        int32_t is_rejected; /* after the reason is there */
        int32_t reason_length;
        char reason[APY_REASON_MAX];
    } from_core;

    /* the core's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        apy_subscribers_t subscribers;
        bool had_subscribers;
        apy_untethered_t untethered;
        apy_loss_detector_t loss_detector;
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

/* A data or padding datagram, or a heartbeat; anything may be in it. */
void apy_image_on_packet(apy_image_t *image, const uint8_t *packet, size_t length, int64_t now_ns);
void apy_image_on_setup(apy_image_t *image, int64_t now_ns); /* its source is alive */
void apy_image_on_rttm(apy_image_t *image, const apy_rttm_t *rttm);
/* Status messages, NAKs or error frames, whatever is due; returns how many. */
int apy_image_answer(apy_image_t *image, int64_t now_ns);
/* Another image took over the stream. */
void apy_image_stop_sms(apy_image_t *image);
bool apy_image_is_end_of_stream(const apy_image_t *image);

#endif
