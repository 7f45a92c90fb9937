# Wrappers of the base room.


def parse_duration_ns(str text not None):
    """Return the nanoseconds of a duration: digits, then ns (or nothing), us, ms or s. Raises ArgumentError."""
    cdef bytes encoded = text.encode()
    cdef int64_t duration_ns = 0
    check(apy_parse_duration(encoded, &duration_ns))
    return duration_ns


cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    pthread_t pthread_self()
    int pthread_setname_np(pthread_t thread, const char *name)


def name_thread(str name not None):
    """Let the system call this thread so; it shows the first 15 letters."""
    pthread_setname_np(pthread_self(), name.encode()[:15])
