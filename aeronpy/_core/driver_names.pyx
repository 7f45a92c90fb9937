# What drivers tell one another of their names.


@cython.final
cdef class GossipCore(_Resource):
    """A socket that tells and hears names, on a native thread or where `do_work` is called. Any thread may ask it."""

    cdef apy_gossip_t *_gossip
    cdef apy_agent_runner_t _runner

    def __cinit__(self, DriverCore core not None, dict settings not None):
        cdef apy_gossip_params_t params
        cdef bytes name = settings["name"]
        core._alive()
        _memset(&self._runner, 0, sizeof(self._runner))
        _memset(&params, 0, sizeof(params))
        params.name = name
        _fill_address(&params.bind_to, settings["bind_to"])
        params.neighbor_timeout_ms = settings["neighbor_timeout_ms"]
        params.self_interval_ms = settings["self_interval_ms"]
        params.neighbor_interval_ms = settings["neighbor_interval_ms"]
        params.neighbor_count = core._value(settings["neighbors_id"])
        params.cache_count = core._value(settings["cache_id"])
        check(apy_gossip_open(&core._driver.context, &params, &self._gossip))
        self._made(core, "name resolver", 0)

    cdef void _release(self) noexcept nogil:
        apy_agent_runner_stop(&self._runner)
        apy_gossip_free(self._gossip)

    def start(self, int cpu):
        """Run on a thread of its own, which never takes the GIL; cpu -1: any."""
        self._there()
        cdef apy_agent_t agent
        cdef apy_idle_t idle
        agent.role_name = b"name-resolver"
        agent.do_work = apy_gossip_do_work
        agent.state = self._gossip
        check(apy_idle_init(&idle, b"sleep-ns", b"10ms"))
        check(apy_agent_runner_start(&self._runner, &agent, 1, &idle, b"aeron-md-names", cpu))

    def do_work(self):
        """A cycle on this thread (INVOKER)."""
        self._there()
        cdef int work
        with nogil:
            work = apy_gossip_do_work(self._gossip)
        return work

    def bound_address(self):
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
        self._there()
        return _address_bytes(apy_gossip_bound_address(self._gossip))

    def set_bootstrap(self, int index, const uint8_t[::1] address not None):
        """Whom to tell from the start."""
        self._there()
        cdef sockaddr_storage known
        if not 0 <= index < APY_GOSSIP_BOOTSTRAPS_MAX:
            raise ValueError(f"no bootstrap {index}")
        _fill_address(&known, address)
        apy_gossip_set_bootstrap(self._gossip, index, &known)

    def is_neighbor(self, const uint8_t[::1] address not None):
        """Was it heard from, or of, lately?"""
        self._there()
        cdef sockaddr_storage known
        _fill_address(&known, address)
        return bool(apy_gossip_is_neighbor(self._gossip, &known))

    def find(self, str name not None):
        """The IP address of a name as text; None when nobody spoke of it lately."""
        self._there()
        cdef sockaddr_storage found
        cdef bytes encoded = name.encode("ascii", "replace")
        if check(apy_gossip_find(self._gossip, encoded, &found)) == 0:
            return None
        return format_address(_address_bytes(&found)).rpartition(":")[0].strip("[]")
