# Wrappers of the base room.


def parse_duration_ns(str text not None):
    """Return the nanoseconds of a duration: digits, then ns (or nothing), us, ms or s. Raises ArgumentError."""
    cdef bytes encoded = text.encode()
    cdef int64_t duration_ns = 0
    check(apy_parse_duration(encoded, &duration_ns))
    return duration_ns
