# Wrappers of the control room: what a driver shows to the world, read-only.
cimport cython
from libc.stdint cimport uintptr_t
from posix.unistd cimport getpid

from aeronpy._core.c_control cimport *

import os as _os


@cython.final
cdef class CounterInfo:
    """One counter as it was at one moment; owns its bytes."""

    cdef readonly int32_t counter_id
    cdef readonly int32_t state
    cdef readonly int32_t type_id
    cdef readonly int64_t value
    cdef readonly int64_t registration_id
    cdef readonly int64_t owner_id
    cdef readonly int64_t reference_id
    cdef readonly bytes key
    cdef readonly str label

    def __repr__(self):
        return f"CounterInfo(counter_id={self.counter_id}, type_id={self.type_id}, value={self.value}, " \
               f"label={self.label!r})"


cdef CounterInfo counter_info(int32_t counter_id, const apy_counter_info_t *found):
    cdef CounterInfo info = CounterInfo.__new__(CounterInfo)
    info.counter_id = counter_id
    info.state = found.state
    info.type_id = found.type_id
    info.value = found.value
    info.registration_id = found.registration_id
    info.owner_id = found.owner_id
    info.reference_id = found.reference_id
    info.key = (<const uint8_t *>found.key)[:APY_COUNTER_KEY_MAX]
    # The C driver's formatter ends a label that it had to cut with a NUL.
    info.label = (<const char *>found.label)[:found.label_length].rstrip(b"\0").decode("utf-8", "replace")
    if found.broken_label_length != 0:
        info.label = f"(broken: a label of {found.broken_label_length} bytes, counters have 0 to 380)"
    return info


@cython.final
cdef class CountersReader:
    """Reads the counters of a driver while they change. Belongs to whoever mapped them, and closes with it."""

    cdef apy_counters_reader_t _reader
    cdef object _owner
    cdef bint _open
    cdef int _pid

    cdef int _check_open(self) except -1:
        if not self._open:
            raise _errors.StateError("the counters are closed: so is the client, or the file, that they were read with")
        if self._pid != getpid():
            raise _errors.StateError(f"the counters belong to process {self._pid}, this is its fork: open them again")
        return 0

    cdef int _check_id(self, int32_t counter_id) except -1:
        self._check_open()
        if counter_id < 0 or counter_id >= self._reader.count_max:
            raise _errors.ArgumentError(f"counter id {counter_id}: ids are 0 to {self._reader.count_max - 1}")
        return 0

    cdef void _close(self):
        self._open = False
        self._owner = None

    @property
    def max_counter_id(self):
        """The largest id that this driver has room for."""
        return self._reader.count_max - 1

    def __iter__(self):
        """Yield the allocated counters in order of their ids; one whose label breaks the format has a word of that."""
        cdef int32_t counter_id
        cdef apy_counter_info_t found
        for counter_id in range(self._reader.count_max):
            self._check_open()
            if check(apy_counters_get(&self._reader, counter_id, &found)) == 0:
                return
            if found.state == APY_COUNTER_ALLOCATED:
                yield counter_info(counter_id, &found)

    def info(self, int32_t counter_id):
        """Return what is known about an allocated counter, or None when nobody has this id."""
        cdef apy_counter_info_t found
        self._check_open()
        if check(apy_counters_get(&self._reader, counter_id, &found)) == 0 or found.state != APY_COUNTER_ALLOCATED:
            return None
        return counter_info(counter_id, &found)

    def value(self, int32_t counter_id):
        """Return the value under an id, allocated or not."""
        self._check_id(counter_id)
        return apy_load_acquire_i64(apy_counter_address(&self._reader, counter_id))

    def state(self, int32_t counter_id):
        """Return the state of an id: 1 allocated, -1 given back, 0 never used."""
        self._check_id(counter_id)
        return apy_counter_state(&self._reader, counter_id)

    def free_for_reuse_deadline_ms(self, int32_t counter_id):
        """Return when an id that was given back may be used again, epoch ms; 2**63 - 1 while it is allocated."""
        self._check_id(counter_id)
        return apy_counter_free_deadline_ms(&self._reader, counter_id)

    def find_by_registration(self, int32_t type_id, int64_t registration_id):
        """Return the id of the first allocated counter of a type and a registration id, or None."""
        self._check_open()
        cdef int32_t counter_id = apy_counters_find_by_registration(&self._reader, type_id, registration_id)
        return counter_id if counter_id >= 0 else None

    def find_by_key(self, int32_t type_id, int64_t key):
        """Return the id of the first allocated counter of a type whose key begins with this i64, or None."""
        self._check_open()
        cdef int32_t counter_id = apy_counters_find_by_key_i64(&self._reader, type_id, key)
        return counter_id if counter_id >= 0 else None


cdef CountersReader counters_reader(object owner, const apy_counters_reader_t *reader):
    """A reader of counters that owner keeps mapped; owner calls its _close before it unmaps them."""
    cdef CountersReader made = CountersReader.__new__(CountersReader)
    made._reader = reader[0]
    made._owner = owner
    made._open = True
    made._pid = getpid()
    return made


@cython.final
cdef class ErrorRecord:
    """A distinct error: how often and when it was observed (epoch ms), and its text."""

    cdef readonly int32_t observations
    cdef readonly int64_t first_observation_ms
    cdef readonly int64_t last_observation_ms
    cdef readonly str text

    def __repr__(self):
        return f"ErrorRecord(observations={self.observations}, text={self.text!r})"


cdef ErrorRecord error_record(const apy_error_record_t *found):
    cdef ErrorRecord record = ErrorRecord.__new__(ErrorRecord)
    record.observations = found.observations
    record.first_observation_ms = found.first_ms
    record.last_observation_ms = found.last_ms
    record.text = found.text[:found.text_length].decode("utf-8", "replace")
    return record


@cython.final
cdef class LossEntry:
    """Loss seen by one image: how often, how many bytes, when (epoch ms), on which stream, from whom."""

    cdef readonly int64_t observations
    cdef readonly int64_t bytes_lost
    cdef readonly int64_t first_observation_ms
    cdef readonly int64_t last_observation_ms
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly str channel
    cdef readonly str source

    def __repr__(self):
        return f"LossEntry(observations={self.observations}, bytes_lost={self.bytes_lost}, " \
               f"session_id={self.session_id}, stream_id={self.stream_id}, channel={self.channel!r})"


cdef LossEntry loss_entry(const apy_loss_entry_t *found):
    cdef LossEntry entry = LossEntry.__new__(LossEntry)
    entry.observations = found.observations
    entry.bytes_lost = found.bytes_lost
    entry.first_observation_ms = found.first_ms
    entry.last_observation_ms = found.last_ms
    entry.session_id = found.session_id
    entry.stream_id = found.stream_id
    entry.channel = found.channel[:found.channel_length].decode("utf-8", "replace")
    entry.source = found.source[:found.source_length].decode("utf-8", "replace")
    return entry


cdef const uint8_t[::1] eight_aligned(object buffer):
    # Records hold words that are read at once, which not every machine can do anywhere.
    cdef const uint8_t[::1] data = buffer
    if data.shape[0] > 0 and <uintptr_t>&data[0] % 8 != 0:
        data = bytes(data)
    return data


def read_error_log(buffer not None, int64_t since_ms=0):
    """Yield the records of a distinct error log last seen at since_ms (epoch) or later.

    The buffer may be a live mapping: it stays exported while the iterator lives. CorruptError where the bytes
    break the format, after what came before.
    """
    cdef const uint8_t[::1] data = eight_aligned(buffer)
    cdef int64_t offset = 0
    cdef apy_error_record_t found
    while data.shape[0] > 0 and check(apy_error_log_next(&data[0], data.shape[0], &offset, &found)) == 1:
        if found.last_ms >= since_ms:
            yield error_record(&found)


def read_loss_report(buffer not None):
    """Yield the entries of a loss report, as read_error_log does."""
    cdef const uint8_t[::1] data = eight_aligned(buffer)
    cdef int64_t offset = 0
    cdef apy_loss_entry_t found
    while data.shape[0] > 0 and check(apy_loss_report_next(&data[0], data.shape[0], &offset, &found)) == 1:
        yield loss_entry(&found)


@cython.final
cdef class CncFile:
    """The command-and-control file of a directory, mapped read-only: for tools, whether its driver lives or not.

    NotFoundError without a file, StateError while its driver is starting, VersionError, CorruptError.
    """

    cdef apy_cnc_t _cnc
    cdef CountersReader _counters
    cdef readonly str directory

    def __cinit__(self, directory not None):
        cdef bytes path = _os.fsencode(directory)
        cdef const char *path_text = path
        cdef int rc
        with nogil:
            rc = apy_cnc_map(&self._cnc, path_text, False)
        check(rc)
        self.directory = _os.fsdecode(directory)
        self._counters = counters_reader(None, &self._cnc.counters)

    def __dealloc__(self):
        apy_cnc_close(&self._cnc)

    cdef int _check_open(self) except -1:
        if self._cnc.header == NULL:
            raise _errors.StateError(f"the CnC file of {self.directory} is closed")
        return self._counters._check_open()

    def close(self):
        """Unmap the file; its counters close too. Twice is fine."""
        self._counters._close()
        apy_cnc_close(&self._cnc)

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def closed(self):
        """Whether close was called."""
        return self._cnc.header == NULL

    @property
    def version(self):
        """(major, minor, patch) of the file."""
        self._check_open()
        cdef int32_t version = self._cnc.header.version
        return version >> 16, version >> 8 & 0xFF, version & 0xFF

    @property
    def pid(self):
        """Process id of the driver."""
        self._check_open()
        return self._cnc.header.pid

    @property
    def start_timestamp_ms(self):
        """When the driver started, epoch ms."""
        self._check_open()
        return self._cnc.header.start_ms

    @property
    def client_liveness_timeout_ns(self):
        """After how long without a keepalive the driver gives up on a client."""
        self._check_open()
        return self._cnc.header.client_liveness_timeout_ns

    @property
    def file_page_size(self):
        """Page size that the driver's files are made of; drivers before 1.48 do not say and have 4096."""
        self._check_open()
        return self._cnc.header.file_page_size or 4096

    @property
    def heartbeat_timestamp_ms(self):
        """The driver's last sign of life, epoch ms; -1 after an orderly shutdown, 0 before the first."""
        self._check_open()
        return apy_load_acquire_i64(self._cnc.ring.heartbeat_ms)

    @property
    def to_driver_capacity(self):
        """Bytes that the command ring can hold."""
        self._check_open()
        return self._cnc.ring.capacity

    @property
    def to_driver_size(self):
        """Bytes in the command ring that the driver has not taken yet."""
        self._check_open()
        return apy_mpsc_ring_size(&self._cnc.ring)

    @property
    def to_driver_producer_position(self):
        """How many bytes of commands clients have written."""
        self._check_open()
        return apy_mpsc_ring_producer_position(&self._cnc.ring)

    @property
    def to_driver_consumer_position(self):
        """How many bytes of commands the driver has taken."""
        self._check_open()
        return apy_mpsc_ring_consumer_position(&self._cnc.ring)

    @property
    def counters(self):
        """The driver's counters; they close with this file."""
        self._check_open()
        self._counters._owner = self
        return self._counters

    def errors(self, int64_t since_ms=0):
        """Yield the distinct errors last seen at since_ms (epoch) or later; StateError once closed."""
        cdef int64_t offset = 0
        cdef apy_error_record_t found
        while True:
            self._check_open()
            if check(apy_error_log_next(self._cnc.error_log, self._cnc.header.error_log_length, &offset,
                                        &found)) == 0:
                return
            if found.last_ms >= since_ms:
                yield error_record(&found)

    def error_log(self):
        """Return a copy of the whole error log section."""
        self._check_open()
        return (<const uint8_t *>self._cnc.error_log)[:self._cnc.header.error_log_length]
