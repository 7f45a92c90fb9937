# Wrappers of the client room: what native code calls, and what it needs to be called with.
from cpython.pycapsule cimport PyCapsule_New

_C_API = PyCapsule_New(<void *>apy_native_api(), AERONPY_CAPSULE_NAME, NULL)


def native_api_address():
    """Address of the table of aeronpy.h, which lives as long as the process."""
    return <size_t>apy_native_api()


@cython.final
cdef class NativeHandle:
    """A publication or subscription as the functions of aeronpy.h take it: hand on its `address`, and keep this.

    As long as it lives, so does what the address leads to: after a close, native calls answer AERONPY_CLOSED.
    """

    cdef readonly size_t address
    cdef object _resource
    cdef tuple _memory  # kept mapped, also for calls that began before a close

    def __init__(self):
        raise TypeError("a NativeHandle comes from a publication or subscription: native_handle")

    def __index__(self):
        return self.address

    def __repr__(self):
        return f"NativeHandle({self._resource!r}, address={self.address:#x})"

    @property
    def is_closed(self):
        """Whether what it leads to is closed."""
        return self._resource.is_closed


cdef NativeHandle new_handle(object resource, void *address, tuple memory):
    cdef NativeHandle handle = NativeHandle.__new__(NativeHandle)
    handle._resource = resource
    handle.address = <size_t>address
    handle._memory = memory
    _handed_out.add(resource)
    return handle


# What native code may know the address of: it asks nobody whether it runs in a forked child.
_handed_out = _weakref.WeakSet()


def _close_handed_out():
    for resource in list(_handed_out):
        if isinstance(resource, PublicationBase):
            apy_publication_close(&(<PublicationBase>resource)._publication)
        else:
            apy_native_subscription_close(&(<SubscriptionBase>resource)._native)


_os.register_at_fork(after_in_child=_close_handed_out)


cdef NativeHandle publication_handle(PublicationBase publication):
    check_generation(publication._generation)
    return new_handle(publication, &publication._publication, (publication._log, publication._cnc))


cdef NativeHandle subscription_handle(SubscriptionBase subscription):
    check_generation(subscription._generation)
    subscription._dispatch.is_native = True
    return new_handle(subscription, &subscription._native, (subscription._cnc,))


cdef size_t native_pointer(object value) except? 0:
    # An int; what Numba compiled has its address; cffi's and ctypes' pointers are told apart by their modules.
    if isinstance(value, int):
        return value
    address = getattr(value, "address", None)
    if isinstance(address, int):
        return address
    from aeronpy.native import address_of
    return address_of(value)


cdef int native_poll(SubscriptionBase subscription, size_t handler, size_t context, int fragment_limit, bint assemble,
                     bint controlled) except -1:
    cdef const aeronpy_api_t *api = apy_native_api()
    cdef aeronpy_subscription_t *handle = <aeronpy_subscription_t *>&subscription._native
    cdef int fragments
    check_generation(subscription._generation)
    if handler == 0:
        raise _errors.ArgumentError("the handler's address is 0")
    if assemble and controlled:
        raise _errors.ArgumentError("a native poll either assembles or is controlled: give one of them")
    subscription._dispatch.is_native = True
    with nogil:
        if controlled:
            fragments = api.controlled_poll(handle, <aeronpy_controlled_fn>handler, <void *>context, fragment_limit)
        elif assemble:
            fragments = api.poll_assembled(handle, <aeronpy_fragment_fn>handler, <void *>context, fragment_limit)
        else:
            fragments = api.poll(handle, <aeronpy_fragment_fn>handler, <void *>context, fragment_limit)
    if fragments >= 0:
        return fragments
    if fragments == AERONPY_CLOSED:
        return 0
    if fragments == AERONPY_BUSY:
        raise _errors.StateError(
            "the subscription, or an image of it, is being polled already, or has an open batch: end that first")
    return check(subscription._native.error)
