#include "apy/native_api.h"

#include <assert.h>
#include <sys/uio.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/publication.h"

/* What users compile against is what the core has: a change of either is one of the ABI. */
static_assert(sizeof(aeronpy_frame_t) == sizeof(apy_frame_t), "frame");
static_assert(offsetof(aeronpy_frame_t, flags) == offsetof(apy_frame_t, flags), "frame");
static_assert(offsetof(aeronpy_frame_t, session_id) == offsetof(apy_frame_t, session_id), "frame");
static_assert(offsetof(aeronpy_frame_t, reserved_value) == offsetof(apy_frame_t, reserved_value), "frame");
static_assert(sizeof(aeronpy_header_t) == sizeof(apy_header_t), "header");
static_assert(offsetof(aeronpy_header_t, frame) == offsetof(apy_header_t, frame), "header");
static_assert(offsetof(aeronpy_header_t, position) == offsetof(apy_header_t, position), "header");
static_assert(sizeof(aeronpy_part_t) == sizeof(struct iovec), "part");
static_assert(offsetof(aeronpy_part_t, length) == offsetof(struct iovec, iov_len), "part");
static_assert(sizeof(apy_action_t) == sizeof(int), "action");
static_assert((int)AERONPY_ABORT == (int)APY_ACTION_ABORT && (int)AERONPY_CONTINUE == (int)APY_ACTION_CONTINUE, "");
static_assert((int)AERONPY_NOT_CONNECTED == (int)APY_NOT_CONNECTED, "");
static_assert((int)AERONPY_ERROR == (int)APY_OFFER_ERROR, "");

/* --- subscriptions --- */

void apy_native_subscription_init(apy_native_subscription_t *subscription, const apy_image_set_t *images,
                                  int32_t *is_busy, const int32_t *image_polls, apy_fragment_assembler_t *assembler)
{
    *subscription = (apy_native_subscription_t){.images = images,
                                                .image_count = images->count,
                                                .is_busy = is_busy,
                                                .image_polls = image_polls,
                                                .assembler = assembler};
}

int64_t apy_native_subscription_set(apy_native_subscription_t *subscription, const apy_image_set_t *images)
{
    apy_store_relaxed_i32(&subscription->image_count, images->count);
    /* Ordered before the look at who polls, as a poll's claim is before its look at the images: one sees the other. */
    atomic_store((_Atomic(const apy_image_set_t *) *)&subscription->images, images);
    return apy_load_acquire_i64(&subscription->turns);
}

bool apy_native_subscription_is_past(const apy_native_subscription_t *subscription, int64_t turn)
{
    return atomic_load((const _Atomic int32_t *)subscription->is_busy) == 0 ||
           apy_load_acquire_i64(&subscription->turns) != turn;
}

void apy_native_subscription_close(apy_native_subscription_t *subscription)
{
    apy_store_release_i32(&subscription->is_closed, 1);
}

static apy_native_subscription_t *of_subscription(aeronpy_subscription_t *handle)
{
    return (apy_native_subscription_t *)(void *)handle;
}

/* Take the one place for a poller, and the images that it then may read; NULL with *rc why not. */
static inline const apy_image_set_t *enter(apy_native_subscription_t *subscription, int *rc)
{
    if (__builtin_expect(apy_load_acquire_i32(&subscription->is_closed) != 0, 0)) {
        *rc = AERONPY_CLOSED;
        return NULL;
    }
    if (__builtin_expect(!apy_cas_i32(subscription->is_busy, 0, 1), 0)) {
        *rc = AERONPY_BUSY;
        return NULL;
    }
    if (__builtin_expect(atomic_load((const _Atomic int32_t *)subscription->image_polls) != 0, 0)) {
        apy_store_release_i32(subscription->is_busy, 0);
        *rc = AERONPY_BUSY;
        return NULL;
    }
    return atomic_load((_Atomic(const apy_image_set_t *) *)&subscription->images);
}

static inline int leave(apy_native_subscription_t *subscription, int rc)
{
    if (__builtin_expect(rc < 0, 0)) {
        subscription->error = rc;
    }
    apy_store_release_i64(&subscription->turns, apy_load_relaxed_i64(&subscription->turns) + 1);
    apy_store_release_i32(subscription->is_busy, 0);
    return rc < 0 ? AERONPY_ERROR : rc;
}

static int poll(aeronpy_subscription_t *handle, aeronpy_fragment_fn handler, void *context, int limit)
{
    apy_native_subscription_t *subscription = of_subscription(handle);
    int rc = 0;
    const apy_image_set_t *images = enter(subscription, &rc);
    if (images == NULL) {
        return rc;
    }
    rc = apy_images_poll(images->readers, images->count, &subscription->next, (apy_fragment_fn)handler, context, limit);
    return leave(subscription, rc);
}

static int poll_assembled(aeronpy_subscription_t *handle, aeronpy_fragment_fn handler, void *context, int limit)
{
    apy_native_subscription_t *subscription = of_subscription(handle);
    int rc = 0;
    const apy_image_set_t *images = enter(subscription, &rc);
    if (images == NULL) {
        return rc;
    }
    apy_assembling_t assembling = {
        .assembler = subscription->assembler, .handler = (apy_fragment_fn)handler, .context = context};
    rc = apy_images_poll(images->readers, images->count, &subscription->next, apy_assembling_handler, &assembling,
                         limit);
    return leave(subscription, assembling.error < 0 ? assembling.error : rc);
}

static int controlled_poll(aeronpy_subscription_t *handle, aeronpy_controlled_fn handler, void *context, int limit)
{
    apy_native_subscription_t *subscription = of_subscription(handle);
    int rc = 0;
    const apy_image_set_t *images = enter(subscription, &rc);
    if (images == NULL) {
        return rc;
    }
    int fragments = 0;
    const int start = apy_round_robin(&subscription->next, images->count);
    for (int i = 0; i < images->count && fragments < limit; i++) {
        const int index = start + i < images->count ? start + i : start + i - images->count;
        rc = apy_image_reader_controlled_poll(images->readers[index], (apy_controlled_fn)handler, context,
                                              limit - fragments, APY_NO_LIMIT_POSITION);
        if (rc < 0) {
            break;
        }
        fragments += rc;
    }
    return leave(subscription, fragments > 0 ? fragments : rc);
}

static int subscription_is_closed(const aeronpy_subscription_t *handle)
{
    return apy_load_acquire_i32(&((const apy_native_subscription_t *)(const void *)handle)->is_closed) != 0;
}

static int image_count(const aeronpy_subscription_t *handle)
{
    return subscription_is_closed(handle)
               ? AERONPY_CLOSED
               : apy_load_relaxed_i32(&((const apy_native_subscription_t *)(const void *)handle)->image_count);
}

static int subscription_is_connected(const aeronpy_subscription_t *handle)
{
    return image_count(handle) > 0;
}

/* --- publications --- */

static apy_publication_t *of_publication(aeronpy_publication_t *handle)
{
    return (apy_publication_t *)(void *)handle;
}

static const apy_publication_t *of_const_publication(const aeronpy_publication_t *handle)
{
    return (const apy_publication_t *)(const void *)handle;
}

static int64_t offer(aeronpy_publication_t *handle, const void *data, size_t length)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
    return apy_publication_offer(of_publication(handle), &part, 1, NULL, NULL);
}

static int64_t offer_vectored(aeronpy_publication_t *handle, const aeronpy_part_t *parts, int count)
{
    if (count < 0) {
        (void)apy_fail(APY_E_ARGUMENT, "a message of %d parts: it must be 0 or more", count);
        return AERONPY_ERROR;
    }
    return apy_publication_offer(of_publication(handle), (const struct iovec *)(const void *)parts, count, NULL, NULL);
}

static int64_t try_claim(aeronpy_publication_t *handle, size_t length, aeronpy_claim_t *claim)
{
    apy_publication_t *publication = of_publication(handle);
    uint8_t *frame = NULL;
    if (length > INT32_MAX) {
        (void)apy_fail(APY_E_TOO_LONG, "a claim of %zu bytes: at most %d", length,
                       publication->exclusive.base.payload_max);
        return AERONPY_ERROR;
    }
    const int64_t position = apy_publication_claim(publication, (int32_t)length, &frame);
    if (position > 0) {
        *claim =
            (aeronpy_claim_t){.data = frame + APY_FRAME_HEADER, .length = length, .position = position, .frame = frame};
    }
    return position;
}

static uint8_t *end_claim(aeronpy_claim_t *claim)
{
    uint8_t *frame = claim->frame;
    if (frame == NULL) {
        (void)apy_fail(APY_E_STATE, "there is no claim: it was committed or aborted before, or never made");
        return NULL;
    }
    claim->frame = NULL;
    claim->data = NULL;
    return frame;
}

static int commit(aeronpy_publication_t *handle, aeronpy_claim_t *claim)
{
    uint8_t *frame = end_claim(claim);
    if (frame == NULL) {
        return AERONPY_ERROR;
    }
    apy_publication_commit(of_publication(handle), frame);
    return 0;
}

static int abort_claim(aeronpy_publication_t *handle, aeronpy_claim_t *claim)
{
    uint8_t *frame = end_claim(claim);
    if (frame == NULL) {
        return AERONPY_ERROR;
    }
    apy_publication_abort(of_publication(handle), frame);
    return 0;
}

static int64_t position(const aeronpy_publication_t *handle)
{
    return apy_publication_position(of_const_publication(handle));
}

static int64_t position_limit(const aeronpy_publication_t *handle)
{
    return apy_publication_position_limit(of_const_publication(handle));
}

static int32_t max_payload_length(const aeronpy_publication_t *handle)
{
    return of_const_publication(handle)->exclusive.base.payload_max;
}

static int32_t max_message_length(const aeronpy_publication_t *handle)
{
    return of_const_publication(handle)->exclusive.base.message_max;
}

static int publication_is_connected(const aeronpy_publication_t *handle)
{
    return apy_publication_is_connected(of_const_publication(handle));
}

static int publication_is_closed(const aeronpy_publication_t *handle)
{
    return apy_publication_is_closed(of_const_publication(handle));
}

/* --- the table --- */

const aeronpy_api_t *apy_native_api(void)
{
    static const aeronpy_api_t api = {
        .size = sizeof(aeronpy_api_t),
        .abi_major = AERONPY_ABI_MAJOR,
        .abi_minor = AERONPY_ABI_MINOR,
        .error_text = apy_error_text,
        .poll = poll,
        .poll_assembled = poll_assembled,
        .controlled_poll = controlled_poll,
        .image_count = image_count,
        .subscription_is_connected = subscription_is_connected,
        .subscription_is_closed = subscription_is_closed,
        .offer = offer,
        .offer_vectored = offer_vectored,
        .try_claim = try_claim,
        .commit = commit,
        .abort = abort_claim,
        .position = position,
        .position_limit = position_limit,
        .max_payload_length = max_payload_length,
        .max_message_length = max_message_length,
        .publication_is_connected = publication_is_connected,
        .publication_is_closed = publication_is_closed,
    };
    return &api;
}
