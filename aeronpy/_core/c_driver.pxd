from aeronpy._core.c_base cimport *
from aeronpy._core.c_control cimport apy_cnc_t, apy_counters_reader_t, apy_mpsc_ring_t
from aeronpy._core.c_logbuffer cimport apy_log_t


cdef extern from "<sys/socket.h>" nogil:
    cdef struct sockaddr_storage:
        pass


cdef extern from "apy/mpsc_ring.h" nogil:
    ctypedef void (*apy_ring_handler)(void *context, int32_t type, const uint8_t *message, int32_t length) noexcept
    int64_t apy_mpsc_ring_next_correlation_id(apy_mpsc_ring_t *ring)


cdef extern from "apy/broadcast.h" nogil:
    ctypedef struct apy_broadcast_transmitter_t:
        pass
    int apy_broadcast_transmit(apy_broadcast_transmitter_t *transmitter, int32_t type, const void *message,
                               int32_t length)


cdef extern from "apy/counters.h" nogil:
    ctypedef struct apy_counters_manager_t:
        apy_counters_reader_t reader
    int32_t apy_counters_allocate(apy_counters_manager_t *manager, int32_t type_id, const void *key,
                                  int32_t key_length, const char *label, int32_t label_length,
                                  int64_t registration_id, int64_t owner_id, int64_t reference_id, int64_t value)
    int apy_counters_free(apy_counters_manager_t *manager, int32_t counter_id)
    int apy_counters_append_label(const apy_counters_reader_t *reader, int32_t counter_id, const char *text,
                                  int32_t length)
    int apy_counters_set_key(apy_counters_manager_t *manager, int32_t counter_id, const void *key,
                             int32_t key_length)


cdef extern from "apy/error_log.h" nogil:
    ctypedef struct apy_error_log_t:
        pass
    int apy_error_log_record(apy_error_log_t *log, const char *text, int32_t length)


cdef extern from "apy/cnc.h" nogil:
    ctypedef struct apy_cnc_params_t:
        int32_t to_driver_length
        int32_t to_clients_length
        int32_t counters_values_length
        int32_t error_log_length
        int32_t file_page_size
    int apy_cnc_driver_is_active(const char *directory, int64_t timeout_ms, int64_t *heartbeat_age_ms)




cdef extern from "apy/loss_interceptor.h" nogil:
    ctypedef struct apy_gap_plan_t:
        int32_t term_id, end, radix, length, count
    ctypedef struct apy_loss_plan_t:
        double rate
        uint32_t mask
        uint64_t seed
        apy_gap_plan_t fixed
        apy_gap_plan_t gaps


cdef extern from "apy/event_trace.h" nogil:
    ctypedef struct apy_event_trace_t:
        int64_t dropped
    ctypedef struct apy_traced_t:
        int64_t time_ns
        int32_t length
        int32_t address_length
        uint8_t address[32]
    int apy_event_trace_read(apy_event_trace_t *trace, apy_ring_handler handler, void *context, int limit)


cdef extern from "apy/driver_context.h" nogil:
    ctypedef struct apy_driver_config_t:
        int64_t timer_interval_ns
        int64_t client_liveness_timeout_ns
        int64_t image_liveness_timeout_ns
        int64_t publication_connection_timeout_ns
        int64_t publication_unblock_timeout_ns
        int64_t status_message_timeout_ns
        int64_t nak_unicast_delay_ns
        int64_t nak_unicast_retry_ratio
        int64_t nak_multicast_max_backoff_ns
        int64_t nak_multicast_group_size
        int64_t retransmit_delay_ns
        int64_t retransmit_linger_ns
        int64_t conductor_threshold_ns, sender_threshold_ns, receiver_threshold_ns
        int64_t reresolution_check_interval_ns
        int64_t quiet_park_ns
        int32_t send_to_status_poll_ratio
        int32_t messages_per_send
        int32_t sender_io_vector
        int32_t receiver_io_vector
        int32_t initial_window_length
        int32_t mtu_length
        int32_t stream_session_limit
        int32_t counters_free_to_reuse_ms
        bint connect_send_sockets
        apy_loss_plan_t loss
    ctypedef struct apy_driver_context_t:
        apy_event_trace_t *trace
        int64_t **system_counters
        apy_error_log_t *error_log
        apy_clock_t clock
    enum:
        APY_SC_COUNT
        APY_SC_ERRORS
        APY_SC_BYTES_MAPPED
    void apy_count(apy_driver_context_t *context, int counter, int64_t delta)


cdef extern from "apy/udp_channel.h" nogil:
    ctypedef enum apy_control_mode_t:
        APY_CONTROL_NONE
        APY_CONTROL_DYNAMIC
        APY_CONTROL_MANUAL
        APY_CONTROL_RESPONSE
    ctypedef struct apy_udp_channel_t:
        sockaddr_storage remote_data
        sockaddr_storage remote_control
        sockaddr_storage local_data
        sockaddr_storage local_control
        uint32_t interface_index
        apy_control_mode_t control_mode
        bint is_multicast
        bint has_explicit_endpoint
        bint has_explicit_control
        int32_t ttl
        int32_t so_sndbuf
        int32_t so_rcvbuf
        int32_t channel_snd_timestamp_offset
        int32_t channel_rcv_timestamp_offset
        int32_t media_rcv_timestamp_offset
        bint has_group_tag
        int64_t group_tag


cdef extern from "apy/udp_transport.h" nogil:
    int apy_address_format(const sockaddr_storage *address, char *text, size_t size)


cdef extern from "apy/socket_buffers.h" nogil:
    int apy_socket_buffer_length(bint is_send, int wanted, int *length)


cdef extern from "apy/interfaces.h" nogil:
    ctypedef struct apy_interface_t:
        char *name
        sockaddr_storage address
        int32_t prefix_length
        uint32_t index
        uint32_t flags
    int apy_interfaces(apy_interface_t *found, int max)


cdef extern from "apy/subscribers.h" nogil:
    ctypedef struct apy_subscriber_t:
        int64_t registration_id
        int64_t *position
        int32_t counter_id
        bint tether
        bint rejoin
        int64_t time_of_last_update_ns


cdef extern from "apy/send_endpoint.h" nogil:
    ctypedef struct apy_send_endpoint_t:
        pass
    int apy_send_endpoint_open(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                               int64_t *status, int64_t *destination_count, apy_send_endpoint_t **endpoint)
    const sockaddr_storage *apy_send_endpoint_bound_address(const apy_send_endpoint_t *endpoint)
    void apy_send_endpoint_free(apy_send_endpoint_t *endpoint)


cdef extern from "apy/receive_endpoint.h" nogil:
    ctypedef struct apy_receive_endpoint_t:
        pass
    int apy_receive_endpoint_create(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                                    int64_t *status, apy_receive_endpoint_t **endpoint)
    void apy_receive_endpoint_free(apy_receive_endpoint_t *endpoint)


cdef extern from "apy/flow_control.h" nogil:
    ctypedef enum apy_flow_control_kind_t:
        APY_FLOW_UNICAST
        APY_FLOW_MAX
        APY_FLOW_MIN
        APY_FLOW_TAGGED
    ctypedef struct apy_flow_control_params_t:
        apy_flow_control_kind_t kind
        int32_t retransmit_windows
        int32_t group_min
        int64_t group_tag
        int64_t receiver_timeout_ns
        int64_t *receiver_count


cdef extern from "apy/receive_destination.h" nogil:
    ctypedef struct apy_receive_destination_t:
        pass
    int apy_receive_destination_open(apy_receive_endpoint_t *endpoint, const apy_udp_channel_t *channel, int64_t id,
                                     apy_receive_destination_t **destination)
    const sockaddr_storage *apy_receive_destination_bound_address(const apy_receive_destination_t *destination)
    void apy_receive_destination_free(apy_receive_destination_t *destination)


cdef extern from "apy/congestion_control.h" nogil:
    ctypedef struct apy_congestion_params_t:
        bint is_cubic
        bint measure_rtt
        bint tcp_mode
        int64_t initial_rtt_ns
        int64_t *window_counter
        int64_t *rtt_counter


cdef extern from "apy/network_publication.h" nogil:
    ctypedef struct apy_network_publication_t:
        pass
    ctypedef struct apy_network_publication_params_t:
        int64_t registration_id
        int32_t session_id
        int32_t stream_id
        int32_t initial_term_id
        int64_t start_position
        int32_t window_length
        int64_t linger_ns
        int32_t max_resend
        bint exclusive
        bint signal_eos
        bint spies_simulate_connection
        bint send_response_setup
        int64_t untethered_window_limit_ns
        int64_t untethered_linger_ns
        int64_t untethered_resting_ns
        int32_t ttl
        apy_flow_control_params_t flow_control
        int64_t *pub_pos
        int64_t *pub_lmt
        int64_t *snd_pos
        int64_t *snd_lmt
        int64_t *snd_bpe
        int64_t *naks_received
    int apy_network_publication_create(apy_driver_context_t *context, apy_send_endpoint_t *endpoint, apy_log_t *log,
                                       const apy_network_publication_params_t *params,
                                       apy_network_publication_t **publication)
    void apy_network_publication_free(apy_network_publication_t *publication)


cdef extern from "apy/image.h" nogil:
    ctypedef struct apy_image_t:
        pass
    ctypedef struct apy_image_params_t:
        int64_t correlation_id
        int32_t session_id
        int32_t stream_id
        int32_t initial_term_id
        int32_t active_term_id
        int32_t term_offset
        int32_t window_length
        int32_t mtu
        apy_congestion_params_t congestion
        bint reliable
        bint group
        bint rejoin
        int64_t nak_delay_ns
        int64_t untethered_window_limit_ns
        int64_t untethered_linger_ns
        int64_t untethered_resting_ns
        int64_t destination_id
        sockaddr_storage source
        const char *channel
        const char *source_identity
        int64_t *rcv_hwm
        int64_t *rcv_pos
        int64_t *naks_sent
    int apy_image_create(apy_driver_context_t *context, apy_receive_endpoint_t *endpoint, apy_log_t *log,
                         const apy_image_params_t *params, apy_image_t **image)
    void apy_image_free(apy_image_t *image)
    int apy_image_add_subscriber(apy_image_t *image, const apy_subscriber_t *subscriber)


cdef extern from "apy/ipc_publication.h" nogil:
    ctypedef struct apy_ipc_publication_t:
        pass
    ctypedef struct apy_ipc_publication_params_t:
        int64_t registration_id
        int64_t start_position
        int32_t window_length
        bint exclusive
        int64_t untethered_window_limit_ns
        int64_t untethered_linger_ns
        int64_t untethered_resting_ns
        int64_t *pub_pos
        int64_t *pub_lmt
    int apy_ipc_publication_create(apy_driver_context_t *context, apy_log_t *log,
                                   const apy_ipc_publication_params_t *params, apy_ipc_publication_t **publication)
    void apy_ipc_publication_free(apy_ipc_publication_t *publication)


cdef extern from "apy/conductor.h" nogil:
    ctypedef struct apy_conductor_t:
        pass
    bint apy_conductor_wait(apy_conductor_t *conductor, int64_t timeout_ns)
    void apy_conductor_wake(apy_conductor_t *conductor)
    int apy_conductor_read(apy_conductor_t *conductor, apy_ring_handler handler, void *context, int limit)
    int apy_conductor_add_client(apy_conductor_t *conductor, int64_t client_id, int64_t *heartbeat)
    int apy_conductor_remove_client(apy_conductor_t *conductor, int64_t client_id)
    int apy_conductor_add_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
    int apy_conductor_close_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
    int apy_conductor_revoke_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
    int apy_conductor_reject_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
    int apy_conductor_join_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication,
                               const apy_subscriber_t *subscriber, int64_t *join_position)
    int apy_conductor_leave_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication,
                                int64_t registration_id)
    int apy_conductor_add_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint)
    int apy_conductor_remove_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint)
    int apy_conductor_add_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id,
                                           const sockaddr_storage *address)
    int apy_conductor_remove_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id)
    int apy_conductor_move_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint,
                                         int64_t destination_id, const sockaddr_storage *address)
    int apy_conductor_add_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
    int apy_conductor_close_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
    int apy_conductor_revoke_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
    int apy_conductor_join_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                       const apy_subscriber_t *spy, int64_t *join_position)
    int apy_conductor_leave_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                        int64_t registration_id)
    int apy_conductor_remove_receive_endpoint(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint)
    int apy_conductor_add_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination)
    int apy_conductor_remove_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination)
    int apy_conductor_set_receive_control(apy_conductor_t *conductor, apy_receive_destination_t *destination,
                                          const sockaddr_storage *control)
    int apy_conductor_add_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                 const int32_t *session_id)
    int apy_conductor_remove_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                    const int32_t *session_id)
    int apy_conductor_add_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, apy_image_t *image,
                                int32_t stream_id, int32_t session_id)
    int apy_conductor_refuse_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                   int32_t session_id)
    int apy_conductor_join_image(apy_conductor_t *conductor, apy_image_t *image, const apy_subscriber_t *subscriber,
                                 int64_t *join_position)
    int apy_conductor_leave_image(apy_conductor_t *conductor, apy_image_t *image, int64_t registration_id)
    int apy_conductor_set_response(apy_conductor_t *conductor, apy_image_t *image, const int32_t *session_id)
    int apy_conductor_reject_image(apy_conductor_t *conductor, apy_image_t *image, const char *reason,
                                   int32_t length)


cdef extern from "apy/agent_runner.h" nogil:
    ctypedef struct apy_agent_t:
        const char *role_name
        int (*do_work)(void *state) noexcept
        void *state
    ctypedef struct apy_agent_runner_t:
        pass
    int apy_agent_runner_start(apy_agent_runner_t *runner, const apy_agent_t *agents, int agent_count,
                               const apy_idle_t *idle, const char *thread_name, int cpu)
    void apy_agent_runner_stop(apy_agent_runner_t *runner)


cdef extern from "apy/gossip.h" nogil:
    enum:
        APY_GOSSIP_BOOTSTRAPS_MAX
    ctypedef struct apy_gossip_t:
        pass
    ctypedef struct apy_gossip_params_t:
        const char *name
        sockaddr_storage bind_to
        int64_t neighbor_timeout_ms
        int64_t self_interval_ms
        int64_t neighbor_interval_ms
        int64_t *neighbor_count
        int64_t *cache_count
    int apy_gossip_open(apy_driver_context_t *context, const apy_gossip_params_t *params, apy_gossip_t **gossip)
    void apy_gossip_free(apy_gossip_t *gossip)
    int apy_gossip_do_work(void *gossip) noexcept
    const sockaddr_storage *apy_gossip_bound_address(const apy_gossip_t *gossip)
    void apy_gossip_set_bootstrap(apy_gossip_t *gossip, int index, const sockaddr_storage *address)
    bint apy_gossip_is_neighbor(apy_gossip_t *gossip, const sockaddr_storage *address)
    int apy_gossip_find(apy_gossip_t *gossip, const char *name, sockaddr_storage *address)


cdef extern from "apy/driver.h" nogil:
    ctypedef enum apy_threading_mode_t:
        APY_THREADING_DEDICATED
        APY_THREADING_SHARED_NETWORK
        APY_THREADING_SHARED
        APY_THREADING_INVOKER
    ctypedef struct apy_driver_params_t:
        apy_driver_config_t config
        apy_cnc_params_t cnc
        int64_t loss_report_length
        int64_t counters_reuse_ms
    ctypedef struct apy_driver_t:
        apy_driver_context_t context
        apy_cnc_t cnc
        apy_error_log_t error_log
        apy_counters_manager_t counters
        apy_broadcast_transmitter_t to_clients
        apy_conductor_t *conductor
        bint is_open
    ctypedef struct apy_agent_settings_t:
        const char *idle_strategy
        const char *idle_arguments
        int cpu
        const char *thread_name
    int apy_driver_open(apy_driver_t *driver, const char *directory, const apy_driver_params_t *params,
                        const char **labels, apy_clock_t clock)
    int apy_driver_trace(apy_driver_t *driver, uint64_t events)
    void apy_driver_ready(apy_driver_t *driver)
    int apy_driver_start(apy_driver_t *driver, apy_threading_mode_t mode, const apy_agent_settings_t *settings)
    void apy_driver_stop(apy_driver_t *driver)
    int apy_driver_idle_init(apy_driver_t *driver, apy_idle_t *idle, const apy_agent_settings_t *settings)
    void apy_driver_idle(apy_driver_t *driver, apy_idle_t *idle, int work)
    int apy_driver_do_work(apy_driver_t *driver)
    void apy_driver_close(apy_driver_t *driver)
