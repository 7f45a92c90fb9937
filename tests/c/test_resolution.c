/* RES frames: the specification's vectors, both ways, and what breaks the format. */
#include "apy/resolution.h"

#include "check.h"

static const uint8_t bravo[] = {0x20, 0, 0, 0, 0, 0, 7,    0,    1,    0x80, 0x73, 0x1f, 0, 0, 0, 0,
                                0x7f, 0, 0, 1, 5, 0, 0x62, 0x72, 0x61, 0x76, 0x6f, 0,    0, 0, 0, 0};

static const uint8_t gossip[] = {
    0x38, 0, 0,    0,    0,    0, 7, 0, /* the first entry's padding is not zero */
    1,    0, 0x73, 0x1f, 0x78, 1, 0, 0, 0x7f, 0, 0, 1, 5, 0, 0x62, 0x72, 0x61, 0x76, 0x6f, 0x69, 0x65, 0, 0, 0,
    1,    0, 0x74, 0x1f, 0x58, 0, 0, 0, 0x7f, 0, 0, 1, 7, 0, 0x63, 0x68, 0x61, 0x72, 0x6c, 0x69, 0x65, 0, 0, 0};

static const uint8_t loopback[4] = {127, 0, 0, 1};

static bool is_named(const apy_resolution_t *entry, const char *name)
{
    return entry->name_length == (int32_t)strlen(name) && memcmp(entry->name, name, strlen(name)) == 0;
}

/* A copy of its exact size, so that a sanitizer sees a byte too far; the code of the walk that fails, or the count. */
static int walk(const uint8_t *bytes, size_t length)
{
    uint8_t *datagram = malloc(length);
    CHECK(datagram != NULL);
    memcpy(datagram, bytes, length);
    int count = 0, rc = 0;
    if (apy_resolution_is_frame(datagram, length)) {
        apy_resolution_t entry;
        size_t offset = APY_RESOLUTION_HEADER;
        while ((rc = apy_resolution_next(datagram, length, &offset, &entry)) == 1) {
            count++;
        }
    } else {
        rc = APY_E_ARGUMENT;
    }
    free(datagram);
    return rc < 0 ? rc : count;
}

static void a_driver_speaks_of_itself(void)
{
    apy_resolution_t entry;
    size_t offset = APY_RESOLUTION_HEADER;
    CHECK(apy_resolution_is_frame(bravo, sizeof(bravo)));
    CHECK_EQ(apy_resolution_next(bravo, sizeof(bravo), &offset, &entry), 1);
    CHECK_EQ(entry.type, APY_RESOLUTION_V4);
    CHECK(entry.is_self);
    CHECK_EQ(entry.port, 8051);
    CHECK_EQ(entry.age_ms, 0);
    CHECK(memcmp(entry.address, loopback, 4) == 0);
    CHECK(is_named(&entry, "bravo"));
    CHECK_EQ(apy_resolution_next(bravo, sizeof(bravo), &offset, &entry), 0);

    uint8_t written[sizeof(bravo)];
    memset(written, 0xee, sizeof(written));
    size_t length = apy_resolution_begin(written, sizeof(written));
    const apy_resolution_t self = {APY_RESOLUTION_V4, true, 8051, 0, {127, 0, 0, 1}, "bravo", 5};
    length = apy_resolution_append(written, sizeof(written), length, &self);
    CHECK_EQ(length, sizeof(bravo));
    CHECK(memcmp(written, bravo, sizeof(bravo)) == 0);
    CHECK_EQ(apy_resolution_append(written, sizeof(written), length, &self), length); /* no room: unchanged */
    CHECK(memcmp(written, bravo, sizeof(bravo)) == 0);
}

static void two_entries_are_found_behind_dirty_padding(void)
{
    apy_resolution_t entry;
    size_t offset = APY_RESOLUTION_HEADER;
    CHECK_EQ(apy_resolution_next(gossip, sizeof(gossip), &offset, &entry), 1);
    CHECK(!entry.is_self);
    CHECK_EQ(entry.age_ms, 376);
    CHECK(is_named(&entry, "bravo"));
    CHECK_EQ(apy_resolution_next(gossip, sizeof(gossip), &offset, &entry), 1);
    CHECK_EQ(entry.port, 8052);
    CHECK_EQ(entry.age_ms, 88);
    CHECK(is_named(&entry, "charlie"));
    CHECK_EQ(apy_resolution_next(gossip, sizeof(gossip), &offset, &entry), 0);
}

static void an_ipv6_address_takes_sixteen_bytes(void)
{
    uint8_t frame[64];
    apy_resolution_t six = {APY_RESOLUTION_V6, false, 9, 5, {0x20, 1, 0xd, 0xb8}, "delta", 5};
    six.address[15] = 7;
    size_t length = apy_resolution_append(frame, sizeof(frame), apy_resolution_begin(frame, sizeof(frame)), &six);
    CHECK_EQ(length, 8 + 32); /* 26 and 5 bytes, on a boundary of 8 */
    apy_resolution_t entry;
    size_t offset = APY_RESOLUTION_HEADER;
    CHECK_EQ(apy_resolution_next(frame, length, &offset, &entry), 1);
    CHECK(memcmp(entry.address, six.address, 16) == 0);
    CHECK(is_named(&entry, "delta"));
    CHECK_EQ(offset, length);
}

static void every_cut_of_a_frame_is_refused_or_read_within_its_bytes(void)
{
    for (size_t length = 1; length < sizeof(gossip); length++) {
        uint8_t cut[sizeof(gossip)];
        memcpy(cut, gossip, length);
        CHECK(length >= 8 || walk(cut, length) == APY_E_ARGUMENT);
        const int32_t said = (int32_t)length;
        memcpy(cut, &said, length < 4 ? length : 4);
        const int expected = length < 8    ? APY_E_ARGUMENT
                             : length == 8 ? 0
                             : length < 27 ? APY_E_CORRUPT
                             : length < 33 ? 1 /* padding of the last may lack */
                             : length < 53 ? APY_E_CORRUPT
                                           : 2;
        CHECK_EQ(walk(cut, length), expected);
    }
}

static void what_breaks_the_format_is_refused(void)
{
    uint8_t bad[sizeof(bravo)];
#define WITH(at, value, expected)                                                                                      \
    do {                                                                                                               \
        memcpy(bad, bravo, sizeof(bad));                                                                               \
        bad[at] = (value);                                                                                             \
        CHECK_EQ(walk(bad, sizeof(bad)), expected);                                                                    \
    } while (0)
    WITH(0, 0x21, APY_E_ARGUMENT); /* longer than the datagram */
    WITH(3, 0x80, APY_E_ARGUMENT); /* negative */
    WITH(4, 1, APY_E_ARGUMENT);    /* version */
    WITH(6, 5, APY_E_ARGUMENT);    /* type */
    WITH(8, 0, APY_E_CORRUPT);
    WITH(8, 3, APY_E_CORRUPT);
    WITH(8, 2, APY_E_CORRUPT);     /* an IPv6 address does not fit with its name */
    WITH(20, 0, APY_E_CORRUPT);    /* no name */
    WITH(20, 11, APY_E_CORRUPT);   /* a name longer than what is left */
    WITH(21, 0x80, APY_E_CORRUPT); /* a negative length */
    WITH(20, 10, 1);
#undef WITH
}

int main(void)
{
    RUN(a_driver_speaks_of_itself);
    RUN(two_entries_are_found_behind_dirty_padding);
    RUN(an_ipv6_address_takes_sixteen_bytes);
    RUN(every_cut_of_a_frame_is_refused_or_read_within_its_bytes);
    RUN(what_breaks_the_format_is_refused);
    return 0;
}
