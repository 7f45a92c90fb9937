#include "apy/interfaces.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "apy/error.h"

static int32_t bits_set(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    int32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        bits += __builtin_popcount(at[i]);
    }
    return bits;
}

static int32_t prefix_of(const struct sockaddr *mask, int family)
{
    if (mask == NULL) {
        return family == AF_INET ? 32 : 128;
    }
    return family == AF_INET ? bits_set(&((const struct sockaddr_in *)(const void *)mask)->sin_addr, 4)
                             : bits_set(&((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr, 16);
}

int apy_interfaces(apy_interface_t *found, int max)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) {
        return apy_fail_os("getifaddrs");
    }
    int count = 0;
    for (const struct ifaddrs *one = all; one != NULL && count < max; one = one->ifa_next) {
        const int family = one->ifa_addr == NULL ? AF_UNSPEC : one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) {
            continue;
        }
        apy_interface_t *interface = &found[count++];
        memset(interface, 0, sizeof *interface);
        snprintf(interface->name, sizeof interface->name, "%s", one->ifa_name);
        memcpy(&interface->address, one->ifa_addr,
               family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        interface->prefix_length = prefix_of(one->ifa_netmask, family);
        interface->index = if_nametoindex(one->ifa_name);
        interface->flags = one->ifa_flags;
    }
    freeifaddrs(all);
    return count;
}
