#include "apy/udp_train.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* Older headers do not name them. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

bool apy_udp_train_is_known(int fd)
{
    int segment = 0;
    socklen_t length = sizeof(segment);
    return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, &length) == 0;
}

bool apy_udp_train_accept(int fd, bool is_wanted)
{
    const int value = is_wanted;
    return setsockopt(fd, IPPROTO_UDP, UDP_GRO, &value, sizeof(value)) == 0;
}

void apy_udp_train_announce(struct msghdr *message, void *room, size_t segment)
{
    const uint16_t value = (uint16_t)segment;
    message->msg_control = room;
    message->msg_controllen = APY_TRAIN_CONTROL;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(value));
    memcpy(CMSG_DATA(header), &value, sizeof(value));
}

size_t apy_udp_train_segment(struct msghdr *message, size_t length)
{
    for (struct cmsghdr *each = CMSG_FIRSTHDR(message); each != NULL; each = CMSG_NXTHDR(message, each)) {
        if (each->cmsg_level == IPPROTO_UDP && each->cmsg_type == UDP_GRO && each->cmsg_len >= CMSG_LEN(sizeof(int))) {
            int segment = 0;
            memcpy(&segment, CMSG_DATA(each), sizeof(segment));
            return segment > 0 && (size_t)segment < length ? (size_t)segment : length;
        }
    }
    return length;
}

bool apy_udp_train_is_refusal(int error)
{
    return error == EINVAL || error == EMSGSIZE || error == EIO || error == EOPNOTSUPP || error == ENOPROTOOPT;
}
