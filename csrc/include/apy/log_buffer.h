#ifndef APY_LOG_BUFFER_H
#define APY_LOG_BUFFER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/mapping.h"
#include "apy/position.h"
#include "apy/waiters.h"

/*
 * log_buffer is one stream's file: three terms and, in its last 4096 bytes, the metadata.
 *
 * Threads: create, open and close belong to the owner; the fields follow the orders in the comments.
 * Allocates: address space.  Blocks: on the file system in create, open and close.
 */

#define APY_LOG_META_LENGTH 4096

enum { APY_LOG_CONCURRENT = 0, APY_LOG_EXCLUSIVE = 1, APY_LOG_IMAGE = 2 };

#pragma pack(push, 4)
typedef struct apy_log_meta {
    int64_t tails[APY_PARTITIONS]; /* raw tails: fetch-add, CAS, release by publishers */
    int32_t active_term_count;     /* CAS or release */
    uint8_t pad_1[100];
    int64_t end_of_stream_position; /* INT64_MAX while open; release by the driver */
    int32_t is_connected;           /* release by the driver */
    int32_t active_transport_count; /* release by the driver, images only */
    uint8_t pad_2[112];
    int64_t correlation_id;
    int32_t initial_term_id;
    int32_t default_header_length;
    int32_t mtu_length;
    int32_t term_length;
    int32_t page_size;
    int32_t publication_window_length;
    int32_t receiver_window_length;
    int32_t socket_sndbuf_length;
    int32_t os_default_sndbuf_length;
    int32_t os_max_sndbuf_length;
    int32_t socket_rcvbuf_length;
    int32_t os_default_rcvbuf_length;
    int32_t os_max_rcvbuf_length;
    int32_t max_resend;
    uint8_t default_header[128];
    int64_t entity_tag;
    int64_t response_correlation_id;
    int64_t linger_timeout_ns;
    int64_t untethered_window_limit_timeout_ns;
    int64_t untethered_resting_timeout_ns;
    uint8_t group;
    uint8_t is_response;
    uint8_t rejoin;
    uint8_t reliable;
    uint8_t sparse;
    uint8_t signal_eos;
    uint8_t spies_simulate_connection;
    uint8_t tether;
    uint8_t is_publication_revoked; /* release by the driver */
    uint8_t type;
    uint8_t reserved[2];
    int64_t untethered_linger_timeout_ns; /* not 8-aligned: never atomic */
    uint8_t pad_3[2564];
    apy_waiters_t readers; /* ours alone, like the next: for others the padding goes on */
    apy_waiters_t writers;
    uint8_t pad_4[384];
} apy_log_meta_t;
#pragma pack(pop)

static_assert(sizeof(apy_log_meta_t) == APY_LOG_META_LENGTH, "log metadata");
static_assert(offsetof(apy_log_meta_t, end_of_stream_position) == 128, "end of stream");
static_assert(offsetof(apy_log_meta_t, correlation_id) == 256, "correlation id");
static_assert(offsetof(apy_log_meta_t, max_resend) == 316, "max resend");
static_assert(offsetof(apy_log_meta_t, default_header) == 320, "default header");
static_assert(offsetof(apy_log_meta_t, entity_tag) == 448, "entity tag");
static_assert(offsetof(apy_log_meta_t, group) == 488, "group");
static_assert(offsetof(apy_log_meta_t, is_publication_revoked) == 496, "revoked");
static_assert(offsetof(apy_log_meta_t, untethered_linger_timeout_ns) == 500, "untethered linger");
static_assert(offsetof(apy_log_meta_t, readers) == 3072, "waiting readers");

typedef struct apy_log {
    apy_mapping_t mapping;
    uint8_t *terms[APY_PARTITIONS];
    apy_log_meta_t *meta;
    int32_t term_length;
    int32_t shift;
    int32_t initial_term_id;
    int32_t mtu;
} apy_log_t;

/* What a new log is made from; every field of the metadata that the driver sets at creation. */
typedef struct apy_log_params {
    int64_t correlation_id;
    int32_t session_id, stream_id;
    int32_t initial_term_id, start_term_id, start_term_offset; /* start: where the tail begins */
    int32_t term_length, mtu, page_size;
    int32_t publication_window_length, receiver_window_length;
    int32_t socket_sndbuf_length, os_default_sndbuf_length, os_max_sndbuf_length;
    int32_t socket_rcvbuf_length, os_default_rcvbuf_length, os_max_rcvbuf_length;
    int32_t max_resend;
    int64_t entity_tag, response_correlation_id;
    int64_t linger_timeout_ns;
    int64_t untethered_window_limit_timeout_ns, untethered_resting_timeout_ns, untethered_linger_timeout_ns;
    uint8_t group, is_response, rejoin, reliable, sparse, signal_eos, spies_simulate_connection, tether;
    uint8_t type; /* APY_LOG_*; image logs keep zero tails */
} apy_log_params_t;

int64_t apy_log_file_length(int32_t term_length, int32_t page_size);

/* Create the file exclusively and fill the metadata. storage: refuse before mapping when it does not fit. */
int apy_log_create(apy_log_t *log, const char *path, const apy_log_params_t *params);

/* Map an existing log; APY_E_CORRUPT with the value when lengths are out of range. */
int apy_log_open(apy_log_t *log, const char *path);

void apy_log_close(apy_log_t *log);

/* Position of the producers: the active tail, clamped. */
int64_t apy_log_producer_position(const apy_log_t *log);

/* Zero up to one term from *clean_position towards target, the first eight bytes last; moves *clean_position. */
void apy_log_clean(apy_log_t *log, int64_t *clean_position, int64_t target);

/* Free what a dead publisher left half done at position, abandoned when none lives; true when something was unblocked. */
bool apy_log_unblock(apy_log_t *log, int64_t blocked_position, bool is_abandoned);

/* Move the active term on from term_count (whose id is term_id); harmless when another did it. */
void apy_log_rotate(apy_log_t *log, int32_t term_count, int32_t term_id);
void apy_log_meta_rotate(apy_log_meta_t *meta, int32_t term_count, int32_t term_id);

#endif
