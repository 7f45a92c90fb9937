/* The gate that every datagram passes before its type is looked at. */
#include "apy/frame.h"

#include "check.h"

static bool is_valid(size_t length, int32_t frame_length, uint8_t version, uint16_t type)
{
    uint8_t *datagram = calloc(1, length + 1); /* of its true size, so that a sanitizer sees a read beyond */
    CHECK(datagram != NULL);
    uint8_t header[8] = {0};
    memcpy(header, &frame_length, 4);
    header[4] = version;
    memcpy(header + 6, &type, 2);
    memcpy(datagram, header, length < 8 ? length : 8);
    const bool valid = apy_datagram_is_valid(datagram, length);
    free(datagram);
    return valid;
}

static void each_type_has_its_least_length(void)
{
    static const struct {
        uint16_t type;
        size_t least;
    } types[] = {{APY_FRAME_NAK, 28},  {APY_FRAME_SM, 36},  {APY_FRAME_ERR, 40},      {APY_FRAME_SETUP, 40},
                 {APY_FRAME_RTTM, 40}, {APY_FRAME_RES, 22}, {APY_FRAME_RSP_SETUP, 20}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const size_t least = types[i].least;
        CHECK(is_valid(least, (int32_t)least, 0, types[i].type));
        CHECK(!is_valid(least - 1, (int32_t)least - 1, 0, types[i].type));
        CHECK(is_valid(least, 0, 0, types[i].type)); /* its own length need not reach the least */
        CHECK(is_valid(least + 3, (int32_t)least, 0, types[i].type));
        CHECK(!is_valid(least, (int32_t)least + 1, 0, types[i].type));
        CHECK(!is_valid(least, -1, 0, types[i].type));
        CHECK(!is_valid(least, (int32_t)least, 1, types[i].type));
    }
}

static void data_comes_in_multiples_of_32(void)
{
    for (uint16_t type = APY_FRAME_PAD; type <= APY_FRAME_DATA; type++) {
        CHECK(is_valid(32, 0, 0, type));
        CHECK(is_valid(32, 65536, 0, type)); /* padding travels as its header */
        CHECK(is_valid(1088, 1032, 0, type));
        CHECK(!is_valid(33, 33, 0, type));
        CHECK(!is_valid(8, 8, 0, type));
        CHECK(!is_valid(32, -32, 0, type));
        CHECK(!is_valid(32, 32, 1, type));
    }
}

static void other_types_and_short_datagrams_are_refused(void)
{
    static const uint16_t unknown[] = {8, 9, 10, 12, 0xFFFF};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        CHECK(!is_valid(64, 64, 0, unknown[i]));
    }
    for (size_t length = 0; length < 8; length++) {
        CHECK(!is_valid(length, 0, 0, APY_FRAME_DATA));
    }
}

static void a_heartbeat_is_one_header_of_length_0(void)
{
    apy_frame_t frame = {.length = 0, .type = APY_FRAME_DATA};
    CHECK(apy_datagram_is_heartbeat(&frame, 32));
    CHECK(!apy_datagram_is_heartbeat(&frame, 64));
    frame.length = 32;
    CHECK(!apy_datagram_is_heartbeat(&frame, 32));
}

static void framed_lengths_follow_the_fragments(void)
{
    CHECK_EQ(apy_frame_span(37), 64);
    CHECK_EQ(apy_framed_length(0, 1376), 32);
    CHECK_EQ(apy_framed_length(1000, 1376), 1056);
    CHECK_EQ(apy_framed_length(9000, 4064), 2 * 4096 + 928); /* the specification's vector B */
    CHECK_EQ(apy_framed_length(2 * 1376, 1376), 2 * 1408);
}

int main(void)
{
    RUN(each_type_has_its_least_length);
    RUN(data_comes_in_multiples_of_32);
    RUN(other_types_and_short_datagrams_are_refused);
    RUN(a_heartbeat_is_one_header_of_length_0);
    RUN(framed_lengths_follow_the_fragments);
    return 0;
}
