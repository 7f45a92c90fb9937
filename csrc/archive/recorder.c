#include "apy/recorder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apy/agent_runner.h"
#include "apy/atomic.h"
#include "apy/call_slot.h"
#include "apy/spsc_queue.h"
#include "apy/wake.h"

#define ENDED_QUEUE_CAPACITY 16
#define ACTIVITY_INTERVAL_MS 1000

typedef struct apy_recorder_entry {
    apy_recording_session_t session;
    apy_recording_ended_t ended; /* filled once the session is over, kept until it could be told */
    bool is_ended;
} apy_recorder_entry_t;

struct apy_recorder {
    apy_recorder_entry_t *entries; /* the agent's, as all up to the call slot */
    int count, capacity;
    int64_t *activity_ms;
    int64_t next_activity_ms;
    apy_clock_t clock;
    int32_t block_max, sync_level;
    int directory_fd;
    apy_call_slot_t calls;
    apy_spsc_queue_t ended;
    apy_wake_t wake;
    apy_agent_runner_t runner;
};

int apy_recorder_create(const apy_recorder_params_t *params, apy_recorder_t **recorder)
{
    apy_recorder_t *made = NULL;
    if (posix_memalign((void **)&made, 2 * APY_CACHE_LINE, sizeof(*made)) != 0) {
        return apy_fail(APY_E_MEMORY, "no memory for a recorder of %zu bytes", sizeof(*made));
    }
    memset(made, 0, sizeof(*made));
    made->directory_fd = open(params->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made->directory_fd < 0) {
        free(made);
        return apy_fail_os("cannot open the archive directory %s", params->directory);
    }
    const int rc = apy_spsc_queue_init(&made->ended, sizeof(apy_recording_ended_t), ENDED_QUEUE_CAPACITY);
    if (rc < 0) {
        close(made->directory_fd);
        free(made);
        return rc;
    }
    made->activity_ms = params->activity_ms;
    made->clock = params->clock;
    made->block_max = params->block_max;
    made->sync_level = params->sync_level;
    apy_call_slot_init(&made->calls);
    apy_wake_init(&made->wake);
    *recorder = made;
    return APY_OK;
}

void apy_recorder_free(apy_recorder_t *recorder)
{
    if (recorder == NULL) {
        return;
    }
    apy_recorder_stop(recorder);
    for (int i = 0; i < recorder->count; i++) {
        apy_recording_session_close(&recorder->entries[i].session);
    }
    close(recorder->directory_fd);
    apy_spsc_queue_free(&recorder->ended);
    free(recorder->entries);
    free(recorder);
}

static void refresh_activity(apy_recorder_t *recorder)
{
    const int64_t now_ms = apy_epoch_ms(&recorder->clock);
    if (now_ms >= recorder->next_activity_ms) {
        apy_store_release_i64(recorder->activity_ms, now_ms);
        recorder->next_activity_ms = now_ms + ACTIVITY_INTERVAL_MS;
    }
}

/* Remember how it ended before another session's failure takes the place of the text. */
static int work_entry(apy_recorder_entry_t *entry)
{
    const int written = apy_recording_session_work(&entry->session);
    if (entry->session.is_over) {
        entry->is_ended = true;
        entry->ended.recording_id = entry->session.recording_id;
        entry->ended.stop_position = entry->session.position;
        entry->ended.code = written < 0 ? written : APY_OK;
        strcpy(entry->ended.text, written < 0 ? apy_error_text() : "");
        apy_recording_session_close(&entry->session);
    }
    return written != 0;
}

int apy_recorder_do_work(void *state)
{
    apy_recorder_t *recorder = state;
    int work = apy_call_slot_serve(&recorder->calls, recorder);
    refresh_activity(recorder);
    for (int i = recorder->count - 1; i >= 0; i--) {
        apy_recorder_entry_t *entry = &recorder->entries[i];
        if (!entry->is_ended) {
            work += work_entry(entry);
        }
        if (entry->is_ended && apy_spsc_queue_offer(&recorder->ended, &entry->ended)) {
            apy_wake_signal(&recorder->wake);
            *entry = recorder->entries[--recorder->count];
            work++;
        }
    }
    return work;
}

int apy_recorder_start(apy_recorder_t *recorder, const apy_idle_t *idle, int cpu)
{
    const apy_agent_t agent = {.role_name = "archive-recorder", .do_work = apy_recorder_do_work, .state = recorder};
    apy_call_slot_set_direct(&recorder->calls, false);
    const int rc = apy_agent_runner_start(&recorder->runner, &agent, 1, idle, "archive-recorder", cpu);
    if (rc < 0) {
        apy_call_slot_set_direct(&recorder->calls, true);
    }
    return rc;
}

void apy_recorder_stop(apy_recorder_t *recorder)
{
    apy_agent_runner_stop(&recorder->runner);
    apy_call_slot_set_direct(&recorder->calls, true);
}

static int add_session(void *owner, void *argument)
{
    apy_recorder_t *recorder = owner;
    if (recorder->count == recorder->capacity) {
        const int capacity = recorder->capacity == 0 ? 8 : 2 * recorder->capacity;
        apy_recorder_entry_t *grown = realloc(recorder->entries, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for %d recordings at once", capacity);
        }
        recorder->entries = grown;
        recorder->capacity = capacity;
    }
    apy_recording_params_t params = *(const apy_recording_params_t *)argument;
    params.directory_fd = recorder->directory_fd;
    params.block_max = recorder->block_max;
    params.sync_level = recorder->sync_level;
    apy_recorder_entry_t *entry = &recorder->entries[recorder->count];
    const int rc = apy_recording_session_open(&entry->session, &params);
    if (rc == APY_OK) {
        entry->is_ended = false;
        recorder->count++;
    }
    return rc;
}

static int abort_session(void *owner, void *argument)
{
    apy_recorder_t *recorder = owner;
    const int64_t recording_id = *(const int64_t *)argument;
    for (int i = 0; i < recorder->count; i++) {
        if (recorder->entries[i].session.recording_id == recording_id) {
            recorder->entries[i].session.is_over = true;
            return 1;
        }
    }
    return 0;
}

int apy_recorder_add(apy_recorder_t *recorder, const apy_recording_params_t *params)
{
    return apy_call_slot_call(&recorder->calls, add_session, recorder, (void *)(uintptr_t)params);
}

int apy_recorder_abort(apy_recorder_t *recorder, int64_t recording_id)
{
    return apy_call_slot_call(&recorder->calls, abort_session, recorder, &recording_id);
}

int apy_recorder_wait(apy_recorder_t *recorder, int64_t timeout_ns, apy_recording_ended_t *ended)
{
    if (apy_spsc_queue_poll(&recorder->ended, ended)) {
        return 1;
    }
    apy_wake_wait(&recorder->wake, timeout_ns);
    return apy_spsc_queue_poll(&recorder->ended, ended);
}

void apy_recorder_wake(apy_recorder_t *recorder)
{
    apy_wake_signal(&recorder->wake);
}
