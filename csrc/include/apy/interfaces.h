#ifndef APY_INTERFACES_H
#define APY_INTERFACES_H

#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * interfaces are the addresses of this machine, for channels that name where to send from or listen.
 *
 * Threads: any.  Allocates: within the call.  Blocks: on the kernel's answer.
 */

typedef struct apy_interface {
    char name[IF_NAMESIZE];
    struct sockaddr_storage address;
    int32_t prefix_length;
    uint32_t index;
    uint32_t flags; /* IFF_UP, IFF_LOOPBACK, IFF_MULTICAST */
} apy_interface_t;

/* Fills up to max IPv4 and IPv6 addresses in the kernel's order; returns how many, or APY_E_OS. */
int apy_interfaces(apy_interface_t *found, int max);

#endif
