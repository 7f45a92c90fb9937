# Wrappers of the client room: a descriptor to sleep on, of a subscription or a publication.

cdef extern from "<sched.h>" nogil:
    int sched_yield()


cdef int LOOKS_BEFORE_SLEEP = 20

# A sleep comes back this often to look for signals that another thread took.
cdef int64_t LONG_SIGNAL_CHECK_NS = 1_000_000_000


@cython.final
cdef class _Wait:
    # Its owner's images or publication hold seats, and leave them before they are unmapped.
    cdef apy_wait_t _wait
    cdef CncMapping _cnc
    cdef int _generation
    cdef bint _is_open

    def __dealloc__(self):
        if self._is_open:
            if self._generation != _generation:
                apy_waiter_forget(&self._wait.waiter)
            apy_wait_close(&self._wait)

    cdef int fileno(self) except -1:
        return self._wait.waiter.fd

    cdef void wake(self) noexcept:
        apy_waiter_wake(&self._wait.waiter)

    cdef int sleep(self, int64_t timeout_ns) except -1:
        with nogil:
            apy_waiter_wait(&self._wait.waiter, min(timeout_ns, LONG_SIGNAL_CHECK_NS))
        PyErr_CheckSignals()
        return 0


cdef _Wait new_wait(CncMapping cnc):
    cdef _Wait wait = _Wait.__new__(_Wait)
    cdef bytes directory = _os.fsencode(cnc.directory)
    cdef const char *text = directory
    wait._cnc = cnc
    wait._generation = _generation
    check(apy_wait_open(&wait._wait, &cnc._ringer, text, apy_mpsc_ring_next_correlation_id(&cnc._cnc.ring)))
    wait._is_open = True
    return wait
