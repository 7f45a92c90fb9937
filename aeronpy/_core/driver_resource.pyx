# What all that a DriverCore runs has in common: it is there until freed, and readable ones have subscribers.


cdef class _Resource:
    """What a DriverCore runs: kept alive by it until freed."""

    cdef DriverCore _core
    cdef str _noun
    cdef bint _is_there
    cdef int64_t _bytes_mapped

    cdef _made(self, DriverCore core, str noun, int64_t bytes_mapped):
        """The last step of a constructor: from now on there is something to free."""
        self._core = core
        self._noun = noun
        self._bytes_mapped = bytes_mapped
        self._is_there = True
        apy_count(&core._driver.context, APY_SC_BYTES_MAPPED, bytes_mapped)
        core._keep(self)

    cdef int _there(self) except -1:
        self._core._alive()
        if not self._is_there:
            raise _StateError(f"the {self._noun} is freed")
        return 0

    cdef void _release(self) noexcept nogil:
        """Free what is in C."""

    def free(self):
        """Give memory, files and sockets back, once the agents let go of it. Safe twice, and on any thread."""
        if self._is_there:
            self._core._alive()
            self._is_there = False
            with nogil:
                self._release()
            apy_count(&self._core._driver.context, APY_SC_BYTES_MAPPED, -self._bytes_mapped)
            self._core._drop(self)


cdef _fill_subscriber(DriverCore core, apy_subscriber_t *subscriber, int64_t registration_id, int32_t counter_id,
                      bint tether, bint rejoin):
    _memset(subscriber, 0, sizeof(apy_subscriber_t))
    subscriber.registration_id = registration_id
    subscriber.position = core._value(counter_id)
    subscriber.counter_id = counter_id
    subscriber.tether = tether
    subscriber.rejoin = rejoin
    subscriber.time_of_last_update_ns = apy_nano_time(&core._driver.context.clock)


cdef class _Subscribable(_Resource):
    """A log that subscribers read: clients of an IPC publication or an image, spies of a network publication."""

    cdef int _join(self, apy_conductor_t *conductor, const apy_subscriber_t *subscriber,
                   int64_t *join_position) noexcept nogil:
        return 0

    cdef int _leave(self, apy_conductor_t *conductor, int64_t registration_id) noexcept nogil:
        return 0

    def add_subscriber(self, int64_t registration_id, int32_t counter_id, bint tether, bint rejoin):
        """Let one in: the join position, also set in the counter, or None when it takes no subscribers now."""
        self._there()
        cdef apy_subscriber_t subscriber
        cdef int64_t join_position = 0
        cdef int rc
        _fill_subscriber(self._core, &subscriber, registration_id, counter_id, tether, rejoin)
        with nogil:
            rc = self._join(self._core._driver.conductor, &subscriber, &join_position)
        return join_position if check(rc) else None

    def remove_subscriber(self, int64_t registration_id):
        """True when it was there."""
        self._there()
        cdef int rc
        with nogil:
            rc = self._leave(self._core._driver.conductor, registration_id)
        return bool(check(rc))
