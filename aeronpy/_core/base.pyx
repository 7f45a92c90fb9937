# Wrappers of the base room.
cimport cython
from cpython.exc cimport PyErr_CheckSignals


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


@cython.final
cdef class IdleStrategy:
    """What a thread does when a duty cycle found no work, by name and arguments as Aeron's settings give them.

    ``IdleStrategy("backoff", "10-20-1us-1ms")``, ``("sleep-ns", "1ms")``, ``("yield")``, ``("busy-spin")``,
    ``("noop")``. One belongs to one thread. Raises ArgumentError.
    """

    cdef apy_idle_t _idle
    cdef readonly str name
    cdef readonly str arguments

    def __cinit__(self, str name not None, str arguments not None=""):
        cdef bytes encoded = name.encode()
        cdef bytes given = arguments.encode()
        check(apy_idle_init(&self._idle, encoded, given))
        self.name = name
        self.arguments = arguments

    def __repr__(self):
        return f"IdleStrategy({self.name!r}, {self.arguments!r})" if self.arguments else f"IdleStrategy({self.name!r})"

    def idle(self, int work_count=0):
        """Idle if work_count is 0 or less, without the GIL; hears signals."""
        with nogil:
            apy_idle(&self._idle, work_count)
        PyErr_CheckSignals()

    def reset(self):
        """Begin again, as after work."""
        apy_idle_reset(&self._idle)
