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

int64_t apy_publication_offer_strided(apy_publication_t *publication, const uint8_t *messages, int64_t stride,
                                      int32_t length, int64_t count, int64_t *result)
{
    int64_t accepted = 0;
    for (; accepted < count; accepted++) {
        *result = offer_one(publication, messages + accepted * stride, (size_t)length);
        if (*result < 0) {
            break;
        }
    }
    return accepted;
}

int64_t apy_publication_offer_packed(apy_publication_t *publication, const uint8_t *messages, int64_t bytes,
                                     const int32_t *lengths, int64_t count, int64_t *result)
{
    int64_t accepted = 0, used = 0;
    for (; accepted < count; accepted++) {
        /* Read once: whoever owns the lengths may write to them meanwhile. */
        const int32_t length = apy_load_relaxed_i32(&lengths[accepted]);
        if (length < 0 || length > bytes - used) {
            (void)apy_fail(APY_E_ARGUMENT, "message %lld has a length of %d, with %lld bytes left", (long long)accepted,
                           length, (long long)(bytes - used));
            *result = APY_OFFER_ERROR;
            break;
        }
        *result = offer_one(publication, messages + used, (size_t)length);
        if (*result < 0) {
            break;
        }
        used += length;
    }
    return accepted;
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
