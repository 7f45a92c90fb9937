# Wrappers of the client room: what a handler is given, and how it is called.


cdef class FragmentAssembler
cdef class ControlledFragmentAssembler


cdef extern from "Python.h":
    ctypedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
    PyObject *PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
    vectorcallfunc PyVectorcall_Function(PyObject *callable)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET


@cython.final
cdef class FragmentView:
    """The bytes of one message or fragment, where they lie. One object is re-pointed from message to message.

    Direct use is valid inside the handler only, and raises StateError afterwards. Keep bytes with ``bytes(view)``.
    A ``memoryview`` or NumPy array taken inside the handler keeps the memory mapped: later it reads what lies
    there then, and never crashes.
    """

    cdef const uint8_t *_data
    cdef Py_ssize_t _length
    cdef object _owner
    cdef apy_message_t *_message

    def __init__(self):
        raise TypeError("a FragmentView is given to handlers, and not made")

    cdef inline int _check(self) except -1:
        if self._data == NULL:
            raise _errors.StateError("this view is valid inside its handler only: keep bytes(view) instead")
        return 0

    cdef const uint8_t *_at(self, Py_ssize_t offset, Py_ssize_t length) except NULL:
        self._check()
        if offset < 0 or offset > self._length - length:
            raise IndexError(f"{length} bytes at offset {offset} of {self._length}")
        return self._data + offset

    def __len__(self):
        self._check()
        return self._length

    def __bool__(self):
        return self._data != NULL and self._length > 0

    def __getitem__(self, index):
        cdef Py_ssize_t at, start, stop, step
        self._check()
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return PyBytes_FromStringAndSize(<const char *>self._data + start, max(stop - start, 0))
            return PyBytes_FromStringAndSize(<const char *>self._data, self._length)[index]
        at = index
        return self._at(at if at >= 0 else at + self._length, 1)[0]

    def __bytes__(self):
        self._check()
        return PyBytes_FromStringAndSize(<const char *>self._data, self._length)

    def tobytes(self):
        """A copy of the bytes."""
        self._check()
        return PyBytes_FromStringAndSize(<const char *>self._data, self._length)

    def __eq__(self, other):
        cdef Py_buffer held
        cdef bint same
        self._check()
        try:
            PyObject_GetBuffer(other, &held, PyBUF_SIMPLE)
        except (TypeError, BufferError):
            return NotImplemented
        same = held.len == self._length and memcmp(held.buf, self._data, self._length) == 0
        PyBuffer_Release(&held)
        return same

    def __hash__(self):
        raise TypeError("a FragmentView changes: hash bytes(view)")

    def __repr__(self):
        return f"FragmentView of {self._length} bytes" if self._data != NULL else "FragmentView, no longer valid"

    def __iter__(self):
        return iter(bytes(self))

    def __buffer__(self, int flags):
        return memoryview(self)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        self._check()
        if self._owner is None:
            self._owner = owned_memory(apy_fragment_assembler_take(self._message))
        fill_buffer(buffer, flags, self._owner, self._data, self._length, True)

    def unpack(self, str format not None, Py_ssize_t offset=0):
        """Fields at an offset by a ``struct`` format, as a tuple."""
        cdef Py_ssize_t size = _struct.calcsize(format)
        cdef const uint8_t *at = self._at(offset, size)
        return _struct.unpack(format, PyBytes_FromStringAndSize(<const char *>at, size))

    def get_uint8(self, Py_ssize_t offset):
        """The byte at an offset."""
        return self._at(offset, 1)[0]

    def get_int16(self, Py_ssize_t offset):
        """The little-endian i16 at an offset."""
        cdef short value
        memcpy(&value, self._at(offset, 2), 2)
        return value

    def get_uint16(self, Py_ssize_t offset):
        """The little-endian u16 at an offset."""
        cdef unsigned short value
        memcpy(&value, self._at(offset, 2), 2)
        return value

    def get_int32(self, Py_ssize_t offset):
        """The little-endian i32 at an offset."""
        cdef int32_t value
        memcpy(&value, self._at(offset, 4), 4)
        return value

    def get_uint32(self, Py_ssize_t offset):
        """The little-endian u32 at an offset."""
        cdef uint32_t value
        memcpy(&value, self._at(offset, 4), 4)
        return value

    def get_int64(self, Py_ssize_t offset):
        """The little-endian i64 at an offset."""
        cdef int64_t value
        memcpy(&value, self._at(offset, 8), 8)
        return value

    def get_uint64(self, Py_ssize_t offset):
        """The little-endian u64 at an offset."""
        cdef uint64_t value
        memcpy(&value, self._at(offset, 8), 8)
        return value

    def get_float32(self, Py_ssize_t offset):
        """The little-endian float at an offset."""
        cdef float value
        memcpy(&value, self._at(offset, 4), 4)
        return value

    def get_float64(self, Py_ssize_t offset):
        """The little-endian double at an offset."""
        cdef double value
        memcpy(&value, self._at(offset, 8), 8)
        return value


@cython.final
cdef class Header:
    """What the frame of a message says. One object is re-used; valid inside the handler only."""

    cdef const apy_header_t *_header

    def __init__(self):
        raise TypeError("a Header is given to handlers, and not made")

    cdef inline const apy_frame_t *_frame(self) except NULL:
        if self._header == NULL:
            raise _errors.StateError("this header is valid inside its handler only")
        return self._header.frame

    @property
    def frame_length(self):
        """Bytes of the frame with its header; of an assembled message, as if it were one frame."""
        return self._frame().length

    @property
    def flags(self):
        """0x80 begins a message, 0x40 ends one; 0xC0 is a whole one."""
        return self._frame().flags

    @property
    def type(self):
        """The frame's type: 1 for data."""
        return self._frame().type

    @property
    def term_offset(self):
        """Where the frame begins in its term."""
        return self._frame().term_offset

    @property
    def session_id(self):
        """The publisher's session."""
        return self._frame().session_id

    @property
    def stream_id(self):
        """The stream."""
        return self._frame().stream_id

    @property
    def term_id(self):
        """The term."""
        return self._frame().term_id

    @property
    def reserved_value(self):
        """What the publisher put into the frame's reserved field, 0 by default."""
        return self._frame().reserved_value

    @property
    def position(self):
        """Position of the stream behind this message or fragment."""
        self._frame()
        return self._header.position

    @property
    def next_term_offset(self):
        """Offset in the term behind this message or fragment."""
        cdef const apy_frame_t *frame = self._frame()
        cdef const apy_image_reader_t *image = self._header.image
        cdef int64_t terms = <uint32_t>(<uint32_t>frame.term_id - <uint32_t>image.initial_term_id)
        return self._header.position - (terms << image.shift)

    @property
    def initial_term_id(self):
        """Id of the stream's first term."""
        self._frame()
        return self._header.image.initial_term_id

    @property
    def position_bits_to_shift(self):
        """log2 of the term length."""
        self._frame()
        return self._header.image.shift

    @property
    def image(self):
        """The `Image` that this came from."""
        self._frame()
        return <object>self._header.image.owner


cdef apy_action_t action_of(object result) except *:
    # Handlers mostly answer the enum's own members, or nothing.
    cdef long action
    if result is None:
        return APY_ACTION_CONTINUE
    action = result
    if action < 1 or action > 4:
        raise _errors.ArgumentError(f"{result!r} is no ControlledAction")
    return <apy_action_t>action


cdef inline vectorcallfunc way_to_call(PyObject *handler) noexcept:
    # Functions and methods of Python say how they are called: asked once a poll, and not once a message.
    cdef vectorcallfunc found = PyVectorcall_Function(handler)
    return found if found != NULL else PyObject_Vectorcall


@cython.final
cdef class _Dispatch:
    # Calls a Python handler for each fragment, with the same two objects. Lives as long as its subscription or image.
    cdef FragmentView view
    cdef Header header
    cdef PyObject *arguments[3]
    cdef PyObject *handler
    cdef vectorcallfunc way
    cdef FragmentAssembler assembler
    cdef apy_controlled_fn function
    cdef _Dispatch above  # of an image's subscription
    cdef int image_polls  # by images of this subscription, each on its own
    cdef int raw_file
    cdef bint is_busy
    cdef bint is_native  # native code may poll it as well, which does not wait for the GIL
    cdef bint failed
    cdef object error_handler

    def __cinit__(self):
        self.view = FragmentView.__new__(FragmentView)
        self.header = Header.__new__(Header)
        # The first slot is scratch space, which lets bound methods be called without a copy of the arguments.
        self.arguments[1] = <PyObject *>self.view
        self.arguments[2] = <PyObject *>self.header

    cdef int refuse(self) except -1:
        if self.is_busy:
            raise _errors.StateError(
                "this is being polled already: by its own handler, an open batch, or another thread")
        if self.image_polls:
            raise _errors.StateError("an image of the subscription is being polled by itself: end that first")
        raise _errors.StateError("the image's subscription is being polled or has an open batch: end that first")

    cdef inline int check_idle(self) except -1:
        # A poll of the subscription and one of its image would both move the one position: the later one back over
        # what the other delivered. Images of one subscription may be polled at once.
        if self.is_busy or self.image_polls or (self.above is not None and self.above.is_busy):
            self.refuse()
        return 0

    cdef inline int claim(self) except -1:
        self.check_idle()
        if self.is_native or (self.above is not None and self.above.is_native):
            return self.claim_from_native()
        self.is_busy = True
        if self.above is not None:
            self.above.image_polls += 1
        return 0

    cdef int claim_from_native(self) except -1:
        # Each side says first that it is there, and then looks for the other: one of them sees it.
        cdef bint is_claimed = apy_cas_i32(<int32_t *>&self.is_busy, 0, 1)
        if is_claimed and self.above is not None:
            apy_fetch_add_i32(<int32_t *>&self.above.image_polls, 1)
            if apy_load_acquire_i32(<int32_t *>&self.above.is_busy) != 0:
                self.release()
                is_claimed = False
        if not is_claimed:
            if self.assembler is not None:
                self.assembler._is_busy = False
                self.assembler = None
            self.refuse()
        return 0

    cdef inline void release(self) noexcept:
        apy_store_release_i32(<int32_t *>&self.is_busy, 0)
        if self.above is not None:
            self.above.image_polls -= 1

    cdef int take_assembler(self, object handler, bint is_controlled) except -1:
        if not is_controlled and isinstance(handler, ControlledFragmentAssembler):
            raise TypeError(f"a {type(handler).__name__} has actions to answer: give it to controlled_poll")
        cdef FragmentAssembler assembler = <FragmentAssembler>handler
        assembler._check_idle()
        assembler._is_busy = True
        self.assembler = assembler
        self.handler = <PyObject *>assembler.handler
        self.way = way_to_call(self.handler)
        self.function = call_assembled_controlled if is_controlled else call_assembled
        return 0

    cdef inline int begin(self, object handler, bint is_controlled) except -1:
        self.check_idle()
        if isinstance(handler, FragmentAssembler):
            self.take_assembler(handler, is_controlled)
        elif callable(handler):
            self.handler = <PyObject *>handler
            self.way = way_to_call(self.handler)
            self.function = call_controlled if is_controlled else call_plain
        else:
            raise TypeError(f"a handler is called with what was received: {handler!r} cannot be")
        self.failed = False
        return self.claim()

    cdef inline int end(self) except -1:
        self.release()
        self.view._data = NULL
        self.view._owner = None
        self.header._header = NULL
        if self.assembler is not None:
            self.assembler._is_busy = False
            self.assembler = None
        return self.fail() if self.failed else 0

    cdef int fail(self) except -1:
        # What a handler raised reaches who polls, unless the client has somebody for it.
        if self.error_handler is None:
            return apy_propagate()
        error = None
        try:
            apy_propagate()
        except Exception as raised:
            error = raised
        self.error_handler(error)
        return 0


cdef inline PyObject *call(_Dispatch dispatch, const uint8_t *buffer, size_t length,
                           const apy_header_t *header) noexcept:
    dispatch.view._data = buffer
    dispatch.view._length = <Py_ssize_t>length
    dispatch.header._header = header
    return dispatch.way(dispatch.handler, dispatch.arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)


cdef apy_action_t call_plain(void *context, const uint8_t *buffer, size_t length,
                             const apy_header_t *header) noexcept:
    cdef PyObject *result = call(<_Dispatch>context, buffer, length, header)
    if result == NULL:
        (<_Dispatch>context).failed = True
        return APY_ACTION_BREAK
    Py_DECREF(<object>result)
    return APY_ACTION_CONTINUE


cdef apy_action_t answer(_Dispatch dispatch, PyObject *result) noexcept:
    cdef apy_action_t action
    if result == NULL:
        dispatch.failed = True
        return APY_ACTION_BREAK
    try:
        action = action_of(<object>result)
    except BaseException as error:
        restore(error)
        dispatch.failed = True
        action = APY_ACTION_BREAK
    Py_DECREF(<object>result)
    return action


cdef extern from *:
    """
    static void apy_set_raised(PyObject *error)
    {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    """
    void apy_set_raised(PyObject *error)


cdef void restore(object error) noexcept:
    apy_set_raised(<PyObject *>error)


cdef apy_action_t call_controlled(void *context, const uint8_t *buffer, size_t length,
                                  const apy_header_t *header) noexcept:
    return answer(<_Dispatch>context, call(<_Dispatch>context, buffer, length, header))
