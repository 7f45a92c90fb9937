# Wrappers of the client room: offer and poll once more, for the arguments that they are given message by message.
#
# Each stands in front of the method of its name, takes what needs no looking at keywords and tuples, and leaves the rest
# to it: half of what the call of such a method costs is its arguments.


cdef extern from *:
    """
    typedef PyObject *(*apy_fastcall_fn)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

    static apy_fastcall_fn apy_function_of(const PyMethodDef *method)
    {
        return (apy_fastcall_fn)(void (*)(void))method->ml_meth;
    }

    /* Put a function in front of a method of a type; *general is what it stands before. 0, or -1 with an error set. */
    static int apy_put_in_front(PyTypeObject *type, const char *name, apy_fastcall_fn function, PyMethodDef *made,
                                apy_fastcall_fn *general)
    {
        PyObject *found = PyDict_GetItemString(type->tp_dict, name);
        if (found == NULL || !PyObject_TypeCheck(found, &PyMethodDescr_Type)) {
            PyErr_Format(PyExc_SystemError, "%s has no method %s to stand in front of", type->tp_name, name);
            return -1;
        }
        const PyMethodDef *method = ((PyMethodDescrObject *)found)->d_method;
        if (method->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) {
            return 0; /* of a build that calls in another way: it stays as it is */
        }
        *general = apy_function_of(method);
        *made = *method;
        made->ml_meth = (PyCFunction)(void (*)(void))function;
        PyObject *descriptor = PyDescr_NewMethod(type, made);
        if (descriptor == NULL) {
            return -1;
        }
        const int rc = PyDict_SetItemString(type->tp_dict, name, descriptor);
        Py_DECREF(descriptor);
        PyType_Modified(type);
        return rc;
    }
    """
    ctypedef PyObject *(*apy_fastcall_fn)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *)
    int apy_put_in_front(PyTypeObject *type, const char *name, apy_fastcall_fn function, PyMethodDef *made,
                         apy_fastcall_fn *general) except -1


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    ctypedef struct PyMethodDef:
        pass
    bint PyBytes_CheckExact(PyObject *of)
    bint PyLong_CheckExact(PyObject *of)
    char *data_of "PyBytes_AS_STRING"(PyObject *bytes)
    Py_ssize_t length_of "PyBytes_GET_SIZE"(PyObject *bytes)


cdef extern from *:
    """
    #define apy_general(general, self, arguments, count, names) general((PyObject *)self, arguments, count, names)
    """
    object apy_general(apy_fastcall_fn general, object self, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names)


cdef PyMethodDef _offer_method, _poll_method
cdef apy_fastcall_fn _general_offer, _general_poll


cdef object _offer(PublicationBase self, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef iovec part
    cdef int64_t result
    if count != 1 or names != NULL or not PyBytes_CheckExact(arguments[0]) or self._generation != _generation \
            or self._is_busy:
        return apy_general(_general_offer, self, arguments, count, names)
    part.iov_base = data_of(arguments[0])
    part.iov_len = length_of(arguments[0])
    result = apy_publication_offer(&self._publication, &part, 1, NULL, NULL)
    return apy_position_int(&self._last, result) if result > 0 else offer_result(result)


cdef object _poll(SubscriptionBase self, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef _ImageList images = self._list
    cdef int limit = 10
    if names != NULL or count < 1 or count > 2 or (count == 2 and not PyLong_CheckExact(arguments[1])):
        return apy_general(_general_poll, self, arguments, count, names)
    if count == 2:
        limit = <object>arguments[1]
    # Who waits for a message asks more often than there is one.
    if images._count == 1 and self._generation == _generation and not self._dispatch.is_busy \
            and PyVectorcall_Function(arguments[0]) != NULL and not apy_images_are_ready(images._readers, 1):
        return 0
    return self._poll(<object>arguments[0], limit, False)


apy_put_in_front(<PyTypeObject *>PublicationBase, b"offer", <apy_fastcall_fn>_offer, &_offer_method, &_general_offer)
apy_put_in_front(<PyTypeObject *>SubscriptionBase, b"poll", <apy_fastcall_fn>_poll, &_poll_method, &_general_poll)
