# Wrappers of the client room: the polls of subscriptions.


@cython.final
cdef class _ImageList:
    # Images at one moment, with the logs they lie in. A poll holds the list it began with, so that nothing it
    # reads is unmapped meanwhile; the conductor puts a new one in its place.
    cdef apy_image_reader_t **_readers
    cdef int _count
    cdef apy_image_set_t _set  # the same for native polls
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
        self._set.readers = self._readers
        self._set.count = self._count

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
    cdef _BatchStore _store
    cdef _Wait _wait
    cdef FragmentAssembler _batch_assembler
    cdef apy_native_subscription_t _native
    cdef list _past  # image lists that a native poll may still read, each with its turn
    cdef object __weakref__
    cdef readonly str channel
    cdef readonly int32_t stream_id
    cdef readonly int64_t registration_id
    cdef readonly int32_t channel_status_id

    def __cinit__(self, *args, **kwargs):
        self._list = _ImageList(())
        self._dispatch = _Dispatch()
        self._past = []
        apy_native_subscription_init(&self._native, &self._list._set, <int32_t *>&self._dispatch.is_busy,
                                     <int32_t *>&self._dispatch.image_polls, &self._assembler()._assembler)
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
        self._replace(_ImageList(images))

    def _mark_closed(self):
        self._is_closed = True
        apy_native_subscription_close(&self._native)
        self._replace(_ImageList(()))

    cdef int _replace(self, _ImageList images) except -1:
        cdef _ImageList before = self._list
        cdef int64_t turn
        self._list = images
        turn = apy_native_subscription_set(&self._native, &images._set)
        if self._dispatch.is_native:
            self._past.append((turn, before))
            self._sweep()
        apy_fetch_add_i32(&self._changes, 1)
        if self._wait is not None:
            self._wait.wake()
        return 0

    cdef int _sweep(self) except -1:
        # Let go of the images that no native poll can be reading any more. Others may be at it as well.
        cdef list kept = []
        cdef list past = self._past
        self._past = kept
        for turn, images in past:
            if not apy_native_subscription_is_past(&self._native, turn):
                self._past.append((turn, images))
        return 0

    cdef inline int _poll(self, object handler, int limit, bint is_controlled) except -1:
        cdef _ImageList images = self._list
        cdef _Dispatch dispatch = self._dispatch
        cdef int fragments = 0, rc, i, index, start
        if self._generation != _generation:
            refuse_fork()
        start = apy_round_robin(&self._next, images._count)
        if images._count == 0:
            return 0
        dispatch.begin(handler, is_controlled)
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
        """As of each image in turn, each with the full limit; returns the bytes of all."""
        cdef int64_t total = 0
        check_generation(self._generation)
        for image in self._list._images:
            total += (<Image>image).block_poll(handler, block_length_limit)
        return total

    def raw_poll(self, handler, int32_t block_length_limit):
        """As of each image in turn, each with the full limit; returns the bytes of all."""
        cdef int64_t total = 0
        check_generation(self._generation)
        for image in self._list._images:
            total += (<Image>image).raw_poll(handler, block_length_limit)
        return total

    @property
    def is_polling(self):
        """Whether a poll of it or of an image runs now, or a batch is open."""
        return self._dispatch.is_busy or self._dispatch.image_polls > 0

    def poll_native(self, handler, context=0, int fragment_limit=10, *, bint assemble=False, bint controlled=False):
        """Call a native function for up to fragment_limit fragments, without the GIL; returns how many.

        ``handler`` is an ``aeronpy_fragment_fn`` of aeronpy.h, or with ``controlled`` an ``aeronpy_controlled_fn``: its
        address, or the pointer that cffi, ctypes or Numba gives; ``context`` likewise. It must not touch Python. With
        ``assemble`` it gets whole messages. Raises StateError while it is polled otherwise, CorruptError, TooLongError.
        """
        return native_poll(self, native_pointer(handler), native_pointer(context), fragment_limit, assemble, controlled)

    @property
    def native_handle(self):
        """A `NativeHandle` for the functions of aeronpy.h; keep it as long as native code has its address."""
        return subscription_handle(self)

    cdef FragmentAssembler _assembler(self):
        if self._batch_assembler is None:
            self._batch_assembler = FragmentAssembler(print)
        return self._batch_assembler

    @cython.binding(False)
    def poll_batch(self, int32_t messages_max=4096):
        """Take up to messages_max whole messages in one crossing; returns a `MessageBatch`, to be closed.

        Messages stay in the log, and their publisher's window stays taken, until the batch is closed: then the
        position moves. So a batch takes no more from an image than the larger of 256 KiB and a 32nd of its term. One
        batch at a time; no polls meanwhile.
        """
        cdef MessageBatch batch
        cdef _BatchStore store = self._store
        cdef FragmentAssembler assembler
        cdef _ImageList images = self._list
        cdef int rc
        check_generation(self._generation)
        if messages_max < 1:
            raise _errors.ArgumentError(f"messages_max is {messages_max}: it must be 1 or more")
        assembler = self._assembler()
        self._dispatch.claim()  # before the GIL goes: neither assembler nor store are for two threads
        try:
            if store is None or store._exports > 0 or store._batch.capacity < messages_max:
                store = self._store = new_store(messages_max)
            batch = MessageBatch.__new__(MessageBatch)
            with nogil:
                rc = apy_batch_fill(&store._batch, images._readers, images._count, &self._next,
                                    &assembler._assembler, messages_max)
            check(rc)
        except BaseException:
            self._dispatch.release()
            raise
        batch._begin(self, store, images)
        return batch

    cdef _Wait _waiting(self):
        check_generation(self._generation)
        if self._wait is None:
            if self._is_closed:
                raise _errors.StateError(f"the subscription on {self.channel} stream {self.stream_id} is closed")
            self._wait = new_wait(self._cnc)
        return self._wait

    def fileno(self):
        """A descriptor for `select` and its kin: readable when there may be something to poll.

        Ask with `arm` before each sleep. It is open as long as this object. Raises StateError where the subscription
        was closed before it was first asked for, OSError.
        """
        return self._waiting().fileno()

    def arm(self):
        """Announce a sleep on `fileno`: True, it becomes readable on need; False, there is something to poll now.

        The need may also be an image that came or went, or the end of this subscription (False from then on), and at
        times there is none. Where the driver or a publisher is not ours, it becomes readable after 0.1 to 16 ms,
        longer while nothing comes. One thread at a time. Raises as `fileno`.
        """
        cdef _Wait wait = self._waiting()
        cdef _ImageList images = self._list
        return not self._is_closed and apy_wait_for_images(&wait._wait, images._readers, images._count)

    def disarm(self):
        """Make the descriptor quiet again after it was readable, for loops that do not come to `arm` at once."""
        cdef _Wait wait = self._waiting()
        apy_waiter_drain(&wait._wait.waiter)

    cdef object _sleep(self, int64_t timeout_ns):
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int64_t left_ns = timeout_ns
        cdef _ImageList images
        cdef _Wait wait = None
        cdef int looks = 0
        while True:
            images = self._list
            if apy_images_are_ready(images._readers, images._count):
                return True
            if self._is_closed or left_ns <= 0:
                return False
            if looks < LOOKS_BEFORE_SLEEP:  # what comes at once is not worth a sleep
                looks += 1
                with nogil:
                    sched_yield()
            else:
                if wait is None:
                    wait = self._waiting()
                if self.arm():
                    wait.sleep(left_ns)
            left_ns = timeout_ns - (apy_nano_time(&clock) - started_ns)

    def wait(self, timeout_s=None, idle=None):
        """Sleep without the GIL until there is something to poll; False when timeout_s passed, or once closed.

        It is woken on need, as by `arm`; or looks by itself in the rhythm of an idle strategy of this name. One thread
        at a time. Raises ArgumentError for names that are none, OSError where descriptors are used up.
        """
        check_generation(self._generation)
        if idle is None:
            return self._sleep(nanoseconds(timeout_s))
        return self._wait_idling(timeout_s, idle)

    cdef object _wait_idling(self, timeout_s, str idle):
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t timeout_ns = nanoseconds(timeout_s)
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int64_t slice_ns, now_ns
        cdef apy_idle_t strategy
        cdef bytes idle_text = idle.encode("ascii", "replace")
        cdef _ImageList images
        cdef int32_t changes
        cdef bint is_ready
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
