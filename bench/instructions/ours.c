/*
 * ours runs each hot loop of our client and of the driver's way over UDP, on a log of its own, between the marks that
 * callgrind counts within. Each loop does COUNT things; the first round warms up.
 *
 * Usage: ours LOG_PATH. Prints nothing; exits with 1 where a loop did not do what it should.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "../compare/ours.h"
#include "apy/frame.h"
#include "apy/message_batch.h"
#include "apy/publication.h"
#include "apy/term_rebuild.h"
#include "apy/term_scan.h"
#include "pairs.h"

#define COUNT 1000
#define SIZE 32
#define SPAN 64
#define TERM_LENGTH (16 * 1024 * 1024)
#define MTU 1408
#define FRAMES_OF_DATAGRAM (MTU / SPAN)
#define BATCH 250

static apy_log_t log_file;
static int64_t limit = INT64_MAX / 2;
static int64_t position;
static apy_publication_t exclusive, shared;
static apy_image_reader_t reader;
static apy_image_reader_t *const readers[] = {&reader};
static uint8_t messages[COUNT * SIZE];

static void expect(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void open_log(const char *path)
{
    const apy_log_params_t params = {.session_id = 5,
                                     .stream_id = 1001,
                                     .initial_term_id = 7,
                                     .start_term_id = 7,
                                     .term_length = TERM_LENGTH,
                                     .mtu = MTU,
                                     .page_size = 4096,
                                     .sparse = 1};
    remove(path);
    expect(apy_log_create(&log_file, path, &params) == 0, "no log");
    apy_publication_init(&exclusive, &log_file, &limit, true);
    apy_image_reader_init(&reader, &log_file, 5, &position);
}

static int64_t on_fragment_bytes;

static void on_fragment(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    (void)context;
    (void)buffer;
    (void)header;
    on_fragment_bytes += (int64_t)length;
}

static void poll_all(int64_t to)
{
    while (position < to) {
        expect(apy_image_reader_poll(&reader, on_fragment, NULL, 10, APY_NO_LIMIT_POSITION) > 0, "nothing to poll");
    }
}

static void count_claims(apy_publication_t *publication, const char *name)
{
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < COUNT; i++) {
        uint8_t *frame = NULL;
        if (apy_publication_claim(publication, SIZE, &frame) > 0) {
            memcpy(frame + APY_FRAME_HEADER, messages, SIZE);
            apy_claim_commit(frame);
        }
    }
    CALLGRIND_DUMP_STATS_AT(name);
    poll_all(apy_publication_position(publication));
}

static void count_offers(apy_publication_t *publication, const char *name)
{
    const struct iovec part = {messages, SIZE};
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < COUNT; i++) {
        apy_publication_offer(publication, &part, 1, NULL, NULL);
    }
    CALLGRIND_DUMP_STATS_AT(name);
    poll_all(apy_publication_position(publication));
}

static void count_batch_offers(apy_publication_t *publication, const char *name)
{
    int64_t result = 0;
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < COUNT; i += BATCH) {
        expect(apy_publication_offer_strided(publication, messages, SIZE, SIZE, BATCH, &result) == BATCH, name);
    }
    CALLGRIND_DUMP_STATS_AT(name);
}

static void count_batch_polls(void)
{
    apy_batch_t batch;
    apy_fragment_assembler_t assembler;
    int32_t next = 0;
    expect(apy_batch_init(&batch, BATCH) == 0, "no batch");
    apy_fragment_assembler_init(&assembler);
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < COUNT; i += BATCH) {
        expect(apy_batch_fill(&batch, readers, 1, &next, &assembler, BATCH) == BATCH, "no batch filled");
        apy_batch_commit(&batch);
    }
    CALLGRIND_DUMP_STATS_AT("batch poll");
    apy_batch_free(&batch);
    apy_fragment_assembler_free(&assembler);
}

static void fill_term(uint8_t *term, int32_t bytes)
{
    for (int32_t at = 0; at < bytes; at += SPAN) {
        const apy_frame_t frame = {.length = SPAN,
                                   .flags = APY_FLAG_UNFRAGMENTED,
                                   .type = APY_FRAME_DATA,
                                   .term_offset = at,
                                   .session_id = 5,
                                   .stream_id = 1001,
                                   .term_id = 9};
        memcpy(term + at, &frame, sizeof frame);
    }
}

/* A datagram's worth of small frames, as the sender scans it, the receiver takes it, and the search for gaps walks. */
static void count_udp(void)
{
    const int32_t datagram = FRAMES_OF_DATAGRAM * SPAN;
    const int32_t bytes = COUNT * datagram;
    uint8_t *from = log_file.terms[1], *to = log_file.terms[2];
    fill_term(from, bytes);
    memset(to, 0, (size_t)bytes);

    apy_scan_t scan;
    CALLGRIND_ZERO_STATS;
    for (int32_t at = 0; at < bytes; at += datagram) {
        expect(apy_term_scan(from, TERM_LENGTH, at, MTU, &scan) == 1 && scan.bytes == datagram, "scan");
    }
    CALLGRIND_DUMP_STATS_AT("term scan");

    CALLGRIND_ZERO_STATS;
    for (int32_t at = 0; at < bytes; at += datagram) {
        expect(apy_packet_span(from + at, datagram, TERM_LENGTH) == datagram, "packet");
        apy_term_insert(to, at, from + at, datagram);
    }
    CALLGRIND_DUMP_STATS_AT("insert");

    apy_gap_t gap;
    CALLGRIND_ZERO_STATS;
    for (int32_t at = 0; at < bytes; at += datagram) {
        expect(apy_gap_scan(to, at, at + datagram, &gap) == at + datagram, "gap");
    }
    CALLGRIND_DUMP_STATS_AT("gap scan");
}

static void count_all(void)
{
    apy_publication_init(&exclusive, &log_file, &limit, true);
    count_offers(&exclusive, "offer");
    count_claims(&exclusive, "try_claim");
    count_batch_offers(&exclusive, "batch offer");
    count_batch_polls();
    apy_publication_init(&shared, &log_file, &limit, false);
    count_offers(&shared, "shared offer");
    count_claims(&shared, "shared try_claim");
    count_batch_offers(&shared, "shared batch offer");
    poll_all(apy_publication_position(&shared));
    count_udp();
    apy_publication_init(&exclusive, &log_file, &limit, true);
    ours_subscription_t subscription = {readers, 1, 0};
    const loop_end_t end = {ours_offer, &exclusive, ours_poll, &subscription};
    expect(pairs_count(&end, SIZE, "ours") == 0, "pairs");
}

int main(int argc, char **argv)
{
    expect(argc == 2, "usage: ours LOG_PATH");
    memset(messages, 'x', sizeof messages);
    open_log(argv[1]);
    count_all();
    count_all();
    apy_log_close(&log_file);
    remove(argv[1]);
    return 0;
}
