# Logs, and the publications whose readers map them: created here, run by the driver's core.


cdef int _create_log(DriverCore core, str path, dict given, apy_log_t *log) except -1:
    """Make a log file from the settings in its metadata; counts the bytes as mapped."""
    cdef apy_log_params_t params
    cdef bytes encoded = _os.fsencode(path)
    cdef const char *text = encoded
    cdef int rc
    _memset(&params, 0, sizeof(params))
    params.correlation_id = given["correlation_id"]
    params.session_id = given["session_id"]
    params.stream_id = given["stream_id"]
    params.initial_term_id = given["initial_term_id"]
    params.start_term_id = given["start_term_id"]
    params.start_term_offset = given["start_term_offset"]
    params.term_length = given["term_length"]
    params.mtu = given["mtu"]
    params.page_size = core.page_size
    params.publication_window_length = given["publication_window_length"]
    params.receiver_window_length = given["receiver_window_length"]
    params.socket_sndbuf_length = given["socket_sndbuf_length"]
    params.os_default_sndbuf_length = given["os_default_sndbuf_length"]
    params.os_max_sndbuf_length = given["os_max_sndbuf_length"]
    params.socket_rcvbuf_length = given["socket_rcvbuf_length"]
    params.os_default_rcvbuf_length = given["os_default_rcvbuf_length"]
    params.os_max_rcvbuf_length = given["os_max_rcvbuf_length"]
    params.max_resend = given["max_resend"]
    params.entity_tag = given["entity_tag"]
    params.response_correlation_id = given["response_correlation_id"]
    params.linger_timeout_ns = given["linger_timeout_ns"]
    params.untethered_window_limit_timeout_ns = given["untethered_window_limit_timeout_ns"]
    params.untethered_resting_timeout_ns = given["untethered_resting_timeout_ns"]
    params.untethered_linger_timeout_ns = given["untethered_linger_timeout_ns"]
    params.group = given["group"]
    params.is_response = given["is_response"]
    params.rejoin = given["rejoin"]
    params.reliable = given["reliable"]
    params.sparse = given["sparse"]
    params.signal_eos = given["signal_eos"]
    params.spies_simulate_connection = given["spies_simulate_connection"]
    params.tether = given["tether"]
    params.type = given["type"]
    with nogil:
        rc = apy_log_create(log, text, &params)
    check(rc)
    apy_count(&core._driver.context, APY_SC_BYTES_MAPPED, <int64_t> log.mapping.length)
    return 0


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

    cdef _unmapped(self):
        apy_count(&self._core._driver.context, APY_SC_BYTES_MAPPED, -self._bytes_mapped)
        self._core._drop(self)


@cython.final
cdef class IpcPublicationCore(_Resource):
    """A log whose readers map it themselves."""

    cdef apy_ipc_publication_t *_publication

    def __cinit__(self, DriverCore core not None, str path not None, dict log_settings not None,
                  int64_t start_position, int32_t window_length, bint exclusive, int32_t pub_pos_id,
                  int32_t pub_lmt_id):
        cdef apy_log_t log
        cdef apy_ipc_publication_params_t params
        cdef int rc
        core._alive()
        self._core = core
        _memset(&params, 0, sizeof(params))
        params.registration_id = log_settings["correlation_id"]
        params.start_position = start_position
        params.window_length = window_length
        params.exclusive = exclusive
        params.untethered_window_limit_ns = log_settings["untethered_window_limit_timeout_ns"]
        params.untethered_linger_ns = log_settings["untethered_linger_timeout_ns"]
        params.untethered_resting_ns = log_settings["untethered_resting_timeout_ns"]
        params.pub_pos = core._value(pub_pos_id)
        params.pub_lmt = core._value(pub_lmt_id)
        _create_log(core, path, log_settings, &log)
        self._bytes_mapped = log.mapping.length
        rc = apy_ipc_publication_create(&core._driver.context, &log, &params, &self._publication)
        if rc < 0:
            apy_log_close(&log)
            self._unmapped()
            check(rc)
        core._keep(self)

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
        """Unmap its log, once the core let go of it. Safe twice."""
        if self._publication != NULL:
            self._core._alive()
            apy_ipc_publication_free(self._publication)
            self._publication = NULL
            self._unmapped()
