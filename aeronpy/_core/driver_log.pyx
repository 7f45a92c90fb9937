# Logs: made, and let go of, on whatever thread has the time; run by the publication or image that takes them over.


cdef _fill_log_params(apy_log_params_t *params, dict given):
    _memset(params, 0, sizeof(apy_log_params_t))
    params.correlation_id = given["correlation_id"]
    params.session_id = given["session_id"]
    params.stream_id = given["stream_id"]
    params.initial_term_id = given["initial_term_id"]
    params.start_term_id = given["start_term_id"]
    params.start_term_offset = given["start_term_offset"]
    params.term_length = given["term_length"]
    params.mtu = given["mtu"]
    params.page_size = given["page_size"]
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


@cython.final
cdef class DriverLog:
    """A log file, made from the settings in its metadata, until a publication or an image takes it over.

    Making and discarding may take as long as writing the whole file: both let go of the GIL, on any thread.
    """

    cdef apy_log_t _log
    cdef bint _is_here
    cdef readonly str path
    cdef readonly int64_t correlation_id

    def __cinit__(self, str path not None, dict settings not None):
        cdef apy_log_params_t params
        cdef bytes encoded = _os.fsencode(path)
        cdef const char *text = encoded
        cdef int rc
        self.path = path
        self.correlation_id = settings["correlation_id"]
        _fill_log_params(&params, settings)
        with nogil:
            rc = apy_log_create(&self._log, text, &params)
        check(rc)
        self._is_here = True

    def __dealloc__(self):
        if self._is_here:
            apy_log_close(&self._log)

    cdef apy_log_t *_lend(self) except NULL:
        """For who takes it over: `_taken` follows when that went well."""
        if not self._is_here:
            raise _StateError(f"the log {self.path} was taken over or discarded")
        return &self._log

    cdef int64_t _taken(self):
        """It is another's now; returns its length."""
        self._is_here = False
        return <int64_t> self._log.mapping.length

    def discard(self):
        """Unmap and delete a log that nobody took. Safe twice; nothing when it was taken."""
        cdef bint was_here = self._is_here
        self._is_here = False
        if was_here:
            with nogil:
                apy_log_close(&self._log)
            try:
                _os.unlink(self.path)
            except FileNotFoundError:
                pass
