# Channels and addresses, as the sockets of the driver need them.



cdef int _fill_address(sockaddr_storage *address, const uint8_t[::1] given) except -1:
    if given.shape[0] != sizeof(sockaddr_storage):
        raise ValueError(f"an address has {sizeof(sockaddr_storage)} bytes, not {given.shape[0]}")
    _memcpy(address, &given[0], sizeof(sockaddr_storage))
    return 0


cdef _fill_channel(apy_udp_channel_t *channel, dict given):
    _memset(channel, 0, sizeof(apy_udp_channel_t))
    _fill_address(&channel.remote_data, given["remote_data"])
    _fill_address(&channel.remote_control, given["remote_control"])
    _fill_address(&channel.local_data, given["local_data"])
    _fill_address(&channel.local_control, given["local_control"])
    channel.interface_index = given["interface_index"]
    channel.control_mode = <apy_control_mode_t> <int> given["control_mode"]
    channel.is_multicast = given["is_multicast"]
    channel.has_explicit_endpoint = given["has_explicit_endpoint"]
    channel.has_explicit_control = given["has_explicit_control"]
    channel.ttl = given["ttl"]
    channel.so_sndbuf = given["so_sndbuf"]
    channel.so_rcvbuf = given["so_rcvbuf"]
    channel.channel_snd_timestamp_offset = given["channel_snd_timestamp_offset"]
    channel.channel_rcv_timestamp_offset = given["channel_rcv_timestamp_offset"]
    channel.media_rcv_timestamp_offset = given["media_rcv_timestamp_offset"]
    channel.has_group_tag = given["group_tag"] is not None
    channel.group_tag = 0 if given["group_tag"] is None else given["group_tag"]


cdef bytes _address_bytes(const sockaddr_storage *address):
    return (<const char *> address)[:sizeof(sockaddr_storage)]


def interfaces():
    """Addresses of this machine: ``(name, address text without port, prefix length, index, flags)``."""
    cdef apy_interface_t found[256]
    cdef char text[128]
    cdef int i
    addresses = []
    for i in range(check(apy_interfaces(found, 256))):
        length = check(apy_address_format(&found[i].address, text, sizeof(text)))
        host = text[:length].decode("ascii").rsplit(":", 1)[0].strip("[]")
        addresses.append((found[i].name.decode(), host, found[i].prefix_length, found[i].index, found[i].flags))
    return addresses


def socket_buffer_length(bint is_send, int wanted=0):
    """What the system makes of a length of a UDP socket's buffer, to send or to receive; 0 asks for the default.

    Raises OSError where there can be no socket.
    """
    cdef int length = 0
    check(apy_socket_buffer_length(is_send, wanted, &length))
    return length
