# Publications whose readers map their log: created here, run by the driver's core.


@cython.final
cdef class IpcPublicationCore(_Subscribable):
    """A log whose readers map it themselves."""

    cdef apy_ipc_publication_t *_publication

    def __cinit__(self, DriverCore core not None, DriverLog log not None, dict settings not None):
        cdef apy_ipc_publication_params_t params
        cdef int rc
        core._alive()
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
        self._made(core, "publication", log._taken())

    cdef void _release(self) noexcept nogil:
        apy_ipc_publication_free(self._publication)

    cdef int _join(self, apy_conductor_t *conductor, const apy_subscriber_t *subscriber,
                   int64_t *join_position) noexcept nogil:
        return apy_conductor_join_ipc(conductor, self._publication, subscriber, join_position)

    cdef int _leave(self, apy_conductor_t *conductor, int64_t registration_id) noexcept nogil:
        return apy_conductor_leave_ipc(conductor, self._publication, registration_id)

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
