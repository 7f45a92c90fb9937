#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "apy/udp_transport.h"

static const struct sockaddr_in *as_v4(const struct sockaddr_storage *address)
{
    return (const struct sockaddr_in *)(const void *)address;
}

static const struct sockaddr_in6 *as_v6(const struct sockaddr_storage *address)
{
    return (const struct sockaddr_in6 *)(const void *)address;
}

int apy_address_format(const struct sockaddr_storage *address, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &as_v6(address)->sin6_addr, host, sizeof(host));
        return snprintf(text, size, "[%s]:%u", host, ntohs(as_v6(address)->sin6_port));
    }
    inet_ntop(AF_INET, &as_v4(address)->sin_addr, host, sizeof(host));
    return snprintf(text, size, "%s:%u", host, ntohs(as_v4(address)->sin_port));
}

socklen_t apy_address_length(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

bool apy_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family) {
        return false;
    }
    if (a->ss_family == AF_INET6) {
        return as_v6(a)->sin6_port == as_v6(b)->sin6_port &&
               memcmp(&as_v6(a)->sin6_addr, &as_v6(b)->sin6_addr, sizeof(struct in6_addr)) == 0;
    }
    return as_v4(a)->sin_port == as_v4(b)->sin_port && as_v4(a)->sin_addr.s_addr == as_v4(b)->sin_addr.s_addr;
}
