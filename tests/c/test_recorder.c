/* What the recorder leaves on disk, byte by byte, against files laid out by hand. */

#include "apy/recorder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/frame.h"
#include "check.h"

#define TERM 65536
#define SEGMENT (2 * TERM)
#define SEGMENTS_MAX 4
#define STREAM_MAX (SEGMENTS_MAX * SEGMENT)
#define INITIAL_TERM_ID 2147483647 /* the second term has the lowest id */

/* A log, what its files should hold, and the recorder's ends of it. */
typedef struct bench {
    char directory[64];
    int directory_fd;
    uint8_t *terms[3];
    uint8_t *expected; /* of the stream from its first term on */
    int64_t written;   /* position of the writer */
    int64_t end_of_stream, subscriber_position, recorded_position;
    int32_t is_closed;
    int64_t activity_ms;
} bench_t;

static void bench_open(bench_t *bench, int64_t start_position)
{
    memset(bench, 0, sizeof(*bench));
    strcpy(bench->directory, "/tmp/apy-recorder-XXXXXX");
    CHECK(mkdtemp(bench->directory) != NULL);
    bench->directory_fd = open(bench->directory, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3; i++) {
        bench->terms[i] = aligned_alloc(64, TERM);
        memset(bench->terms[i], 0, TERM);
    }
    bench->expected = calloc(1, STREAM_MAX);
    bench->end_of_stream = INT64_MAX;
    bench->written = bench->subscriber_position = bench->recorded_position = start_position;
}

static void bench_close(bench_t *bench)
{
    DIR *directory = opendir(bench->directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        unlinkat(bench->directory_fd, entry->d_name, 0);
    }
    closedir(directory);
    CHECK_EQ(rmdir(bench->directory), 0);
    close(bench->directory_fd);
    for (int i = 0; i < 3; i++) {
        free(bench->terms[i]);
    }
    free(bench->expected);
}

static apy_recording_params_t params_of(bench_t *bench, int64_t recording_id)
{
    apy_recording_params_t params = {
        .recording_id = recording_id,
        .start_position = bench->subscriber_position,
        .recorded_position = &bench->recorded_position,
        .segment_length = SEGMENT,
        .block_max = 1048576,
        .directory_fd = bench->directory_fd,
    };
    for (int i = 0; i < 3; i++) {
        params.source.terms[i] = bench->terms[i];
    }
    params.source.end_of_stream_position = &bench->end_of_stream;
    params.source.is_closed = &bench->is_closed;
    params.source.position = &bench->subscriber_position;
    params.source.term_length = TERM;
    return params;
}

static void put_i32(uint8_t *at, int32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)((uint32_t)value >> (8 * i));
    }
}

/* Publish a frame of length bytes with its header; files hold padding as a header followed by a hole. */
static void put_frame(bench_t *bench, int32_t length, uint16_t type)
{
    const int32_t span = (length + 31) / 32 * 32;
    const int32_t offset = (int32_t)(bench->written % TERM);
    CHECK(offset + span <= TERM);
    uint8_t *frame = bench->terms[bench->written / TERM % 3] + offset;
    if (offset == 0) {
        memset(bench->terms[(bench->written / TERM + 1) % 3], 0, TERM); /* as the driver cleans ahead */
    }
    frame[4] = 0;
    frame[5] = 0xC0;
    frame[6] = (uint8_t)type;
    frame[7] = 0;
    put_i32(frame + 8, offset);
    put_i32(frame + 12, -77);
    put_i32(frame + 16, 1001);
    put_i32(frame + 20, (int32_t)((uint32_t)INITIAL_TERM_ID + (uint32_t)(bench->written / TERM)));
    for (int32_t i = 24; i < span; i++) {
        frame[i] = (uint8_t)(bench->written / 32 + i); /* the bytes after the payload too: they are recorded */
    }
    uint8_t *expected = bench->expected + bench->written;
    memcpy(expected, frame, type == 0 ? 32 : (size_t)span);
    put_i32(expected, length);
    apy_store_release_i32((int32_t *)(void *)frame, length);
    bench->written += span;
}

static void fill_term(bench_t *bench, int32_t length)
{
    const int32_t span = (length + 31) / 32 * 32;
    while (bench->written % TERM + span < TERM) {
        put_frame(bench, length, APY_FRAME_DATA);
    }
    put_frame(bench, TERM - (int32_t)(bench->written % TERM), APY_FRAME_PAD);
}

static void check_segment(const bench_t *bench, int64_t recording_id, int64_t base)
{
    char name[64];
    snprintf(name, sizeof(name), "%" PRId64 "-%" PRId64 ".rec", recording_id, base);
    const int fd = openat(bench->directory_fd, name, O_RDONLY);
    CHECK(fd >= 0);
    static uint8_t bytes[SEGMENT + 1];
    CHECK_EQ(pread(fd, bytes, sizeof(bytes), 0), SEGMENT);
    close(fd);
    CHECK(memcmp(bytes, bench->expected + base, SEGMENT) == 0);
}

static int count_files(const bench_t *bench)
{
    int count = 0;
    DIR *directory = opendir(bench->directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        count += entry->d_name[0] != '.';
    }
    closedir(directory);
    return count;
}

static void drain(bench_t *bench, apy_recording_session_t *session)
{
    while (apy_recording_session_work(session) > 0) {
        CHECK_EQ(bench->subscriber_position, session->position);
        CHECK_EQ(bench->recorded_position, session->position);
        CHECK(session->position <= bench->written);
    }
    CHECK_EQ(session->position, bench->written);
}

static void test_blocks_and_padding_headers_are_written_verbatim(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    const apy_recording_params_t params = params_of(&bench, 3);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    check_segment(&bench, 3, 0); /* an empty recording: a file of zeros */

    put_frame(&bench, 32, APY_FRAME_DATA);
    put_frame(&bench, 33, APY_FRAME_DATA);
    put_frame(&bench, 256, APY_FRAME_PAD); /* an aborted claim in mid-term */
    put_frame(&bench, 1408, APY_FRAME_DATA);
    CHECK_EQ(apy_recording_session_work(&session), 96); /* up to the padding in one write */
    CHECK_EQ(apy_recording_session_work(&session), 256);
    CHECK_EQ(apy_recording_session_work(&session), 1408);
    CHECK_EQ(apy_recording_session_work(&session), 0);
    CHECK(!session.is_over);
    check_segment(&bench, 3, 0);

    apy_recording_session_close(&session);
    bench_close(&bench);
}

static void test_segments_roll_over_at_once_when_full(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    const apy_recording_params_t params = params_of(&bench, 0);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    for (int term = 0; term < 6; term++) {
        fill_term(&bench, 100 + 61 * term);
        drain(&bench, &session);
        CHECK_EQ(count_files(&bench), 1 + (term + 1) / 2);
    }
    for (int64_t base = 0; base <= 3 * (int64_t)SEGMENT; base += SEGMENT) {
        check_segment(&bench, 0, base);
    }

    bench.end_of_stream = bench.written; /* exactly on the boundary */
    CHECK_EQ(apy_recording_session_work(&session), 0);
    CHECK(session.is_over);
    apy_recording_session_close(&session);
    apy_recording_session_close(&session);
    bench_close(&bench);
}

static void test_late_start_counts_segments_from_its_term(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, TERM + 4096); /* the segment of the odd term begins with that term */
    const apy_recording_params_t params = params_of(&bench, 12);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    for (int term = 0; term < 3; term++) {
        fill_term(&bench, 500);
        drain(&bench, &session);
    }
    check_segment(&bench, 12, TERM);
    check_segment(&bench, 12, TERM + SEGMENT);
    CHECK_EQ(count_files(&bench), 2);
    apy_recording_session_close(&session);
    bench_close(&bench);
}

static void test_a_term_of_padding_is_one_block_and_one_header(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    apy_recording_params_t params = params_of(&bench, 1);
    params.block_max = 65535;
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_E_ARGUMENT);
    params.block_max = 65536;
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    put_frame(&bench, 32, APY_FRAME_DATA);
    CHECK_EQ(apy_recording_session_work(&session), 32);
    put_frame(&bench, TERM - 32, APY_FRAME_PAD);
    CHECK_EQ(apy_recording_session_work(&session), TERM - 32);
    check_segment(&bench, 1, 0);
    apy_recording_session_close(&session);
    bench_close(&bench);
}

static void test_a_file_in_the_way_ends_the_recording_and_is_kept(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    const apy_recording_params_t params = params_of(&bench, 5);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    const int foreign = openat(bench.directory_fd, "5-131072.rec", O_CREAT | O_RDWR, 0600);
    CHECK_EQ(write(foreign, "mine", 4), 4);
    close(foreign);

    fill_term(&bench, 1000);
    fill_term(&bench, 1000);
    int rc = 1;
    while (rc > 0 && session.position <= bench.written) {
        rc = apy_recording_session_work(&session);
    }
    CHECK_EQ(rc, APY_E_STATE);
    CHECK(session.is_over);
    CHECK(strstr(apy_error_text(), "5-131072.rec") != NULL);
    CHECK_EQ(bench.recorded_position, SEGMENT); /* what was written counts */
    check_segment(&bench, 5, 0);
    struct stat status;
    CHECK_EQ(fstatat(bench.directory_fd, "5-131072.rec", &status, 0), 0);
    CHECK_EQ(status.st_size, 4);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_E_STATE); /* nor is the first file */
    bench_close(&bench);
}

static void test_a_failed_write_moves_no_position(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    const apy_recording_params_t params = params_of(&bench, 6);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    const int full = open("/dev/full", O_RDWR); /* answers every write with "no space left" */
    CHECK(full >= 0);
    dup2(full, session.segment_fd);
    close(full);
    put_frame(&bench, 64, APY_FRAME_DATA);
    CHECK_EQ(apy_recording_session_work(&session), APY_E_STORAGE);
    CHECK(session.is_over);
    CHECK_EQ(bench.recorded_position, 0);
    CHECK_EQ(bench.subscriber_position, 0);
    apy_recording_session_close(&session);
    bench_close(&bench);
}

static void test_a_closed_image_ends_the_recording(void)
{
    bench_t bench;
    apy_recording_session_t session;
    bench_open(&bench, 0);
    const apy_recording_params_t params = params_of(&bench, 7);
    CHECK_EQ(apy_recording_session_open(&session, &params), APY_OK);
    put_frame(&bench, 64, APY_FRAME_DATA);
    drain(&bench, &session);
    apy_store_release_i32(&bench.is_closed, 1);
    put_frame(&bench, 64, APY_FRAME_DATA);
    CHECK_EQ(apy_recording_session_work(&session), 0);
    CHECK(session.is_over);
    CHECK_EQ(bench.recorded_position, 64);
    apy_recording_session_close(&session);
    bench_close(&bench);
}

static apy_recorder_t *recorder_of(bench_t *bench, apy_clock_t clock)
{
    apy_recorder_t *recorder = NULL;
    const apy_recorder_params_t params = {
        .directory = bench->directory, .block_max = 65536, .activity_ms = &bench->activity_ms, .clock = clock};
    CHECK_EQ(apy_recorder_create(&params, &recorder), APY_OK);
    return recorder;
}

static void test_activity_is_refreshed_once_a_second(void)
{
    bench_t bench;
    bench_open(&bench, 0);
    apy_hand_clock_t hand = {.epoch_ms = 5000};
    apy_recorder_t *recorder = recorder_of(&bench, apy_clock_by_hand(&hand));
    apy_recorder_do_work(recorder);
    CHECK_EQ(bench.activity_ms, 5000);
    hand.epoch_ms = 5999;
    apy_recorder_do_work(recorder);
    CHECK_EQ(bench.activity_ms, 5000);
    hand.epoch_ms = 6000;
    apy_recorder_do_work(recorder);
    CHECK_EQ(bench.activity_ms, 6000);
    apy_recorder_free(recorder);
    bench_close(&bench);
}

static void test_ends_wait_for_a_slow_listener_while_others_go_on(void)
{
    enum { COUNT = 40 };
    bench_t bench;
    bench_t live;
    bench_open(&bench, 0);
    bench_open(&live, 0);
    apy_recorder_t *recorder = recorder_of(&bench, apy_clock_system());
    for (int64_t id = 0; id < COUNT; id++) {
        const apy_recording_params_t params = params_of(&bench, id);
        CHECK_EQ(apy_recorder_add(recorder, &params), APY_OK);
        CHECK_EQ(apy_recorder_abort(recorder, id), 1);
    }
    const apy_recording_params_t params = params_of(&live, COUNT);
    CHECK_EQ(apy_recorder_add(recorder, &params), APY_OK);
    CHECK_EQ(apy_recorder_add(recorder, &params), APY_E_STATE); /* its file is there */
    CHECK_EQ(apy_recorder_abort(recorder, 99), 0);
    for (int i = 0; i < 5; i++) {
        put_frame(&live, 320, APY_FRAME_DATA);
        apy_recorder_do_work(recorder);
        CHECK_EQ(live.recorded_position, live.written);
    }

    bool seen[COUNT + 1] = {false};
    apy_recording_ended_t ended;
    for (int i = 0; i < COUNT; i++) {
        apy_recorder_do_work(recorder);
        CHECK_EQ(apy_recorder_wait(recorder, 0, &ended), 1);
        CHECK_EQ(ended.code, APY_OK);
        CHECK(ended.recording_id >= 0 && ended.recording_id < COUNT && !seen[ended.recording_id]);
        seen[ended.recording_id] = true;
    }
    apy_recorder_do_work(recorder);
    CHECK_EQ(apy_recorder_wait(recorder, 0, &ended), 0);
    apy_recorder_free(recorder);
    apy_recorder_free(NULL);
    bench_close(&live);
    bench_close(&bench);
}

/* The producer of the threaded test: as fast as the subscriber position lets it. */
static void *produce(void *argument)
{
    bench_t *bench = argument;
    uint32_t random = 1;
    while (bench->written < STREAM_MAX - TERM) {
        if (bench->written - apy_load_acquire_i64(&bench->subscriber_position) > TERM - 2048) {
            continue;
        }
        random = random * 1103515245 + 12345;
        const int32_t left = TERM - (int32_t)(bench->written % TERM);
        const int32_t length = 32 + (int32_t)((random >> 16) % 1377);
        put_frame(bench, length + 32 <= left ? length : left, length + 32 <= left ? APY_FRAME_DATA : APY_FRAME_PAD);
    }
    apy_store_release_i64(&bench->end_of_stream, bench->written);
    return NULL;
}

static void test_agent_records_a_running_stream_to_its_end(void)
{
    bench_t bench;
    bench_open(&bench, 0);
    apy_recorder_t *recorder = recorder_of(&bench, apy_clock_system());
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "backoff", ""), APY_OK);
    CHECK_EQ(apy_recorder_start(recorder, &idle, -1), APY_OK);
    const apy_recording_params_t params = params_of(&bench, 8);
    CHECK_EQ(apy_recorder_add(recorder, &params), APY_OK);
    pthread_t producer;
    CHECK_EQ(pthread_create(&producer, NULL, produce, &bench), 0);

    apy_recording_ended_t ended;
    int rc = 0;
    for (int i = 0; i < 600 && rc == 0; i++) {
        rc = apy_recorder_wait(recorder, 100000000, &ended);
    }
    CHECK_EQ(rc, 1);
    CHECK_EQ(ended.recording_id, 8);
    CHECK_EQ(ended.code, APY_OK);
    CHECK_EQ(ended.stop_position, STREAM_MAX - TERM);
    pthread_join(producer, NULL);
    for (int64_t base = 0; base < STREAM_MAX - TERM; base += SEGMENT) {
        check_segment(&bench, 8, base);
    }

    apy_recorder_wake(recorder);
    CHECK_EQ(apy_recorder_wait(recorder, INT64_C(60000000000), &ended), 0); /* woken, not timed out */
    apy_recorder_stop(recorder);
    apy_recorder_free(recorder);
    bench_close(&bench);
}

int main(void)
{
    RUN(test_blocks_and_padding_headers_are_written_verbatim);
    RUN(test_segments_roll_over_at_once_when_full);
    RUN(test_late_start_counts_segments_from_its_term);
    RUN(test_a_term_of_padding_is_one_block_and_one_header);
    RUN(test_a_file_in_the_way_ends_the_recording_and_is_kept);
    RUN(test_a_failed_write_moves_no_position);
    RUN(test_a_closed_image_ends_the_recording);
    RUN(test_activity_is_refreshed_once_a_second);
    RUN(test_ends_wait_for_a_slow_listener_while_others_go_on);
    RUN(test_agent_records_a_running_stream_to_its_end);
    return 0;
}
