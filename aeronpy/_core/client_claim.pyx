# Wrappers of the client room: what an offer answers, and messages that are written in place.

cdef class PublicationBase


# Indexed by the negated code.
cdef tuple _OFFER_RESULTS = (None, *(_OfferResult(-code) for code in range(1, 6)))


# An int per message would cost as much as the append. When the caller has dropped the one given last, nobody but
# us can see it, and its digits are written anew; else, on free-threaded builds and on a Python whose ints were not
# looked at (3.14 and later), another is made.
cdef extern from *:
    """
    static PyObject *apy_position_int(PyObject **last, int64_t value)
    {
    #if !defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030E0000
        PyLongObject *kept = (PyLongObject *)*last;
        const int count = value < (INT64_C(1) << PyLong_SHIFT) ? 1 : value < (INT64_C(1) << (2 * PyLong_SHIFT)) ? 2 : 3;
        if (kept != NULL && PyLong_SHIFT == 30 && count < 3 && Py_REFCNT(kept) == 1) {
    #if PY_VERSION_HEX >= 0x030C0000
            digit *digits = kept->long_value.ob_digit;
            const int matches = kept->long_value.lv_tag == ((uintptr_t)count << 3);
    #else
            digit *digits = kept->ob_digit;
            const int matches = Py_SIZE(kept) == count;
    #endif
            if (matches) {
                digits[0] = (digit)(value & PyLong_MASK);
                if (count == 2) {
                    digits[1] = (digit)(value >> PyLong_SHIFT);
                }
                Py_INCREF(kept);
                return (PyObject *)kept;
            }
        }
    #endif
        PyObject *made = PyLong_FromLongLong(value);
        if (made != NULL) {
            PyObject *before = *last;
            Py_INCREF(made);
            *last = made;
            Py_XDECREF(before);
        }
        return made;
    }
    """
    object apy_position_int(PyObject **last, int64_t value)


cdef object offer_result(int64_t result):
    if result > 0:
        return result
    if result > -6:
        return _OFFER_RESULTS[-result]
    raise _errors.TooLongError(apy_error_text().decode("utf-8", "replace"), -9)


cdef int64_t supply_constant(void *context, uint8_t *frame, int32_t frame_length) noexcept nogil:
    return (<int64_t *>context)[0]


@cython.final
cdef class _Supplier:
    # A Python function that gives frames their reserved values, or one value for all.
    cdef apy_reserved_value_fn call
    cdef void *context
    cdef int64_t constant
    cdef object function
    cdef object error
    cdef FragmentView view

    cdef int raise_if_failed(self) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return 0


cdef _Supplier supplier_of(object reserved_value, ClientLog log):
    cdef _Supplier supplier = _Supplier.__new__(_Supplier)
    if reserved_value is None:
        supplier.call = NULL
    elif callable(reserved_value):
        supplier.function = reserved_value
        supplier.view = FragmentView.__new__(FragmentView)
        supplier.view._owner = log
        supplier.call = supply_called
        supplier.context = <void *>supplier
    else:
        supplier.constant = reserved_value
        supplier.call = supply_constant
        supplier.context = &supplier.constant
    return supplier


cdef int64_t supply_called(void *context, uint8_t *frame, int32_t frame_length) noexcept with gil:
    # Frames must be committed whatever happens: after a failure the rest is sent with 0.
    cdef _Supplier supplier = <_Supplier>context
    if supplier.error is not None:
        return 0
    supplier.view._data = frame
    supplier.view._length = frame_length
    try:
        return supplier.function(supplier.view)
    except BaseException as error:
        supplier.error = error
        return 0
    finally:
        supplier.view._data = NULL


@cython.final
cdef class BufferClaim:
    """Space in a log for one message, written in place: leave the ``with`` block to send, by an error to drop it.

    It is false when nothing was claimed: `result` says why.
    """

    cdef uint8_t *_frame
    cdef int32_t _length
    cdef ClientLog _log
    cdef PublicationBase _publication
    cdef object _view
    cdef readonly object result

    def __bool__(self):
        return self._frame != NULL

    def __len__(self):
        return self._length

    def __buffer__(self, int flags):
        return memoryview(self)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        self._check_open()
        fill_buffer(buffer, flags, self._log, self._frame + APY_FRAME_HEADER, self._length, False)

    cdef int _check_open(self) except -1:
        if self._publication is not None:
            check_generation(self._publication._generation)
        if self._frame == NULL:
            raise _errors.StateError(f"there is no claim: it was ended, or refused with {self.result!r}")
        return 0

    cdef void _end(self):
        # Views that the user took stay readable and writable memory, but the frame is no longer theirs.
        self._frame = NULL
        view, self._view = self._view, None
        if view is not None:
            try:
                view.release()
            except BufferError:
                pass

    @property
    def buffer(self):
        """The payload to fill in, as a writable memoryview; released when the claim ends."""
        self._check_open()
        if self._view is None:
            self._view = memoryview(self)
        return self._view

    @property
    def position(self):
        """Stream position behind the message once it is committed."""
        return self.result

    @property
    def reserved_value(self):
        """The frame's reserved value, 0 unless set before the commit."""
        self._check_open()
        return (<apy_frame_t *>self._frame).reserved_value

    @reserved_value.setter
    def reserved_value(self, int64_t value):
        self._check_open()
        (<apy_frame_t *>self._frame).reserved_value = value

    @property
    def flags(self):
        """The frame's flags, 0xC0 unless set before the commit."""
        self._check_open()
        return (<apy_frame_t *>self._frame).flags

    @flags.setter
    def flags(self, uint8_t value):
        self._check_open()
        (<apy_frame_t *>self._frame).flags = value

    @property
    def type(self):
        """The frame's type, 1 for data unless set before the commit; readers of a log know 0 (padding) besides."""
        self._check_open()
        return (<apy_frame_t *>self._frame).type

    @type.setter
    def type(self, unsigned short value):
        self._check_open()
        (<apy_frame_t *>self._frame).type = value

    @cython.binding(False)
    def commit(self):
        """Send the message."""
        self._check_open()
        apy_publication_commit(&(<PublicationBase>self._publication)._publication, self._frame)
        self._end()

    def abort(self):
        """Drop the message: its space becomes padding."""
        self._check_open()
        apy_publication_abort(&(<PublicationBase>self._publication)._publication, self._frame)
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if self._frame != NULL:
            if kind is None:
                self.commit()
            else:
                self.abort()

    def __dealloc__(self):
        # A claim that is never ended would block the stream for its subscribers.
        if self._frame != NULL and self._publication is not None and self._publication._generation == _generation:
            apy_publication_abort(&(<PublicationBase>self._publication)._publication, self._frame)
