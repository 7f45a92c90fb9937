# Publications whose readers map their log: created here, run by the driver's core.


cdef _fill_subscriber(DriverCore core, apy_subscriber_t *subscriber, int64_t registration_id, int32_t counter_id,
                      bint tether, bint rejoin):
    _memset(subscriber, 0, sizeof(apy_subscriber_t))
    subscriber.registration_id = registration_id
    subscriber.position = core._value(counter_id)
    subscriber.counter_id = counter_id
    subscriber.tether = tether
    subscriber.rejoin = rejoin
    subscriber.time_of_last_update_ns = apy_nano_time(&core._driver.context.clock)


cdef class _Resource:
    """What a DriverCore runs: kept alive by it until freed."""

    cdef DriverCore _core
    cdef int64_t _bytes_mapped

    cdef _took(self, DriverLog log):
        self._bytes_mapped = log._taken()
        apy_count(&self._core._driver.context, APY_SC_BYTES_MAPPED, self._bytes_mapped)
        self._core._keep(self)

    cdef _unmapped(self):
        apy_count(&self._core._driver.context, APY_SC_BYTES_MAPPED, -self._bytes_mapped)
        self._core._drop(self)


@cython.final
cdef class IpcPublicationCore(_Resource):
    """A log whose readers map it themselves."""

    cdef apy_ipc_publication_t *_publication

    def __cinit__(self, DriverCore core not None, DriverLog log not None, dict settings not None):
        cdef apy_ipc_publication_params_t params
        cdef int rc
        core._alive()
        self._core = core
        _memset(&params, 0, sizeof(params))
        params.registration_id = settings["registration_id"]
        params.start_position = settings["start_position"]
        params.window_length = settings["window_length"]
        params.exclusive = settings["exclusive"]
        params.untethered_window_limit_ns = settings["untethered_window_limit_ns"]
        params.untethered_linger_ns = settings["untethered_linger_ns"]
        params.untethered_resting_ns = settings["untethered_resting_ns"]
        params.pub_pos = core._value(settings["pub_pos_id"])
        params.pub_lmt = core._value(settings["pub_lmt_id"])
        rc = apy_ipc_publication_create(&core._driver.context, log._lend(), &params, &self._publication)
        check(rc)
        self._took(log)

    cdef int _there(self) except -1:
        self._core._alive()
        if self._publication == NULL:
            raise _StateError("the publication is freed")
        return 0

    def add(self):
        """Let the core run it."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_ipc(self._core._driver.conductor, self._publication)
        check(rc)

    def close(self):
        """No client holds it any more: it drains."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_close_ipc(self._core._driver.conductor, self._publication)
        check(rc)

    def revoke(self):
        """End it without draining."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_revoke_ipc(self._core._driver.conductor, self._publication)
        check(rc)

    def reject(self):
        """Drop its subscribers and take none until the cool-down is over."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_reject_ipc(self._core._driver.conductor, self._publication)
        check(rc)

    def add_subscriber(self, int64_t registration_id, int32_t counter_id, bint tether, bint rejoin):
        """The join position, also set in the counter, or None when it takes no subscribers now."""
        self._there()
        cdef apy_subscriber_t subscriber
        cdef int64_t join_position = 0
        cdef int rc
        _fill_subscriber(self._core, &subscriber, registration_id, counter_id, tether, rejoin)
        with nogil:
            rc = apy_conductor_join_ipc(self._core._driver.conductor, self._publication, &subscriber, &join_position)
        return join_position if check(rc) else None

    def remove_subscriber(self, int64_t registration_id):
        """True when it was there."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_leave_ipc(self._core._driver.conductor, self._publication, registration_id)
        return bool(check(rc))

    def free(self):
        """Unmap its log, once the core let go of it. Safe twice, and on any thread."""
        cdef apy_ipc_publication_t *freed = self._publication
        if freed != NULL:
            self._core._alive()
            self._publication = NULL
            with nogil:
                apy_ipc_publication_free(freed)
            self._unmapped()
