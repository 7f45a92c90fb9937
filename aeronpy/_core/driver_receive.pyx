# What receives over UDP: created here, run by the driver's agents.


@cython.final
cdef class ReceiveEndpointCore(_Resource):
    """What the subscriptions of one channel share: the streams that they want, and destinations that bring them."""

    cdef apy_receive_endpoint_t *_endpoint

    def __cinit__(self, DriverCore core not None, dict channel not None, int64_t endpoint_id, int32_t status_id):
        cdef apy_udp_channel_t settings
        cdef int64_t *status
        cdef int rc
        core._alive()
        status = core._value(status_id)
        _fill_channel(&settings, channel)
        with nogil:
            rc = apy_receive_endpoint_create(&core._driver.context, &settings, endpoint_id, status, &self._endpoint)
        check(rc)
        self._made(core, "endpoint", 0)

    cdef void _release(self) noexcept nogil:
        apy_receive_endpoint_free(self._endpoint)

    def remove(self):
        """Ask the receiver to let go of it and its destinations; CapacityError when its queue is full, as all below."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_receive_endpoint(self._core._driver.conductor, self._endpoint)
        check(rc)

    def add_stream(self, int32_t stream_id, session_id=None):
        """Take a stream: of one session, or of all. One session is asked for at once, each time this is called."""
        self._there()
        cdef int32_t session = 0 if session_id is None else session_id
        cdef const int32_t *wanted = NULL if session_id is None else &session
        cdef int rc
        with nogil:
            rc = apy_conductor_add_stream(self._core._driver.conductor, self._endpoint, stream_id, wanted)
        check(rc)

    def remove_stream(self, int32_t stream_id, session_id=None):
        """Take it no more."""
        self._there()
        cdef int32_t session = 0 if session_id is None else session_id
        cdef const int32_t *wanted = NULL if session_id is None else &session
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_stream(self._core._driver.conductor, self._endpoint, stream_id, wanted)
        check(rc)

    def refuse_image(self, int32_t stream_id, int32_t session_id):
        """No image was made for a SETUP: the next one may ask again."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_refuse_image(self._core._driver.conductor, self._endpoint, stream_id, session_id)
        check(rc)


@cython.final
cdef class ReceiveDestinationCore(_Resource):
    """One socket of a receive endpoint, bound."""

    cdef apy_receive_destination_t *_destination
    cdef ReceiveEndpointCore _endpoint

    def __cinit__(self, ReceiveEndpointCore endpoint not None, dict channel not None, int64_t destination_id):
        cdef apy_udp_channel_t settings
        cdef int rc
        endpoint._there()
        self._endpoint = endpoint
        _fill_channel(&settings, channel)
        with nogil:
            rc = apy_receive_destination_open(endpoint._endpoint, &settings, destination_id, &self._destination)
        check(rc)
        self._made(endpoint._core, "destination", 0)

    cdef void _release(self) noexcept nogil:
        apy_receive_destination_free(self._destination)

    def bound_address(self):
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
        self._there()
        return _address_bytes(apy_receive_destination_bound_address(self._destination))

    def add(self):
        """Hand it to the receiver; CapacityError when the receiver's queue is full now, as all below."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_receive_destination(self._core._driver.conductor, self._destination)
        check(rc)

    def remove(self):
        """Ask the receiver to let go of it."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_receive_destination(self._core._driver.conductor, self._destination)
        check(rc)

    def set_control(self, const uint8_t[::1] address not None):
        """The name of its explicit control address stands for this ``sockaddr_storage`` now."""
        self._there()
        cdef sockaddr_storage control
        cdef int rc
        _fill_address(&control, address)
        with nogil:
            rc = apy_conductor_set_receive_control(self._core._driver.conductor, self._destination, &control)
        check(rc)


cdef _fill_congestion(DriverCore core, apy_congestion_params_t *params, dict given):
    params.is_cubic = given["is_cubic"]
    if params.is_cubic:
        params.measure_rtt = given["measure_rtt"]
        params.tcp_mode = given["tcp_mode"]
        params.initial_rtt_ns = given["initial_rtt_ns"]
        params.window_counter = core._value(given["window_id"])
        params.rtt_counter = core._value(given["rtt_id"])


@cython.final
cdef class ImageCore(_Subscribable):
    """One stream from one source, rebuilt."""

    cdef apy_image_t *_image
    cdef ReceiveEndpointCore _endpoint
    cdef int32_t _stream_id, _session_id

    def __cinit__(self, DriverCore core not None, ReceiveEndpointCore endpoint not None, DriverLog log not None,
                  dict settings not None):
        cdef apy_image_params_t params
        cdef int rc
        cdef bytes channel = settings["channel"]
        cdef bytes source_identity = settings["source_identity"]
        endpoint._there()
        self._endpoint = endpoint
        self._stream_id = settings["stream_id"]
        self._session_id = settings["session_id"]
        _memset(&params, 0, sizeof(params))
        params.correlation_id = settings["correlation_id"]
        params.session_id = settings["session_id"]
        params.stream_id = settings["stream_id"]
        params.initial_term_id = settings["initial_term_id"]
        params.active_term_id = settings["active_term_id"]
        params.term_offset = settings["term_offset"]
        params.window_length = settings["window_length"]
        params.reliable = settings["reliable"]
        params.group = settings["group"]
        params.rejoin = settings["rejoin"]
        params.untethered_window_limit_ns = settings["untethered_window_limit_ns"]
        params.untethered_linger_ns = settings["untethered_linger_ns"]
        params.untethered_resting_ns = settings["untethered_resting_ns"]
        params.mtu = settings["mtu"]
        _fill_congestion(core, &params.congestion, settings["congestion"])
        params.nak_delay_ns = settings["nak_delay_ns"]
        params.destination_id = settings["destination_id"]
        _fill_address(&params.source, settings["source"])
        params.channel = channel
        params.source_identity = source_identity
        params.rcv_hwm = core._value(settings["rcv_hwm_id"])
        params.rcv_pos = core._value(settings["rcv_pos_id"])
        params.naks_sent = core._value(settings["naks_sent_id"])
        rc = apy_image_create(&core._driver.context, endpoint._endpoint, log._lend(), &params, &self._image)
        check(rc)
        self._made(core, "image", log._taken())

    cdef void _release(self) noexcept nogil:
        apy_image_free(self._image)

    cdef int _join(self, apy_conductor_t *conductor, const apy_subscriber_t *subscriber,
                   int64_t *join_position) noexcept nogil:
        return apy_conductor_join_image(conductor, self._image, subscriber, join_position)

    cdef int _leave(self, apy_conductor_t *conductor, int64_t registration_id) noexcept nogil:
        return apy_conductor_leave_image(conductor, self._image, registration_id)

    def add_first_subscriber(self, int64_t registration_id, int32_t counter_id, bint tether, bint rejoin):
        """A subscriber from the start, before core and receiver know the image; its counter is set already."""
        self._there()
        cdef apy_subscriber_t subscriber
        _fill_subscriber(self._core, &subscriber, registration_id, counter_id, tether, rejoin)
        check(apy_image_add_subscriber(self._image, &subscriber))

    def add(self):
        """Let core and receiver run it; CapacityError when the receiver's queue is full now."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_image(self._core._driver.conductor, self._endpoint._endpoint, self._image,
                                         self._stream_id, self._session_id)
        check(rc)

    def set_response(self, session_id):
        """Tell the source which session answers it, until this is called with None."""
        self._there()
        cdef int32_t session = 0 if session_id is None else session_id
        cdef const int32_t *wanted = NULL if session_id is None else &session
        cdef int rc
        with nogil:
            rc = apy_conductor_set_response(self._core._driver.conductor, self._image, wanted)
        check(rc)

    def reject(self, bytes reason not None):
        """Answer the source with errors in place of status messages."""
        self._there()
        cdef const char *text = reason
        cdef int32_t length = <int32_t> len(reason)
        cdef int rc
        with nogil:
            rc = apy_conductor_reject_image(self._core._driver.conductor, self._image, text, length)
        check(rc)
