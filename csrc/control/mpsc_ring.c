#include "apy/mpsc_ring.h"

#include <assert.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"

enum {
    TAIL = 128,
    HEAD_CACHE = 256,
    HEAD = 384,
    CORRELATION = 512,
    HEARTBEAT = 640,
    BELL = 704, /* a cache line of its own */
    TYPE = 4,
    ALIGNMENT = 8,
    CAPACITY_MIN = 8,
};

static int32_t record_span(int32_t record_length)
{
    return (record_length + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static int32_t *length_at(const apy_mpsc_ring_t *ring, int64_t index)
{
    return (int32_t *)(void *)(ring->buffer + index);
}

static int32_t *type_at(const apy_mpsc_ring_t *ring, int64_t index)
{
    return (int32_t *)(void *)(ring->buffer + index + TYPE);
}

static int64_t mask_of(const apy_mpsc_ring_t *ring)
{
    return ring->capacity - 1;
}

/* Positions are read from shared memory: their difference must not trap, whatever they hold. */
static int64_t distance(int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

int apy_mpsc_ring_init(apy_mpsc_ring_t *ring, uint8_t *buffer, int64_t length)
{
    const int64_t capacity = length - APY_RING_TRAILER;
    if (capacity < CAPACITY_MIN || capacity > INT32_MAX || (capacity & (capacity - 1)) != 0) {
        return apy_fail(APY_E_ARGUMENT, "a ring of %lld bytes leaves %lld for records: use a power of two and %d more",
                        (long long)length, (long long)capacity, APY_RING_TRAILER);
    }
    uint8_t *trailer = buffer + capacity;
    ring->buffer = buffer;
    ring->capacity = capacity;
    ring->message_max = capacity == CAPACITY_MIN ? 0 : (int32_t)(capacity / 8);
    ring->tail = (int64_t *)(void *)(trailer + TAIL);
    ring->head_cache = (int64_t *)(void *)(trailer + HEAD_CACHE);
    ring->head = (int64_t *)(void *)(trailer + HEAD);
    ring->correlation = (int64_t *)(void *)(trailer + CORRELATION);
    ring->heartbeat_ms = (int64_t *)(void *)(trailer + HEARTBEAT);
    ring->bell = (apy_doorbell_t *)(void *)(trailer + BELL);
    return APY_OK;
}

static int check_message(const apy_mpsc_ring_t *ring, int32_t type, int64_t length)
{
    if (type < 1) {
        return apy_fail(APY_E_ARGUMENT, "message type %d: types start at 1", type);
    }
    if (length < 0) {
        return apy_fail(APY_E_ARGUMENT, "a message of %lld bytes", (long long)length);
    }
    if (length > ring->message_max) {
        return apy_fail(APY_E_TOO_LONG, "a message of %lld bytes: this ring takes up to %d", (long long)length,
                        ring->message_max);
    }
    return APY_OK;
}

/* The end of the buffer cannot hold the record: fill it, so that the consumer walks on to index 0. */
static void pad_to_end(apy_mpsc_ring_t *ring, int64_t index, int32_t padding)
{
    apy_store_release_i32(length_at(ring, index), -padding);
    apy_fence_release();
    apy_store_relaxed_i32(type_at(ring, index), APY_RING_PADDING_TYPE);
    apy_store_release_i32(length_at(ring, index), padding);
}

/* Move the tail past room for a record; its index, or APY_E_FULL. */
static int64_t claim_room(apy_mpsc_ring_t *ring, int32_t required)
{
    const int64_t capacity = ring->capacity;
    const int64_t mask = mask_of(ring);

    for (;;) {
        int64_t head = apy_load_acquire_i64(ring->head_cache);
        const int64_t tail = apy_load_acquire_i64(ring->tail);

        if (required > capacity - distance(head, tail)) {
            head = apy_load_acquire_i64(ring->head);
            if (required > capacity - distance(head, tail)) {
                return APY_E_FULL;
            }
            apy_store_release_i64(ring->head_cache, head);
        }

        const int64_t index = tail & mask;
        const int64_t to_end = capacity - index;
        int64_t padding = 0;
        if (required > to_end) {
            if (required > (head & mask)) {
                head = apy_load_acquire_i64(ring->head);
                if (required > (head & mask)) {
                    return APY_E_FULL;
                }
                apy_store_release_i64(ring->head_cache, head);
            }
            padding = to_end;
        }

        if (apy_cas_i64(ring->tail, tail, tail + required + padding)) {
            if (padding == 0) {
                return index;
            }
            pad_to_end(ring, index, (int32_t)padding);
            return 0;
        }
        apy_cpu_pause();
    }
}

/* Claim a record of the length and mark it as being written; its index, or APY_E_FULL. */
static int64_t begin_record(apy_mpsc_ring_t *ring, int32_t length)
{
    const int32_t record_length = length + APY_RING_HEADER;
    const int64_t index = claim_room(ring, record_span(record_length));
    if (index >= 0) {
        apy_store_release_i32(length_at(ring, index), -record_length);
        apy_fence_release();
    }
    return index;
}

int apy_mpsc_ring_write(apy_mpsc_ring_t *ring, int32_t type, const void *message, int32_t length)
{
    return apy_mpsc_ring_write_two(ring, type, message, length, NULL, 0);
}

int apy_mpsc_ring_write_two(apy_mpsc_ring_t *ring, int32_t type, const void *first, int32_t first_length,
                            const void *second, int32_t second_length)
{
    const int64_t total = (int64_t)first_length + second_length;
    const int rc = check_message(ring, type, first_length < 0 || second_length < 0 ? -1 : total);
    if (rc < 0) {
        return rc;
    }
    const int64_t index = begin_record(ring, (int32_t)total);
    if (index < 0) {
        return (int)index;
    }

    uint8_t *body = ring->buffer + index + APY_RING_HEADER;
    if (first_length > 0) {
        memcpy(body, first, (size_t)first_length);
    }
    if (second_length > 0) {
        memcpy(body + first_length, second, (size_t)second_length);
    }
    apy_store_relaxed_i32(type_at(ring, index), type);
    apy_store_release_i32(length_at(ring, index), (int32_t)total + APY_RING_HEADER);
    return APY_OK;
}

int apy_mpsc_ring_claim(apy_mpsc_ring_t *ring, int32_t type, int32_t length, uint8_t **message)
{
    const int rc = check_message(ring, type, length);
    if (rc < 0) {
        return rc;
    }
    const int64_t index = begin_record(ring, length);
    if (index < 0) {
        return (int)index;
    }
    apy_store_relaxed_i32(type_at(ring, index), type);
    *message = ring->buffer + index + APY_RING_HEADER;
    return APY_OK;
}

/* Make the claimed record readable; it must still be claimed. */
static void publish(const apy_mpsc_ring_t *ring, int64_t index)
{
    const int32_t length = apy_load_relaxed_i32(length_at(ring, index));
    assert(length < 0 && "commit or abort of a record that is not claimed");
    apy_store_release_i32(length_at(ring, index), -length);
}

void apy_mpsc_ring_commit(apy_mpsc_ring_t *ring, uint8_t *message)
{
    publish(ring, message - APY_RING_HEADER - ring->buffer);
}

void apy_mpsc_ring_abort(apy_mpsc_ring_t *ring, uint8_t *message)
{
    const int64_t index = message - APY_RING_HEADER - ring->buffer;
    apy_store_relaxed_i32(type_at(ring, index), APY_RING_PADDING_TYPE);
    publish(ring, index);
}

int apy_mpsc_ring_read(apy_mpsc_ring_t *ring, apy_ring_handler handler, void *context, int limit)
{
    const int64_t head = apy_load_relaxed_i64(ring->head);
    const int64_t index = head & mask_of(ring);
    const int64_t block = ring->capacity - index;
    int64_t consumed = 0;
    int delivered = 0, corrupt_length = 0;
    bool corrupt = index % ALIGNMENT != 0;

    while (!corrupt && consumed < block && delivered < limit) {
        const int64_t at = index + consumed;
        const int32_t length = apy_load_acquire_i32(length_at(ring, at));
        if (length <= 0) {
            break; /* free, or still being written */
        }
        if (length < APY_RING_HEADER || length > block - consumed) {
            corrupt = true;
            corrupt_length = length;
            break;
        }
        consumed += record_span(length);
        const int32_t type = apy_load_relaxed_i32(type_at(ring, at));
        if (type != APY_RING_PADDING_TYPE) {
            handler(context, type, ring->buffer + at + APY_RING_HEADER, length - APY_RING_HEADER);
            delivered++;
        }
    }

    if (consumed > 0) {
        /* Producers take zero for "not ready", so nothing old may be left when they get the room back. */
        memset(ring->buffer + index, 0, (size_t)consumed);
        apy_store_release_i64(ring->head, head + consumed);
    }
    if (corrupt && delivered == 0) {
        return apy_fail(APY_E_CORRUPT, "ring record of %d bytes at offset %lld of %lld", corrupt_length,
                        (long long)(index + consumed), (long long)ring->capacity);
    }
    return delivered;
}

/* The distance from the silent record at start to the first one with a length, if all between is zero; else 0. */
static int64_t silent_span(const apy_mpsc_ring_t *ring, int64_t start, int64_t limit)
{
    for (int64_t at = start + ALIGNMENT; at < limit; at += ALIGNMENT) {
        if (apy_load_acquire_i32(length_at(ring, at)) == 0) {
            continue;
        }
        /* A producer may have woken up meanwhile: only an all-silent stretch may be skipped. */
        for (int64_t back = at - ALIGNMENT; back >= start; back -= ALIGNMENT) {
            if (apy_load_acquire_i32(length_at(ring, back)) != 0) {
                return 0;
            }
        }
        return at - start;
    }
    return 0;
}

bool apy_mpsc_ring_unblock(apy_mpsc_ring_t *ring)
{
    const int64_t head = apy_load_acquire_i64(ring->head);
    const int64_t tail = apy_load_acquire_i64(ring->tail);
    if (head == tail) {
        return false;
    }

    const int64_t consumer = head & mask_of(ring);
    const int64_t producer = tail & mask_of(ring);
    if (consumer % ALIGNMENT != 0) {
        return false;
    }
    const int32_t length = apy_load_acquire_i32(length_at(ring, consumer));
    int32_t span = 0;
    if (length < 0 && length != INT32_MIN) {
        span = -length;
    } else if (length == 0) {
        span = (int32_t)silent_span(ring, consumer, producer > consumer ? producer : ring->capacity);
    }
    if (span == 0) {
        return false;
    }
    apy_store_relaxed_i32(type_at(ring, consumer), APY_RING_PADDING_TYPE);
    apy_store_release_i32(length_at(ring, consumer), span);
    return true;
}

int64_t apy_mpsc_ring_next_correlation_id(apy_mpsc_ring_t *ring)
{
    return apy_fetch_add_i64(ring->correlation, 1);
}

int64_t apy_mpsc_ring_size(const apy_mpsc_ring_t *ring)
{
    int64_t before, tail, after = apy_load_acquire_i64(ring->head);
    do {
        before = after;
        tail = apy_load_acquire_i64(ring->tail);
        after = apy_load_acquire_i64(ring->head);
    } while (after != before);

    const int64_t size = distance(after, tail);
    return size < 0 ? 0 : size > ring->capacity ? ring->capacity : size;
}

int64_t apy_mpsc_ring_producer_position(const apy_mpsc_ring_t *ring)
{
    return apy_load_acquire_i64(ring->tail);
}

int64_t apy_mpsc_ring_consumer_position(const apy_mpsc_ring_t *ring)
{
    return apy_load_acquire_i64(ring->head);
}
