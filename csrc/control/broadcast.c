#include "apy/broadcast.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/error.h"

enum {
    INTENT = 0,
    TAIL = 8,
    LATEST = 16,
    ASLEEP = 64,
    WAKES = 68,
    HEADER = 8,
    TYPE = 4,
    ALIGNMENT = 8,
    CAPACITY_MIN = 16,
    COPY_INITIAL = 4096,
    PADDING_TYPE = -1,
};

static int64_t record_span(int64_t record_length)
{
    return (record_length + ALIGNMENT - 1) & ~(int64_t)(ALIGNMENT - 1);
}

/* Bytes for records in a buffer of this length with its trailer, or APY_E_ARGUMENT. */
static int64_t capacity_of(int64_t length)
{
    const int64_t left = length - APY_BROADCAST_TRAILER;
    if (left < CAPACITY_MIN || left > INT32_MAX || (left & (left - 1)) != 0) {
        return apy_fail(APY_E_ARGUMENT,
                        "a broadcast buffer of %lld bytes leaves %lld for records: use a power of two and %d more",
                        (long long)length, (long long)left, APY_BROADCAST_TRAILER);
    }
    return left;
}

int apy_broadcast_transmitter_init(apy_broadcast_transmitter_t *transmitter, uint8_t *buffer, int64_t length)
{
    const int64_t capacity = capacity_of(length);
    if (capacity < 0) {
        return (int)capacity;
    }
    uint8_t *trailer = buffer + capacity;
    transmitter->buffer = buffer;
    transmitter->capacity = capacity;
    transmitter->message_max = (int32_t)(capacity / 8);
    transmitter->tail_intent = (int64_t *)(void *)(trailer + INTENT);
    transmitter->tail = (int64_t *)(void *)(trailer + TAIL);
    transmitter->latest = (int64_t *)(void *)(trailer + LATEST);
    transmitter->asleep = (int32_t *)(void *)(trailer + ASLEEP);
    apy_store_release_i32((int32_t *)(void *)(trailer + WAKES), 1);
    return APY_OK;
}

/* A receiver that died asleep costs one system call. */
static void wake(int32_t *asleep)
{
    if (apy_cas_i32(asleep, 1, 0)) {
        (void)syscall(SYS_futex, asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); /* shared: between processes */
    }
}

/* Receivers may be reading here: they will find out from the intent that what they got is void. */
static void write_header(uint8_t *record, int32_t length, int32_t type)
{
    apy_store_relaxed_i32((int32_t *)(void *)record, length);
    apy_store_relaxed_i32((int32_t *)(void *)(record + TYPE), type);
}

int apy_broadcast_transmit(apy_broadcast_transmitter_t *transmitter, int32_t type, const void *message, int32_t length)
{
    if (type < 1 || length < 0) {
        return apy_fail(APY_E_ARGUMENT, "a message of type %d and %d bytes: types start at 1, lengths at 0", type,
                        length);
    }
    if (length > transmitter->message_max) {
        return apy_fail(APY_E_TOO_LONG, "a message of %d bytes: this broadcast buffer takes up to %d", length,
                        transmitter->message_max);
    }

    int64_t tail = apy_load_relaxed_i64(transmitter->tail);
    int64_t index = tail & (transmitter->capacity - 1);
    const int64_t span = record_span(length + HEADER);
    const int64_t to_end = transmitter->capacity - index;

    if (to_end < span) {
        apy_store_release_i64(transmitter->tail_intent, tail + to_end + span);
        apy_fence_release();
        write_header(transmitter->buffer + index, (int32_t)to_end, PADDING_TYPE);
        tail += to_end;
        index = 0;
    } else {
        apy_store_release_i64(transmitter->tail_intent, tail + span);
        apy_fence_release();
    }

    write_header(transmitter->buffer + index, length + HEADER, type);
    if (length > 0) {
        apy_copy_racing(transmitter->buffer + index + HEADER, message, (size_t)length);
    }
    apy_store_release_i64(transmitter->latest, tail);
    apy_store_release_i64(transmitter->tail, tail + span);
    wake(transmitter->asleep);
    return APY_OK;
}

int apy_broadcast_receiver_init(apy_broadcast_receiver_t *receiver, const uint8_t *buffer, int64_t length)
{
    const int64_t capacity = capacity_of(length);
    if (capacity < 0) {
        return (int)capacity;
    }
    uint8_t *copy = malloc(COPY_INITIAL);
    if (copy == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a copy buffer of %d bytes", COPY_INITIAL);
    }
    const uint8_t *trailer = buffer + capacity;
    receiver->buffer = buffer;
    receiver->capacity = capacity;
    receiver->tail_intent = (const int64_t *)(const void *)(trailer + INTENT);
    receiver->tail = (const int64_t *)(const void *)(trailer + TAIL);
    receiver->latest = (const int64_t *)(const void *)(trailer + LATEST);
    receiver->asleep = (int32_t *)(uintptr_t)(trailer + ASLEEP);
    receiver->wakes = (const int32_t *)(const void *)(trailer + WAKES);
    receiver->cursor = receiver->next_record = apy_load_acquire_i64(receiver->tail);
    receiver->record_offset = receiver->cursor & (capacity - 1);
    receiver->lapped_count = 0;
    receiver->copy = copy;
    receiver->copy_capacity = COPY_INITIAL;
    return APY_OK;
}

void apy_broadcast_receiver_free(apy_broadcast_receiver_t *receiver)
{
    free(receiver->copy);
    receiver->copy = NULL;
    receiver->copy_capacity = 0;
}

/* Whether nothing from the cursor on has been, or is being, written over. */
static bool is_intact(const apy_broadcast_receiver_t *receiver, int64_t cursor)
{
    const int64_t intent = apy_load_acquire_i64(receiver->tail_intent);
    return (int64_t)((uint64_t)intent - (uint64_t)cursor) < receiver->capacity;
}

/* What lay between is lost; the newest message is where to go on. */
static int lapped(apy_broadcast_receiver_t *receiver, int64_t cursor)
{
    receiver->lapped_count++;
    receiver->cursor = receiver->next_record = apy_load_acquire_i64(receiver->latest);
    return apy_fail(APY_E_LAPPED, "the receiver at position %lld cannot keep up: the transmitter is at %lld of %lld",
                    (long long)cursor, (long long)apy_load_acquire_i64(receiver->tail_intent),
                    (long long)receiver->capacity);
}

typedef struct header {
    int32_t length, type;
} header_t;

/* Read and check the record header at cursor: 0, or APY_E_LAPPED or APY_E_CORRUPT. */
static int read_header(apy_broadcast_receiver_t *receiver, int64_t cursor, header_t *header)
{
    const int64_t offset = cursor & (receiver->capacity - 1);
    if (offset % ALIGNMENT != 0) {
        return apy_fail(APY_E_CORRUPT, "broadcast position %lld is not a record start", (long long)cursor);
    }
    const uint8_t *record = receiver->buffer + offset;
    const int32_t length = apy_load_relaxed_i32((const int32_t *)(const void *)record);
    const int32_t type = apy_load_relaxed_i32((const int32_t *)(const void *)(record + TYPE));
    apy_fence_acquire();
    if (!is_intact(receiver, cursor)) {
        return lapped(receiver, cursor);
    }
    if (length < HEADER || length > receiver->capacity - offset) {
        return apy_fail(APY_E_CORRUPT, "broadcast record of %d bytes at offset %lld of %lld", length, (long long)offset,
                        (long long)receiver->capacity);
    }
    header->length = length;
    header->type = type;
    return APY_OK;
}

static int reserve_copy(apy_broadcast_receiver_t *receiver, int32_t length)
{
    if (length <= receiver->copy_capacity) {
        return APY_OK;
    }
    uint8_t *larger = realloc(receiver->copy, (size_t)length);
    if (larger == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a copy buffer of %d bytes", length);
    }
    receiver->copy = larger;
    receiver->copy_capacity = length;
    return APY_OK;
}

int apy_broadcast_receive(apy_broadcast_receiver_t *receiver, int32_t *type, const uint8_t **message, int32_t *length)
{
    int64_t cursor = receiver->next_record;
    if (apy_load_acquire_i64(receiver->tail) <= cursor) {
        return 0;
    }
    if (!is_intact(receiver, cursor)) {
        return lapped(receiver, cursor);
    }

    header_t header;
    int rc = read_header(receiver, cursor, &header);
    if (rc == APY_OK && header.type == PADDING_TYPE) {
        cursor = (int64_t)((uint64_t)cursor + (uint64_t)record_span(header.length));
        rc = read_header(receiver, cursor, &header);
        if (rc == APY_OK && header.type == PADDING_TYPE) {
            rc = apy_fail(APY_E_CORRUPT, "broadcast padding follows padding at position %lld", (long long)cursor);
        }
    }
    if (rc < 0) {
        return rc; /* there is no header to speak of */
    }
    const int32_t message_length = header.length - HEADER;
    rc = reserve_copy(receiver, message_length);
    if (rc < 0) {
        return rc;
    }

    const int64_t offset = cursor & (receiver->capacity - 1);
    apy_copy_racing(receiver->copy, receiver->buffer + offset + HEADER, (size_t)message_length);
    apy_fence_acquire();
    if (!is_intact(receiver, cursor)) {
        return lapped(receiver, cursor);
    }

    receiver->cursor = cursor;
    receiver->record_offset = offset;
    receiver->next_record = (int64_t)((uint64_t)cursor + (uint64_t)record_span(header.length));
    *type = header.type;
    *message = receiver->copy;
    *length = message_length;
    return 1;
}

bool apy_broadcast_sleep_begin(const apy_broadcast_receiver_t *receiver)
{
    if (apy_load_acquire_i32(receiver->wakes) != 1) {
        return false;
    }
    atomic_store_explicit((_Atomic int32_t *)receiver->asleep, 1, memory_order_seq_cst);
    return true;
}

void apy_broadcast_sleep(const apy_broadcast_receiver_t *receiver, int64_t timeout_ns)
{
    if (apy_load_acquire_i64(receiver->tail) <= receiver->next_record) {
        const struct timespec span = {timeout_ns / 1000000000, timeout_ns % 1000000000};
        (void)syscall(SYS_futex, receiver->asleep, FUTEX_WAIT, 1, &span, NULL, 0);
    }
}

void apy_broadcast_wake(const apy_broadcast_receiver_t *receiver)
{
    wake(receiver->asleep);
}
