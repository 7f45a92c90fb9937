# Wrappers of the client room: images and the polls of subscriptions.


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
                  str source_identity not None, error_handler=None):
        if subscriber_position_id < 0 or subscriber_position_id >= core._cnc._cnc.counters.count_max:
            raise _errors.CorruptError(f"counter id {subscriber_position_id} of an image's position is out of range")
        self._cnc = core._cnc
        self._log = log
        self._generation = _generation
        self._dispatch = _Dispatch()
        self._dispatch.error_handler = error_handler
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
        return f"Image(session_id={self.session_id}, stream_id={self.stream_id}, " \
               f"source_identity={self.source_identity!r}, position={self.position})"

    def _close(self):
        apy_image_reader_close(&self._reader)

    def _release_log(self):
        self._log = None

    cdef int _check_alone(self) except -1:
        # Both would move the one position: the later one back over what the other delivered.
        check_generation(self._generation)
        subscription = self._subscription()
        if subscription is not None and subscription.is_polling:
            raise _errors.StateError("the image's subscription is being polled or has an open batch: end that first")
        return 0

    cdef object _poll(self, object handler, int limit, int64_t limit_position, bint is_controlled):
        cdef ClientLog log = self._log  # stays mapped while this runs
        cdef int fragments
        self._check_alone()
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
        cdef ClientLog log = self._log  # stays mapped while this runs
        cdef int length
        self._check_alone()
        if log is None:
            return 0
        self._dispatch.begin(handler, False)
        self._dispatch.view._owner = log
        length = apy_image_reader_block_poll(&self._reader, call_block, <void *>self._dispatch,
                                             block_length_limit)
        self._dispatch.end()
        return check(length)

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


@cython.final
cdef class _ImageList:
    # Images at one moment, with the logs they lie in. A poll holds the list it began with, so that nothing it
    # reads is unmapped meanwhile; the conductor puts a new one in its place.
    cdef apy_image_reader_t **_readers
    cdef int _count
    cdef tuple _images
    cdef tuple _logs

    def __cinit__(self, tuple images not None):
        cdef int i
        self._readers = <apy_image_reader_t **>malloc((len(images) + 1) * sizeof(apy_image_reader_t *))
        if self._readers == NULL:
            raise MemoryError
        self._images = images
        self._logs = tuple((<Image>image)._log for image in images)
        self._count = <int>len(images)
        for i in range(self._count):
            self._readers[i] = &(<Image>images[i])._reader

    def __dealloc__(self):
        free(self._readers)


cdef class SubscriptionBase:
    """The polls of a subscription, over its images in turn. One thread at a time."""

    cdef _ImageList _list
    cdef _Dispatch _dispatch
    cdef int32_t _next
    cdef int32_t _changes
    cdef int _generation
    cdef bint _is_closed
    cdef CncMapping _cnc
    cdef MessageBatch _batch
    cdef FragmentAssembler _batch_assembler
    cdef object __weakref__
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int64_t registration_id
    cdef readonly int32_t channel_status_id

    def __cinit__(self, *args, **kwargs):
        self._list = _ImageList(())
        self._dispatch = _Dispatch()
        self._generation = _generation
        self._is_closed = True

    def _attach(self, ClientCore core not None, str channel not None, int32_t stream_id, int64_t registration_id,
                int32_t channel_status_id, error_handler=None):
        self._cnc = core._cnc
        self._dispatch.error_handler = error_handler
        self._is_closed = False
        self.channel = channel
        self.stream_id = stream_id
        self.registration_id = registration_id
        self.channel_status_id = channel_status_id

    def _set_images(self, tuple images not None):
        self._list = _ImageList(images)
        apy_fetch_add_i32(&self._changes, 1)

    def _mark_closed(self):
        self._is_closed = True
        self._list = _ImageList(())
        apy_fetch_add_i32(&self._changes, 1)

    cdef inline int _poll(self, object handler, int limit, bint is_controlled) except -1:
        cdef _ImageList images = self._list
        cdef _Dispatch dispatch = self._dispatch
        cdef int fragments = 0, rc, i, index, start
        if self._generation != _generation:
            refuse_fork()
        if images._count == 0:
            return 0
        dispatch.begin(handler, is_controlled)
        start = apy_round_robin(&self._next, images._count)
        for i in range(images._count):
            index = start + i if start + i < images._count else start + i - images._count
            dispatch.view._owner = images._logs[index]
            rc = apy_image_reader_controlled_poll(images._readers[index], dispatch.function, <void *>dispatch,
                                                  limit - fragments, APY_NO_LIMIT_POSITION)
            if rc < 0:
                dispatch.end()
                return fragments if fragments > 0 else check(rc)
            fragments += rc
            if dispatch.failed or fragments >= limit:
                break
        dispatch.end()
        return fragments

    @cython.binding(False)
    def poll(self, handler, int fragment_limit=10):
        """Call ``handler(buffer, header)`` for up to fragment_limit fragments; returns how many.

        An exception in the handler ends the poll, moves the position past that fragment, and is raised here.
        """
        return self._poll(handler, fragment_limit, False)

    @cython.binding(False)
    def controlled_poll(self, handler, int fragment_limit=10):
        """As poll; the handler answers a `ControlledAction`, or None to continue."""
        return self._poll(handler, fragment_limit, True)

    def block_poll(self, handler, int32_t block_length_limit):
        """Call ``handler(block, session_id, term_id)`` for a run of frames of each image; returns the bytes."""
        cdef _ImageList images = self._list
        cdef int64_t total = 0
        check_generation(self._generation)
        for image in images._images:
            total += (<Image>image).block_poll(handler, block_length_limit)
        return total

    @cython.binding(False)
    @property
    def is_polling(self):
        """Whether a poll runs now, or a batch is open."""
        return self._dispatch.is_busy

    def poll_native(self, size_t handler, size_t context=0, int fragment_limit=10, *, bint assemble=False):
        """Call a native function for up to fragment_limit fragments, without the GIL; returns how many.

        ``handler`` is the address of a ``void (*)(void *context, const uint8_t *buffer, size_t length,
        const apy_header_t *header)``. It must not touch Python. With ``assemble`` it gets whole messages.
        """
        cdef _ImageList images = self._list
        cdef apy_assembling_t assembling
        cdef int fragments
        check_generation(self._generation)
        if handler == 0:
            raise _errors.ArgumentError("the handler's address is 0")
        if self._dispatch.is_busy:
            self._dispatch.begin(None, False)  # raises
        self._dispatch.is_busy = True
        if assemble:
            assembling.assembler = &self._assembler()._assembler
            assembling.handler = <apy_fragment_fn>handler
            assembling.context = <void *>context
            assembling.error = 0
            with nogil:
                fragments = apy_images_poll(images._readers, images._count, &self._next, apy_assembling_handler,
                                            &assembling, fragment_limit)
        else:
            with nogil:
                fragments = apy_images_poll(images._readers, images._count, &self._next, <apy_fragment_fn>handler,
                                            <void *>context, fragment_limit)
        self._dispatch.is_busy = False
        if assemble:
            check(assembling.error)
        return check(fragments)

    cdef FragmentAssembler _assembler(self):
        if self._batch_assembler is None:
            self._batch_assembler = FragmentAssembler(print)
        return self._batch_assembler

    @cython.binding(False)
    def poll_batch(self, int32_t messages_max=4096):
        """Take up to messages_max whole messages in one crossing; returns a `MessageBatch`, to be closed.

        Messages stay in the log, and their publisher's window stays taken, until the batch is closed: then the
        position moves. One batch at a time; no polls meanwhile.
        """
        cdef MessageBatch batch
        cdef FragmentAssembler assembler
        cdef int rc
        check_generation(self._generation)
        if messages_max < 1:
            raise _errors.ArgumentError(f"messages_max is {messages_max}: it must be 1 or more")
        if self._dispatch.is_busy:
            self._dispatch.begin(None, False)  # raises
        batch = self._batch
        if batch is None or batch._exports > 0 or batch._batch.capacity < messages_max or batch._is_shared():
            batch = MessageBatch.__new__(MessageBatch)
            check(apy_batch_init(&batch._batch, messages_max))
            self._batch = batch
        batch._list = self._list
        assembler = self._assembler()
        self._dispatch.is_busy = True  # before the GIL goes: the assembler is not for two threads
        with nogil:
            rc = apy_batch_fill(&batch._batch, batch._list._readers, batch._list._count, &self._next,
                                &assembler._assembler, messages_max)
        if rc < 0:
            self._dispatch.is_busy = False
            check(rc)
        batch._begin(self)
        return batch

    def wait(self, timeout_s=None, str idle="backoff"):
        """Sleep without the GIL until there is something to poll; False when timeout_s passed, or once closed."""
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t timeout_ns = nanoseconds(timeout_s)
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int64_t slice_ns, now_ns
        cdef apy_idle_t strategy
        cdef bytes idle_text = idle.encode("ascii", "replace")
        cdef _ImageList images
        cdef int32_t changes
        cdef bint is_ready
        check_generation(self._generation)
        check(apy_idle_init(&strategy, idle_text, NULL))
        while True:
            images = self._list
            changes = self._changes
            now_ns = apy_nano_time(&clock)
            slice_ns = min(timeout_ns - (now_ns - started_ns), SIGNAL_CHECK_NS)
            with nogil:
                while True:
                    is_ready = apy_images_are_ready(images._readers, images._count)
                    if is_ready or apy_load_acquire_i32(&self._changes) != changes \
                            or apy_nano_time(&clock) - now_ns >= slice_ns:
                        break
                    apy_idle(&strategy, 0)
            PyErr_CheckSignals()
            if is_ready:
                return True
            if self._is_closed or apy_nano_time(&clock) - started_ns >= timeout_ns:
                return False

    @property
    def is_closed(self):
        """Whether it was closed, or its client or driver is gone."""
        return self._is_closed

    @property
    def images(self):
        """The images there are now, as a tuple."""
        return self._list._images

    @property
    def image_count(self):
        """How many images there are now."""
        return self._list._count

    @property
    def has_no_images(self):
        """Whether nobody sends at present."""
        return self._list._count == 0

    @property
    def is_connected(self):
        """Whether there is an image that is not closed."""
        cdef int i
        cdef _ImageList images = self._list
        for i in range(images._count):
            if apy_load_acquire_i32(&images._readers[i].is_closed) == 0:
                return True
        return False

    def image_by_session_id(self, int32_t session_id):
        """The image of a session, or None."""
        cdef int i
        cdef _ImageList images = self._list
        for i in range(images._count):
            if images._readers[i].session_id == session_id:
                return images._images[i]
        return None

    def image_at_index(self, Py_ssize_t index):
        """The image at an index of `images`; IndexError."""
        return self._list._images[index]
