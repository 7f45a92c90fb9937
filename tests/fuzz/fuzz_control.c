/*
 * Shared memory of another process, as any bytes: error log, loss report, counters, command ring, broadcast.
 * The first byte picks the reader; each must end, with a result or APY_E_*, and touch nothing outside.
 */
#include <stdlib.h>
#include <string.h>

#include "apy/broadcast.h"
#include "apy/counters.h"
#include "apy/error_log.h"
#include "apy/loss_report.h"
#include "apy/mpsc_ring.h"

enum {
    RING_CAPACITY = 256,
    BROADCAST_CAPACITY = 256,
    COUNTERS = 4,
    READS = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* reads every byte that a reader hands out */

static void touch(const void *bytes, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        sum += ((const uint8_t *)bytes)[i];
    }
}

/* A copy of exactly this size, so that the sanitizer sees the first byte beyond it. */
static uint8_t *exact(const uint8_t *data, size_t size, size_t wanted)
{
    uint8_t *copy = calloc(1, wanted > 0 ? wanted : 1);
    memcpy(copy, data, size < wanted ? size : wanted);
    return copy;
}

static void see(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    (void)context;
    sum += (uint32_t)type;
    touch(message, length);
}

static void read_errors(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact(data, size, size);
    int64_t offset = 0;
    apy_error_record_t record;
    while (apy_error_log_next(bytes, (int64_t)size, &offset, &record) == 1) {
        touch(record.text, record.text_length);
    }
    free(bytes);
}

static void read_losses(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact(data, size, size);
    int64_t offset = 0;
    apy_loss_entry_t entry;
    while (apy_loss_report_next(bytes, (int64_t)size, &offset, &entry) == 1) {
        touch(entry.channel, entry.channel_length);
        touch(entry.source, entry.source_length);
    }
    free(bytes);
}

static void read_counters(const uint8_t *data, size_t size)
{
    enum { METADATA = COUNTERS * APY_COUNTER_METADATA_LENGTH, VALUES = COUNTERS * APY_COUNTER_VALUE_LENGTH };
    uint8_t *metadata = exact(data, size, METADATA);
    uint8_t *values = size > METADATA ? exact(data + METADATA, size - METADATA, VALUES) : exact(data, 0, VALUES);
    apy_counters_reader_t reader;
    apy_counter_info_t info;
    if (apy_counters_reader_init(&reader, metadata, METADATA, values, VALUES) == 0) {
        for (int32_t id = 0; id < COUNTERS; id++) {
            if (apy_counters_get(&reader, id, &info) == 1) {
                touch(info.label, info.label_length + 1);
            }
            (void)apy_counters_append_label(&reader, id, "more", 4);
        }
        sum += (uint32_t)apy_counters_find_by_registration(&reader, 1, 1);
        sum += (uint32_t)apy_counters_find_by_key_i64(&reader, 1, 1);
    }
    free(metadata);
    free(values);
}

static void read_ring(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact(data, size, RING_CAPACITY + APY_RING_TRAILER);
    apy_mpsc_ring_t ring;
    if (apy_mpsc_ring_init(&ring, bytes, RING_CAPACITY + APY_RING_TRAILER) == 0) {
        for (int i = 0; i < READS; i++) {
            (void)apy_mpsc_ring_read(&ring, see, NULL, 4);
            sum += apy_mpsc_ring_unblock(&ring);
            sum += (uint64_t)apy_mpsc_ring_size(&ring);
        }
    }
    free(bytes);
}

static void read_broadcast(const uint8_t *data, size_t size)
{
    uint8_t *bytes = exact(data, size, BROADCAST_CAPACITY + APY_BROADCAST_TRAILER);
    apy_broadcast_receiver_t receiver;
    if (apy_broadcast_receiver_init(&receiver, bytes, BROADCAST_CAPACITY + APY_BROADCAST_TRAILER) == 0) {
        receiver.next_record = 0;
        for (int i = 0; i < READS; i++) {
            int32_t type, length;
            const uint8_t *message;
            if (apy_broadcast_receive(&receiver, &type, &message, &length) == 1) {
                see(NULL, type, message, length);
            }
        }
        apy_broadcast_receiver_free(&receiver);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {read_errors, read_losses, read_counters, read_ring,
                                                               read_broadcast};
    if (size > 0) {
        readers[data[0] % (sizeof readers / sizeof readers[0])](data + 1, size - 1);
    }
    return 0;
}
