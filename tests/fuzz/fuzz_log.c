/*
 * fuzz_log opens a log that somebody else spoiled, and does with it what clients and the driver do: poll, by
 * fragments, under control, by blocks and in batches, peek, scan for the sender, look for gaps, free a blocked
 * publisher, clean.
 */
#include "apy/error.h"
#include "apy/fragment_assembler.h"
#include "apy/image_reader.h"
#include "apy/log_buffer.h"
#include "apy/message_batch.h"
#include "apy/publication.h"
#include "apy/term_scan.h"

#include "patched_file.h"

#define TERM_LENGTH 65536
#define POLLS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* reads every byte that is handed out */

static void touch(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        sum += bytes[i];
    }
}

static void see(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    apy_message_t message;
    touch(buffer, length);
    sum += (uint64_t)header->position;
    if (context != NULL && apy_fragment_assembler_add(context, buffer, length, header, &message) == 1) {
        touch(message.buffer, message.length);
    }
}

static apy_action_t decide(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    see(context, buffer, length, header);
    return (apy_action_t)(APY_ACTION_ABORT + (header->position / 32 + (int64_t)sum) % 4);
}

static uint8_t *make(const char *path, size_t *length)
{
    apy_log_t log;
    apy_publication_t publication;
    const int64_t limit = INT64_MAX;
    static const uint8_t payload[5000] = {1};
    const apy_log_params_t params = {.correlation_id = 1,
                                     .session_id = 7,
                                     .stream_id = 1001,
                                     .initial_term_id = 3,
                                     .start_term_id = 3,
                                     .term_length = TERM_LENGTH,
                                     .mtu = 1408,
                                     .page_size = 4096,
                                     .sparse = 1};
    unlink(path);
    if (apy_log_create(&log, path, &params) != APY_OK) {
        abort();
    }
    apy_publication_init(&publication, &log, &limit, false);
    for (int i = 0; i < 40; i++) {
        const struct iovec part = {(void *)(uintptr_t)payload, (size_t)(i * 131 % 5000)};
        apy_publication_offer(&publication, &part, 1, NULL, NULL);
    }
    apy_log_close(&log);
    return patched_read(path, length);
}

static void read_batches(apy_image_reader_t *reader, apy_fragment_assembler_t *assembler, int64_t start)
{
    apy_batch_t batch;
    int32_t next = 0;
    *reader->position = start;
    if (apy_batch_init(&batch, 16) != APY_OK) {
        abort();
    }
    for (int i = 0; i < POLLS; i++) {
        const int count = apy_batch_fill(&batch, &reader, 1, &next, assembler, 16);
        for (int message = 0; message < count; message++) {
            touch(batch.payloads[message], (size_t)batch.lengths[message]);
        }
        sum += (uint64_t)(apy_batch_stride(&batch) + apy_batch_bytes(&batch));
        apy_batch_commit(&batch);
    }
    apy_batch_free(&batch);
}

static void read_all(const apy_log_t *log, int64_t start)
{
    apy_image_reader_t reader;
    apy_fragment_assembler_t assembler;
    int64_t position = start;
    apy_image_reader_init(&reader, log, 7, &position);
    apy_fragment_assembler_init(&assembler);
    for (int i = 0; i < POLLS && apy_image_reader_poll(&reader, see, &assembler, 10, APY_NO_LIMIT_POSITION) > 0; i++) {
    }
    position = start;
    for (int i = 0; i < POLLS; i++) {
        const int64_t from = position + (int64_t)(sum % 64) * 32;
        if (apy_image_reader_controlled_peek(&reader, from, decide, NULL, from + 4096) > from) {
            apy_image_reader_set_position(&reader, from);
        }
        apy_image_reader_controlled_poll(&reader, decide, &assembler, 10, position + 5000);
    }
    read_batches(&reader, &assembler, start);
    apy_fragment_assembler_free(&assembler);
    position = start;
    for (int i = 0; i < POLLS && apy_image_reader_block_poll(&reader, see, NULL, 3000) > 0; i++) {
    }
    sum += (uint64_t)apy_image_reader_end_of_stream_position(&reader) + apy_image_reader_is_end_of_stream(&reader);
}

static void drive(apy_log_t *log, int64_t start)
{
    const uint8_t *term = log->terms[(start >> log->shift) % APY_PARTITIONS];
    const int32_t offset = (int32_t)(start & (log->term_length - 1));
    apy_scan_t found;
    apy_gap_t gap;
    int32_t at = offset;
    for (int i = 0; i < POLLS && at < log->term_length; i++) {
        if (apy_term_scan(term, log->term_length, at, 1408, &found) <= 0) {
            break;
        }
        touch(term + at, (size_t)found.bytes);
        at += found.bytes + found.padding;
    }
    sum += (uint32_t)apy_gap_scan(term, offset, log->term_length, &gap);
    sum += apy_log_unblock(log, start, false);
    sum += apy_log_unblock(log, start, true);
    sum += (uint64_t)apy_log_producer_position(log);
    int64_t clean = start;
    apy_log_clean(log, &clean, start + log->term_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *pristine;
    static size_t length;
    char path[128];
    apy_log_t log;
    sum = 0; /* it decides, too */
    patched_path(path, sizeof path, "1.logbuffer");
    if (pristine == NULL) {
        pristine = make(path, &length);
    }
    if (size < 4) {
        return 0;
    }
    const int64_t start = (int64_t)(patched_word(data, 4) & 0x3ffff) * 32;
    patched_write(path, pristine, length, data + 4, size - 4);
    if (apy_log_open(&log, path) == APY_OK) {
        read_all(&log, start);
        drive(&log, start);
        apy_log_close(&log);
    }
    return 0;
}
