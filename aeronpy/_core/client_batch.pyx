# Wrappers of the client room: batches of messages.

cdef class SubscriptionBase
cdef class _ImageList


@cython.final
cdef class _BatchStore:
    # Where a batch's messages are noted down. A subscription keeps one from batch to batch.
    cdef apy_batch_t _batch
    cdef Py_ssize_t _exports  # arrays that look at it

    def __dealloc__(self):
        apy_batch_free(&self._batch)


cdef _BatchStore new_store(int32_t messages_max):
    cdef _BatchStore store = _BatchStore.__new__(_BatchStore)
    check(apy_batch_init(&store._batch, messages_max))
    return store


@cython.final
cdef class _BatchArray:
    # One column of a batch: keeps the batch's memory while an array looks at it.
    cdef _BatchStore _owner
    cdef void *_data
    cdef Py_ssize_t _count
    cdef Py_ssize_t _item_bytes
    cdef const char *_format

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if flags & PyBUF_WRITABLE:
            raise BufferError("a batch is read-only")
        buffer.obj = self
        buffer.buf = self._data
        buffer.len = self._count * self._item_bytes
        buffer.itemsize = self._item_bytes
        buffer.readonly = True
        buffer.ndim = 1
        buffer.format = <char *>self._format if flags & PyBUF_FORMAT else NULL
        buffer.shape = &self._count
        buffer.strides = &self._item_bytes
        buffer.suboffsets = NULL
        buffer.internal = NULL
        self._owner._exports += 1

    def __releasebuffer__(self, Py_buffer *buffer):
        self._owner._exports -= 1


@cython.final
cdef class _BatchPayload:
    # Term memory under a batch: gives views whose owner is the log.
    cdef object _owner
    cdef const uint8_t *_data
    cdef Py_ssize_t _length

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        fill_buffer(buffer, flags, self._owner, self._data, self._length, True)


@cython.final
cdef class MessageBatch:
    """Many whole messages at once, where they lie. Close it (or leave its ``with`` block) to move the position.

    Dropping it closes it. Use after close raises StateError; arrays and views taken before stay readable, but their
    bytes may change.
    """

    cdef _BatchStore _store
    cdef _ImageList _list
    cdef SubscriptionBase _subscription
    cdef dict _taken
    cdef int _uses  # by calls that have let go of the GIL
    cdef readonly int32_t refused_count

    def __init__(self):
        raise TypeError("a MessageBatch comes from Subscription.poll_batch")

    def __del__(self):
        self.close()

    cdef void _begin(self, SubscriptionBase subscription, _BatchStore store, _ImageList images):
        self._subscription = subscription
        self._store = store
        self._list = images
        self.refused_count = store._batch.refused_count

    cdef apy_batch_t *_open(self) except NULL:
        if self._store is None:
            raise _errors.StateError("the batch is closed: its messages may have been overwritten")
        return &self._store._batch

    def close(self):
        """Move the position behind the batch's messages. Twice is fine."""
        cdef _BatchStore store = self._store
        if store is None:
            return
        if self._uses > 0:
            raise _errors.StateError("the batch is being gathered by another thread: close it afterwards")
        self._store = None
        if self._subscription._generation == _generation:
            apy_batch_commit(&store._batch)
        self._subscription._dispatch.release()
        self._subscription = None
        self._list = None
        self._taken = None

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *exception):
        self.close()

    def __len__(self):
        return self._open().count

    cdef object _column(self, void *data, Py_ssize_t item_bytes, const char *format):
        cdef _BatchArray column = _BatchArray.__new__(_BatchArray)
        column._owner = self._store
        column._data = data
        column._count = self._open().count
        column._item_bytes = item_bytes
        column._format = format
        return _numpy().asarray(memoryview(column))

    @property
    def lengths(self):
        """Payload bytes of each message, int32."""
        return self._column(self._open().lengths, 4, b"i")

    @property
    def positions(self):
        """Position of the stream behind each message, int64."""
        return self._column(self._open().positions, 8, b"q")

    @property
    def session_ids(self):
        """Publisher's session of each message, int32."""
        return self._column(<void *>apy_batch_session_ids(self._open()), 4, b"i")

    cdef object _log_of(self, int32_t index):
        # The log whose mapping the payload lies in.
        cdef int i
        cdef ClientLog log
        cdef const uint8_t *at = self._open().payloads[index]
        for i in range(self._list._count):
            log = self._list._logs[i]
            if log is not None and log._log.mapping.address <= at < log._log.mapping.address + log._log.mapping.length:
                return log
        return None

    cdef object _owner_of(self, int32_t index):
        cdef uint8_t *data
        owner = self._log_of(index)
        if owner is not None:
            return owner
        if self._taken is None:
            self._taken = {}
        owner = self._taken.get(index)
        if owner is None:
            data = apy_batch_take(self._open(), index)
            owner = self._taken[index] = owned_memory(data)
        return owner

    def payload(self, Py_ssize_t index):
        """The bytes of one message, as a read-only memoryview; IndexError."""
        cdef _BatchPayload payload
        cdef apy_batch_t *batch = self._open()
        if index < 0:
            index += batch.count
        if index < 0 or index >= batch.count:
            raise IndexError(f"message {index} of a batch of {batch.count}")
        payload = _BatchPayload.__new__(_BatchPayload)
        payload._owner = self._owner_of(<int32_t>index)
        payload._data = batch.payloads[index]
        payload._length = batch.lengths[index]
        return memoryview(payload)

    def __iter__(self):
        cdef Py_ssize_t i
        for i in range(len(self)):
            yield self.payload(i)

    def view(self, dtype, *, bint copy=False):
        """The messages as an array of ``dtype``, one item each, without a copy.

        Needs messages that are alike: equal lengths not shorter than the dtype, one behind the other in one log;
        ArgumentError says what was met. With ``copy`` equal lengths are enough, and the array is the caller's.
        """
        cdef _BatchPayload payload
        cdef int64_t stride
        cdef int32_t i, count, length
        numpy = _numpy()
        kind = numpy.dtype(dtype)
        cdef apy_batch_t *batch = self._open()
        count = batch.count
        if count == 0:
            return numpy.empty(0, kind)
        length = batch.lengths[0]
        for i in range(count):
            if batch.lengths[i] != length:
                raise _errors.ArgumentError(
                    f"message {i} has {batch.lengths[i]} bytes, message 0 has {length}: "
                    "they are not alike; use payload(i)")
        if length < kind.itemsize:
            raise _errors.ArgumentError(f"messages of {length} bytes are shorter than the dtype's {kind.itemsize}")
        if copy:
            rows = self.gather().reshape(count, length)
            return numpy.ndarray((count,), kind, rows, 0, (length,))
        stride = apy_batch_stride(batch)
        if stride == 0:
            raise _errors.ArgumentError(
                "the messages do not lie one behind the other in one log (several images, padding or fragments): "
                "give copy=True")
        payload = _BatchPayload.__new__(_BatchPayload)
        payload._owner = self._owner_of(0)
        payload._data = batch.payloads[0]
        payload._length = stride * (count - 1) + length
        return numpy.ndarray((count,), kind, memoryview(payload), 0, (stride,))

    def gather(self):
        """All payloads, one behind the other, as a new array of uint8."""
        cdef apy_batch_t *batch = self._open()
        cdef int64_t total = apy_batch_bytes(batch)
        packed = _numpy().empty(total, "u1")
        cdef uint8_t[::1] target = packed
        if total > 0:
            self._uses += 1
            with nogil:
                apy_batch_gather(batch, &target[0])
            self._uses -= 1
        return packed

    def to_arrow(self):
        """A pyarrow table of position (int64), session_id (int32) and payload (binary); a copy."""
        import pyarrow
        numpy = _numpy()
        lengths = self.lengths
        offsets = numpy.zeros(len(lengths) + 1, numpy.int64)
        numpy.cumsum(lengths, out=offsets[1:])
        payload = pyarrow.Array.from_buffers(
            pyarrow.large_binary(), len(lengths),
            [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(self.gather())])
        return pyarrow.table({
            "position": self.positions.copy(), "session_id": self.session_ids.copy(), "payload": payload})


cdef object _numpy_module = None


cdef object _numpy():
    global _numpy_module
    if _numpy_module is None:
        import numpy
        _numpy_module = numpy
    return _numpy_module
