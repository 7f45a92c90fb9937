/* Which NAKs are answered, when, and which are under way already. */

#include "apy/retransmit.h"
#include "check.h"

#define LINGER 10000000

typedef struct resent {
    int count;
    int32_t term_id, term_offset, length;
} resent_t;

static void keep(void *context, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns)
{
    (void)now_ns;
    resent_t *resent = context;
    *resent = (resent_t){resent->count + 1, term_id, term_offset, length};
}

static void the_same_request_is_answered_once_until_its_linger_is_over(void)
{
    apy_retransmit_t retransmit;
    resent_t resent = {0};
    CHECK_EQ(apy_retransmit_init(&retransmit, 1, false, 0, LINGER, keep, &resent), APY_OK);

    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 100), APY_NAK_TAKEN);
    CHECK_EQ(resent.count, 1);
    CHECK_EQ(resent.term_id, 7);
    CHECK_EQ(resent.term_offset, 64);
    CHECK_EQ(resent.length, 128);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 101), APY_NAK_SUPPRESSED);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 160, 512, 101), APY_NAK_SUPPRESSED); /* starts within */
    apy_retransmit_check_timers(&retransmit, 100 + LINGER);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 100 + LINGER), APY_NAK_SUPPRESSED);
    apy_retransmit_check_timers(&retransmit, 101 + LINGER);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 101 + LINGER), APY_NAK_TAKEN);
    CHECK_EQ(resent.count, 2);
    apy_retransmit_free(&retransmit);
}

static void a_request_that_does_not_overlap_is_answered_at_once_for_one_receiver(void)
{
    apy_retransmit_t retransmit;
    resent_t resent = {0};
    CHECK_EQ(apy_retransmit_init(&retransmit, 1, false, 0, LINGER, keep, &resent), APY_OK);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 100), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 192, 64, 101), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 8, 192, 64, 102), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 128, 103), APY_NAK_TAKEN); /* its slot was taken over */
    CHECK_EQ(resent.count, 4);
    CHECK_EQ(retransmit.active_count, 1);
    apy_retransmit_free(&retransmit);
}

static void a_group_has_slots_and_no_more(void)
{
    apy_retransmit_t retransmit;
    resent_t resent = {0};
    CHECK_EQ(apy_retransmit_init(&retransmit, 2, true, 0, LINGER, keep, &resent), APY_OK);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 0, 64, 100), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 64, 64, 100), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 128, 64, 100), APY_NAK_OVERFLOW);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 96, 64, 100), APY_NAK_SUPPRESSED);
    CHECK_EQ(resent.count, 2);
    apy_retransmit_check_timers(&retransmit, 101 + LINGER);
    CHECK_EQ(retransmit.active_count, 0);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 128, 64, 102 + LINGER), APY_NAK_TAKEN);
    apy_retransmit_free(&retransmit);
}

static void a_delay_is_waited_for_before_the_answer(void)
{
    apy_retransmit_t retransmit;
    resent_t resent = {0};
    CHECK_EQ(apy_retransmit_init(&retransmit, 1, false, 500, LINGER, keep, &resent), APY_OK);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 0, 64, 100), APY_NAK_TAKEN);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 0, 64, 200), APY_NAK_SUPPRESSED);
    apy_retransmit_check_timers(&retransmit, 600);
    CHECK_EQ(resent.count, 0);
    apy_retransmit_check_timers(&retransmit, 601);
    CHECK_EQ(resent.count, 1);
    CHECK_EQ(apy_retransmit_on_nak(&retransmit, 7, 0, 64, 602), APY_NAK_SUPPRESSED); /* lingers */
    apy_retransmit_check_timers(&retransmit, 602 + LINGER);
    CHECK_EQ(retransmit.active_count, 0);
    apy_retransmit_free(&retransmit);
}

int main(void)
{
    RUN(the_same_request_is_answered_once_until_its_linger_is_over);
    RUN(a_request_that_does_not_overlap_is_answered_at_once_for_one_receiver);
    RUN(a_group_has_slots_and_no_more);
    RUN(a_delay_is_waited_for_before_the_answer);
    return 0;
}
