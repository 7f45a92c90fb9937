#ifndef APY_RESOLUTION_H
#define APY_RESOLUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * resolution is the RES frame: which driver has which name, as drivers tell one another. A frame holds one or more
 * entries, each on an eight-byte boundary; ports are little-endian, addresses in network order.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

#define APY_RESOLUTION_HEADER 8
#define APY_RESOLUTION_NAME_MAX 512

enum { APY_RESOLUTION_V4 = 1, APY_RESOLUTION_V6 = 2 };

typedef struct apy_resolution {
    int type;     /* APY_RESOLUTION_V4 or _V6 */
    bool is_self; /* the sender of the frame speaks of itself */
    uint16_t port;
    int32_t age_ms; /* since the sender last heard of that name */
    uint8_t address[16];
    const char *name; /* within the datagram; no terminator */
    int32_t name_length;
} apy_resolution_t;

/* May the entries of this datagram be walked? */
bool apy_resolution_is_frame(const uint8_t *datagram, size_t length);

/*
 * The entry at *offset, which starts at APY_RESOLUTION_HEADER and is moved on: 1. At the end: 0. APY_E_CORRUPT when
 * what is left holds no whole entry, or one of another type, or a name without a length within 1 and the maximum.
 */
int apy_resolution_next(const uint8_t *datagram, size_t length, size_t *offset, apy_resolution_t *entry);

/* Begin a frame without entries; returns its length. */
size_t apy_resolution_begin(uint8_t *datagram, size_t capacity);

/* Append an entry to a frame of length bytes: its new length, or the same when there is no room. */
size_t apy_resolution_append(uint8_t *datagram, size_t capacity, size_t length, const apy_resolution_t *entry);

#endif
