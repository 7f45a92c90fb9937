#include "apy/cnc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/error.h"

enum {
    FILE_POLL_MS = 16,
    READY_POLL_MS = 1,
    STALE_POLL_MS = 100,
    PAGE_SIZE_MIN = 4096,
    PAGE_SIZE_MAX = 1 << 30,
    TEXT_MAX = 256,
};

static int check_major(const char *directory, int32_t version)
{
    if (version >> 16 != APY_CNC_VERSION >> 16) {
        return apy_fail(APY_E_VERSION, "CnC file in %s has version %d.%d.%d, this is for %d.%d.%d", directory,
                        version >> 16, version >> 8 & 0xFF, version & 0xFF, APY_CNC_VERSION >> 16,
                        APY_CNC_VERSION >> 8 & 0xFF, APY_CNC_VERSION & 0xFF);
    }
    return APY_OK;
}

/* A client uses what its version promises: a driver of an earlier minor version lacks some of that. */
static int check_minor(const char *directory, int32_t version)
{
    if ((version >> 8 & 0xFF) < (APY_CNC_VERSION >> 8 & 0xFF)) {
        return apy_fail(APY_E_VERSION, "CnC file in %s has version %d.%d.%d, a client needs %d.%d or later of it",
                        directory, version >> 16, version >> 8 & 0xFF, version & 0xFF, APY_CNC_VERSION >> 16,
                        APY_CNC_VERSION >> 8 & 0xFF);
    }
    return APY_OK;
}

static int path_of(char *path, const char *directory)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, APY_CNC_FILE);
    if (length < 0 || length >= PATH_MAX) {
        return apy_fail(APY_E_TOO_LONG, "the path of %s in a directory name of %zu bytes", APY_CNC_FILE,
                        strlen(directory));
    }
    return APY_OK;
}

static int64_t sections_end(const apy_cnc_header_t *header)
{
    return APY_CNC_HEADER_LENGTH + (int64_t)header->to_driver_length + header->to_clients_length +
           header->counters_metadata_length + header->counters_values_length + header->error_log_length;
}

/* A header field that breaks the format: which, and where it stands. */
static int bad_length(const char *what, size_t offset, int32_t length)
{
    return apy_fail(APY_E_CORRUPT, "CnC header says %d bytes of %s at offset %zu", length, what, offset);
}

static bool is_buffer_length(int32_t length, int32_t trailer)
{
    const int64_t capacity = (int64_t)length - trailer;
    return capacity >= 16 && (capacity & (capacity - 1)) == 0;
}

/* The lengths of a finished header, whoever wrote it. */
static int check_lengths(const apy_cnc_header_t *header)
{
    if (!is_buffer_length(header->to_driver_length, APY_RING_TRAILER)) {
        return bad_length("to-driver ring", offsetof(apy_cnc_header_t, to_driver_length), header->to_driver_length);
    }
    if (!is_buffer_length(header->to_clients_length, APY_BROADCAST_TRAILER)) {
        return bad_length("to-clients buffer", offsetof(apy_cnc_header_t, to_clients_length),
                          header->to_clients_length);
    }
    if (header->counters_values_length < APY_COUNTER_VALUE_LENGTH || header->counters_values_length % 8 != 0) {
        return bad_length("counter values", offsetof(apy_cnc_header_t, counters_values_length),
                          header->counters_values_length);
    }
    if (header->counters_metadata_length < 0 || header->counters_metadata_length % 8 != 0 ||
        header->counters_metadata_length / 4 < header->counters_values_length) {
        return bad_length("counter metadata", offsetof(apy_cnc_header_t, counters_metadata_length),
                          header->counters_metadata_length);
    }
    if (header->error_log_length < 0) {
        return bad_length("error log", offsetof(apy_cnc_header_t, error_log_length), header->error_log_length);
    }
    return APY_OK;
}

/* Point at the sections of a mapped file whose lengths were checked against its size. */
static int lay_out(apy_cnc_t *cnc)
{
    cnc->header = (apy_cnc_header_t *)(void *)cnc->mapping.address;
    cnc->to_driver = cnc->mapping.address + APY_CNC_HEADER_LENGTH;
    cnc->to_clients = cnc->to_driver + cnc->header->to_driver_length;
    cnc->counters_metadata = cnc->to_clients + cnc->header->to_clients_length;
    cnc->counters_values = cnc->counters_metadata + cnc->header->counters_metadata_length;
    cnc->error_log = cnc->counters_values + cnc->header->counters_values_length;

    const int rc = apy_mpsc_ring_init(&cnc->ring, cnc->to_driver, cnc->header->to_driver_length);
    if (rc < 0) {
        return rc;
    }
    return apy_counters_reader_init(&cnc->counters, cnc->counters_metadata, cnc->header->counters_metadata_length,
                                    cnc->counters_values, cnc->header->counters_values_length);
}

static int check_params(const apy_cnc_header_t *header, const apy_cnc_params_t *params)
{
    const int32_t page_size = params->file_page_size;
    if (page_size < PAGE_SIZE_MIN || page_size > PAGE_SIZE_MAX || (page_size & (page_size - 1)) != 0) {
        return apy_fail(APY_E_ARGUMENT, "a file page size of %d: use a power of two from %d to %d", page_size,
                        PAGE_SIZE_MIN, PAGE_SIZE_MAX);
    }
    if (params->counters_values_length > INT32_MAX / 4 || sections_end(header) > INT32_MAX - page_size) {
        return apy_fail(APY_E_ARGUMENT, "the sections of the CnC file take %lld bytes: it must stay below 2 GiB",
                        (long long)sections_end(header));
    }
    return check_lengths(header) < 0
               ? apy_fail(APY_E_ARGUMENT,
                          "CnC sections of %d, %d, %d and %d bytes: the ring "
                          "and the broadcast buffer need powers of two and "
                          "%d and %d more, the counters multiples of %d",
                          params->to_driver_length, params->to_clients_length, params->counters_values_length,
                          params->error_log_length, APY_RING_TRAILER, APY_BROADCAST_TRAILER, APY_COUNTER_VALUE_LENGTH)
               : APY_OK;
}

int apy_cnc_create(apy_cnc_t *cnc, const char *directory, const apy_cnc_params_t *params)
{
    char path[PATH_MAX];
    const bool fits = params->counters_values_length > 0 && params->counters_values_length <= INT32_MAX / 4;
    const apy_cnc_header_t header = {
        .to_driver_length = params->to_driver_length,
        .to_clients_length = params->to_clients_length,
        .counters_metadata_length = fits ? params->counters_values_length * 4 : 0,
        .counters_values_length = params->counters_values_length,
        .error_log_length = params->error_log_length,
        .client_liveness_timeout_ns = params->client_liveness_timeout_ns,
        .start_ms = params->start_ms,
        .pid = getpid(),
        .file_page_size = params->file_page_size,
    };
    int rc = check_params(&header, params);
    if (rc == APY_OK) {
        rc = path_of(path, directory);
    }
    if (rc < 0) {
        return rc;
    }

    const int64_t page_size = params->file_page_size;
    const int64_t length = (sections_end(&header) + page_size - 1) & ~(page_size - 1);
    apy_cnc_t made = {0};
    rc = apy_mapping_create(&made.mapping, path, (size_t)length, false);
    if (rc < 0) {
        return rc;
    }
    memcpy(made.mapping.address, &header, sizeof header);
    rc = lay_out(&made);
    if (rc < 0) {
        apy_mapping_close(&made.mapping);
        unlink(path);
        return rc;
    }
    apy_fetch_add_i64(made.ring.correlation, 1); /* 0 is nobody's id */
    *cnc = made;
    return APY_OK;
}

void apy_cnc_ready(apy_cnc_t *cnc)
{
    if (apy_load_acquire_i64(cnc->ring.heartbeat_ms) == 0) {
        const apy_clock_t clock = apy_clock_system();
        apy_store_release_i64(cnc->ring.heartbeat_ms, apy_epoch_ms(&clock));
    }
    apy_store_release_i32(&cnc->header->version, APY_CNC_VERSION);
    apy_mapping_sync(&cnc->mapping); /* for those who look at the file after a crash; nobody waits for it */
}

/* What stands in the way of using the file now; codes as of the public functions, and how long to wait. */
typedef struct obstacle {
    int code;
    int64_t retry_ms; /* 0: waiting does not help */
    char text[TEXT_MAX];
} obstacle_t;

static int blocked(obstacle_t *obstacle, int code, int64_t retry_ms)
{
    obstacle->code = code;
    obstacle->retry_ms = retry_ms;
    snprintf(obstacle->text, sizeof obstacle->text, "%s", apy_error_text());
    return code;
}

/* Map the file and check its header: APY_OK and *cnc filled, or what stands in the way. */
static int map_checked(apy_cnc_t *cnc, const char *directory, bool writable, obstacle_t *obstacle)
{
    char path[PATH_MAX];
    int rc = path_of(path, directory);
    if (rc < 0) {
        return blocked(obstacle, rc, 0);
    }
    apy_cnc_t mapped = {0};
    rc = apy_mapping_open(&mapped.mapping, path, writable);
    if (rc == APY_E_NOT_FOUND) {
        rc = apy_fail(rc, "CnC file not created: there is no %s", path);
    }
    if (rc < 0) {
        return blocked(obstacle, rc, FILE_POLL_MS);
    }

    const int64_t length = (int64_t)mapped.mapping.length;
    const apy_cnc_header_t *header = (const apy_cnc_header_t *)(const void *)mapped.mapping.address;
    if (length <= APY_CNC_HEADER_LENGTH) {
        rc = apy_fail(APY_E_CORRUPT, "CnC file %s has %lld bytes: its header alone takes %d", path, (long long)length,
                      APY_CNC_HEADER_LENGTH);
        rc = blocked(obstacle, rc, FILE_POLL_MS);
    } else if (apy_load_acquire_i32(&header->version) == 0) {
        rc = apy_fail(APY_E_STATE, "CnC file %s is created but not initialised: its driver has not finished starting",
                      path);
        rc = blocked(obstacle, rc, READY_POLL_MS);
    } else if ((rc = check_major(directory, header->version)) < 0 || (rc = check_lengths(header)) < 0) {
        rc = blocked(obstacle, rc, 0);
    } else if (length < sections_end(header)) {
        rc = apy_fail(APY_E_CORRUPT, "CnC file %s has %lld bytes: its sections end at %lld", path, (long long)length,
                      (long long)sections_end(header));
        rc = blocked(obstacle, rc, READY_POLL_MS);
    } else if ((rc = lay_out(&mapped)) < 0) {
        rc = blocked(obstacle, rc, 0);
    }
    if (rc < 0) {
        apy_mapping_close(&mapped.mapping);
        return rc;
    }
    *cnc = mapped;
    return APY_OK;
}

static int64_t heartbeat_age(const apy_cnc_t *cnc, const apy_clock_t *clock)
{
    const int64_t heartbeat_ms = apy_load_acquire_i64(cnc->ring.heartbeat_ms);
    return heartbeat_ms <= 0 ? INT64_MAX : apy_epoch_ms(clock) - heartbeat_ms;
}

/* Map the file of a driver that lives: APY_OK and *cnc filled, or what stands in the way. */
static int map_live(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms, obstacle_t *obstacle)
{
    apy_cnc_t mapped;
    int rc = map_checked(&mapped, directory, true, obstacle);
    if (rc < 0) {
        return rc;
    }
    rc = check_minor(directory, mapped.header->version);
    if (rc < 0) {
        apy_cnc_close(&mapped);
        return blocked(obstacle, rc, 0);
    }
    const apy_clock_t clock = apy_clock_system();
    const int64_t heartbeat_ms = apy_load_acquire_i64(mapped.ring.heartbeat_ms);
    const int64_t age_ms = heartbeat_age(&mapped, &clock);
    if (age_ms <= timeout_ms) {
        *cnc = mapped;
        return APY_OK;
    }

    if (heartbeat_ms == 0) {
        rc = apy_fail(APY_E_STATE, "no driver heartbeat detected in %s: its driver has not finished starting",
                      directory);
    } else if (heartbeat_ms < 0) {
        rc = apy_fail(APY_E_STATE, "the driver in %s has shut down", directory);
    } else {
        rc =
            apy_fail(APY_E_STATE, "the driver in %s gave its last heartbeat %lld ms ago", directory, (long long)age_ms);
    }
    apy_cnc_close(&mapped);
    return blocked(obstacle, rc, heartbeat_ms == 0 ? READY_POLL_MS : STALE_POLL_MS);
}

/* Wait, but not past the deadline; false when it has come. */
static bool wait_until(const apy_clock_t *clock, int64_t deadline_ns, int64_t wait_ms)
{
    const int64_t left_ns = deadline_ns - apy_nano_time(clock);
    if (left_ns <= 0) {
        return false;
    }
    const int64_t wait_ns = wait_ms * 1000000 < left_ns ? wait_ms * 1000000 : left_ns;
    const struct timespec span = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    nanosleep(&span, NULL);
    return true;
}

static int64_t deadline_of(const apy_clock_t *clock, int64_t timeout_ms)
{
    const int64_t now_ns = apy_nano_time(clock);
    return timeout_ms > (INT64_MAX - now_ns) / 1000000 ? INT64_MAX : now_ns + timeout_ms * 1000000;
}

int apy_cnc_open(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms)
{
    return apy_cnc_open_for(cnc, directory, timeout_ms, timeout_ms);
}

int apy_cnc_open_for(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms, int64_t wait_ms)
{
    if (timeout_ms < 0) {
        return apy_fail(APY_E_ARGUMENT, "a driver timeout of %lld ms", (long long)timeout_ms);
    }
    const apy_clock_t clock = apy_clock_system();
    const int64_t deadline_ns = deadline_of(&clock, wait_ms);
    obstacle_t obstacle;

    do {
        if (map_live(cnc, directory, timeout_ms, &obstacle) == APY_OK) {
            return APY_OK;
        }
        if (obstacle.retry_ms == 0) {
            return apy_fail(obstacle.code, "%s", obstacle.text);
        }
    } while (wait_until(&clock, deadline_ns, obstacle.retry_ms));

    return apy_fail(APY_E_TIMEOUT, "no live media driver within %lld ms: %s", (long long)wait_ms, obstacle.text);
}

int apy_cnc_map(apy_cnc_t *cnc, const char *directory, bool writable)
{
    obstacle_t obstacle;
    return map_checked(cnc, directory, writable, &obstacle);
}

int apy_cnc_driver_is_active(const char *directory, int64_t timeout_ms, int64_t *heartbeat_age_ms)
{
    const apy_clock_t clock = apy_clock_system();
    const int64_t deadline_ns = deadline_of(&clock, timeout_ms);
    apy_cnc_t cnc;
    obstacle_t obstacle;
    int rc;

    do {
        rc = map_checked(&cnc, directory, false, &obstacle);
        /* Only a driver that is starting is worth waiting for. */
    } while (rc == APY_E_STATE && wait_until(&clock, deadline_ns, obstacle.retry_ms));

    int64_t age_ms = INT64_MAX;
    if (rc == APY_OK) {
        age_ms = heartbeat_age(&cnc, &clock);
        apy_cnc_close(&cnc);
    } else if (rc == APY_E_VERSION || rc == APY_E_OS) {
        return rc; /* what cannot be read may well be somebody's */
    }
    if (heartbeat_age_ms != NULL) {
        *heartbeat_age_ms = age_ms;
    }
    return age_ms <= timeout_ms ? 1 : 0;
}

void apy_cnc_close(apy_cnc_t *cnc)
{
    apy_mapping_close(&cnc->mapping);
    *cnc = (apy_cnc_t){0};
}
