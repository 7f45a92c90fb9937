# Wrappers of the client room: messages put together from fragments.


cdef class FragmentAssembler:
    """A handler that gives whole messages to another one: ``subscription.poll(FragmentAssembler(handler))``.

    It works in every kind of poll, and in controlled ones passes the other's actions on. One thread at a time. What
    goes past ``unassembled_limit`` bytes without an end (by default past the longest message that the stream's terms
    allow) is dropped, counted, and raised by the poll as TooLongError.
    """

    cdef apy_fragment_assembler_t _assembler
    cdef bint _is_busy
    cdef readonly object handler

    def __cinit__(self, handler, int32_t initial_buffer_length=0, *, unassembled_limit=None):
        cdef int32_t limit
        if not callable(handler):
            raise TypeError(f"a handler is called with (buffer, header): {handler!r} cannot be")
        if initial_buffer_length < 0:
            raise _errors.ArgumentError(f"an initial buffer of {initial_buffer_length} bytes: it must be 0 or more")
        apy_fragment_assembler_init(&self._assembler)
        if unassembled_limit is not None:
            limit = unassembled_limit
            if limit < 1:
                raise _errors.ArgumentError(f"an unassembled limit of {limit} bytes: it must be 1 or more, or None")
            self._assembler.unassembled_max = limit
        self._assembler.initial_length = initial_buffer_length
        self.handler = handler

    def __dealloc__(self):
        apy_fragment_assembler_free(&self._assembler)

    def __call__(self, FragmentView buffer not None, Header header not None):
        """Take one fragment, for use behind another handler."""
        cdef apy_message_t message
        cdef FragmentView view
        cdef Header completed
        buffer._check()
        header._frame()
        if check(apy_fragment_assembler_add(&self._assembler, buffer._data, buffer._length, header._header,
                                            &message)) == 0:
            return None
        if message.builder == NULL:
            return self.handler(buffer, header)
        view = FragmentView.__new__(FragmentView)
        completed = Header.__new__(Header)
        view._data, view._length, view._message = message.buffer, message.length, &message
        completed._header = message.header
        try:
            result = self.handler(view, completed)
        finally:
            view._data, view._message, completed._header = NULL, NULL, NULL
        if result is not None and action_of(result) == APY_ACTION_ABORT:
            apy_fragment_assembler_undo(&message)
        return result

    @property
    def refused_count(self):
        """Messages that were dropped since they went past the limit."""
        return self._assembler.refused_count

    def free_session_buffer(self, int32_t session_id):
        """Free what was kept for one session, and lose an unfinished message of it; whether there was anything."""
        self._check_idle()
        return apy_fragment_assembler_free_session(&self._assembler, session_id)

    def clear(self):
        """Free what was kept for all sessions."""
        self._check_idle()
        apy_fragment_assembler_clear(&self._assembler)

    cdef int _check_idle(self) except -1:
        if self._is_busy:
            raise _errors.StateError("the assembler is in use: by its own handler, or by another thread")
        return 0


cdef class ControlledFragmentAssembler(FragmentAssembler):
    """A FragmentAssembler for controlled polls alone: a message that its handler aborts comes again whole."""


@cython.final
cdef class ImageFragmentAssembler(FragmentAssembler):
    """A FragmentAssembler with one buffer, for the polls of one image."""

    def __cinit__(self, *args, **kwargs):
        self._assembler.is_of_one_image = True


@cython.final
cdef class ImageControlledFragmentAssembler(ControlledFragmentAssembler):
    """A ControlledFragmentAssembler with one buffer, for the controlled polls of one image."""

    def __cinit__(self, *args, **kwargs):
        self._assembler.is_of_one_image = True


cdef apy_action_t assemble(_Dispatch dispatch, const uint8_t *buffer, size_t length, const apy_header_t *header,
                           bint is_controlled) noexcept:
    cdef apy_message_t message
    cdef apy_action_t action
    cdef object log
    cdef PyObject *result
    cdef int rc = apy_fragment_assembler_add(&dispatch.assembler._assembler, buffer, length, header, &message)
    if rc == 0:
        return APY_ACTION_CONTINUE
    if rc < 0:
        restore(_errors.BY_CODE[rc](apy_error_text().decode("utf-8", "replace"), rc))
        dispatch.failed = True
        return APY_ACTION_BREAK
    if message.builder == NULL:
        return call_controlled(<void *>dispatch, buffer, length, header) if is_controlled \
            else call_plain(<void *>dispatch, buffer, length, header)
    log = dispatch.view._owner
    dispatch.view._owner = None
    dispatch.view._message = &message
    result = call(dispatch, message.buffer, message.length, message.header)
    dispatch.view._message = NULL
    dispatch.view._owner = log
    if is_controlled:
        action = answer(dispatch, result)
        if action == APY_ACTION_ABORT:
            apy_fragment_assembler_undo(&message)
        return action
    if result == NULL:
        dispatch.failed = True
        return APY_ACTION_BREAK
    Py_DECREF(<object>result)
    return APY_ACTION_CONTINUE


cdef apy_action_t call_assembled(void *context, const uint8_t *buffer, size_t length,
                                 const apy_header_t *header) noexcept:
    return assemble(<_Dispatch>context, buffer, length, header, False)


cdef apy_action_t call_assembled_controlled(void *context, const uint8_t *buffer, size_t length,
                                            const apy_header_t *header) noexcept:
    return assemble(<_Dispatch>context, buffer, length, header, True)
