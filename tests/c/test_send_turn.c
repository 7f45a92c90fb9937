/* How much of a publication goes out in one turn: as many as a few trains hold, within the window. */

#include "sender_rig.h"

static void equal_datagrams_go_in_one_turn_each_by_itself_on_the_wire(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1376];
    sender_rig_connect(s, 32768);
    for (int i = 0; i < 10; i++) {
        CHECK(sender_rig_offer(s, message, i < 9 ? sizeof(message) : 100) > 0);
    }
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 9 * 1408 + 160);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(sender_rig_take_data(s), i < 9 ? 1408 : 160);
        CHECK_EQ(((const apy_frame_t *)(const void *)s->datagram)->term_offset, i * 1408);
    }
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_close(s);
}

static void no_train_reaches_past_the_window(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1376];
    sender_rig_connect(s, 4 * 1408 + 32);
    for (int i = 0; i < 10; i++) {
        CHECK(sender_rig_offer(s, message, sizeof(message)) > 0);
    }
    sender_rig_cycle(s);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 4 * 1408);
    CHECK_EQ(s->snd_bpe, 1);
    sender_rig_close(s);
}

static void datagrams_that_cannot_be_coupled_are_no_more_in_a_turn_than_asked(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1376];
    int64_t ends[10];
    sender_rig_connect(s, 32768);
    for (int i = 0; i < 10; i++) { /* no two in one datagram, each longer than the one before */
        ends[i] = sender_rig_offer(s, message, (size_t)(704 + 32 * i));
        CHECK(ends[i] > 0);
    }
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, ends[3]);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, ends[7]);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, ends[9]);
    sender_rig_close(s);
}

int main(void)
{
    RUN(equal_datagrams_go_in_one_turn_each_by_itself_on_the_wire);
    RUN(no_train_reaches_past_the_window);
    RUN(datagrams_that_cannot_be_coupled_are_no_more_in_a_turn_than_asked);
    return 0;
}
