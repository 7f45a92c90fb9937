#include "apy/log_buffer.h"

#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/frame.h"

#define PAGE_SIZE_MIN 4096
#define PAGE_SIZE_MAX 1073741824

static bool is_power_of_two_within(int32_t value, int32_t min, int32_t max)
{
    return value >= min && value <= max && (value & (value - 1)) == 0;
}

static bool is_mtu(int32_t mtu)
{
    return mtu > APY_FRAME_HEADER && mtu <= APY_UDP_PAYLOAD_MAX && mtu % APY_FRAME_ALIGN == 0;
}

/* What both a new and a found log must keep; code says whose fault it is. */
static int check_lengths(int code, const char *path, int32_t term_length, int32_t page_size, int32_t mtu)
{
    if (!is_power_of_two_within(term_length, APY_TERM_LENGTH_MIN, APY_TERM_LENGTH_MAX)) {
        return apy_fail(code, "%s: term length %d is not a power of two from %d to %d", path, term_length,
                        APY_TERM_LENGTH_MIN, APY_TERM_LENGTH_MAX);
    }
    if (!is_power_of_two_within(page_size, PAGE_SIZE_MIN, PAGE_SIZE_MAX)) {
        return apy_fail(code, "%s: page size %d is not a power of two from %d to %d", path, page_size, PAGE_SIZE_MIN,
                        PAGE_SIZE_MAX);
    }
    if (!is_mtu(mtu)) {
        return apy_fail(code, "%s: MTU %d is not a multiple of 32 from 64 to %d", path, mtu, APY_UDP_PAYLOAD_MAX);
    }
    return APY_OK;
}

static int check_params(const char *path, const apy_log_params_t *params)
{
    const int rc = check_lengths(APY_E_ARGUMENT, path, params->term_length, params->page_size, params->mtu);
    if (rc != APY_OK) {
        return rc;
    }
    if (params->type > APY_LOG_IMAGE) {
        return apy_fail(APY_E_ARGUMENT, "%s: %d is no type of log", path, params->type);
    }
    const int32_t offset = params->start_term_offset;
    if (offset < 0 || offset > params->term_length || offset % APY_FRAME_ALIGN != 0) {
        return apy_fail(APY_E_ARGUMENT, "%s: start offset %d is not a frame start in a term of %d bytes", path, offset,
                        params->term_length);
    }
    if (apy_wrap_sub(params->start_term_id, params->initial_term_id) < 0) {
        return apy_fail(APY_E_ARGUMENT, "%s: start term id %d is before initial term id %d", path,
                        params->start_term_id, params->initial_term_id);
    }
    return APY_OK;
}

int64_t apy_log_file_length(int32_t term_length, int32_t page_size)
{
    const int64_t used = (int64_t)APY_PARTITIONS * term_length + APY_LOG_META_LENGTH;
    return (used + page_size - 1) & ~((int64_t)page_size - 1);
}

static void attach(apy_log_t *log, const apy_mapping_t *mapping, const apy_log_meta_t *source)
{
    log->mapping = *mapping;
    log->meta = (apy_log_meta_t *)(void *)(mapping->address + mapping->length - APY_LOG_META_LENGTH);
    log->term_length = source->term_length;
    log->shift = apy_position_shift(source->term_length);
    log->initial_term_id = source->initial_term_id;
    log->mtu = source->mtu_length;
    for (int i = 0; i < APY_PARTITIONS; i++) {
        log->terms[i] = mapping->address + (int64_t)i * source->term_length;
    }
}

/* The two terms after the first one carry the ids that rotation expects to replace. */
static void fill_tails(apy_log_meta_t *meta, const apy_log_params_t *params)
{
    const int32_t term_count = apy_wrap_sub(params->start_term_id, params->initial_term_id);
    const int32_t active = apy_term_partition(term_count);
    meta->tails[active] = apy_tail_pack(params->start_term_id, params->start_term_offset);
    meta->tails[(active + 1) % APY_PARTITIONS] = apy_tail_pack(apy_wrap_sub(params->start_term_id, 2), 0);
    meta->tails[(active + 2) % APY_PARTITIONS] = apy_tail_pack(apy_wrap_sub(params->start_term_id, 1), 0);
    meta->active_term_count = term_count;
}

static void fill_meta(apy_log_meta_t *meta, const apy_log_params_t *params)
{
    if (params->type != APY_LOG_IMAGE) {
        fill_tails(meta, params);
    }
    meta->correlation_id = params->correlation_id;
    meta->initial_term_id = params->initial_term_id;
    meta->default_header_length = APY_FRAME_HEADER;
    meta->mtu_length = params->mtu;
    meta->term_length = params->term_length;
    meta->page_size = params->page_size;
    meta->publication_window_length = params->publication_window_length;
    meta->receiver_window_length = params->receiver_window_length;
    meta->socket_sndbuf_length = params->socket_sndbuf_length;
    meta->os_default_sndbuf_length = params->os_default_sndbuf_length;
    meta->os_max_sndbuf_length = params->os_max_sndbuf_length;
    meta->socket_rcvbuf_length = params->socket_rcvbuf_length;
    meta->os_default_rcvbuf_length = params->os_default_rcvbuf_length;
    meta->os_max_rcvbuf_length = params->os_max_rcvbuf_length;
    meta->max_resend = params->max_resend;
    meta->entity_tag = params->entity_tag;
    meta->response_correlation_id = params->response_correlation_id;
    meta->linger_timeout_ns = params->linger_timeout_ns;
    meta->untethered_window_limit_timeout_ns = params->untethered_window_limit_timeout_ns;
    meta->untethered_resting_timeout_ns = params->untethered_resting_timeout_ns;
    meta->untethered_linger_timeout_ns = params->untethered_linger_timeout_ns;
    meta->group = params->group;
    meta->is_response = params->is_response;
    meta->rejoin = params->rejoin;
    meta->reliable = params->reliable;
    meta->sparse = params->sparse;
    meta->signal_eos = params->signal_eos;
    meta->spies_simulate_connection = params->spies_simulate_connection;
    meta->tether = params->tether;
    meta->type = params->type;

    const apy_frame_t header = {.flags = APY_FLAG_UNFRAGMENTED,
                                .type = APY_FRAME_DATA,
                                .session_id = params->session_id,
                                .stream_id = params->stream_id,
                                .term_id = params->initial_term_id};
    memcpy(meta->default_header, &header, sizeof(header));
    /* Last: who sees the stream open sees all the rest. */
    apy_store_release_i64(&meta->end_of_stream_position, INT64_MAX);
}

int apy_log_create(apy_log_t *log, const char *path, const apy_log_params_t *params)
{
    int rc = check_params(path, params);
    if (rc != APY_OK) {
        return rc;
    }
    apy_mapping_t mapping = {NULL, 0, false};
    const size_t length = (size_t)apy_log_file_length(params->term_length, params->page_size);
    rc = apy_mapping_create(&mapping, path, length, params->sparse != 0);
    if (rc != APY_OK) {
        return rc;
    }
    if (params->sparse == 0) {
        apy_mapping_touch(&mapping);
    }
    apy_log_meta_t *meta = (apy_log_meta_t *)(void *)(mapping.address + length - APY_LOG_META_LENGTH);
    fill_meta(meta, params);
    attach(log, &mapping, meta);
    return APY_OK;
}

int apy_log_open(apy_log_t *log, const char *path)
{
    apy_mapping_t mapping = {NULL, 0, false};
    int rc = apy_mapping_open(&mapping, path, true);
    if (rc != APY_OK) {
        return rc;
    }
    if (mapping.length < (size_t)apy_log_file_length(APY_TERM_LENGTH_MIN, PAGE_SIZE_MIN) ||
        mapping.length % PAGE_SIZE_MIN != 0) {
        rc = apy_fail(APY_E_CORRUPT, "%s: %zu bytes cannot hold a log", path, mapping.length);
    } else {
        const apy_log_meta_t *meta =
            (const apy_log_meta_t *)(const void *)(mapping.address + mapping.length - APY_LOG_META_LENGTH);
        rc = check_lengths(APY_E_CORRUPT, path, meta->term_length, meta->page_size, meta->mtu_length);
        const int64_t expected = rc == APY_OK ? apy_log_file_length(meta->term_length, meta->page_size) : 0;
        if (rc == APY_OK && mapping.length < (size_t)expected) {
            rc = apy_fail(APY_E_CORRUPT, "%s: %zu bytes, but three terms of %d bytes take %lld", path, mapping.length,
                          meta->term_length, (long long)expected);
        }
        if (rc == APY_OK) {
            attach(log, &mapping, meta);
        }
    }
    if (rc != APY_OK) {
        apy_mapping_close(&mapping);
    }
    return rc;
}

void apy_log_close(apy_log_t *log)
{
    apy_mapping_close(&log->mapping);
    memset(log->terms, 0, sizeof(log->terms));
    log->meta = NULL;
}

int64_t apy_log_producer_position(const apy_log_t *log)
{
    const int32_t term_count = apy_load_acquire_i32(&log->meta->active_term_count);
    const int64_t raw_tail = apy_load_acquire_i64(&log->meta->tails[apy_term_partition(term_count)]);
    return apy_position_of(apy_tail_term_id(raw_tail), apy_tail_offset(raw_tail, log->term_length), log->shift,
                           log->initial_term_id);
}

void apy_log_clean(apy_log_t *log, int64_t *clean_position, int64_t target)
{
    const int64_t from = *clean_position;
    if (target <= from) {
        return;
    }
    const int32_t offset = apy_position_offset(from, log->term_length);
    const int64_t term_left = log->term_length - offset;
    const int64_t length = target - from < term_left ? target - from : term_left;
    uint8_t *at = log->terms[apy_position_partition(from, log->shift)] + offset;
    assert(from % APY_FRAME_ALIGN == 0 && length % APY_FRAME_ALIGN == 0);

    memset(at + sizeof(int64_t), 0, (size_t)length - sizeof(int64_t));
    apy_store_release_i64((int64_t *)(void *)at, 0);
    *clean_position = from + length;
}

void apy_log_meta_rotate(apy_log_meta_t *meta, int32_t term_count, int32_t term_id)
{
    const int32_t next_id = apy_wrap_add(term_id, 1);
    const int32_t next_count = apy_wrap_add(term_count, 1);
    const int32_t expected_id = apy_wrap_sub(next_id, APY_PARTITIONS);
    int64_t *tail = &meta->tails[apy_term_partition(next_count)];

    int64_t raw_tail = 0;
    do {
        raw_tail = apy_load_acquire_i64(tail);
        if (apy_tail_term_id(raw_tail) != expected_id) {
            break; /* another was first */
        }
    } while (!apy_cas_i64(tail, raw_tail, apy_tail_pack(next_id, 0)));
    (void)apy_cas_i32(&meta->active_term_count, term_count, next_count);
}

void apy_log_rotate(apy_log_t *log, int32_t term_count, int32_t term_id)
{
    apy_log_meta_rotate(log->meta, term_count, term_id);
}
