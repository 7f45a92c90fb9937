# What sends over UDP: created here, run by the driver's agents.


@cython.final
cdef class SendEndpointCore(_Resource):
    """The socket that the publications of one channel send from."""

    cdef apy_send_endpoint_t *_endpoint

    def __cinit__(self, DriverCore core not None, dict channel not None, int64_t endpoint_id, int32_t status_id):
        cdef apy_udp_channel_t settings
        cdef int64_t *status
        cdef int64_t *destination_count = NULL
        cdef int rc
        core._alive()
        status = core._value(status_id)
        if channel["destination_count_id"] is not None:
            destination_count = core._value(channel["destination_count_id"])
        _fill_channel(&settings, channel)
        with nogil:
            rc = apy_send_endpoint_open(&core._driver.context, &settings, endpoint_id, status, destination_count,
                                        &self._endpoint)
        check(rc)
        self._made(core, "endpoint", 0)

    cdef void _release(self) noexcept nogil:
        apy_send_endpoint_free(self._endpoint)

    def bound_address(self):
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
        self._there()
        return _address_bytes(apy_send_endpoint_bound_address(self._endpoint))

    def add(self):
        """Hand it to the sender; CapacityError when the sender's queue is full now."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_send_endpoint(self._core._driver.conductor, self._endpoint)
        check(rc)

    def remove(self):
        """Ask the sender to let go of it; CapacityError when the sender's queue is full now."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_send_endpoint(self._core._driver.conductor, self._endpoint)
        check(rc)

    def add_destination(self, int64_t destination_id, const uint8_t[::1] address):
        """Send there too; the address of a name that nobody knows yet is None. CapacityError as above."""
        self._there()
        cdef sockaddr_storage to
        cdef int rc
        _memset(&to, 0, sizeof(to))
        if address is not None:
            _fill_address(&to, address)
        with nogil:
            rc = apy_conductor_add_send_destination(self._core._driver.conductor, self._endpoint, destination_id, &to)
        check(rc)

    def remove_destination(self, int64_t destination_id):
        """Send there no more; nothing when it is not there. CapacityError as above."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_send_destination(self._core._driver.conductor, self._endpoint, destination_id)
        check(rc)

    def move(self, int64_t destination_id, const uint8_t[::1] address not None):
        """The name of a destination, or with -1 of the channel, has another address now. CapacityError as above."""
        self._there()
        cdef sockaddr_storage to
        cdef int rc
        _fill_address(&to, address)
        with nogil:
            rc = apy_conductor_move_send_endpoint(self._core._driver.conductor, self._endpoint, destination_id, &to)
        check(rc)


cdef _fill_flow_control(DriverCore core, apy_flow_control_params_t *params, dict given):
    params.kind = <apy_flow_control_kind_t> <int> given["kind"]
    params.retransmit_windows = given["retransmit_windows"]
    params.group_min = given["group_min"]
    params.group_tag = given["group_tag"]
    params.receiver_timeout_ns = given["receiver_timeout_ns"]
    if given["receiver_count_id"] is not None:
        params.receiver_count = core._value(given["receiver_count_id"])


@cython.final
cdef class NetworkPublicationCore(_Subscribable):
    """A log that the sender drains to the wire."""

    cdef apy_network_publication_t *_publication

    def __cinit__(self, DriverCore core not None, SendEndpointCore endpoint not None, DriverLog log not None,
                  dict settings not None):
        cdef apy_network_publication_params_t params
        cdef int rc
        endpoint._there()
        _memset(&params, 0, sizeof(params))
        params.registration_id = settings["registration_id"]
        params.session_id = settings["session_id"]
        params.stream_id = settings["stream_id"]
        params.initial_term_id = settings["initial_term_id"]
        params.window_length = settings["window_length"]
        params.linger_ns = settings["linger_ns"]
        params.signal_eos = settings["signal_eos"]
        params.spies_simulate_connection = settings["spies_simulate_connection"]
        params.untethered_window_limit_ns = settings["untethered_window_limit_ns"]
        params.untethered_linger_ns = settings["untethered_linger_ns"]
        params.untethered_resting_ns = settings["untethered_resting_ns"]
        params.start_position = settings["start_position"]
        params.max_resend = settings["max_resend"]
        params.exclusive = settings["exclusive"]
        params.send_response_setup = settings["send_response_setup"]
        params.ttl = settings["ttl"]
        _fill_flow_control(core, &params.flow_control, settings["flow_control"])
        params.pub_pos = core._value(settings["pub_pos_id"])
        params.pub_lmt = core._value(settings["pub_lmt_id"])
        params.snd_pos = core._value(settings["snd_pos_id"])
        params.snd_lmt = core._value(settings["snd_lmt_id"])
        params.snd_bpe = core._value(settings["snd_bpe_id"])
        params.naks_received = core._value(settings["naks_received_id"])
        rc = apy_network_publication_create(&core._driver.context, endpoint._endpoint, log._lend(), &params,
                                            &self._publication)
        check(rc)
        self._made(core, "publication", log._taken())

    cdef void _release(self) noexcept nogil:
        apy_network_publication_free(self._publication)

    cdef int _join(self, apy_conductor_t *conductor, const apy_subscriber_t *subscriber,
                   int64_t *join_position) noexcept nogil:
        return apy_conductor_join_publication(conductor, self._publication, subscriber, join_position)

    cdef int _leave(self, apy_conductor_t *conductor, int64_t registration_id) noexcept nogil:
        return apy_conductor_leave_publication(conductor, self._publication, registration_id)

    def add(self):
        """Let core and sender run it; CapacityError when the sender's queue is full now."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_publication(self._core._driver.conductor, self._publication)
        check(rc)

    def close(self):
        """No client holds it any more: it drains."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_close_publication(self._core._driver.conductor, self._publication)
        check(rc)

    def revoke(self):
        """End it without draining."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_revoke_publication(self._core._driver.conductor, self._publication)
        check(rc)
