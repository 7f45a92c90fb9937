#ifndef APY_LOGBUFFER_FRAME_WRITER_H
#define APY_LOGBUFFER_FRAME_WRITER_H

#include <string.h>

#include "apy/append.h"
#include "apy/atomic.h"
#include "apy/frame.h"

/*
 * frame_writer puts frames into space that is reserved already; concurrent and exclusive appends share it.
 *
 * All is inline: an offer of a small message is some tens of instructions, and each call would show.
 *
 * Threads: any, each in space of its own.  Allocates: never.  Blocks: never.
 */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frame headers are little-endian in every log");

#define COLD __attribute__((noinline, cold))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* In append.c: wake readers that sleep, and return the result. */
int64_t apy_ring_readers(const apy_append_t *append, int64_t result);

/* Reserved space: where a frame goes, and what its header says about the place. */
typedef struct spot {
    uint8_t *at;
    int32_t term_id, offset;
} spot_t;

/* The message as it comes: parts as one stream of bytes. */
typedef struct gather {
    const struct iovec *part;
    size_t used; /* of the current part */
} gather_t;

static inline void frame_commit(uint8_t *at, int32_t length)
{
    apy_store_release_i32((int32_t *)(void *)at, length);
}

/* Announce a frame, not yet readable: whoever finds its writer dead finds its length here. */
static inline void frame_begin(const apy_append_t *append, spot_t spot, int32_t length, uint32_t flags, uint32_t type)
{
    apy_frame_t *frame = (apy_frame_t *)(void *)spot.at;
    const uint64_t first = (uint32_t)-length | (uint64_t)flags << 40 | (uint64_t)type << 48;
    apy_store_release_i64((int64_t *)(void *)spot.at, (int64_t)first);
    apy_fence_release();
    const int32_t session_id = append->session_id, stream_id = append->stream_id; /* one load and store of both */
    frame->term_offset = spot.offset;
    frame->session_id = session_id;
    frame->stream_id = stream_id;
    frame->term_id = spot.term_id;
}

static inline void frame_supply(uint8_t *at, int32_t length, apy_reserved_value_fn supplier, void *context)
{
    if (UNLIKELY(supplier != NULL)) {
        ((apy_frame_t *)(void *)at)->reserved_value = supplier(context, at, length);
    }
}

/* A message of one part that goes in without any call: at most this long. */
#define SMALL_MAX 64

/* Up to SMALL_MAX bytes, by pairs of moves from both ends that may overlap. */
static inline void copy_small(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length >= 16) {
        uint8_t head[16], tail[16];
        memcpy(head, from, 16);
        memcpy(tail, from + length - 16, 16);
        if (length > 32) {
            uint8_t second[16], last_but_one[16];
            memcpy(second, from + 16, 16);
            memcpy(last_but_one, from + length - 32, 16);
            memcpy(to + 16, second, 16);
            memcpy(to + length - 32, last_but_one, 16);
        }
        memcpy(to, head, 16);
        memcpy(to + length - 16, tail, 16);
    } else if (length >= 8) {
        uint64_t head, tail;
        memcpy(&head, from, 8);
        memcpy(&tail, from + length - 8, 8);
        memcpy(to, &head, 8);
        memcpy(to + length - 8, &tail, 8);
    } else if (length >= 4) {
        uint32_t head, tail;
        memcpy(&head, from, 4);
        memcpy(&tail, from + length - 4, 4);
        memcpy(to, &head, 4);
        memcpy(to + length - 4, &tail, 4);
    } else {
        for (size_t i = 0; i < length; i++) {
            to[i] = from[i];
        }
    }
}

/* memcpy, without the call for the lengths that small messages have. */
static inline void copy_payload(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length <= SMALL_MAX) {
        copy_small(to, from, length);
    } else {
        memcpy(to, from, length);
    }
}

/*
 * Ask for lines that will be written soon: they are in another core's cache, which read or cleaned them last, and to
 * wait for each would cost more than the copy. A hint: it never faults, and other processors do without.
 *
 * Small messages ask some lines ahead: a reader that keeps up spins on the very next one, and to take that from under
 * it costs both sides a round trip between the caches (13 % of a message there and back).
 */
#define PREFETCH_AHEAD 512

static inline void prefetch_line_for_write(const uint8_t *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*at));
#else
    (void)at;
#endif
}

/* A message of one part, no longer than SMALL_MAX and what a frame takes. */
static inline void write_small(const apy_append_t *append, spot_t spot, const uint8_t *message, int32_t length)
{
    frame_begin(append, spot, length + APY_FRAME_HEADER, APY_FLAG_UNFRAGMENTED, APY_FRAME_DATA);
    copy_small(spot.at + APY_FRAME_HEADER, message, (size_t)length);
    frame_commit(spot.at, length + APY_FRAME_HEADER);
    prefetch_line_for_write(spot.at + apy_frame_span(length + APY_FRAME_HEADER) + PREFETCH_AHEAD);
}

/* apy_append_ring as the last step of an offer: who passes the result on has nothing to keep over a call. */
static inline int64_t ring_behind(const apy_append_t *append, int64_t result)
{
    atomic_signal_fence(memory_order_seq_cst);
    return LIKELY(apy_load_relaxed_i32(&append->meta->readers.armed) == 0) ? result : apy_ring_readers(append, result);
}

static inline bool is_small(const apy_append_t *append, const struct iovec *parts, int count,
                            apy_reserved_value_fn supplier)
{
    return LIKELY(count == 1 && supplier == NULL) && parts->iov_len <= (size_t)append->small_max;
}

static inline void gather_copy(gather_t *gather, uint8_t *to, size_t length)
{
    while (length > 0) {
        const size_t left = gather->part->iov_len - gather->used;
        if (left == 0) {
            gather->part++;
            gather->used = 0;
            continue;
        }
        const size_t now = left < length ? left : length;
        memcpy(to, (const uint8_t *)gather->part->iov_base + gather->used, now);
        gather->used += now;
        to += now;
        length -= now;
    }
}

/* Behind a frame of that many bytes that was just written: where the next one goes, or the one after it. */
static inline void prefetch_for_write(const uint8_t *next, int32_t length)
{
    const uint8_t *at = length > PREFETCH_AHEAD ? next : next + PREFETCH_AHEAD;
    for (int32_t line = 0; line < length; line += APY_CACHE_LINE) {
        prefetch_line_for_write(at + line);
    }
}

/* A whole message as one frame. */
static inline void write_unfragmented(const apy_append_t *append, spot_t spot, const struct iovec *parts, int count,
                                      int32_t length, apy_reserved_value_fn supplier, void *context)
{
    frame_begin(append, spot, length + APY_FRAME_HEADER, APY_FLAG_UNFRAGMENTED, APY_FRAME_DATA);
    if (LIKELY(count == 1)) {
        copy_payload(spot.at + APY_FRAME_HEADER, parts->iov_base, (size_t)length);
    } else {
        gather_t gather = {parts, 0};
        gather_copy(&gather, spot.at + APY_FRAME_HEADER, (size_t)length);
    }
    frame_supply(spot.at, length + APY_FRAME_HEADER, supplier, context);
    frame_commit(spot.at, length + APY_FRAME_HEADER);
    apy_append_ring(append);
    prefetch_for_write(spot.at + apy_frame_span(length + APY_FRAME_HEADER), length + APY_FRAME_HEADER);
}

static inline void write_padding(const apy_append_t *append, spot_t spot, int32_t length)
{
    frame_begin(append, spot, length, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD);
    frame_commit(spot.at, length);
    apy_append_ring(append);
}

/* Payload bytes of all parts. What does not fit in an int64 looks negative: ask with is_longer. */
static inline int64_t message_length(const struct iovec *parts, int count)
{
    if (LIKELY(count == 1)) {
        return (int64_t)parts->iov_len;
    }
    int64_t length = 0;
    for (int i = 0; i < count; i++) {
        if (__builtin_add_overflow(length, parts[i].iov_len, &length)) {
            return INT64_MAX;
        }
    }
    return length;
}

static inline bool is_longer(int64_t length, int64_t length_max)
{
    return (uint64_t)length > (uint64_t)length_max;
}

/* --- the cold paths, in append.c --- */

void apy_write_fragments(const apy_append_t *append, spot_t spot, const struct iovec *parts, int64_t length,
                         apy_reserved_value_fn supplier, void *context);
int64_t apy_at_limit(const apy_append_t *append, int64_t position, int64_t length);
int64_t apy_fail_too_long(const apy_append_t *append, int64_t length, int64_t length_max);

#endif
