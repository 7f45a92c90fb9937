# What sends and receives over UDP: created here, run by the driver's agents.


cdef int _fill_address(sockaddr_storage *address, const uint8_t[::1] given) except -1:
    if given.shape[0] != sizeof(sockaddr_storage):
        raise ValueError(f"an address has {sizeof(sockaddr_storage)} bytes, not {given.shape[0]}")
    _memcpy(address, &given[0], sizeof(sockaddr_storage))
    return 0


cdef _fill_channel(apy_udp_channel_t *channel, dict given):
    _memset(channel, 0, sizeof(apy_udp_channel_t))
    _fill_address(&channel.remote_data, given["remote_data"])
    _fill_address(&channel.remote_control, given["remote_control"])
    _fill_address(&channel.local_data, given["local_data"])
    _fill_address(&channel.local_control, given["local_control"])
    channel.interface_index = given["interface_index"]
    channel.control_mode = <apy_control_mode_t> <int> given["control_mode"]
    channel.is_multicast = given["is_multicast"]
    channel.has_explicit_endpoint = given["has_explicit_endpoint"]
    channel.has_explicit_control = given["has_explicit_control"]
    channel.ttl = given["ttl"]
    channel.so_sndbuf = given["so_sndbuf"]
    channel.so_rcvbuf = given["so_rcvbuf"]


cdef bytes _address_bytes(const sockaddr_storage *address):
    return (<const char *> address)[:sizeof(sockaddr_storage)]


def interfaces():
    """Addresses of this machine: ``(name, address text without port, prefix length, index, flags)``."""
    cdef apy_interface_t found[256]
    cdef char text[128]
    cdef int i
    addresses = []
    for i in range(check(apy_interfaces(found, 256))):
        length = check(apy_address_format(&found[i].address, text, sizeof(text)))
        host = text[:length].decode("ascii").rsplit(":", 1)[0].strip("[]")
        addresses.append((found[i].name.decode(), host, found[i].prefix_length, found[i].index, found[i].flags))
    return addresses


@cython.final
cdef class SendEndpointCore(_Resource):
    """The socket that the publications of one channel send from."""

    cdef apy_send_endpoint_t *_endpoint

    def __cinit__(self, DriverCore core not None, dict channel not None, int64_t endpoint_id, int32_t status_id):
        cdef apy_udp_channel_t settings
        cdef int64_t *status
        cdef int rc
        core._alive()
        self._core = core
        status = core._value(status_id)
        _fill_channel(&settings, channel)
        with nogil:
            rc = apy_send_endpoint_open(&core._driver.context, &settings, endpoint_id, status, &self._endpoint)
        check(rc)
        core._keep(self)

    cdef int _there(self) except -1:
        self._core._alive()
        if self._endpoint == NULL:
            raise _StateError("the endpoint is freed")
        return 0

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

    def free(self):
        """Close its socket, once the sender let go of it. Safe twice."""
        if self._endpoint != NULL:
            self._core._alive()
            apy_send_endpoint_free(self._endpoint)
            self._endpoint = NULL
            self._core._drop(self)


@cython.final
cdef class ReceiveEndpointCore(_Resource):
    """The socket that the subscriptions of one channel receive on."""

    cdef apy_receive_endpoint_t *_endpoint

    def __cinit__(self, DriverCore core not None, dict channel not None, int64_t endpoint_id, int32_t status_id):
        cdef apy_udp_channel_t settings
        cdef int64_t *status
        cdef int rc
        core._alive()
        self._core = core
        status = core._value(status_id)
        _fill_channel(&settings, channel)
        with nogil:
            rc = apy_receive_endpoint_open(&core._driver.context, &settings, endpoint_id, status, &self._endpoint)
        check(rc)
        core._keep(self)

    cdef int _there(self) except -1:
        self._core._alive()
        if self._endpoint == NULL:
            raise _StateError("the endpoint is freed")
        return 0

    def bound_address(self):
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
        self._there()
        return _address_bytes(apy_receive_endpoint_bound_address(self._endpoint))

    def add(self):
        """Hand it to the receiver; CapacityError when the receiver's queue is full now, as all below."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_add_receive_endpoint(self._core._driver.conductor, self._endpoint)
        check(rc)

    def remove(self):
        """Ask the receiver to let go of it."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_receive_endpoint(self._core._driver.conductor, self._endpoint)
        check(rc)

    def add_stream(self, int32_t stream_id, session_id=None):
        """Take a stream: of one session, or of all."""
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

    def free(self):
        """Close its socket, once the receiver let go of it. Safe twice."""
        if self._endpoint != NULL:
            self._core._alive()
            apy_receive_endpoint_free(self._endpoint)
            self._endpoint = NULL
            self._core._drop(self)


@cython.final
cdef class NetworkPublicationCore(_Resource):
    """A log that the sender drains to the wire."""

    cdef apy_network_publication_t *_publication

    def __cinit__(self, DriverCore core not None, SendEndpointCore endpoint not None, str path not None,
                  dict log_settings not None, dict settings not None):
        cdef apy_log_t log
        cdef apy_network_publication_params_t params
        cdef int rc
        endpoint._there()
        self._core = core
        _memset(&params, 0, sizeof(params))
        params.registration_id = log_settings["correlation_id"]
        params.session_id = log_settings["session_id"]
        params.stream_id = log_settings["stream_id"]
        params.initial_term_id = log_settings["initial_term_id"]
        params.window_length = log_settings["publication_window_length"]
        params.linger_ns = log_settings["linger_timeout_ns"]
        params.signal_eos = log_settings["signal_eos"]
        params.spies_simulate_connection = log_settings["spies_simulate_connection"]
        params.untethered_window_limit_ns = log_settings["untethered_window_limit_timeout_ns"]
        params.untethered_linger_ns = log_settings["untethered_linger_timeout_ns"]
        params.untethered_resting_ns = log_settings["untethered_resting_timeout_ns"]
        params.start_position = settings["start_position"]
        params.max_resend = settings["max_resend"]
        params.exclusive = settings["exclusive"]
        params.send_response_setup = settings["send_response_setup"]
        params.ttl = settings["ttl"]
        params.pub_pos = core._value(settings["pub_pos_id"])
        params.pub_lmt = core._value(settings["pub_lmt_id"])
        params.snd_pos = core._value(settings["snd_pos_id"])
        params.snd_lmt = core._value(settings["snd_lmt_id"])
        params.snd_bpe = core._value(settings["snd_bpe_id"])
        params.naks_received = core._value(settings["naks_received_id"])
        _create_log(core, path, log_settings, &log)
        self._bytes_mapped = log.mapping.length
        rc = apy_network_publication_create(&core._driver.context, endpoint._endpoint, &log, &params,
                                            &self._publication)
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

    def add_subscriber(self, int64_t registration_id, int32_t counter_id, bint tether, bint rejoin):
        """Let a spy in: the join position, also set in the counter, or None when it takes no spies now."""
        self._there()
        cdef apy_subscriber_t spy
        cdef int64_t join_position = 0
        cdef int rc
        _fill_subscriber(self._core, &spy, registration_id, counter_id, tether, rejoin)
        with nogil:
            rc = apy_conductor_join_publication(self._core._driver.conductor, self._publication, &spy, &join_position)
        return join_position if check(rc) else None

    def remove_subscriber(self, int64_t registration_id):
        """True when the spy was there."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_leave_publication(self._core._driver.conductor, self._publication, registration_id)
        return bool(check(rc))

    def free(self):
        """Unmap its log, once sender and core let go of it. Safe twice."""
        if self._publication != NULL:
            self._core._alive()
            apy_network_publication_free(self._publication)
            self._publication = NULL
            self._unmapped()


@cython.final
cdef class ImageCore(_Resource):
    """One stream from one source, rebuilt."""

    cdef apy_image_t *_image
    cdef ReceiveEndpointCore _endpoint
    cdef int32_t _stream_id, _session_id

    def __cinit__(self, DriverCore core not None, ReceiveEndpointCore endpoint not None, str path not None,
                  dict log_settings not None, dict settings not None):
        cdef apy_log_t log
        cdef apy_image_params_t params
        cdef int rc
        cdef bytes channel = settings["channel"]
        cdef bytes source_identity = settings["source_identity"]
        endpoint._there()
        self._core = core
        self._endpoint = endpoint
        self._stream_id = log_settings["stream_id"]
        self._session_id = log_settings["session_id"]
        _memset(&params, 0, sizeof(params))
        params.correlation_id = log_settings["correlation_id"]
        params.session_id = log_settings["session_id"]
        params.stream_id = log_settings["stream_id"]
        params.initial_term_id = log_settings["initial_term_id"]
        params.active_term_id = log_settings["start_term_id"]
        params.term_offset = log_settings["start_term_offset"]
        params.window_length = log_settings["receiver_window_length"]
        params.reliable = log_settings["reliable"]
        params.group = log_settings["group"]
        params.rejoin = log_settings["rejoin"]
        params.untethered_window_limit_ns = log_settings["untethered_window_limit_timeout_ns"]
        params.untethered_linger_ns = log_settings["untethered_linger_timeout_ns"]
        params.untethered_resting_ns = log_settings["untethered_resting_timeout_ns"]
        params.has_group_tag = settings["group_tag"] is not None
        params.group_tag = 0 if settings["group_tag"] is None else settings["group_tag"]
        params.nak_delay_ns = settings["nak_delay_ns"]
        _fill_address(&params.source, settings["source"])
        _fill_address(&params.control, settings["control"])
        params.channel = channel
        params.source_identity = source_identity
        params.rcv_hwm = core._value(settings["rcv_hwm_id"])
        params.rcv_pos = core._value(settings["rcv_pos_id"])
        params.naks_sent = core._value(settings["naks_sent_id"])
        _create_log(core, path, log_settings, &log)
        self._bytes_mapped = log.mapping.length
        rc = apy_image_create(&core._driver.context, endpoint._endpoint, &log, &params, &self._image)
        if rc < 0:
            apy_log_close(&log)
            self._unmapped()
            check(rc)
        core._keep(self)

    cdef int _there(self) except -1:
        self._core._alive()
        if self._image == NULL:
            raise _StateError("the image is freed")
        return 0

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

    def add_subscriber(self, int64_t registration_id, int32_t counter_id, bint tether, bint rejoin):
        """A late one: the join position, also set in the counter, or None when it takes none now."""
        self._there()
        cdef apy_subscriber_t subscriber
        cdef int64_t join_position = 0
        cdef int rc
        _fill_subscriber(self._core, &subscriber, registration_id, counter_id, tether, rejoin)
        with nogil:
            rc = apy_conductor_join_image(self._core._driver.conductor, self._image, &subscriber, &join_position)
        return join_position if check(rc) else None

    def remove_subscriber(self, int64_t registration_id):
        """True when it was there."""
        self._there()
        cdef int rc
        with nogil:
            rc = apy_conductor_leave_image(self._core._driver.conductor, self._image, registration_id)
        return bool(check(rc))

    def reject(self, bytes reason not None):
        """Answer the source with errors in place of status messages."""
        self._there()
        cdef const char *text = reason
        cdef int32_t length = <int32_t> len(reason)
        cdef int rc
        with nogil:
            rc = apy_conductor_reject_image(self._core._driver.conductor, self._image, text, length)
        check(rc)

    def free(self):
        """Unmap its log, once receiver and core let go of it. Safe twice."""
        if self._image != NULL:
            self._core._alive()
            apy_image_free(self._image)
            self._image = NULL
            self._unmapped()
