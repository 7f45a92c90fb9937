# Wrappers of the client room: images, and their polls.

cdef class SubscriptionBase


@cython.final
cdef class Image:
    """One stream from one source, as one subscription sees it."""

    cdef apy_image_reader_t _reader
    cdef ClientLog _log
    cdef CncMapping _cnc
    cdef _Dispatch _dispatch
    cdef int _generation
    cdef object _subscription
    cdef object __weakref__
    cdef readonly int64_t correlation_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t subscriber_position_id
    cdef readonly int32_t mtu_length
    cdef readonly str source_identity

    def __cinit__(self, ClientCore core not None, ClientLog log not None, *, subscription, int64_t correlation_id,
                  int32_t session_id, int32_t stream_id, int32_t subscriber_position_id,
                  str source_identity not None):
        if subscriber_position_id < 0 or subscriber_position_id >= core._cnc._cnc.counters.count_max:
            raise _errors.CorruptError(f"counter id {subscriber_position_id} of an image's position is out of range")
        self._cnc = core._cnc
        self._log = log
        self._generation = _generation
        self._dispatch = _Dispatch()
        self._dispatch.above = (<SubscriptionBase?>subscription)._dispatch
        self._dispatch.error_handler = self._dispatch.above.error_handler
        self._subscription = _weakref.ref(subscription)
        self.correlation_id = correlation_id
        self.stream_id = stream_id
        self.subscriber_position_id = subscriber_position_id
        self.source_identity = source_identity
        self.mtu_length = log._log.mtu
        apy_image_reader_init(&self._reader, &log._log, session_id,
                              apy_counter_address(&core._cnc._cnc.counters, subscriber_position_id))
        self._reader.owner = <void *>self

    def __repr__(self):
        state = f"position={apy_image_reader_position(&self._reader)}" if self._generation == _generation \
            else "made before a fork"
        return f"Image(session_id={self.session_id}, stream_id={self.stream_id}, " \
               f"source_identity={self.source_identity!r}, {state})"

    def _close(self):
        apy_seat_leave(&self._reader.seat)
        apy_image_reader_close(&self._reader)

    def _release_log(self):
        cdef SubscriptionBase subscription = self._subscription()
        self._log = None
        if subscription is not None:
            subscription._sweep()

    cdef object _poll(self, object handler, int limit, int64_t limit_position, bint is_controlled):
        cdef ClientLog log = self._log  # stays mapped while this runs
        cdef int fragments
        check_generation(self._generation)
        if log is None:
            return 0
        self._dispatch.begin(handler, is_controlled)
        self._dispatch.view._owner = log
        fragments = apy_image_reader_controlled_poll(&self._reader, self._dispatch.function, <void *>self._dispatch,
                                                     limit, limit_position)
        self._dispatch.end()
        return check(fragments)

    @cython.binding(False)
    def poll(self, handler, int fragment_limit=10):
        """Call ``handler(buffer, header)`` for up to fragment_limit fragments; returns how many."""
        return self._poll(handler, fragment_limit, APY_NO_LIMIT_POSITION, False)

    def bounded_poll(self, handler, int64_t limit_position, int fragment_limit=10):
        """As poll, for fragments that begin before limit_position."""
        return self._poll(handler, fragment_limit, limit_position, False)

    @cython.binding(False)
    def controlled_poll(self, handler, int fragment_limit=10):
        """As poll; the handler answers a `ControlledAction`, or None to continue."""
        return self._poll(handler, fragment_limit, APY_NO_LIMIT_POSITION, True)

    def bounded_controlled_poll(self, handler, int64_t limit_position, int fragment_limit=10):
        """As controlled_poll, for fragments that begin before limit_position."""
        return self._poll(handler, fragment_limit, limit_position, True)

    def block_poll(self, handler, int32_t block_length_limit):
        """Call ``handler(block, session_id, term_id)`` for a run of whole frames; returns its bytes.

        The block holds frames with their headers; a padding frame comes alone. The position moves behind it,
        also when the handler raises.
        """
        return self._poll_blocks(handler, call_block, block_length_limit)

    def raw_poll(self, handler, int32_t block_length_limit):
        """As block_poll, with where the block lies in the log's file, to be sent or copied from there.

        Calls ``handler(fileno, file_offset, block, session_id, term_id)``: a descriptor open for reading, which stays
        the image's, and the offset in bytes. Raises StateError where the file is gone already.
        """
        if self._log is None or apy_load_acquire_i32(&self._reader.is_closed):
            check_generation(self._generation)
            return 0
        self._dispatch.raw_file = self._log.file()
        return self._poll_blocks(handler, call_raw, block_length_limit)

    cdef object _poll_blocks(self, object handler, apy_fragment_fn function, int32_t block_length_limit):
        cdef ClientLog log = self._log  # stays mapped while this runs
        cdef int length
        check_generation(self._generation)
        if isinstance(handler, FragmentAssembler):
            raise TypeError("blocks are whole frames, with nothing to assemble: give another handler")
        if log is None:
            return 0
        self._dispatch.begin(handler, False)
        self._dispatch.view._owner = log
        length = apy_image_reader_block_poll(&self._reader, function, <void *>self._dispatch, block_length_limit)
        self._dispatch.end()
        return check(length)

    def controlled_peek(self, int64_t initial_position, handler, int64_t limit_position=APY_NO_LIMIT_POSITION):
        """As controlled_poll from a position of the caller's in the current term, without moving the image's own.

        Returns where the last whole message ends that was given and not aborted, or initial_position: from there
        another peek goes on, and there `set_position` may follow. COMMIT is as CONTINUE. Raises ArgumentError.
        """
        cdef ClientLog log = self._log  # stays mapped while this runs
        cdef int64_t reached
        check_generation(self._generation)
        if initial_position < 0:
            raise _errors.ArgumentError(f"position {initial_position}: it must be 0 or more")
        if log is None:
            return initial_position
        self._dispatch.begin(handler, True)
        self._dispatch.view._owner = log
        reached = apy_image_reader_controlled_peek(&self._reader, initial_position, self._dispatch.function,
                                                   <void *>self._dispatch, limit_position)
        self._dispatch.end()
        return reached if reached >= 0 else check(<int>reached)

    def set_position(self, int64_t new_position):
        """Go on reading from a later position of the current term; False once closed.

        It must be where a frame begins, else what is read there is nonsense. Raises ArgumentError.
        """
        check_generation(self._generation)
        self._dispatch.check_idle()
        return check(apy_image_reader_set_position(&self._reader, new_position)) == 1

    def reject(self, str reason not None):
        """Refuse this image: its publisher is told why, and it goes away. As `Subscription.reject_image`."""
        subscription = self._subscription()
        if subscription is None or apy_load_acquire_i32(&self._reader.is_closed):
            raise _errors.StateError("the image has gone away already: there is nothing to reject")
        subscription.reject_image(self, reason)

    @property
    def session_id(self):
        """The publisher's session."""
        return self._reader.session_id

    @property
    def subscription(self):
        """The subscription that this belongs to, or None when that is gone."""
        return self._subscription()

    @property
    def position(self):
        """Position up to which this subscriber has read; the last one once closed."""
        check_generation(self._generation)
        return apy_image_reader_position(&self._reader)

    @property
    def join_position(self):
        """Position at which this subscriber joined."""
        return self._reader.join_position

    @property
    def is_closed(self):
        """Whether the image has gone away."""
        return apy_load_acquire_i32(&self._reader.is_closed) != 0

    @property
    def is_end_of_stream(self):
        """Whether all was read that the publisher sent before it closed."""
        check_generation(self._generation)
        return apy_image_reader_is_end_of_stream(&self._reader)

    @property
    def end_of_stream_position(self):
        """Position at which the stream ends; 2**63 - 1 while that is open."""
        check_generation(self._generation)
        return apy_image_reader_end_of_stream_position(&self._reader)

    @property
    def is_publication_revoked(self):
        """Whether the publisher revoked the stream."""
        check_generation(self._generation)
        return apy_image_reader_is_revoked(&self._reader)

    @property
    def active_transport_count(self):
        """How many transports of the publisher feed this image."""
        check_generation(self._generation)
        return apy_image_reader_transport_count(&self._reader)

    @property
    def initial_term_id(self):
        """Id of the stream's first term."""
        return self._reader.initial_term_id

    @property
    def term_buffer_length(self):
        """Bytes of a term."""
        return self._reader.term_length

    @property
    def position_bits_to_shift(self):
        """log2 of the term length."""
        return self._reader.shift

    @property
    def native_address(self):
        """Address of the C image reader, for native code; valid while this object is alive."""
        check_generation(self._generation)
        return <size_t>&self._reader


cdef void call_block(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header) noexcept:
    cdef _Dispatch dispatch = <_Dispatch>context
    dispatch.view._data = buffer
    dispatch.view._length = <Py_ssize_t>length
    try:
        (<object>dispatch.handler)(dispatch.view, header.frame.session_id, header.frame.term_id)
    except BaseException as error:
        restore(error)
        dispatch.failed = True


cdef void call_raw(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header) noexcept:
    cdef _Dispatch dispatch = <_Dispatch>context
    dispatch.view._data = buffer
    dispatch.view._length = <Py_ssize_t>length
    try:
        (<object>dispatch.handler)(dispatch.raw_file, apy_image_reader_file_offset(header.image, buffer),
                                   dispatch.view, header.frame.session_id, header.frame.term_id)
    except BaseException as error:
        restore(error)
        dispatch.failed = True
