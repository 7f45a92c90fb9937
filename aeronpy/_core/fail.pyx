# The only place where a C code becomes an exception.
from aeronpy import errors as _errors


cdef int check(int rc) except -1:
    """Return rc, or raise the exception that its code names."""
    if rc >= 0:
        return rc
    raise _errors.BY_CODE.get(rc, _errors.AeronError)(apy_error_text().decode("utf-8", "replace"), rc)
