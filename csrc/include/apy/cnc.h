#ifndef APY_CNC_H
#define APY_CNC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/broadcast.h"
#include "apy/clock.h"
#include "apy/counters.h"
#include "apy/mapping.h"
#include "apy/mpsc_ring.h"

/*
 * cnc is the command-and-control file: where clients and driver meet.
 *
 * Threads: create, open and close belong to the owner; the parts have their own rules.
 * Allocates: address space.  Blocks: apy_cnc_open waits for a driver until its deadline.
 */

#define APY_CNC_VERSION 512 /* 0.2.0 */
#define APY_CNC_HEADER_LENGTH 128
#define APY_CNC_FILE "cnc.dat"
#define APY_LOSS_REPORT_FILE "loss-report.dat"

typedef struct apy_cnc_header {
    int32_t version; /* 0 until ready; release */
    int32_t to_driver_length, to_clients_length, counters_metadata_length, counters_values_length, error_log_length;
    int64_t client_liveness_timeout_ns;
    int64_t start_ms;
    int64_t pid;
    int32_t file_page_size; /* 0 in drivers before 1.48: 4096 */
} apy_cnc_header_t;

static_assert(offsetof(apy_cnc_header_t, client_liveness_timeout_ns) == 24, "liveness");
static_assert(offsetof(apy_cnc_header_t, file_page_size) == 48, "page size");

typedef struct apy_cnc {
    apy_mapping_t mapping;
    apy_cnc_header_t *header;
    uint8_t *to_driver, *to_clients, *counters_metadata, *counters_values, *error_log;
    apy_mpsc_ring_t ring;
    apy_counters_reader_t counters;
} apy_cnc_t;

typedef struct apy_cnc_params {
    int32_t to_driver_length, to_clients_length, counters_values_length, error_log_length; /* with trailers */
    int32_t file_page_size;
    int64_t client_liveness_timeout_ns;
    int64_t start_ms;
} apy_cnc_params_t;

/*
 * Create <directory>/cnc.dat with version 0; the first correlation id it hands out is 1. The driver calls
 * ready when all else is there: it gives a first heartbeat if none was given, then the version.
 */
int apy_cnc_create(apy_cnc_t *cnc, const char *directory, const apy_cnc_params_t *params);
void apy_cnc_ready(apy_cnc_t *cnc);

/*
 * Attach as a client: wait until a live driver is found (spec 10, section 4.4) or timeout_ms is over:
 * APY_E_TIMEOUT says which step was missing; APY_E_VERSION names both versions.
 */
int apy_cnc_open(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms);

/* As open, but wait no longer than wait_ms for it, so that the caller can look at something else meanwhile. */
int apy_cnc_open_for(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms, int64_t wait_ms);

/*
 * Map what is there, now, without asking for a live driver: for tools. writable false maps read-only.
 * APY_E_NOT_FOUND without a file, APY_E_STATE while its driver is starting, APY_E_VERSION, APY_E_CORRUPT.
 */
int apy_cnc_map(apy_cnc_t *cnc, const char *directory, bool writable);

/*
 * 1 when a driver's heartbeat in directory is not older than timeout_ms, else 0; negative for a foreign version
 * or a file that cannot be opened. Waits up to timeout_ms for a driver that is starting. *heartbeat_age_ms (may
 * be NULL) is INT64_MAX where there is no heartbeat, or the driver shut down.
 */
int apy_cnc_driver_is_active(const char *directory, int64_t timeout_ms, int64_t *heartbeat_age_ms);

void apy_cnc_close(apy_cnc_t *cnc);

#endif
