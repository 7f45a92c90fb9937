/* How far a term may be read: by the sender, by blocks, by the search for gaps. */
#include "apy/term_scan.h"

#include "term_fixture.h"

static void clear(void)
{
    memset(term, 0, sizeof(term));
}

static void a_datagram_takes_whole_frames(void)
{
    clear();
    put(put(put(0, 38, APY_FRAME_DATA), 38, APY_FRAME_DATA), 38, APY_FRAME_DATA);
    static const struct {
        int32_t bytes_max, result, bytes;
    } cases[] = {{1408, 1, 192}, {192, 1, 192}, {191, 1, 128}, {64, 1, 64}, {63, -64, 0}, {32, -64, 0}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apy_scan_t found = {0, 77};
        CHECK_EQ(apy_term_scan(term, TERM, 0, cases[i].bytes_max, &found), cases[i].result);
        CHECK_EQ(found.bytes, cases[i].bytes);
        CHECK_EQ(found.padding, cases[i].result == 1 ? 0 : 77);
    }
    apy_scan_t found;
    CHECK_EQ(apy_term_scan(term, TERM, 192, 1408, &found), 0);
    CHECK_EQ(apy_term_scan(term, TERM, TERM, 1408, &found), 0);
}

static void what_is_claimed_is_not_read(void)
{
    clear();
    const int32_t at = put(0, 64, APY_FRAME_DATA);
    put(at, -64, APY_FRAME_DATA);
    put(at + 64, 64, APY_FRAME_DATA);
    apy_scan_t found;
    CHECK_EQ(apy_term_scan(term, TERM, 0, 1408, &found), 1);
    CHECK_EQ(found.bytes, 64);
    CHECK_EQ(apy_term_scan(term, TERM, 64, 1408, &found), 0);
    CHECK_EQ(apy_block_scan(term, 0, TERM), 64);
    CHECK_EQ(apy_block_scan(term, 64, TERM), 0);
}

static void padding_ends_a_datagram_with_its_header(void)
{
    clear();
    put(put(TERM - 1120, 1032, APY_FRAME_DATA), 64, APY_FRAME_PAD);
    apy_scan_t found;
    CHECK_EQ(apy_term_scan(term, TERM, TERM - 1120, 1408, &found), 1);
    CHECK_EQ(found.bytes, 1088); /* the specification's capture */
    CHECK_EQ(found.padding, 32);
    CHECK_EQ(apy_term_scan(term, TERM, TERM - 1120, 1056, &found), 1);
    CHECK_EQ(found.bytes, 1056);
    CHECK_EQ(found.padding, 0);
    CHECK_EQ(apy_term_scan(term, TERM, TERM - 64, 32, &found), 1);
    CHECK_EQ(found.bytes, 32);
    CHECK_EQ(found.padding, 32);

    clear();
    put(put(0, 3032, APY_FRAME_PAD), 64, APY_FRAME_DATA);
    CHECK_EQ(apy_term_scan(term, TERM, 0, 1408, &found), 1);
    CHECK_EQ(found.bytes, 32);
    CHECK_EQ(found.padding, 3008);
}

static void frames_that_run_past_the_term_are_not_sent(void)
{
    static const int32_t lengths[] = {96, TERM, TERM + 1, INT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint16_t type = APY_FRAME_PAD; type <= APY_FRAME_DATA; type++) {
            clear();
            put(TERM - 64, lengths[i], type);
            apy_scan_t found;
            CHECK(apy_term_scan(term, TERM, TERM - 64, 1408, &found) < 0);
            put(TERM - 128, 64, APY_FRAME_DATA);
            CHECK_EQ(apy_term_scan(term, TERM, TERM - 128, 1408, &found), 1);
            CHECK_EQ(found.bytes, 64);
            CHECK_EQ(found.padding, 0);
        }
    }
}

static void blocks_are_runs_without_padding(void)
{
    clear();
    put(put(put(0, 64, APY_FRAME_DATA), 100, APY_FRAME_DATA), 4096, APY_FRAME_PAD);
    CHECK_EQ(apy_block_scan(term, 0, TERM), 192);
    CHECK_EQ(apy_block_scan(term, 0, 192), 192);
    CHECK_EQ(apy_block_scan(term, 0, 191), 64);
    CHECK_EQ(apy_block_scan(term, 0, 163), 64);
    CHECK_EQ(apy_block_scan(term, 0, 63), 0);
    CHECK_EQ(apy_block_scan(term, 192, TERM), 4096);
    CHECK_EQ(apy_block_scan(term, 192, 256), 4096); /* alone, and whole */
    CHECK_EQ(apy_block_scan(term, 192, 192), 0);
}

static void gaps_are_found_between_frames(void)
{
    clear();
    apy_gap_t gap;
    put(put(0, 64, APY_FRAME_DATA), 64, APY_FRAME_DATA);
    put(320, 64, APY_FRAME_DATA);
    CHECK_EQ(apy_gap_scan(term, 0, 384, &gap), 128);
    CHECK_EQ(gap.offset, 128);
    CHECK_EQ(gap.length, 192);
    CHECK_EQ(apy_gap_scan(term, 128, 256, &gap), 128); /* the tail is lost */
    CHECK_EQ(gap.length, 128);
    CHECK_EQ(apy_gap_scan(term, 0, 128, &gap), 128);
    CHECK_EQ(gap.length, 0);
    CHECK_EQ(apy_gap_scan(term, 320, 384, &gap), 384);
    CHECK_EQ(gap.length, 0);
    CHECK_EQ(apy_gap_scan(term, 384, TERM, &gap), 384);
    CHECK_EQ(gap.length, TERM - 384);
    CHECK_EQ(apy_gap_scan(term, TERM, TERM, &gap), TERM);
    CHECK_EQ(gap.length, 0);
}

int main(void)
{
    RUN(a_datagram_takes_whole_frames);
    RUN(what_is_claimed_is_not_read);
    RUN(padding_ends_a_datagram_with_its_header);
    RUN(frames_that_run_past_the_term_are_not_sent);
    RUN(blocks_are_runs_without_padding);
    RUN(gaps_are_found_between_frames);
    return 0;
}
