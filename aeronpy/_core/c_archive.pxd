from libc.stdint cimport int32_t, int64_t, uint8_t

from aeronpy._core.c_base cimport apy_clock_t, apy_idle_t
from aeronpy._core.c_client cimport apy_image_reader_t


cdef extern from "apy/atomic.h" nogil:
    void apy_store_release_i32(int32_t *at, int32_t value)
    void apy_store_release_i64(int64_t *at, int64_t value)
    bint apy_cas_i64(int64_t *at, int64_t expected, int64_t desired)


cdef extern from "apy/error_log.h" nogil:
    ctypedef struct apy_error_log_t:
        pass
    int apy_error_log_init(apy_error_log_t *log, uint8_t *buffer, int64_t capacity, apy_clock_t clock)
    void apy_error_log_close(apy_error_log_t *log)
    int apy_error_log_record(apy_error_log_t *log, const char *text, int32_t length)


cdef extern from "apy/recording_session.h" nogil:
    ctypedef struct apy_recording_source_t:
        pass
    void apy_recording_source_init(apy_recording_source_t *source, const apy_image_reader_t *reader)
    ctypedef struct apy_recording_params_t:
        apy_recording_source_t source
        int64_t recording_id
        int64_t start_position
        int64_t *recorded_position
        int32_t segment_length


cdef extern from "apy/recorder.h" nogil:
    ctypedef struct apy_recorder_t:
        pass
    ctypedef struct apy_recorder_params_t:
        const char *directory
        int32_t block_max
        int32_t sync_level
        int64_t *activity_ms
        apy_clock_t clock
    ctypedef struct apy_recording_ended_t:
        int64_t recording_id
        int64_t stop_position
        int code
        char *text
    int apy_recorder_create(const apy_recorder_params_t *params, apy_recorder_t **recorder)
    void apy_recorder_free(apy_recorder_t *recorder)
    int apy_recorder_start(apy_recorder_t *recorder, const apy_idle_t *idle, int cpu)
    void apy_recorder_stop(apy_recorder_t *recorder)
    int apy_recorder_add(apy_recorder_t *recorder, const apy_recording_params_t *params)
    int apy_recorder_abort(apy_recorder_t *recorder, int64_t recording_id)
    int apy_recorder_wait(apy_recorder_t *recorder, int64_t timeout_ns, apy_recording_ended_t *ended)
    void apy_recorder_wake(apy_recorder_t *recorder)
