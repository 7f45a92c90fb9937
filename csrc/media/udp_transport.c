#include "apy/udp_transport.h"

#include <string.h>
#include <unistd.h>

#include "apy/error.h"

static int set_int(int fd, int level, int option, int value, const char *what)
{
    if (setsockopt(fd, level, option, &value, sizeof(value)) != 0) {
        return apy_fail_os("cannot set %s to %d", what, value);
    }
    return APY_OK;
}

static int set_buffers(int fd, const apy_udp_channel_t *channel)
{
    int rc = APY_OK;
    if (channel->so_rcvbuf > 0) {
        rc = set_int(fd, SOL_SOCKET, SO_RCVBUF, channel->so_rcvbuf, "SO_RCVBUF");
    }
    if (rc == APY_OK && channel->so_sndbuf > 0) {
        rc = set_int(fd, SOL_SOCKET, SO_SNDBUF, channel->so_sndbuf, "SO_SNDBUF");
    }
    return rc;
}

/* Where multicast leaves, and how far it goes. */
static int set_multicast_out(int fd, const apy_udp_channel_t *channel, int family)
{
    const bool is_v6 = family == AF_INET6;
    int rc = APY_OK;
    if (is_v6 && channel->interface_index != 0) {
        rc = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)channel->interface_index, "IPV6_MULTICAST_IF");
    } else if (!is_v6) {
        const struct sockaddr_in *local = (const struct sockaddr_in *)(const void *)&channel->local_data;
        const struct ip_mreqn request = {.imr_address = local->sin_addr, .imr_ifindex = (int)channel->interface_index};
        if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) != 0) {
            rc = apy_fail_os("cannot send multicast on interface %u", channel->interface_index);
        }
    }
    if (rc == APY_OK && channel->ttl > 0) {
        rc = is_v6 ? set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, channel->ttl, "IPV6_MULTICAST_HOPS")
                   : set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, channel->ttl, "IP_MULTICAST_TTL");
    }
    return rc;
}

static int join_group(int fd, const apy_udp_channel_t *channel, const struct sockaddr_storage *group)
{
    const bool is_v6 = group->ss_family == AF_INET6;
    struct group_req request;
    char text[64];
    memset(&request, 0, sizeof(request));
    request.gr_interface = channel->interface_index;
    memcpy(&request.gr_group, group, sizeof(*group));

    /* Only what this socket joined, not what others on this host did. */
    int rc = is_v6 ? set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, "IPV6_MULTICAST_ALL")
                   : set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0, "IP_MULTICAST_ALL");
    if (rc == APY_OK &&
        setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, MCAST_JOIN_GROUP, &request, sizeof(request)) != 0) {
        apy_address_format(group, text, sizeof(text));
        rc = apy_fail_os("cannot join group %s on interface %u", text, channel->interface_index);
    }
    return rc;
}

static int set_up(int fd, const apy_udp_channel_t *channel, const struct sockaddr_storage *bind_to,
                  const struct sockaddr_storage *group)
{
    char text[64];
    int rc = set_buffers(fd, channel);
    if (rc == APY_OK && group != NULL) { /* several receivers of one group share its port */
        rc = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
        if (rc == APY_OK) {
            rc = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
        }
    }
    if (rc == APY_OK && bind(fd, (const struct sockaddr *)bind_to, apy_address_length(bind_to)) != 0) {
        apy_address_format(bind_to, text, sizeof(text));
        rc = apy_fail_os("cannot bind to %s", text);
    }
    if (rc == APY_OK && channel->is_multicast) {
        rc = set_multicast_out(fd, channel, bind_to->ss_family);
    }
    if (rc == APY_OK && group != NULL) {
        rc = join_group(fd, channel, group);
    }
    return rc;
}

int apy_udp_transport_connect(apy_udp_transport_t *transport, const struct sockaddr_storage *address)
{
    if (connect(transport->fd, (const struct sockaddr *)address, apy_address_length(address)) != 0) {
        char text[64];
        apy_address_format(address, text, sizeof(text));
        return apy_fail_os("cannot connect to %s", text);
    }
    transport->connected = *address;
    return APY_OK;
}

int apy_udp_transport_open(apy_udp_transport_t *transport, const apy_udp_channel_t *channel,
                           const struct sockaddr_storage *bind_to, const struct sockaddr_storage *connect_to,
                           const struct sockaddr_storage *group)
{
    apy_udp_transport_t opened;
    memset(&opened, 0, sizeof(opened));
    opened.fd = socket(bind_to->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened.fd < 0) {
        return apy_fail_os("cannot open a UDP socket of family %d", bind_to->ss_family);
    }
    int rc = set_up(opened.fd, channel, bind_to, group);
    if (rc == APY_OK && connect_to != NULL) {
        rc = apy_udp_transport_connect(&opened, connect_to);
    }
    socklen_t length = sizeof(opened.bound);
    if (rc == APY_OK && getsockname(opened.fd, (struct sockaddr *)&opened.bound, &length) != 0) {
        rc = apy_fail_os("cannot learn the address of a socket");
    }
    if (rc != APY_OK) {
        close(opened.fd);
        return rc;
    }
    opened.sends_trains = apy_udp_train_is_known(opened.fd);
    *transport = opened;
    return APY_OK;
}

void apy_udp_transport_close(apy_udp_transport_t *transport)
{
    if (transport->fd >= 0) {
        close(transport->fd);
        transport->fd = -1;
    }
}

int apy_udp_transport_ask_times(apy_udp_transport_t *transport)
{
    const int rc = set_int(transport->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
    transport->has_times = rc == APY_OK;
    if (transport->has_times && transport->takes_trains) {
        transport->takes_trains = !apy_udp_train_accept(transport->fd, false);
    }
    return rc;
}

void apy_udp_transport_ask_trains(apy_udp_transport_t *transport)
{
    transport->takes_trains = !transport->has_times && apy_udp_train_accept(transport->fd, true);
}
