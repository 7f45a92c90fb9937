#ifndef APY_ATOMIC_H
#define APY_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * atomic names the memory orders that the shared-memory formats need, on plain fields in mapped memory.
 *
 * ThreadSanitizer does not model fences, and copies out of a broadcast buffer race by design (they are
 * validated afterwards). Its builds therefore use ordered accesses in place of the fences, and copies
 * of relaxed atomic words; every other build uses the plain forms.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

#if defined(__SANITIZE_THREAD__)
#define APY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define APY_TSAN 1
#endif
#endif
#ifndef APY_TSAN
#define APY_TSAN 0
#endif

#define APY_CACHE_LINE 64

static inline int32_t apy_load_acquire_i32(const int32_t *at)
{
    return atomic_load_explicit((const _Atomic int32_t *)at, memory_order_acquire);
}

static inline int64_t apy_load_acquire_i64(const int64_t *at)
{
    return atomic_load_explicit((const _Atomic int64_t *)at, memory_order_acquire);
}

static inline uint8_t apy_load_acquire_u8(const uint8_t *at)
{
    return atomic_load_explicit((const _Atomic uint8_t *)at, memory_order_acquire);
}

static inline int32_t apy_load_relaxed_i32(const int32_t *at)
{
    return atomic_load_explicit((const _Atomic int32_t *)at, memory_order_relaxed);
}

static inline int64_t apy_load_relaxed_i64(const int64_t *at)
{
    return atomic_load_explicit((const _Atomic int64_t *)at, memory_order_relaxed);
}

static inline void apy_store_release_i32(int32_t *at, int32_t value)
{
    atomic_store_explicit((_Atomic int32_t *)at, value, memory_order_release);
}

static inline void apy_store_release_i64(int64_t *at, int64_t value)
{
    atomic_store_explicit((_Atomic int64_t *)at, value, memory_order_release);
}

static inline void apy_store_relaxed_i32(int32_t *at, int32_t value)
{
    atomic_store_explicit((_Atomic int32_t *)at, value, memory_order_relaxed);
}

static inline void apy_store_relaxed_i64(int64_t *at, int64_t value)
{
    atomic_store_explicit((_Atomic int64_t *)at, value, memory_order_relaxed);
}

/* Add and return the value before. */
static inline int64_t apy_fetch_add_i64(int64_t *at, int64_t delta)
{
    return atomic_fetch_add_explicit((_Atomic int64_t *)at, delta, memory_order_seq_cst);
}

static inline int32_t apy_fetch_add_i32(int32_t *at, int32_t delta)
{
    return atomic_fetch_add_explicit((_Atomic int32_t *)at, delta, memory_order_seq_cst);
}

static inline bool apy_cas_i64(int64_t *at, int64_t expected, int64_t desired)
{
    return atomic_compare_exchange_strong_explicit((_Atomic int64_t *)at, &expected, desired, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

static inline bool apy_cas_i32(int32_t *at, int32_t expected, int32_t desired)
{
    return atomic_compare_exchange_strong_explicit((_Atomic int32_t *)at, &expected, desired, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

/* One writer: store only when larger. */
static inline void apy_propose_max_i64(int64_t *at, int64_t value)
{
    if (value > apy_load_relaxed_i64(at)) {
        apy_store_release_i64(at, value);
    }
}

static inline void apy_fence_release(void)
{
#if !APY_TSAN
    atomic_thread_fence(memory_order_release);
#endif
}

static inline void apy_fence_acquire(void)
{
#if !APY_TSAN
    atomic_thread_fence(memory_order_acquire);
#endif
}

static inline void apy_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* A copy that may race with a writer; what it brought is only used after the reader validated it. */
static inline void apy_copy_racing(void *to, const void *from, size_t length)
{
#if APY_TSAN
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = atomic_load_explicit((const _Atomic unsigned char *)from + i, memory_order_relaxed);
        atomic_store_explicit((_Atomic unsigned char *)to + i, byte, memory_order_relaxed);
    }
#else
    memcpy(to, from, length);
#endif
}

#endif
