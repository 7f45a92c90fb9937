# Wrappers of the client room: counters that a client may change.

cdef class CounterBase:
    """A counter of the driver's, for those who may change it."""

    cdef CncMapping _cnc
    cdef int64_t *_value
    cdef int _generation
    cdef bint _is_closed
    cdef readonly int32_t counter_id
    cdef readonly int64_t registration_id

    def __cinit__(self, ClientCore core not None, int32_t counter_id, int64_t registration_id, *args, **kwargs):
        if counter_id < 0 or counter_id >= core._cnc._cnc.counters.count_max:
            raise _errors.CorruptError(f"counter id {counter_id}: ids are 0 to {core._cnc._cnc.counters.count_max - 1}")
        self._cnc = core._cnc
        self._generation = _generation
        self._value = apy_counter_address(&core._cnc._cnc.counters, counter_id)
        self.counter_id = counter_id
        self.registration_id = registration_id

    cdef int _check_open(self) except -1:
        check_generation(self._generation)
        if self._is_closed:
            raise _errors.StateError(f"counter {self.counter_id} is closed: its id may be somebody else's")
        return 0

    def _mark_closed(self):
        self._is_closed = True

    @property
    def is_closed(self):
        """Whether it was closed, or its client."""
        return self._is_closed

    def get(self):
        """The value, seeing all that its writer did before."""
        self._check_open()
        return apy_load_acquire_i64(self._value)

    def set(self, int64_t value):
        """Store a value after all that was done before."""
        self._check_open()
        apy_store_release_i64(self._value, value)

    def get_and_set(self, int64_t value):
        """Store a value atomically; returns the one before."""
        cdef int64_t before
        self._check_open()
        before = apy_load_acquire_i64(self._value)
        while not apy_cas_i64(self._value, before, value):
            before = apy_load_acquire_i64(self._value)
        return before

    def increment(self):
        """Add one atomically; returns the value before."""
        self._check_open()
        return apy_fetch_add_i64(self._value, 1)

    def get_and_add(self, int64_t delta):
        """Add atomically; returns the value before."""
        self._check_open()
        return apy_fetch_add_i64(self._value, delta)

    def compare_and_set(self, int64_t expected, int64_t value):
        """Store value if expected is there; whether it was."""
        self._check_open()
        return apy_cas_i64(self._value, expected, value)

    def propose_max(self, int64_t value):
        """Store value if it is larger; for counters with one writer."""
        self._check_open()
        apy_propose_max_i64(self._value, value)
