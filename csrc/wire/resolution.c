#include "apy/resolution.h"

#include <assert.h>
#include <string.h>

#include "apy/error.h"
#include "apy/frame.h"

enum { TYPE = 0, FLAGS = 1, PORT = 2, AGE = 4, ADDRESS = 8 };
#define SELF_FLAG 0x80
#define ENTRY_ALIGN 8

static size_t address_length(int type)
{
    return type == APY_RESOLUTION_V6 ? 16 : 4;
}

/* What stands before the name. */
static size_t fixed_length(int type)
{
    return ADDRESS + address_length(type) + sizeof(int16_t);
}

static size_t align_up(size_t length)
{
    return (length + ENTRY_ALIGN - 1) & ~(size_t)(ENTRY_ALIGN - 1);
}

static int32_t frame_length(const uint8_t *datagram)
{
    int32_t length = 0;
    memcpy(&length, datagram + offsetof(apy_frame_t, length), sizeof(length));
    return length;
}

bool apy_resolution_is_frame(const uint8_t *datagram, size_t length)
{
    uint16_t type = 0;
    if (length < APY_RESOLUTION_HEADER) {
        return false;
    }
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    const int32_t said = frame_length(datagram);
    return datagram[offsetof(apy_frame_t, version)] == 0 && type == APY_FRAME_RES && said >= 0 &&
           (size_t)said <= length;
}

int apy_resolution_next(const uint8_t *datagram, size_t length, size_t *offset, apy_resolution_t *entry)
{
    const size_t said = (size_t)frame_length(datagram);
    const size_t end = said > APY_RESOLUTION_HEADER ? said : length; /* bytes behind the frame are nothing to us */
    assert(*offset >= APY_RESOLUTION_HEADER && end <= length);
    if (*offset >= end) {
        return 0;
    }

    const uint8_t *at = datagram + *offset;
    const size_t left = end - *offset;
    const int type = at[TYPE];
    if (type != APY_RESOLUTION_V4 && type != APY_RESOLUTION_V6) {
        return apy_fail(APY_E_CORRUPT, "a resolution of type %d at offset %zu: there are 1 and 2", type, *offset);
    }
    if (left < fixed_length(type)) {
        return apy_fail(APY_E_CORRUPT, "a resolution at offset %zu has %zu bytes of at least %zu", *offset, left,
                        fixed_length(type));
    }
    int16_t name_length = 0;
    memcpy(&name_length, at + fixed_length(type) - sizeof(name_length), sizeof(name_length));
    if (name_length < 1 || name_length > APY_RESOLUTION_NAME_MAX || (size_t)name_length > left - fixed_length(type)) {
        return apy_fail(APY_E_CORRUPT, "a resolution at offset %zu has a name of %d bytes, where %zu are left", *offset,
                        name_length, left - fixed_length(type));
    }

    memset(entry, 0, sizeof(*entry));
    entry->type = type;
    entry->is_self = (at[FLAGS] & SELF_FLAG) != 0;
    memcpy(&entry->port, at + PORT, sizeof(entry->port));
    memcpy(&entry->age_ms, at + AGE, sizeof(entry->age_ms));
    memcpy(entry->address, at + ADDRESS, address_length(type));
    entry->name = (const char *)at + fixed_length(type);
    entry->name_length = name_length;

    const size_t whole = align_up(fixed_length(type) + (size_t)name_length);
    *offset += whole < left ? whole : left; /* the last one may lack its padding */
    return 1;
}

size_t apy_resolution_begin(uint8_t *datagram, size_t capacity)
{
    const int32_t length = APY_RESOLUTION_HEADER;
    const uint16_t type = APY_FRAME_RES;
    assert(capacity >= APY_RESOLUTION_HEADER);
    (void)capacity;
    memset(datagram, 0, APY_RESOLUTION_HEADER);
    memcpy(datagram + offsetof(apy_frame_t, length), &length, sizeof(length));
    memcpy(datagram + offsetof(apy_frame_t, type), &type, sizeof(type));
    return APY_RESOLUTION_HEADER;
}

size_t apy_resolution_append(uint8_t *datagram, size_t capacity, size_t length, const apy_resolution_t *entry)
{
    const size_t fixed = fixed_length(entry->type);
    const size_t whole = align_up(fixed + (size_t)entry->name_length);
    assert(entry->name_length > 0 && entry->name_length <= APY_RESOLUTION_NAME_MAX);
    if (whole > capacity - length) {
        return length;
    }
    uint8_t *at = datagram + length;
    const int16_t name_length = (int16_t)entry->name_length;
    memset(at, 0, whole);
    at[TYPE] = (uint8_t)entry->type;
    at[FLAGS] = entry->is_self ? SELF_FLAG : 0;
    memcpy(at + PORT, &entry->port, sizeof(entry->port));
    memcpy(at + AGE, &entry->age_ms, sizeof(entry->age_ms));
    memcpy(at + ADDRESS, entry->address, address_length(entry->type));
    memcpy(at + fixed - sizeof(name_length), &name_length, sizeof(name_length));
    memcpy(at + fixed, entry->name, (size_t)entry->name_length);

    const int32_t total = (int32_t)(length + whole);
    memcpy(datagram + offsetof(apy_frame_t, length), &total, sizeof(total));
    return length + whole;
}
