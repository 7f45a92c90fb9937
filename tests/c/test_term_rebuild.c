/* Packets back into a term: what is refused, what is copied, what is filled. */
#include "apy/term_rebuild.h"

#include "apy/error.h"
#include "term_fixture.h"

/* A packet of length bytes on the heap, of its true size, so that a sanitizer sees a read beyond. */
typedef struct packet {
    uint8_t *bytes;
    int32_t length;
} packet_t;

static packet_t packet_of(int32_t length, int32_t term_offset, const int32_t *lengths, const uint16_t *types, int count)
{
    packet_t packet = {calloc(1, (size_t)length), length};
    CHECK(packet.bytes != NULL);
    int32_t at = 0;
    for (int i = 0; i < count; i++) {
        const apy_frame_t frame = {
            .length = lengths[i], .flags = 0xC0, .type = types[i], .term_offset = term_offset + at, .session_id = 5};
        memcpy(packet.bytes + at, &frame, sizeof(frame));
        at += apy_frame_span(lengths[i]);
    }
    return packet;
}

static int32_t span_of(int32_t length, int32_t term_offset, const int32_t *lengths, const uint16_t *types, int count)
{
    const packet_t packet = packet_of(length, term_offset, lengths, types, count);
    const int32_t span = apy_packet_span(packet.bytes, packet.length, TERM);
    free(packet.bytes);
    return span;
}

#define SPAN(length, term_offset, l0, l1, t0, t1, count)                                                               \
    span_of(length, term_offset, (const int32_t[]){l0, l1}, (const uint16_t[]){t0, t1}, count)

static void good_packets_cover_their_frames(void)
{
    CHECK_EQ(SPAN(64, 0, 40, 0, 1, 1, 1), 64);
    CHECK_EQ(SPAN(128, 96, 40, 64, 1, 1, 2), 128);
    CHECK_EQ(SPAN(1088, TERM - 1120, 1032, 64, 1, 0, 2), 1120); /* padding counts whole */
    CHECK_EQ(SPAN(32, 0, TERM, 0, 0, 0, 1), TERM);
    CHECK_EQ(SPAN(96, 0, 64, 32, 0, 1, 2), 96);
    CHECK_EQ(SPAN(32, 64, 0, 0, 1, 1, 1), 0); /* a heartbeat */
}

static void broken_packets_are_refused(void)
{
    CHECK_EQ(SPAN(64, 33, 40, 0, 1, 1, 1), APY_E_CORRUPT);        /* not aligned */
    CHECK_EQ(SPAN(64, -32, 40, 0, 1, 1, 1), APY_E_CORRUPT);       /* before the term */
    CHECK_EQ(SPAN(64, TERM, 40, 0, 1, 1, 1), APY_E_CORRUPT);      /* behind it */
    CHECK_EQ(SPAN(32, TERM, 0, 0, 1, 1, 1), APY_E_CORRUPT);       /* a heartbeat there, too */
    CHECK_EQ(SPAN(64, TERM - 32, 40, 0, 1, 1, 1), APY_E_CORRUPT); /* over its end */
    CHECK_EQ(SPAN(32, TERM - 32, 64, 0, 0, 1, 1), APY_E_CORRUPT); /* padding over its end */
    CHECK_EQ(SPAN(64, 0, INT32_MAX, 0, 0, 1, 1), APY_E_CORRUPT);
    CHECK_EQ(SPAN(64, 0, 128, 0, 1, 1, 1), APY_E_CORRUPT);   /* cut short */
    CHECK_EQ(SPAN(128, 0, 40, 0, 1, 1, 1), APY_E_CORRUPT);   /* an empty frame behind */
    CHECK_EQ(SPAN(80, 0, 40, 0, 1, 1, 1), APY_E_CORRUPT);    /* trailing bytes */
    CHECK_EQ(SPAN(128, 0, 40, 64, 1, 5, 2), APY_E_CORRUPT);  /* another type */
    CHECK_EQ(SPAN(64, 0, -40, 0, 1, 1, 1), APY_E_CORRUPT);   /* not published */
    CHECK_EQ(SPAN(32, 0, 31, 0, 1, 1, 1), APY_E_CORRUPT);    /* less than a header */
    CHECK_EQ(SPAN(128, 0, 40, 128, 1, 1, 2), APY_E_CORRUPT); /* the last one cut short */

    packet_t packet = packet_of(128, 0, (const int32_t[]){64, 64}, (const uint16_t[]){1, 1}, 2);
    packet.bytes[64 + 8] = 32; /* the second frame claims another place */
    CHECK_EQ(apy_packet_span(packet.bytes, packet.length, TERM), APY_E_CORRUPT);
    CHECK_EQ(apy_packet_span(packet.bytes, 31, TERM), APY_E_CORRUPT);
    free(packet.bytes);
}

static void a_packet_is_inserted_once(void)
{
    memset(term, 0, sizeof(term));
    packet_t packet = packet_of(128, 96, (const int32_t[]){40, 64}, (const uint16_t[]){1, 1}, 2);
    memset(packet.bytes + 32, 0xAB, 8);
    memset(packet.bytes + 96, 0xCD, 32);
    apy_term_insert(term, 96, packet.bytes, packet.length);
    CHECK_EQ(memcmp(term + 96, packet.bytes, 128), 0);
    packet.bytes[32] = 1; /* a duplicate that differs changes nothing */
    apy_term_insert(term, 96, packet.bytes, packet.length);
    CHECK_EQ(term[96 + 32], 0xAB);
    free(packet.bytes);
    for (int i = 0; i < TERM; i++) {
        CHECK(i >= 96 && i < 224 ? 1 : term[i] == 0);
    }
}

static void a_gap_is_filled_only_while_it_is_empty(void)
{
    memset(term, 0, sizeof(term));
    const apy_frame_t header = {
        .flags = 0xC0, .type = APY_FRAME_DATA, .session_id = 5, .stream_id = 6, .term_id = 7, .reserved_value = 0};
    put(192, 64, APY_FRAME_DATA);
    CHECK(!apy_gap_fill(term, (const uint8_t *)&header, 9, 64, 160));
    CHECK_EQ(term[64], 0);
    CHECK(apy_gap_fill(term, (const uint8_t *)&header, 9, 64, 128));
    apy_frame_t filled;
    memcpy(&filled, term + 64, sizeof(filled));
    CHECK_EQ(filled.length, 128);
    CHECK_EQ(filled.type, APY_FRAME_PAD);
    CHECK_EQ(filled.flags, 0xC0);
    CHECK_EQ(filled.term_offset, 64);
    CHECK_EQ(filled.session_id, 5);
    CHECK_EQ(filled.stream_id, 6);
    CHECK_EQ(filled.term_id, 9);
    CHECK(!apy_gap_fill(term, (const uint8_t *)&header, 9, 64, 128));
}

int main(void)
{
    RUN(good_packets_cover_their_frames);
    RUN(broken_packets_are_refused);
    RUN(a_packet_is_inserted_once);
    RUN(a_gap_is_filled_only_while_it_is_empty);
    return 0;
}
