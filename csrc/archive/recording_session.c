#include "apy/recording_session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/frame.h"
#include "apy/term_scan.h"

#define SEGMENT_LENGTH_MIN 65536
#define SEGMENT_LENGTH_MAX 1073741824
#define BLOCK_MIN 65536 /* longer than any frame that is not padding */

void apy_segment_name(char *name, int64_t recording_id, int64_t segment_base)
{
    snprintf(name, APY_SEGMENT_NAME_MAX, "%" PRId64 "-%" PRId64 ".rec", recording_id, segment_base);
}

void apy_recording_source_init(apy_recording_source_t *source, const apy_image_reader_t *reader)
{
    for (int i = 0; i < APY_PARTITIONS; i++) {
        source->terms[i] = reader->terms[i];
    }
    /* The metadata is packed to four bytes, but lies in its page so that this field is aligned. */
    source->end_of_stream_position = (const int64_t *)(const void *)((const uint8_t *)reader->meta +
                                                                     offsetof(apy_log_meta_t, end_of_stream_position));
    source->is_closed = &reader->is_closed;
    source->position = reader->position;
    source->term_length = reader->term_length;
}

static bool is_power_of_two_within(int32_t value, int32_t min, int32_t max)
{
    return value >= min && value <= max && (value & (value - 1)) == 0;
}

static int check_params(const apy_recording_params_t *params)
{
    const int32_t term_length = params->source.term_length;
    if (!is_power_of_two_within(term_length, APY_TERM_LENGTH_MIN, APY_TERM_LENGTH_MAX)) {
        return apy_fail(APY_E_ARGUMENT, "term length %d is no power of two within %d and %d", term_length,
                        APY_TERM_LENGTH_MIN, APY_TERM_LENGTH_MAX);
    }
    if (!is_power_of_two_within(params->segment_length, SEGMENT_LENGTH_MIN, SEGMENT_LENGTH_MAX) ||
        params->segment_length < term_length) {
        return apy_fail(APY_E_ARGUMENT, "segment length %d is no power of two within the term length %d and %d",
                        params->segment_length, term_length, SEGMENT_LENGTH_MAX);
    }
    if (params->block_max < BLOCK_MIN) {
        return apy_fail(APY_E_ARGUMENT, "blocks of %d bytes are shorter than the longest frame: %d at least",
                        params->block_max, BLOCK_MIN);
    }
    const int64_t position = apy_load_relaxed_i64(params->source.position);
    if (params->start_position < 0 || params->start_position % APY_FRAME_ALIGN != 0 ||
        position < params->start_position || position % APY_FRAME_ALIGN != 0) {
        return apy_fail(APY_E_ARGUMENT,
                        "recording %" PRId64 " cannot go on at position %" PRId64 " when it begins at %" PRId64,
                        params->recording_id, position, params->start_position);
    }
    return APY_OK;
}

/* A disk without space and one that broke need different remedies, so they are told apart here. */
static int fail_write(const apy_recording_session_t *session, int64_t bytes, const char *name)
{
    struct statvfs disk;
    const bool is_full = errno == ENOSPC || errno == EDQUOT;
    const int saved = errno;
    if (is_full && fstatvfs(session->directory_fd, &disk) == 0) {
        return apy_fail(APY_E_STORAGE,
                        "recording %" PRId64 " stops at position %" PRId64 ": %s needs %" PRId64
                        " bytes, its file system has %" PRIu64 " free: make room, then start a new recording",
                        session->recording_id, session->position, name, bytes,
                        (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize);
    }
    errno = saved;
    return apy_fail_os("recording %" PRId64 " stops at position %" PRId64 ": cannot write %" PRId64 " bytes to %s",
                       session->recording_id, session->position, bytes, name);
}

static int sync_file(const apy_recording_session_t *session, const char *name)
{
    const int rc = session->sync_level == APY_SYNC_NONE   ? 0
                   : session->sync_level == APY_SYNC_DATA ? fdatasync(session->segment_fd)
                                                          : fsync(session->segment_fd);
    return rc == 0 ? APY_OK : fail_write(session, 0, name);
}

/* Segment files have their full length from the start; what is never written stays a hole. */
static int open_segment(apy_recording_session_t *session)
{
    char name[APY_SEGMENT_NAME_MAX];
    apy_segment_name(name, session->recording_id, session->segment_base);
    const int fd = openat(session->directory_fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        return apy_fail(APY_E_STATE,
                        "recording %" PRId64 " stops at position %" PRId64
                        ": %s exists already; it is from something else, and is not overwritten",
                        session->recording_id, session->position, name);
    }
    if (fd < 0) {
        return fail_write(session, session->segment_length, name);
    }
    if (ftruncate(fd, session->segment_length) != 0) {
        const int rc = fail_write(session, session->segment_length, name);
        close(fd);
        unlinkat(session->directory_fd, name, 0);
        return rc;
    }
    session->segment_fd = fd;
    if (session->sync_level != APY_SYNC_NONE && fsync(session->directory_fd) != 0) {
        return fail_write(session, 0, name);
    }
    return APY_OK;
}

int apy_recording_session_open(apy_recording_session_t *session, const apy_recording_params_t *params)
{
    const int rc = check_params(params);
    if (rc < 0) {
        return rc;
    }
    const int64_t position = apy_load_relaxed_i64(params->source.position);
    apy_recording_session_t opened = {
        .source = params->source,
        .recording_id = params->recording_id,
        .position = position,
        .segment_base =
            apy_segment_base(params->start_position, position, params->source.term_length, params->segment_length),
        .recorded_position = params->recorded_position,
        .segment_length = params->segment_length,
        .block_max = params->block_max,
        .sync_level = params->sync_level,
        .shift = apy_position_shift(params->source.term_length),
        .directory_fd = params->directory_fd,
        .segment_fd = -1,
    };
    const int opening = open_segment(&opened);
    if (opening < 0) {
        apy_recording_session_close(&opened);
        return opening;
    }
    *session = opened;
    return APY_OK;
}

static int write_whole(const apy_recording_session_t *session, const uint8_t *bytes, int64_t length)
{
    int64_t offset = session->position - session->segment_base;
    int64_t left = length;
    while (left > 0) {
        const ssize_t written = pwrite(session->segment_fd, bytes, (size_t)left, offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            char name[APY_SEGMENT_NAME_MAX];
            apy_segment_name(name, session->recording_id, session->segment_base);
            errno = written == 0 ? ENOSPC : errno;
            return fail_write(session, length, name);
        }
        bytes += written;
        offset += written;
        left -= written;
    }
    if (session->sync_level != APY_SYNC_NONE) {
        char name[APY_SEGMENT_NAME_MAX];
        apy_segment_name(name, session->recording_id, session->segment_base);
        return sync_file(session, name);
    }
    return APY_OK;
}

static int roll_over(apy_recording_session_t *session)
{
    close(session->segment_fd);
    session->segment_fd = -1;
    session->segment_base += session->segment_length;
    return open_segment(session);
}

static bool is_ended(const apy_recording_session_t *session)
{
    return session->position >= apy_load_acquire_i64(session->source.end_of_stream_position);
}

int apy_recording_session_work(apy_recording_session_t *session)
{
    if (session->is_over || apy_load_acquire_i32(session->source.is_closed)) {
        session->is_over = true;
        return 0;
    }
    const int32_t term_length = session->source.term_length;
    const int32_t offset = apy_position_offset(session->position, term_length);
    const int32_t left = term_length - offset;
    const int32_t limit = offset + (left < session->block_max ? left : session->block_max);
    const uint8_t *term = session->source.terms[apy_position_partition(session->position, session->shift)];
    const int32_t span = apy_block_scan(term, offset, limit);
    if (span <= 0) {
        session->is_over = is_ended(session);
        return 0;
    }
    if (span > left) {
        session->is_over = true;
        return apy_fail(APY_E_CORRUPT,
                        "recording %" PRId64 " stops at position %" PRId64 ": a frame of %d bytes runs past its term",
                        session->recording_id, session->position, span);
    }

    const apy_frame_t *first = (const apy_frame_t *)(const void *)(term + offset);
    const int rc = write_whole(session, term + offset, first->type == APY_FRAME_PAD ? APY_FRAME_HEADER : span);
    if (rc < 0) {
        session->is_over = true;
        return rc;
    }
    session->position += span;
    apy_store_release_i64(session->recorded_position, session->position);
    if (!apy_load_acquire_i32(session->source.is_closed)) { /* the counter may be another's after that */
        apy_store_release_i64(session->source.position, session->position);
    }

    assert(session->position - session->segment_base <= session->segment_length);
    if (session->position - session->segment_base == session->segment_length) {
        const int rolled = roll_over(session);
        if (rolled < 0) {
            session->is_over = true;
            return rolled;
        }
    }
    return span;
}

void apy_recording_session_close(apy_recording_session_t *session)
{
    if (session->segment_fd >= 0) {
        close(session->segment_fd);
        session->segment_fd = -1;
    }
}
