#ifndef APY_POSITION_H
#define APY_POSITION_H

#include <stdint.h>

/*
 * position is the arithmetic between stream positions, terms and raw tails.
 *
 * Term ids wrap at 32 bits, so they are added and subtracted modulo 2^32.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

#define APY_PARTITIONS 3
#define APY_TERM_LENGTH_MIN 65536
#define APY_TERM_LENGTH_MAX 1073741824

static inline int32_t apy_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t apy_wrap_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* log2 of a term length. */
static inline int32_t apy_position_shift(int32_t term_length)
{
    return __builtin_ctz((uint32_t)term_length);
}

static inline int64_t apy_position_of(int32_t term_id, int32_t offset, int32_t shift, int32_t initial_term_id)
{
    /* Not a shift: the term may lie before the initial one when the numbers came from elsewhere. */
    return (int64_t)apy_wrap_sub(term_id, initial_term_id) * (INT64_C(1) << shift) + offset;
}

static inline int32_t apy_position_term_id(int64_t position, int32_t shift, int32_t initial_term_id)
{
    return apy_wrap_add((int32_t)(uint32_t)(uint64_t)(position >> shift), initial_term_id);
}

static inline int32_t apy_position_offset(int64_t position, int32_t term_length)
{
    return (int32_t)(position & (term_length - 1));
}

static inline int32_t apy_position_partition(int64_t position, int32_t shift)
{
    return (int32_t)((position >> shift) % APY_PARTITIONS);
}

static inline int32_t apy_term_partition(int32_t term_count)
{
    return (int32_t)((uint32_t)term_count % APY_PARTITIONS);
}

static inline int64_t apy_tail_pack(int32_t term_id, int32_t offset)
{
    return (int64_t)(((uint64_t)(uint32_t)term_id << 32) | (uint32_t)offset);
}

static inline int32_t apy_tail_term_id(int64_t raw_tail)
{
    return (int32_t)(raw_tail >> 32);
}

/* Tails overshoot the term when an append trips its end: always clamped. */
static inline int32_t apy_tail_offset(int64_t raw_tail, int32_t term_length)
{
    const int64_t offset = raw_tail & INT64_C(0xFFFFFFFF);
    return offset < term_length ? (int32_t)offset : term_length;
}

static inline int64_t apy_position_max(int32_t term_length)
{
    return (int64_t)term_length << 31;
}

static inline int32_t apy_message_length_max(int32_t term_length)
{
    return term_length / 8 < 16777216 ? term_length / 8 : 16777216;
}

#endif
