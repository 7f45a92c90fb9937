from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "apy/error.h" nogil:
    const char *apy_error_text()


cdef extern from "apy/clock.h" nogil:
    ctypedef struct apy_clock_t:
        pass
    ctypedef struct apy_hand_clock_t:
        int64_t nano_time
        int64_t epoch_ms
    apy_clock_t apy_clock_system()
    apy_clock_t apy_clock_by_hand(const apy_hand_clock_t *hand)
    int64_t apy_nano_time(const apy_clock_t *clock)
    int64_t apy_epoch_ms(const apy_clock_t *clock)


cdef extern from "apy/idle.h" nogil:
    ctypedef struct apy_idle_t:
        const int64_t *control
    int apy_idle_init(apy_idle_t *idle, const char *name, const char *arguments)
    void apy_idle(apy_idle_t *idle, int work)
    void apy_idle_reset(apy_idle_t *idle)
    int apy_parse_duration(const char *text, int64_t *duration_ns)


cdef extern from "apy/mapping.h" nogil:
    ctypedef struct apy_mapping_t:
        uint8_t *address
        size_t length
        bint writable
    int apy_mapping_create(apy_mapping_t *mapping, const char *path, size_t length, bint sparse)
    int apy_mapping_open(apy_mapping_t *mapping, const char *path, bint writable)
    void apy_mapping_touch(const apy_mapping_t *mapping)
    int apy_mapping_sync(const apy_mapping_t *mapping)
    void apy_mapping_close(apy_mapping_t *mapping)
    int apy_storage_free(const char *directory, int64_t *bytes_free)
