# Wrappers of the client room: publications.

cdef class _Parts


cdef class PublicationBase:
    """What both kinds of publications share: offers, claims, positions."""

    cdef apy_publication_t _publication
    cdef int _generation
    cdef bint _is_busy
    cdef ClientLog _log
    cdef CncMapping _cnc
    cdef _Wait _wait
    cdef PyObject *_last
    cdef object __weakref__
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int32_t session_id
    cdef readonly int64_t registration_id
    cdef readonly int64_t original_registration_id
    cdef readonly int32_t position_limit_id
    cdef readonly int32_t channel_status_id
    cdef readonly int32_t mtu_length

    def _attach(self, ClientCore core not None, ClientLog log not None, bint is_exclusive, str channel not None,
                int32_t stream_id, int32_t session_id, int64_t registration_id, int64_t original_registration_id,
                int32_t position_limit_id, int32_t channel_status_id):
        if position_limit_id < 0 or position_limit_id >= core._cnc._cnc.counters.count_max:
            raise _errors.CorruptError(f"counter id {position_limit_id} of the publication's limit is out of range")
        self._cnc = core._cnc
        self._log = log
        self._generation = _generation
        self.channel = channel
        self.stream_id = stream_id
        self.session_id = session_id
        self.registration_id = registration_id
        self.original_registration_id = original_registration_id
        self.position_limit_id = position_limit_id
        self.channel_status_id = channel_status_id
        self.mtu_length = log._log.mtu
        apy_publication_init(&self._publication, &log._log,
                             apy_counter_address(&core._cnc._cnc.counters, position_limit_id), is_exclusive)
        apy_publication_set_bell(&self._publication, core._cnc._cnc.ring.bell)
        apy_publication_set_ringer(&self._publication, &core._cnc._ringer)

    def __cinit__(self, *args, **kwargs):
        self._publication.is_closed = 1
        self._generation = _generation

    def __dealloc__(self):
        Py_XDECREF(self._last)

    def _mark_closed(self):
        apy_publication_close(&self._publication)
        apy_seat_leave(&self._publication.seat)
        if self._wait is not None:
            self._wait.wake()

    def _release_log(self):
        self._log = None

    cdef int _refuse_busy(self) except -1:
        raise _errors.StateError("an exclusive publication is in use by another thread: it takes one at a time")

    @cython.binding(False)
    def offer(self, buffer, *more, reserved_value=None):
        """Append a message made of one or several buffers; returns the new position or an `OfferResult`.

        ``reserved_value`` is an int, or is called with each frame, its header first, before readers see it; what it
        raises is raised here, and the message is sent with 0 instead. Raises TooLongError above `max_message_length`.
        """
        cdef iovec part
        cdef Py_buffer held
        cdef int64_t result
        if self._generation != _generation:
            refuse_fork()
        if self._is_busy:
            self._refuse_busy()
        if more or reserved_value is not None:
            return self._offer_parts((buffer, *more), reserved_value)
        if type(buffer) is bytes:
            part.iov_base = PyBytes_AS_STRING(buffer)
            part.iov_len = PyBytes_GET_SIZE(buffer)
            result = apy_publication_offer(&self._publication, &part, 1, NULL, NULL)
        elif type(buffer) is FragmentView:
            (<FragmentView>buffer)._check()
            part.iov_base = <void *>(<FragmentView>buffer)._data
            part.iov_len = (<FragmentView>buffer)._length
            result = apy_publication_offer(&self._publication, &part, 1, NULL, NULL)
        else:
            PyObject_GetBuffer(buffer, &held, PyBUF_SIMPLE)
            part.iov_base = held.buf
            part.iov_len = held.len
            result = apy_publication_offer(&self._publication, &part, 1, NULL, NULL)
            PyBuffer_Release(&held)
        return apy_position_int(&self._last, result) if result > 0 else offer_result(result)

    cdef object _offer_parts(self, tuple buffers, object reserved_value):
        # Several buffers, or a reserved value: the GIL stays held, since the supplier may be Python.
        cdef ClientLog log = self._log  # stays mapped, whatever the supplier does
        cdef _Supplier supplier = supplier_of(reserved_value, log)
        cdef _Parts parts = _Parts(buffers)
        cdef int64_t result
        try:
            result = apy_publication_offer(&self._publication, parts._parts, parts._count, supplier.call,
                                           supplier.context)
        finally:
            parts._release()
        supplier.raise_if_failed()
        return offer_result(result)

    def send(self, buffer, *more, timeout_s=10.0, str idle="backoff", reserved_value=None):
        """Append a message, waiting up to timeout_s (None: for ever) until it is accepted; returns the position.

        Waits without the GIL, by the idle strategy, and hears Ctrl-C. ``reserved_value`` is as of `offer`. Raises
        AeronTimeoutError (a TimeoutError) with what stood in the way, PublicationClosed, MaxPositionExceeded, or
        TooLongError.
        """
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t timeout_ns = nanoseconds(timeout_s)
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int64_t left_ns, result
        cdef apy_idle_t strategy
        cdef bytes idle_text = idle.encode("ascii", "replace")
        cdef ClientLog log = self._log  # stays mapped while this runs
        if self._generation != _generation:
            refuse_fork()
        check(apy_idle_init(&strategy, idle_text, NULL))
        if self._is_busy:
            self._refuse_busy()
        cdef _Supplier supplier = supplier_of(reserved_value, log)
        cdef _Parts parts = _Parts((buffer, *more) if more else (buffer,))
        try:
            result = apy_publication_offer(&self._publication, parts._parts, parts._count, supplier.call,
                                           supplier.context)
            while -3 <= result <= -1:
                left_ns = timeout_ns - (apy_nano_time(&clock) - started_ns)
                if left_ns <= 0 and result != APY_ADMIN_ACTION:
                    raise _errors.AeronTimeoutError(
                        f"{_OFFER_RESULTS[-result].name} for {timeout_s} s on {self.channel} stream {self.stream_id}")
                self._is_busy = self._publication.is_exclusive
                with nogil:
                    result = apy_publication_send(&self._publication, parts._parts, parts._count, supplier.call,
                                                  supplier.context, &strategy, min(left_ns, SIGNAL_CHECK_NS))
                self._is_busy = False
                if -3 <= result <= -1:
                    PyErr_CheckSignals()
        finally:
            parts._release()
        supplier.raise_if_failed()
        self._raise_if_over(result)
        return offer_result(result)

    def _why_closed(self):
        # What there is to say behind "is closed"; those who know a client say what ended it.
        return ""

    cdef int _raise_if_over(self, int64_t result) except -1:
        if result == APY_CLOSED:
            raise _errors.PublicationClosed(
                f"the publication on {self.channel} stream {self.stream_id} is closed{self._why_closed()}")
        if result == APY_MAX_POSITION_EXCEEDED:
            raise _errors.MaxPositionExceeded(
                f"the stream is full at position {self.max_possible_position}: add a new publication")
        return 0

    @cython.binding(False)
    def offer_batch(self, messages):
        """Append many messages in one crossing, without the GIL; returns how many were accepted, from the first on.

        ``messages`` is a structured array or another 1-D array (an item each), a 2-D array of bytes (a row each),
        or a pair ``(payload, lengths)`` of packed bytes and int32 lengths. Raises PublicationClosed and
        MaxPositionExceeded when nothing was accepted for that reason, TooLongError, ArgumentError.
        """
        cdef Py_buffer held
        cdef int64_t accepted, result = 0, stride, count, length
        cdef ClientLog log = self._log  # stays mapped while this runs
        if self._generation != _generation:
            refuse_fork()
        if self._is_busy:
            self._refuse_busy()
        if type(messages) is tuple:
            if len(<tuple>messages) != 2:
                raise _errors.ArgumentError(f"a batch of a tuple of {len(<tuple>messages)}: give (payload, lengths)")
            return self._offer_packed(messages[0], messages[1])
        kind = getattr(messages, "dtype", None)
        if kind is not None and kind.hasobject:
            raise _errors.ArgumentError(f"a batch of dtype {kind} holds Python objects, which have no bytes to send")
        PyObject_GetBuffer(messages, &held, PyBUF_STRIDES | PyBUF_FORMAT)
        try:
            if held.ndim == 2 and held.itemsize == 1 and (held.shape[1] <= 1 or held.strides[1] == 1):
                length = held.shape[1]
            elif held.ndim == 1 and held.itemsize > 1:
                length = held.itemsize
            else:
                raise _errors.ArgumentError(
                    f"a batch of {held.ndim} dimensions with items of {held.itemsize} bytes: give a structured array, "
                    "a 2-D array of uint8 with contiguous rows, or (payload, lengths)")
            count = held.shape[0]
            stride = held.strides[0]
            self._is_busy = self._publication.is_exclusive
            with nogil:
                accepted = apy_publication_offer_strided(&self._publication, <const uint8_t *>held.buf, stride,
                                                         <int32_t>min(length, 0x7FFFFFFF), count, &result)
            self._is_busy = False
        finally:
            PyBuffer_Release(&held)
        return self._batch_result(accepted, result)

    cdef object _batch_result(self, int64_t accepted, int64_t result):
        if accepted == 0:
            self._raise_if_over(result)
            if result == APY_OFFER_ERROR:
                offer_result(result)
        return accepted

    cdef object _offer_packed(self, object payload, object lengths):
        cdef const uint8_t[::1] data = memoryview(payload).cast("B")
        cdef const int32_t[::1] sizes
        cdef int64_t accepted, result = 0, total = 0, i
        cdef ClientLog log = self._log
        try:
            sizes = lengths
        except (ValueError, TypeError):
            sizes = _int32_array(lengths)
        if sizes.shape[0] == 0:
            return 0
        # A copy of our own: somebody else may write to the lengths while they are read without the GIL.
        cdef bytes copied = PyBytes_FromStringAndSize(<const char *>&sizes[0], sizes.shape[0] * sizeof(int32_t))
        cdef const int32_t *own = <const int32_t *>PyBytes_AS_STRING(copied)
        cdef int64_t count = sizes.shape[0]
        for i in range(count):
            if own[i] < 0:
                raise _errors.ArgumentError(f"message {i} has a length of {own[i]}")
            total += own[i]
        if total > data.shape[0]:
            raise _errors.ArgumentError(f"the lengths add up to {total} bytes, the payload has {data.shape[0]}")
        cdef const uint8_t *first = &data[0] if data.shape[0] > 0 else NULL
        self._is_busy = self._publication.is_exclusive
        with nogil:
            accepted = apy_publication_offer_packed(&self._publication, first, data.shape[0], own, count, &result)
        self._is_busy = False
        return self._batch_result(accepted, result)

    @cython.binding(False)
    def try_claim(self, int32_t length):
        """Claim space for a message of length bytes, up to `max_payload_length`; returns a `BufferClaim`.

        The claim is false when it was refused; its ``result`` is the `OfferResult`. End it promptly: until then
        subscribers wait.
        """
        cdef BufferClaim claim = BufferClaim.__new__(BufferClaim)
        cdef uint8_t *frame = NULL
        cdef int64_t result
        if self._generation != _generation:
            refuse_fork()
        if self._is_busy:
            self._refuse_busy()
        if length < 0:
            raise _errors.ArgumentError(f"a claim of {length} bytes: 0 to {self.max_payload_length}")
        result = apy_publication_claim(&self._publication, length, &frame)
        claim.result = offer_result(result)
        if result > 0:
            claim._frame = frame
            claim._length = length
            claim._log = self._log
            claim._publication = self
        return claim

    cdef _Wait _waiting(self):
        check_generation(self._generation)
        if self._wait is None:
            self._raise_if_over(APY_CLOSED if apy_publication_is_closed(&self._publication) else 0)
            self._wait = new_wait(self._cnc)
        return self._wait

    def fileno(self):
        """A descriptor for `select` and its kin: readable when the publication may take messages again.

        Ask with `arm` before each sleep. It is open as long as this object. Raises PublicationClosed, OSError.
        """
        return self._waiting().fileno()

    def arm(self):
        """Announce a sleep on `fileno`: True, it becomes readable on need; False, an offer now need not be refused.

        For the want of a subscriber or of window, that is. It may become readable with no reason. One waits at a
        time; any thread may offer meanwhile. Raises as `fileno`.
        """
        cdef _Wait wait = self._waiting()
        return not apy_publication_is_closed(&self._publication) \
            and apy_wait_for_window(&wait._wait, &self._publication)

    def disarm(self):
        """Make the descriptor quiet again after it was readable, for loops that do not come to `arm` at once."""
        cdef _Wait wait = self._waiting()
        apy_waiter_drain(&wait._wait.waiter)

    @property
    def is_closed(self):
        """Whether it was closed, or its client or driver is gone."""
        return apy_publication_is_closed(&self._publication)

    @property
    def is_connected(self):
        """Whether there is a subscriber."""
        check_generation(self._generation)
        return apy_publication_is_connected(&self._publication)

    @property
    def position(self):
        """Position of the stream's end so far; OfferResult.CLOSED once closed."""
        check_generation(self._generation)
        cdef int64_t position = apy_publication_position(&self._publication)
        return position if position >= 0 else _OFFER_RESULTS[-position]

    @property
    def position_limit(self):
        """Position up to which offers are accepted now; OfferResult.CLOSED once closed."""
        check_generation(self._generation)
        cdef int64_t limit = apy_publication_position_limit(&self._publication)
        return limit if limit != APY_CLOSED else _OFFER_RESULTS[4]

    @property
    def available_window(self):
        """Bytes that may be offered now; OfferResult.CLOSED once closed."""
        check_generation(self._generation)
        cdef int64_t position = apy_publication_position(&self._publication)
        if position < 0:
            return _OFFER_RESULTS[-position]
        return apy_publication_position_limit(&self._publication) - position

    @property
    def max_payload_length(self):
        """Bytes of payload in one frame: longer messages go in fragments."""
        return self._publication.exclusive.base.payload_max

    @property
    def max_message_length(self):
        """Bytes of the longest message: the smaller of an eighth of a term and 16 MiB."""
        return self._publication.exclusive.base.message_max

    @property
    def max_possible_position(self):
        """Where the stream ends for ever."""
        return self._publication.exclusive.base.position_max

    @property
    def term_buffer_length(self):
        """Bytes of a term."""
        return self._publication.exclusive.base.term_length

    @property
    def initial_term_id(self):
        """Id of the stream's first term."""
        return self._publication.exclusive.base.initial_term_id

    @property
    def position_bits_to_shift(self):
        """log2 of the term length."""
        return self._publication.exclusive.base.shift

    @property
    def native_address(self):
        """Address of the C publication, for native code; valid while this object is open."""
        check_generation(self._generation)
        return <size_t>&self._publication

    @property
    def native_handle(self):
        """A `NativeHandle` for the functions of aeronpy.h; keep it as long as native code has its address."""
        return publication_handle(self)

    def _append_padding(self, int32_t length):
        check_generation(self._generation)
        if self._is_busy:
            self._refuse_busy()
        if apy_publication_is_closed(&self._publication):
            return _OFFER_RESULTS[4]
        if length < 0:
            raise _errors.ArgumentError(f"padding of {length} bytes: it must be 0 or more")
        return offer_result(apy_exclusive_append_padding(&self._publication.exclusive, length))

    def _offer_block(self, block):
        cdef Py_buffer held
        cdef int64_t result
        check_generation(self._generation)
        if self._is_busy:
            self._refuse_busy()
        PyObject_GetBuffer(block, &held, PyBUF_SIMPLE)
        try:
            if apy_publication_is_closed(&self._publication):
                return _OFFER_RESULTS[4]
            if held.len > 0x7FFFFFFF:
                raise _errors.ArgumentError(f"a block of {held.len} bytes: it must hold whole frames of a term")
            result = apy_exclusive_offer_block(&self._publication.exclusive, <const uint8_t *>held.buf,
                                               <int32_t>held.len)
        finally:
            PyBuffer_Release(&held)
        if result == APY_OFFER_ERROR:
            raise _errors.ArgumentError(apy_error_text().decode("utf-8", "replace"), -1)
        return offer_result(result)


def _int32_array(lengths):
    # Nothing is rounded or wrapped: a length that int32 cannot hold is the caller's mistake.
    import numpy
    given = numpy.asarray(lengths)
    if given.ndim != 1 or (given.size > 0 and given.dtype.kind not in "iu"):
        raise _errors.ArgumentError(
            f"lengths of dtype {given.dtype} in {given.ndim} dimensions: they must be integers in one")
    if given.size > 0 and given.max() > 0x7FFFFFFF:
        raise _errors.ArgumentError(f"a length of {given.max()}: lengths are int32")
    if given.size > 0 and given.min() < 0:
        raise _errors.ArgumentError(f"message {int((given < 0).argmax())} has a length of {given.min()}")
    return numpy.ascontiguousarray(given, dtype=numpy.int32)


@cython.final
cdef class _Parts:
    # Buffers held for one message, as C wants them.
    cdef iovec *_parts
    cdef Py_buffer *_held
    cdef int _count

    def __cinit__(self, tuple buffers):
        cdef Py_ssize_t count = len(buffers)
        self._parts = <iovec *>malloc(count * sizeof(iovec))
        self._held = <Py_buffer *>malloc(count * sizeof(Py_buffer))
        if self._parts == NULL or self._held == NULL:
            raise MemoryError
        for buffer in buffers:
            PyObject_GetBuffer(buffer, &self._held[self._count], PyBUF_SIMPLE)
            self._parts[self._count].iov_base = self._held[self._count].buf
            self._parts[self._count].iov_len = self._held[self._count].len
            self._count += 1

    cdef void _release(self):
        cdef int i
        for i in range(self._count):
            PyBuffer_Release(&self._held[i])
        self._count = 0

    def __dealloc__(self):
        self._release()
        free(self._parts)
        free(self._held)
