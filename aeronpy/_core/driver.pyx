# Wrappers of the driver room: the core of one media driver, and what a directory says about its driver.
cimport cython
from libc.stdlib cimport calloc as _calloc, free as _free
from libc.string cimport memcpy as _memcpy, memset as _memset

from aeronpy._core.c_driver cimport *

import os as _os

from aeronpy.errors import StateError as _StateError


cdef void _collect_event(void *context, int32_t type, const uint8_t *message, int32_t length) noexcept with gil:
    (<list> context).append((type, (<const char *> message)[:length]))


cdef void _collect_traced(void *context, int32_t type, const uint8_t *message, int32_t length) noexcept with gil:
    cdef apy_traced_t head
    cdef sockaddr_storage address
    _memcpy(&head, message, sizeof(head))
    _memset(&address, 0, sizeof(address))
    _memcpy(&address, head.address, head.address_length)
    source = _address_bytes(&address) if head.address_length > 0 else b""
    body = (<const char *> message)[sizeof(head):length]
    (<list> context).append((type, head.time_ns, source, head.length, body))


def format_address(const uint8_t[::1] address not None):
    """Text of a ``sockaddr_storage``: ``a.b.c.d:port`` or ``[v6]:port``."""
    cdef char text[128]
    if address.shape[0] != sizeof(sockaddr_storage):
        raise ValueError(f"an address has {sizeof(sockaddr_storage)} bytes, not {address.shape[0]}")
    cdef int length = check(apy_address_format(<const sockaddr_storage *> &address[0], text, sizeof(text)))
    return text[:length].decode("ascii")


def log_file_length(int32_t term_length, int32_t page_size):
    """Bytes of a log file with such terms."""
    return apy_log_file_length(term_length, page_size)


def driver_heartbeat_age_ms(str directory not None, int64_t timeout_ms):
    """``(is_active, age)`` of the driver in a directory; waits up to ``timeout_ms`` for one that is starting."""
    cdef int64_t age = 0
    cdef bytes path = _os.fsencode(directory)
    cdef const char *path_text = path
    cdef int rc
    with nogil:
        rc = apy_cnc_driver_is_active(path_text, timeout_ms, &age)
    return bool(check(rc)), age


@cython.final
cdef class DriverCore:
    """The native parts of one media driver: files, counters, logs, agents and their threads.

    All but ``wake`` belongs to the decision thread. Nothing works in a forked child.
    """

    cdef apy_driver_t _driver
    cdef int _pid
    cdef dict _resources
    cdef apy_idle_t _idle
    cdef readonly str directory
    cdef readonly int page_size

    def __cinit__(self, str directory not None, dict config not None, list labels not None):
        cdef apy_driver_params_t params
        cdef const char **texts
        cdef bytes path = _os.fsencode(directory)
        self._pid = _os.getpid()
        self._resources = {}
        self.directory = directory
        if len(labels) != APY_SC_COUNT:
            raise ValueError(f"there are {APY_SC_COUNT} system counters, not {len(labels)}")
        _fill_params(&params, config)
        self.page_size = params.cnc.file_page_size
        texts = <const char **> _calloc(APY_SC_COUNT, sizeof(char *))
        if texts == NULL:
            raise MemoryError
        try:
            for i, label in enumerate(labels):
                texts[i] = <const char *> label
            check(apy_driver_open(&self._driver, path, &params, texts, apy_clock_system()))
        finally:
            _free(texts)

    def __dealloc__(self):
        if self._driver.is_open and self._pid == _os.getpid():
            self._release()

    cdef int _alive(self) except -1:
        if self._pid != _os.getpid():
            raise _StateError("this media driver belongs to the parent process: a fork cannot use it")
        if not self._driver.is_open:
            raise _StateError("the media driver is closed")
        return 0

    cdef int64_t *_value(self, int32_t counter_id) except NULL:
        if not 0 <= counter_id < self._driver.counters.reader.count_max:
            raise ValueError(f"no counter {counter_id}")
        return apy_counter_address(&self._driver.counters.reader, counter_id)

    @property
    def is_open(self):
        """True until closed, in the process that opened it."""
        return bool(self._driver.is_open) and self._pid == _os.getpid()

    # --- life ---

    def ready(self):
        """Let clients in: the last step of a start."""
        self._alive()
        apy_driver_ready(&self._driver)

    def start(self, int mode, list settings not None):
        """Start the threads of a mode; settings are ``(strategy, arguments, cpu, thread name or None)`` per agent."""
        self._alive()
        cdef apy_agent_settings_t agents[3]
        cdef int i
        cdef int rc
        for i in range(3):
            strategy, arguments, cpu, name = settings[i]
            agents[i].idle_strategy = <const char *> strategy
            agents[i].idle_arguments = <const char *> arguments
            agents[i].cpu = cpu
            agents[i].thread_name = NULL
            if name is not None:
                agents[i].thread_name = <const char *> name
        check(apy_driver_idle_init(&self._driver, &self._idle, &agents[0]))
        with nogil:
            rc = apy_driver_start(&self._driver, <apy_threading_mode_t> mode, agents)
        check(rc)

    def stop(self):
        """Join the threads; safe twice."""
        self._alive()
        with nogil:
            apy_driver_stop(&self._driver)

    def do_work(self):
        """A cycle of every agent on this thread (INVOKER)."""
        self._alive()
        cdef int work
        with nogil:
            work = apy_driver_do_work(&self._driver)
        return work

    def idle(self, int work):
        """What the first agent's strategy does after such a cycle (INVOKER)."""
        self._alive()
        with nogil:
            apy_driver_idle(&self._driver, &self._idle, work)

    def close(self):
        """Stop, free every resource, say goodbye to clients, unmap. Safe twice; nothing in a forked child."""
        if self._driver.is_open and self._pid == _os.getpid():
            self._release()

    cdef _release(self):
        with nogil:
            apy_driver_stop(&self._driver)
        # Endpoints last: what sends and receives over them knows them.
        for resource in sorted(self._resources.values(), key=_is_endpoint):
            resource.free()
        with nogil:
            apy_driver_close(&self._driver)

    cdef _keep(self, resource):
        self._resources[id(resource)] = resource

    cdef _drop(self, resource):
        self._resources.pop(id(resource), None)

    # --- events ---

    def wait(self, int64_t timeout_ns):
        """Sleep until the core has events, or somebody wakes us; False when the time is over."""
        self._alive()
        cdef bint is_woken
        with nogil:
            is_woken = apy_conductor_wait(self._driver.conductor, timeout_ns)
        return bool(is_woken)

    def wake(self):
        """End a wait. Safe from any thread."""
        if self.is_open:
            apy_conductor_wake(self._driver.conductor)

    def poll_events(self, int limit):
        """Up to ``limit`` events as ``(type, bytes)``."""
        self._alive()
        events = []
        apy_conductor_read(self._driver.conductor, _collect_event, <void *> events, limit)
        return events

    def start_trace(self, uint64_t events):
        """Record events of the native threads, bit n for event n, from now on: once, before anything else is made."""
        self._alive()
        check(apy_driver_trace(&self._driver, events))

    def poll_trace(self, int limit):
        """Up to ``limit`` of them: ``(event, monotonic time in ns, address or b"", length of the datagram, body)``."""
        self._alive()
        traced = []
        if self._driver.context.trace != NULL:
            check(apy_event_trace_read(self._driver.context.trace, _collect_traced, <void *> traced, limit))
        return traced

    def trace_dropped(self):
        """How many found no room so far."""
        self._alive()
        return 0 if self._driver.context.trace == NULL else _load_acquire(&self._driver.context.trace.dropped)

    def add_client(self, int64_t client_id, int32_t counter_id):
        """Watch a client's heartbeat."""
        self._alive()
        cdef int64_t *heartbeat = self._value(counter_id)
        cdef int rc
        with nogil:
            rc = apy_conductor_add_client(self._driver.conductor, client_id, heartbeat)
        check(rc)

    def remove_client(self, int64_t client_id):
        """Watch it no more."""
        self._alive()
        cdef int rc
        with nogil:
            rc = apy_conductor_remove_client(self._driver.conductor, client_id)
        check(rc)

    # --- what the decision thread alone writes ---

    def next_correlation_id(self):
        """A fresh id from the counter that clients draw from too."""
        self._alive()
        return apy_mpsc_ring_next_correlation_id(&self._driver.cnc.ring)

    def transmit(self, int32_t type_id, const uint8_t[::1] message not None):
        """Broadcast one event to all clients."""
        self._alive()
        check(apy_broadcast_transmit(&self._driver.to_clients, type_id, &message[0], <int32_t> message.shape[0]))

    def allocate_counter(self, int32_t type_id, bytes key not None, bytes label not None, int64_t registration_id,
                         int64_t owner_id, int64_t reference_id=0, int64_t value=0):
        """Allocate a counter and return its id; key and label are clipped to their limits."""
        self._alive()
        return check(apy_counters_allocate(
            &self._driver.counters, type_id, <const char *> key, <int32_t> len(key), label, <int32_t> len(label),
            registration_id, owner_id, reference_id, value))

    def free_counter(self, int32_t counter_id):
        """Give a counter back."""
        self._alive()
        check(apy_counters_free(&self._driver.counters, counter_id))

    def append_label(self, int32_t counter_id, bytes text not None):
        """Write on at the end of a counter's label."""
        self._alive()
        check(apy_counters_append_label(&self._driver.counters.reader, counter_id, text, <int32_t> len(text)))

    def set_key(self, int32_t counter_id, bytes key not None):
        """Rewrite a counter's key."""
        self._alive()
        check(apy_counters_set_key(&self._driver.counters, counter_id, <const char *> key, <int32_t> len(key)))

    def find_counter(self, int32_t type_id, int64_t registration_id):
        """``(counter id, owner id)`` of the allocated counter with this type and registration, or None."""
        self._alive()
        cdef apy_counter_info_t info
        cdef int32_t found = apy_counters_find_by_registration(
            &self._driver.counters.reader, type_id, registration_id)
        if found < 0 or check(apy_counters_get(&self._driver.counters.reader, found, &info)) == 0:
            return None
        return found, info.owner_id

    def counter_value(self, int32_t counter_id):
        """The value of a counter."""
        self._alive()
        return self._value(counter_id)[0]

    def set_counter(self, int32_t counter_id, int64_t value):
        """Set the value of a counter that has no other writer."""
        self._alive()
        _store_release(self._value(counter_id), value)

    def count(self, int system_counter, int64_t delta=1):
        """Add to a system counter, which any agent may write."""
        self._alive()
        apy_count(&self._driver.context, system_counter, delta)

    def record_error(self, str text not None):
        """Put a sentence into the distinct error log and count it."""
        self._alive()
        cdef bytes encoded = text.encode("utf-8", "replace")
        apy_error_log_record(&self._driver.error_log, encoded, <int32_t> len(encoded))
        apy_count(&self._driver.context, APY_SC_ERRORS, 1)


def _is_endpoint(resource):
    return isinstance(resource, (SendEndpointCore, ReceiveEndpointCore))


cdef extern from "apy/atomic.h" nogil:
    void _store_release "apy_store_release_i64"(int64_t *at, int64_t value)
    int64_t _load_acquire "apy_load_acquire_i64"(const int64_t *at)


cdef _fill_gaps(apy_gap_plan_t *plan, tuple given):
    plan.term_id, plan.end, plan.radix, plan.length, plan.count = given


cdef _fill_params(apy_driver_params_t *params, dict given):
    """Every setting by its name: a missing one is a KeyError here, not a zero there."""
    cdef apy_driver_config_t *config = &params.config
    _memset(params, 0, sizeof(apy_driver_params_t))
    config.timer_interval_ns = given["timer_interval_ns"]
    config.client_liveness_timeout_ns = given["client_liveness_timeout_ns"]
    config.image_liveness_timeout_ns = given["image_liveness_timeout_ns"]
    config.publication_connection_timeout_ns = given["publication_connection_timeout_ns"]
    config.publication_unblock_timeout_ns = given["publication_unblock_timeout_ns"]
    config.status_message_timeout_ns = given["status_message_timeout_ns"]
    config.nak_unicast_delay_ns = given["nak_unicast_delay_ns"]
    config.nak_unicast_retry_ratio = given["nak_unicast_retry_ratio"]
    config.nak_multicast_max_backoff_ns = given["nak_multicast_max_backoff_ns"]
    config.nak_multicast_group_size = given["nak_multicast_group_size"]
    config.retransmit_delay_ns = given["retransmit_delay_ns"]
    config.retransmit_linger_ns = given["retransmit_linger_ns"]
    config.conductor_threshold_ns = given["conductor_threshold_ns"]
    config.sender_threshold_ns = given["sender_threshold_ns"]
    config.receiver_threshold_ns = given["receiver_threshold_ns"]
    config.reresolution_check_interval_ns = given["reresolution_check_interval_ns"]
    config.quiet_park_ns = given["quiet_park_ns"]
    config.send_to_status_poll_ratio = given["send_to_status_poll_ratio"]
    config.messages_per_send = given["messages_per_send"]
    config.sender_io_vector = given["sender_io_vector"]
    config.receiver_io_vector = given["receiver_io_vector"]
    config.initial_window_length = given["initial_window_length"]
    config.mtu_length = given["mtu_length"]
    config.stream_session_limit = given["stream_session_limit"]
    config.counters_free_to_reuse_ms = given["counters_free_to_reuse_ms"]
    config.connect_send_sockets = given["connect_send_sockets"]
    config.loss.rate = given["loss_rate"]
    config.loss.mask = given["loss_mask"]
    config.loss.seed = given["loss_seed"]
    _fill_gaps(&config.loss.fixed, given["fixed_loss"])
    _fill_gaps(&config.loss.gaps, given["gap_loss"])
    params.cnc.to_driver_length = given["to_driver_length"]
    params.cnc.to_clients_length = given["to_clients_length"]
    params.cnc.counters_values_length = given["counters_values_length"]
    params.cnc.error_log_length = given["error_log_length"]
    params.cnc.file_page_size = given["file_page_size"]
    params.loss_report_length = given["loss_report_length"]
    params.counters_reuse_ms = given["counters_free_to_reuse_ms"]
