#ifndef APY_LOGBUFFER_FRAME_RUN_H
#define APY_LOGBUFFER_FRAME_RUN_H

#include "frame_writer.h"

/*
 * frame_run puts many messages into space that one update of the tail reserved; concurrent and exclusive appends
 * share it.
 *
 * At every moment the frames up to some place are committed, and the one there holds the negative length of all that
 * is left of the run: readers stop at it, and whoever frees the place of a dead writer frees all of it.
 *
 * Threads: any, each in space of its own.  Allocates: never.  Blocks: never.
 */

/* Others' messages wait behind a run: no longer than a moment. */
#define RUN_BYTES_MAX (128 * 1024)
#define RUN_LENGTHS_MAX 256
/* How far ahead lines are asked for: nobody spins on those, and a run has its whole length to wait for them. */
#define RUN_PREFETCH_BYTES 2048

typedef struct run {
    int32_t count, bytes;
    int32_t lengths[RUN_LENGTHS_MAX]; /* read once: whoever owns them may write to them meanwhile */
} run_t;

static inline int32_t run_size_strided(const apy_append_t *append, const apy_messages_t *messages, int64_t window,
                                       int64_t room)
{
    if ((uint32_t)messages->length > (uint32_t)append->payload_max) {
        return 0;
    }
    const uint32_t span = (uint32_t)apy_frame_span(messages->length + APY_FRAME_HEADER);
    const uint32_t fit = (uint32_t)room / span;
    /* A message may begin anywhere below the limit. Room is of a term, so the sums stay below 2^31. */
    const uint32_t allowed = window < room ? ((uint32_t)window + span - 1) / span : fit;
    const uint32_t count = allowed < fit ? allowed : fit;
    return messages->count < count ? (int32_t)messages->count : (int32_t)count;
}

/* Returns the bytes that the first run->count take. */
static inline int32_t run_size_packed(run_t *run, const apy_append_t *append, const apy_messages_t *messages,
                                      int64_t window, int64_t room)
{
    const int32_t count_max = messages->count < RUN_LENGTHS_MAX ? (int32_t)messages->count : RUN_LENGTHS_MAX;
    int64_t left = messages->bytes;
    int32_t bytes = 0, count = 0;
    for (; count < count_max && bytes < window; count++) {
        const int32_t length = apy_load_relaxed_i32(&messages->lengths[count]);
        if ((uint32_t)length > (uint32_t)append->payload_max || length > left) {
            break;
        }
        const int32_t span = apy_frame_span(length + APY_FRAME_HEADER);
        if (span > room - bytes) {
            break;
        }
        run->lengths[count] = length;
        left -= length;
        bytes += span;
    }
    run->count = count;
    return bytes;
}

/* How many messages may begin within the window and end within the room; false: less than two. */
static inline bool run_size(run_t *run, const apy_append_t *append, const apy_messages_t *messages, int64_t window,
                            int64_t room)
{
    if (window <= 0 || messages->count < 2) {
        return false;
    }
    /* As long as a message may be, so that writers together run no further past the limit than with messages. */
    const int32_t bytes_max = append->message_max < RUN_BYTES_MAX ? append->message_max : RUN_BYTES_MAX;
    const int64_t room_max = room < bytes_max ? room : bytes_max;
    if (messages->lengths != NULL) {
        run->bytes = run_size_packed(run, append, messages, window, room_max);
    } else {
        run->count = run_size_strided(append, messages, window, room_max);
        run->bytes = run->count * apy_frame_span(messages->length + APY_FRAME_HEADER);
    }
    return run->count > 1;
}

/* The rest of a frame header behind its first word: term offset, session, stream, term id. */
typedef int32_t header_rest_t __attribute__((vector_size(16), aligned(4), may_alias));

static_assert(offsetof(apy_frame_t, term_offset) == 8 && offsetof(apy_frame_t, term_id) == 20, "rest of the header");

/* The first word of a frame that is not there yet, and of all behind it in the run. */
static inline void run_announce(uint8_t *at, int32_t rest)
{
    const uint64_t first = (uint32_t)-rest | (uint64_t)APY_FLAG_UNFRAGMENTED << 40 | (uint64_t)APY_FRAME_DATA << 48;
    apy_store_release_i64((int64_t *)(void *)at, (int64_t)first);
}

static inline __attribute__((always_inline)) int32_t run_write_frames(run_t *run, const apy_append_t *append,
                                                                      apy_messages_t *messages, spot_t spot,
                                                                      bool is_shared, bool is_packed, bool is_small)
{
    const int32_t count = run->count;
    const uint8_t *message = messages->at;
    uint8_t *at = spot.at;
    header_rest_t header = {spot.offset, append->session_id, append->stream_id, spot.term_id};
    int32_t rest = run->bytes;
    int32_t length = messages->length;
    int32_t written = 0;

    run_announce(at, rest);
    apy_fence_release();
    for (; written < count; written++) {
        if (is_packed) {
            length = run->lengths[written];
        }
        const int32_t frame_length = length + APY_FRAME_HEADER;
        const int32_t span = apy_frame_span(frame_length);
        *(header_rest_t *)(void *)(at + sizeof(int64_t)) = header;
        if (is_small) {
            copy_small(at + APY_FRAME_HEADER, message, (size_t)length);
        } else {
            copy_payload(at + APY_FRAME_HEADER, message, (size_t)length);
        }
        for (int32_t line = 0; line < span; line += APY_CACHE_LINE) {
            prefetch_line_for_write(at + RUN_PREFETCH_BYTES + line);
        }
        if (is_shared && UNLIKELY(apy_load_relaxed_i32((const int32_t *)(const void *)at) != -rest)) {
            break; /* too slow: the driver took the writer for dead, and freed the rest */
        }
        rest -= span;
        if (LIKELY(rest > 0)) {
            run_announce(at + span, rest);
        }
        frame_commit(at, frame_length);
        at += span;
        header[0] += span;
        message += is_packed ? length : messages->stride;
    }
    run->bytes -= rest;
    messages->bytes -= message - messages->at;
    messages->at = message;
    messages->count -= written;
    messages->lengths += is_packed ? written : 0;
    apy_append_ring(append);
    return written;
}

/* Returns how many were written, in run->bytes: all, but where the driver freed a shared run meanwhile. */
static inline int32_t run_write(run_t *run, const apy_append_t *append, apy_messages_t *messages, spot_t spot,
                                bool is_shared)
{
    if (messages->lengths != NULL) {
        return run_write_frames(run, append, messages, spot, is_shared, true, false);
    }
    return messages->length <= SMALL_MAX ? run_write_frames(run, append, messages, spot, is_shared, false, true)
                                         : run_write_frames(run, append, messages, spot, is_shared, false, false);
}

#endif
