#ifndef APY_TEST_THREADS_RIG_H
#define APY_TEST_THREADS_RIG_H

/*
 * threads_rig is a whole driver with its three threads, and the test in the place of the decision thread: it offers
 * and reads streams over loopback while it adds and removes what they flow through. Each payload byte follows from
 * its position in the stream, so that an image that joins anywhere can be checked.
 */

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "apy/append.h"
#include "apy/atomic.h"
#include "apy/conductor_event.h"
#include "apy/driver.h"
#include "apy/frame.h"
#include "apy/log_buffer.h"
#include "apy/position.h"
#include "check.h"

#define THREADS_MS INT64_C(1000000)
#define THREADS_LIMIT_NS (200000 * THREADS_MS)
#define THREADS_TERM_LENGTH 65536
#define THREADS_WINDOW (THREADS_TERM_LENGTH / 2)
#define THREADS_INITIAL_TERM 5
#define THREADS_STREAM 1001
#define THREADS_IMAGES_MAX 4

typedef struct threads_image {
    apy_image_t *image; /* NULL: the slot is free */
    apy_log_t log;
    int64_t id, endpoint_id;
    int64_t rcv_hwm, rcv_pos, naks_sent, sub_pos;
    int32_t session_id;
    bool is_unavailable;
} threads_image_t;

typedef struct threads_endpoint {
    apy_receive_endpoint_t *endpoint;
    apy_receive_destination_t *destination;
    struct sockaddr_storage address;
    int64_t id, status;
    uint64_t frames_taken;
} threads_endpoint_t;

typedef struct threads_publication {
    apy_send_endpoint_t *endpoint;
    apy_network_publication_t *publication;
    apy_log_t log;
    apy_exclusive_t append;
    int64_t status, destination_count, receiver_count;
    int64_t pub_pos, pub_lmt, snd_pos, snd_lmt, snd_bpe, naks_received;
} threads_publication_t;

typedef struct threads_rig {
    apy_driver_t driver;
    apy_driver_params_t params;
    char directory[64];
    int64_t deadline_ns, next_id;
    int32_t log_count;
    threads_image_t images[THREADS_IMAGES_MAX];
    threads_endpoint_t *endpoints[THREADS_IMAGES_MAX];
    int endpoint_count;
    /* what the events said */
    int64_t traced[64]; /* records of the trace, by event */
    int images_gone, destinations_gone, errors, response_setups, response_connects;
    int32_t response_session;
    char error_text[1024];
} threads_rig_t;

/* A queue that is full now has room soon. */
#define THREADS_ASK(rig, call)                                                                                         \
    do {                                                                                                               \
        int rc_;                                                                                                       \
        while ((rc_ = (call)) == APY_E_FULL) {                                                                         \
            CHECK(threads_now(rig) < (rig)->deadline_ns);                                                              \
        }                                                                                                              \
        CHECK(rc_ >= 0);                                                                                               \
    } while (0)

static inline int64_t threads_now(const threads_rig_t *rig)
{
    return apy_nano_time(&rig->driver.context.clock);
}

static inline struct sockaddr_storage threads_any_port(void)
{
    struct sockaddr_storage address;
    memset(&address, 0, sizeof(address));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&address;
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline apy_udp_channel_t threads_channel(void)
{
    apy_udp_channel_t channel = {.has_explicit_endpoint = true, .so_rcvbuf = 1 << 20, APY_NO_TIMESTAMPS};
    channel.remote_data = channel.remote_control = threads_any_port();
    channel.local_data = channel.local_control = threads_any_port();
    return channel;
}

/* Every type of frame is lost in a twentieth of the cases. */
static inline threads_rig_t *threads_open(int64_t image_liveness_ns)
{
    const char *labels[APY_SC_COUNT];
    threads_rig_t *rig = aligned_alloc(128, (sizeof(*rig) + 127) / 128 * 128);
    CHECK(rig != NULL);
    memset(rig, 0, sizeof(*rig));
    rig->params.config = (apy_driver_config_t){
        .timer_interval_ns = 20 * THREADS_MS,
        .client_liveness_timeout_ns = 10000 * THREADS_MS,
        .image_liveness_timeout_ns = image_liveness_ns,
        .publication_connection_timeout_ns = 10000 * THREADS_MS,
        .publication_unblock_timeout_ns = 60000 * THREADS_MS,
        .status_message_timeout_ns = 20 * THREADS_MS,
        .nak_unicast_delay_ns = 1000,
        .nak_unicast_retry_ratio = 1000,
        .nak_multicast_max_backoff_ns = 10 * THREADS_MS,
        .nak_multicast_group_size = 10,
        .retransmit_linger_ns = 2 * THREADS_MS,
        .conductor_threshold_ns = 1000 * THREADS_MS,
        .sender_threshold_ns = 1000 * THREADS_MS,
        .receiver_threshold_ns = 1000 * THREADS_MS,
        .send_to_status_poll_ratio = 6,
        .messages_per_send = 4,
        .sender_io_vector = 4,
        .receiver_io_vector = 4,
        .initial_window_length = THREADS_WINDOW,
        .mtu_length = 1408,
        .stream_session_limit = INT32_MAX,
        .connect_send_sockets = true,
        .loss = {.rate = 0.05, .mask = 0xFFFF, .seed = 11},
    };
    rig->params.cnc = (apy_cnc_params_t){.to_driver_length = 65536 + APY_RING_TRAILER,
                                         .to_clients_length = 65536 + APY_BROADCAST_TRAILER,
                                         .counters_values_length = 128 * 128,
                                         .error_log_length = 65536,
                                         .file_page_size = 4096};
    rig->params.loss_report_length = 65536;
    for (int i = 0; i < APY_SC_COUNT; i++) {
        labels[i] = "system counter";
    }
    strcpy(rig->directory, "/dev/shm/apy-threads-XXXXXX");
    CHECK(mkdtemp(rig->directory) != NULL);
    CHECK_EQ(apy_driver_open(&rig->driver, rig->directory, &rig->params, labels, apy_clock_system()), APY_OK);
    const apy_agent_settings_t agent = {.idle_strategy = "backoff", .idle_arguments = "", .cpu = -1};
    const apy_agent_settings_t agents[3] = {agent, agent, agent};
    CHECK_EQ(apy_driver_trace(&rig->driver, UINT64_MAX), APY_OK);
    CHECK_EQ(apy_driver_start(&rig->driver, APY_THREADING_DEDICATED, agents), APY_OK);
    rig->deadline_ns = threads_now(rig) + THREADS_LIMIT_NS;
    rig->next_id = 100;
    return rig;
}

static inline apy_log_t threads_log(threads_rig_t *rig, int type, int32_t session_id, int32_t term_id, int32_t offset)
{
    char path[128];
    apy_log_t log;
    const apy_log_params_t params = {
        .correlation_id = rig->log_count,
        .session_id = session_id,
        .stream_id = THREADS_STREAM,
        .initial_term_id = THREADS_INITIAL_TERM,
        .start_term_id = term_id,
        .start_term_offset = offset,
        .term_length = THREADS_TERM_LENGTH,
        .mtu = 1408,
        .page_size = 4096,
        .sparse = 1,
        .type = (uint8_t)type,
    };
    snprintf(path, sizeof(path), "%s/%d.logbuffer", rig->directory, rig->log_count++);
    CHECK_EQ(apy_log_create(&log, path, &params), APY_OK);
    unlink(path); /* the mapping stays */
    return log;
}

/* --- what streams flow through --- */

static inline threads_publication_t *threads_publish(threads_rig_t *rig, const apy_udp_channel_t *channel,
                                                     apy_network_publication_params_t params)
{
    threads_publication_t *p = calloc(1, sizeof(*p));
    CHECK(p != NULL);
    CHECK_EQ(apy_send_endpoint_open(&rig->driver.context, channel, rig->next_id++, &p->status, &p->destination_count,
                                    &p->endpoint),
             APY_OK);
    params.registration_id = rig->next_id++;
    params.stream_id = THREADS_STREAM;
    params.initial_term_id = THREADS_INITIAL_TERM;
    params.window_length = THREADS_WINDOW;
    params.linger_ns = 20 * THREADS_MS;
    params.exclusive = params.signal_eos = true;
    params.flow_control.retransmit_windows = 16;
    params.flow_control.receiver_timeout_ns = 200 * THREADS_MS;
    params.flow_control.receiver_count = &p->receiver_count;
    params.pub_pos = &p->pub_pos;
    params.pub_lmt = &p->pub_lmt;
    params.snd_pos = &p->snd_pos;
    params.snd_lmt = &p->snd_lmt;
    params.snd_bpe = &p->snd_bpe;
    params.naks_received = &p->naks_received;
    p->log = threads_log(rig, APY_LOG_EXCLUSIVE, params.session_id, THREADS_INITIAL_TERM, 0);
    CHECK_EQ(apy_network_publication_create(&rig->driver.context, p->endpoint, &p->log, &params, &p->publication),
             APY_OK);
    apy_exclusive_init(&p->append, &p->log, &p->pub_lmt);
    THREADS_ASK(rig, apy_conductor_add_send_endpoint(rig->driver.conductor, p->endpoint));
    THREADS_ASK(rig, apy_conductor_add_publication(rig->driver.conductor, p->publication));
    return p;
}

static inline threads_endpoint_t *threads_subscribe(threads_rig_t *rig, const apy_udp_channel_t *channel,
                                                    const int32_t *session_id)
{
    threads_endpoint_t *e = calloc(1, sizeof(*e));
    CHECK(e != NULL && rig->endpoint_count < THREADS_IMAGES_MAX);
    e->id = rig->next_id++;
    CHECK_EQ(apy_receive_endpoint_create(&rig->driver.context, channel, e->id, &e->status, &e->endpoint), APY_OK);
    CHECK_EQ(apy_receive_destination_open(e->endpoint, channel, rig->next_id++, &e->destination), APY_OK);
    e->address = *apy_receive_destination_bound_address(e->destination);
    THREADS_ASK(rig, apy_conductor_add_receive_destination(rig->driver.conductor, e->destination));
    THREADS_ASK(rig, apy_conductor_add_stream(rig->driver.conductor, e->endpoint, THREADS_STREAM, session_id));
    rig->endpoints[rig->endpoint_count++] = e;
    return e;
}

/* --- events, as the conductor takes them --- */

static inline threads_endpoint_t *threads_endpoint(const threads_rig_t *rig, int64_t id)
{
    for (int i = 0; i < rig->endpoint_count; i++) {
        if (rig->endpoints[i]->id == id) {
            return rig->endpoints[i];
        }
    }
    CHECK(!"an endpoint that nobody made");
    return NULL;
}

static inline void threads_on_setup(threads_rig_t *rig, const apy_event_setup_t *setup)
{
    threads_endpoint_t *e = threads_endpoint(rig, setup->endpoint_id);
    threads_image_t *slot = NULL;
    for (int i = 0; i < THREADS_IMAGES_MAX; i++) {
        slot = rig->images[i].image == NULL ? &rig->images[i] : slot;
    }
    if (slot == NULL) {
        THREADS_ASK(
            rig, apy_conductor_refuse_image(rig->driver.conductor, e->endpoint, setup->stream_id, setup->session_id));
        return;
    }
    memset(slot, 0, sizeof(*slot));
    CHECK_EQ(setup->term_length, THREADS_TERM_LENGTH);
    slot->log = threads_log(rig, APY_LOG_IMAGE, setup->session_id, setup->active_term_id, setup->term_offset);
    slot->sub_pos = slot->rcv_hwm = slot->rcv_pos =
        apy_position_of(setup->active_term_id, setup->term_offset, slot->log.shift, setup->initial_term_id);
    apy_image_params_t params = {
        .correlation_id = slot->id = rig->next_id++,
        .session_id = slot->session_id = setup->session_id,
        .stream_id = setup->stream_id,
        .initial_term_id = setup->initial_term_id,
        .active_term_id = setup->active_term_id,
        .term_offset = setup->term_offset,
        .window_length = THREADS_WINDOW,
        .mtu = setup->mtu,
        .reliable = true,
        .rejoin = true,
        .nak_delay_ns = -1,
        .destination_id = setup->destination_id,
        .channel = "aeron:udp",
        .source_identity = "127.0.0.1:0",
        .rcv_hwm = &slot->rcv_hwm,
        .rcv_pos = &slot->rcv_pos,
        .naks_sent = &slot->naks_sent,
    };
    memcpy(&params.source, setup->source, sizeof(params.source));
    slot->endpoint_id = e->id;
    const apy_subscriber_t reader = {.registration_id = 1, .position = &slot->sub_pos, .tether = true, .rejoin = true};
    CHECK_EQ(apy_image_create(&rig->driver.context, e->endpoint, &slot->log, &params, &slot->image), APY_OK);
    CHECK_EQ(apy_image_add_subscriber(slot->image, &reader), APY_OK);
    THREADS_ASK(rig, apy_conductor_add_image(rig->driver.conductor, e->endpoint, slot->image, setup->stream_id,
                                             setup->session_id));
}

static inline void threads_on_image(threads_rig_t *rig, int64_t id, bool is_gone)
{
    for (int i = 0; i < THREADS_IMAGES_MAX; i++) {
        threads_image_t *slot = &rig->images[i];
        if (slot->image == NULL || slot->id != id) {
            continue;
        }
        if (is_gone) {
            apy_image_free(slot->image);
            slot->image = NULL;
            rig->images_gone++;
        } else {
            slot->is_unavailable = true;
            CHECK(apy_conductor_leave_image(rig->driver.conductor, slot->image, 1) >= 0); /* it may have left before */
        }
    }
}

typedef struct threads_event {
    int32_t type, length;
    _Alignas(8) uint8_t bytes[4096];
} threads_event_t;

static inline void threads_keep(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    threads_event_t *event = context;
    CHECK(length <= (int32_t)sizeof(event->bytes));
    event->type = type;
    event->length = length;
    memcpy(event->bytes, message, (size_t)length);
}

static inline bool threads_decide(threads_rig_t *rig)
{
    threads_event_t event = {0};
    if (apy_conductor_read(rig->driver.conductor, threads_keep, &event, 1) == 0) {
        return false;
    }
    const apy_event_response_t *response = (const void *)event.bytes;
    const apy_event_publication_error_t *error = (const void *)event.bytes;
    switch (event.type) {
    case APY_EVENT_SETUP:
        threads_on_setup(rig, (const void *)event.bytes);
        break;
    case APY_EVENT_IMAGE_UNAVAILABLE:
    case APY_EVENT_IMAGE_GONE:
        threads_on_image(rig, ((const apy_event_resource_t *)(const void *)event.bytes)->id,
                         event.type == APY_EVENT_IMAGE_GONE);
        break;
    case APY_EVENT_RECEIVE_DESTINATION_GONE:
        rig->destinations_gone++;
        break;
    case APY_EVENT_PUBLICATION_ERROR:
        rig->errors++;
        CHECK(error->text_length < (int32_t)sizeof(rig->error_text));
        memcpy(rig->error_text, event.bytes + sizeof(*error), (size_t)error->text_length);
        rig->error_text[error->text_length] = '\0';
        break;
    case APY_EVENT_RESPONSE_SETUP:
        rig->response_setups++;
        rig->response_session = response->session_id;
        break;
    case APY_EVENT_RESPONSE_CONNECTED:
        rig->response_connects++;
        break;
    default:
        break;
    }
    return true;
}

/* --- the streams --- */

static inline uint8_t threads_byte(int64_t at)
{
    return (uint8_t)(((uint64_t)at + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

/* One message, where there is room for it. */
static inline bool threads_offer(threads_publication_t *p)
{
    uint8_t message[1024];
    const int64_t position = apy_exclusive_position(&p->append);
    const size_t length = 1 + (size_t)(position / 32 * 7919 % (int64_t)sizeof(message));
    for (size_t i = 0; i < length; i++) {
        message[i] = threads_byte(position + (int64_t)i);
    }
    const struct iovec part = {message, length};
    return apy_exclusive_offer(&p->append, &part, 1, NULL, NULL) > 0;
}

/* Read and check what an image has; frames of it. */
static inline int threads_take(threads_rig_t *rig, threads_image_t *slot)
{
    int frames = 0;
    int64_t position = slot->sub_pos;
    while (slot->image != NULL && !slot->is_unavailable) {
        const int32_t offset = apy_position_offset(position, THREADS_TERM_LENGTH);
        const uint8_t *term = slot->log.terms[apy_position_partition(position, slot->log.shift)];
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)(term + offset);
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            break;
        }
        CHECK_EQ(frame->term_offset, offset);
        CHECK_EQ(frame->term_id, apy_position_term_id(position, slot->log.shift, THREADS_INITIAL_TERM));
        for (int32_t i = 0; frame->type == APY_FRAME_DATA && i < length - APY_FRAME_HEADER; i++) {
            CHECK_EQ(((const uint8_t *)frame)[APY_FRAME_HEADER + i], threads_byte(position + i));
        }
        position += apy_frame_span(length);
        apy_store_release_i64(&slot->sub_pos, position);
        frames++;
    }
    threads_endpoint(rig, slot->endpoint_id)->frames_taken += (uint64_t)frames;
    return frames;
}

static inline void threads_on_traced(void *context, int32_t event, const uint8_t *message, int32_t length)
{
    threads_rig_t *rig = context;
    apy_traced_range_t range;
    CHECK(event > 0 && event < 64 && length >= (int32_t)sizeof(apy_traced_t));
    rig->traced[event]++;
    if (event == APY_TRACE_NAK_SENT || event == APY_TRACE_NAK_RECEIVED || event == APY_TRACE_RESEND) {
        CHECK_EQ(length, (int32_t)sizeof(apy_traced_t) + 28);
        memcpy(&range, message + sizeof(apy_traced_t), 28);
        CHECK_EQ(range.stream_id, THREADS_STREAM);
        CHECK(range.term_offset % 32 == 0 && range.term_offset + range.length <= THREADS_TERM_LENGTH);
    }
}

/* Decide and read, all that there is now. */
static inline void threads_turn(threads_rig_t *rig)
{
    int work = 0;
    CHECK(threads_now(rig) < rig->deadline_ns);
    while (threads_decide(rig)) {
        work++;
    }
    while (apy_event_trace_read(rig->driver.context.trace, threads_on_traced, rig, 100) > 0) {
    }
    for (int i = 0; i < THREADS_IMAGES_MAX; i++) {
        if (rig->images[i].image != NULL) {
            work += threads_take(rig, &rig->images[i]);
        }
    }
    if (work == 0) {
        (void)apy_conductor_wait(rig->driver.conductor, THREADS_MS / 4);
    }
}

/* The image of an endpoint that is read from; NULL: none now. */
static inline threads_image_t *threads_image_of(threads_rig_t *rig, const threads_endpoint_t *e)
{
    for (int i = 0; i < THREADS_IMAGES_MAX; i++) {
        threads_image_t *slot = &rig->images[i];
        if (slot->image != NULL && !slot->is_unavailable && slot->endpoint_id == e->id) {
            return slot;
        }
    }
    return NULL;
}

/* --- the end --- */

static inline void threads_unpublish(threads_publication_t *p)
{
    apy_network_publication_free(p->publication);
    apy_send_endpoint_free(p->endpoint);
    free(p);
}

/* Stop the threads, then let go of all but publications. */
static inline void threads_stop(threads_rig_t *rig)
{
    apy_driver_stop(&rig->driver);
    for (int i = 0; i < THREADS_IMAGES_MAX; i++) {
        apy_image_free(rig->images[i].image);
    }
    for (int i = 0; i < rig->endpoint_count; i++) {
        apy_receive_destination_free(rig->endpoints[i]->destination);
        apy_receive_endpoint_free(rig->endpoints[i]->endpoint);
        free(rig->endpoints[i]);
    }
}

static inline void threads_close(threads_rig_t *rig)
{
    char path[128];
    apy_driver_close(&rig->driver);
    snprintf(path, sizeof(path), "%s/%s", rig->directory, APY_CNC_FILE);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%s", rig->directory, APY_LOSS_REPORT_FILE);
    unlink(path);
    CHECK_EQ(rmdir(rig->directory), 0);
    free(rig);
}

#endif
