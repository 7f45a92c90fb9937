#include "apy/publication.h"

#include "apy/clock.h"
#include "apy/error.h"

void apy_publication_init(apy_publication_t *publication, const apy_log_t *log, const int64_t *limit, bool is_exclusive)
{
    *publication = (apy_publication_t){.is_exclusive = is_exclusive};
    if (is_exclusive) {
        apy_exclusive_init(&publication->exclusive, log, limit);
    } else {
        apy_append_init(&publication->exclusive.base, log, limit);
    }
}

void apy_publication_set_bell(apy_publication_t *publication, apy_doorbell_t *bell)
{
    publication->limit_bell = (apy_limit_bell_t){bell, -1};
    publication->exclusive.base.limit_bell = &publication->limit_bell;
}

void apy_publication_set_ringer(apy_publication_t *publication, const apy_ringer_t *ringer)
{
    publication->exclusive.base.ringer = ringer;
    apy_waiters_promise(&publication->exclusive.base.meta->readers, ringer);
}

void apy_publication_close(apy_publication_t *publication)
{
    apy_store_release_i32(&publication->is_closed, 1);
}

int64_t apy_publication_claim(apy_publication_t *publication, int32_t length, uint8_t **frame)
{
    if (apy_publication_is_closed(publication)) {
        return APY_CLOSED;
    }
    return publication->is_exclusive ? apy_exclusive_claim(&publication->exclusive, length, frame)
                                     : apy_append_claim(&publication->exclusive.base, length, frame);
}

static bool may_still_succeed(int64_t result)
{
    return result == APY_NOT_CONNECTED || result == APY_BACK_PRESSURED || result == APY_ADMIN_ACTION;
}

int64_t apy_publication_send(apy_publication_t *publication, const struct iovec *parts, int count,
                             apy_reserved_value_fn supplier, void *context, apy_idle_t *idle, int64_t timeout_ns)
{
    const apy_clock_t clock = apy_clock_system();
    int64_t result = apy_publication_offer(publication, parts, count, supplier, context);
    if (!may_still_succeed(result)) {
        return result;
    }
    const int64_t started_ns = apy_nano_time(&clock);
    apy_idle_reset(idle);
    do {
        if (result != APY_ADMIN_ACTION) {
            apy_idle(idle, 0);
        }
        result = apy_publication_offer(publication, parts, count, supplier, context);
    } while (may_still_succeed(result) && apy_nano_time(&clock) - started_ns < timeout_ns);
    return result;
}

static inline int64_t offer_one(apy_publication_t *publication, const uint8_t *message, size_t length)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = length};
    int64_t result;
    do {
        result = apy_publication_offer(publication, &part, 1, NULL, NULL);
    } while (result == APY_ADMIN_ACTION);
    return result;
}

/* As many as one update of the tail takes; 0: offer one. */
static inline int64_t offer_run(apy_publication_t *publication, apy_messages_t *left, int64_t *position)
{
    if (apy_publication_is_closed(publication)) {
        return 0;
    }
    return publication->is_exclusive ? apy_exclusive_offer_run(&publication->exclusive, left, position)
                                     : apy_append_offer_run(&publication->exclusive.base, left, position);
}

int64_t apy_publication_offer_strided(apy_publication_t *publication, const uint8_t *messages, int64_t stride,
                                      int32_t length, int64_t count, int64_t *result)
{
    apy_messages_t left = {.at = messages, .stride = stride, .length = length, .count = count};
    while (left.count > 0) {
        if (offer_run(publication, &left, result) == 0) {
            *result = offer_one(publication, left.at, (size_t)length);
            if (*result < 0) {
                break;
            }
            left.at += stride;
            left.count--;
        }
    }
    return count - left.count;
}

static int64_t offer_first(apy_publication_t *publication, apy_messages_t *left, int64_t index)
{
    /* Read once: whoever owns the lengths may write to them meanwhile. */
    const int32_t length = apy_load_relaxed_i32(left->lengths);
    if (length < 0 || length > left->bytes) {
        (void)apy_fail(APY_E_ARGUMENT, "message %lld has a length of %d, with %lld bytes left", (long long)index,
                       length, (long long)left->bytes);
        return APY_OFFER_ERROR;
    }
    const int64_t result = offer_one(publication, left->at, (size_t)length);
    if (result > 0) {
        left->at += length;
        left->bytes -= length;
        left->lengths++;
        left->count--;
    }
    return result;
}

int64_t apy_publication_offer_packed(apy_publication_t *publication, const uint8_t *messages, int64_t bytes,
                                     const int32_t *lengths, int64_t count, int64_t *result)
{
    apy_messages_t left = {.at = messages, .lengths = lengths, .bytes = bytes, .count = count};
    while (left.count > 0) {
        if (offer_run(publication, &left, result) == 0) {
            *result = offer_first(publication, &left, count - left.count);
            if (*result < 0) {
                break;
            }
        }
    }
    return count - left.count;
}

int64_t apy_publication_position(const apy_publication_t *publication)
{
    if (apy_publication_is_closed(publication)) {
        return APY_CLOSED;
    }
    return publication->is_exclusive ? apy_exclusive_position(&publication->exclusive)
                                     : apy_append_position(&publication->exclusive.base);
}

int64_t apy_publication_position_limit(const apy_publication_t *publication)
{
    return apy_publication_is_closed(publication) ? APY_CLOSED
                                                  : apy_load_acquire_i64(publication->exclusive.base.limit);
}

bool apy_publication_is_connected(const apy_publication_t *publication)
{
    return !apy_publication_is_closed(publication) &&
           apy_load_acquire_i32(&publication->exclusive.base.meta->is_connected) == 1;
}
