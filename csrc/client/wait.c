#include "apy/wait.h"

int apy_wait_open(apy_wait_t *wait, const apy_ringer_t *ringer, const char *aeron_directory, int64_t id)
{
    *wait = (apy_wait_t){.ringer = ringer, .back_off_ns = APY_WAIT_BACK_OFF_MIN_NS};
    return apy_waiter_open(&wait->waiter, aeron_directory, id);
}

void apy_wait_close(apy_wait_t *wait)
{
    apy_waiter_close(&wait->waiter);
}

/* Lie down; true where it may be relied upon to be rung. */
static bool lie_down(apy_wait_t *wait, apy_seat_t *seat, apy_waiters_t *waiters, int64_t position)
{
    if (!apy_waiter_has_socket(&wait->waiter) ||
        (seat->waiters == NULL && !apy_seat_take(seat, waiters, wait->ringer, wait->waiter.id))) {
        return false;
    }
    apy_seat_lie_down(seat, position);
    return apy_seat_is_trusting(seat);
}

/* The last step: everybody heard, or nobody else has to be relied upon. */
static void set_alarm(apy_wait_t *wait, bool is_trusting, bool has_changed)
{
    if (is_trusting) {
        wait->back_off_ns = APY_WAIT_BACK_OFF_MIN_NS;
        apy_waiter_backstop(&wait->waiter);
        return;
    }
    const int64_t twice_ns = 2 * wait->back_off_ns;
    wait->back_off_ns = has_changed                           ? APY_WAIT_BACK_OFF_MIN_NS
                        : twice_ns < APY_WAIT_BACK_OFF_MAX_NS ? twice_ns
                                                              : APY_WAIT_BACK_OFF_MAX_NS;
    apy_waiter_sleep_at_most(&wait->waiter, wait->back_off_ns);
}

/* --- images --- */

static bool judge_images(apy_image_reader_t *const *readers, int count, bool was_rung)
{
    bool has_changed = false;
    for (int i = 0; i < count; i++) {
        apy_seat_t *seat = &readers[i]->seat;
        const bool changed =
            apy_image_reader_position(readers[i]) != seat->position || apy_image_reader_is_ready(readers[i]);
        apy_seat_judge(seat, changed, was_rung);
        has_changed |= changed;
    }
    return has_changed;
}

bool apy_wait_for_images(apy_wait_t *wait, apy_image_reader_t *const *readers, int count)
{
    apy_waiter_drain(&wait->waiter);
    const bool has_changed = judge_images(readers, count, apy_waiter_take_rung(&wait->waiter));
    if (apy_images_are_ready(readers, count)) {
        return false; /* before anybody is asked to ring */
    }
    bool is_trusting = true;
    for (int i = 0; i < count; i++) {
        apy_image_reader_t *reader = readers[i];
        if (!apy_load_acquire_i32(&reader->is_closed)) {
            const int64_t position = apy_image_reader_position(reader);
            reader->seat.position = position;
            is_trusting &= lie_down(wait, &reader->seat, apy_image_reader_waiters(reader), position);
        }
    }
    is_trusting &= apy_waiter_order();
    if (apy_images_are_ready(readers, count)) {
        for (int i = 0; i < count; i++) {
            if (readers[i]->seat.is_down) {
                apy_seat_get_up(&readers[i]->seat);
            }
        }
        return false;
    }
    set_alarm(wait, is_trusting, has_changed);
    return true;
}

/* --- a publication --- */

/* Would an offer be answered by something that waiting does not change? */
static bool is_open(const apy_publication_t *publication)
{
    const int64_t position = apy_publication_position(publication);
    return position < 0 || (apy_publication_is_connected(publication) &&
                            position < apy_load_acquire_i64(publication->exclusive.base.limit));
}

bool apy_wait_for_window(apy_wait_t *wait, apy_publication_t *publication)
{
    apy_seat_t *seat = &publication->seat;
    apy_waiter_drain(&wait->waiter);
    const bool is_open_now = is_open(publication);
    apy_seat_judge(seat, is_open_now, apy_waiter_take_rung(&wait->waiter));
    if (is_open_now) {
        return false;
    }
    bool is_trusting = lie_down(wait, seat, &publication->exclusive.base.meta->writers, 0);
    is_trusting &= apy_waiter_order();
    if (is_open(publication)) {
        if (seat->is_down) {
            apy_seat_get_up(seat);
        }
        return false;
    }
    set_alarm(wait, is_trusting, false);
    return true;
}
