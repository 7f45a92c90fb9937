#ifndef APY_MAPPING_H
#define APY_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * mapping is a file in memory: made once, or opened, and released.
 *
 * A file that does not fit is refused before it is mapped, with the numbers, since a page that cannot
 * be had later is a SIGBUS. The directories used are tmpfs as a rule.
 *
 * Threads: each mapping belongs to its owner.  Allocates: address space.  Blocks: on the file system.
 */

typedef struct apy_mapping {
    uint8_t *address; /* NULL when closed */
    size_t length;
    bool writable;
} apy_mapping_t;

/*
 * Create path exclusively with length bytes, all zero, as open to others as its directory and the umask let it,
 * mapped read-write.
 * sparse: only the size is set; otherwise every page is allocated (posix_fallocate), and faults in at its first use
 * unless touched: most of a CnC file is never looked at.
 * APY_E_STORAGE: "<path> needs N bytes, <dir> has M free: ..."; APY_E_OS for the rest. Nothing stays behind.
 */
int apy_mapping_create(apy_mapping_t *mapping, const char *path, size_t length, bool sparse);

/* Map an existing file whole. APY_E_NOT_FOUND when it is absent, APY_E_CORRUPT when it is empty. */
int apy_mapping_open(apy_mapping_t *mapping, const char *path, bool writable);

/* Touch every page, so that later access faults nothing in. */
void apy_mapping_touch(const apy_mapping_t *mapping);

int apy_mapping_sync(const apy_mapping_t *mapping);

/* Unmap. Safe on a closed mapping, and twice. */
void apy_mapping_close(apy_mapping_t *mapping);

/* Bytes that a process like ours can still write under directory. */
int apy_storage_free(const char *directory, int64_t *bytes_free);

#endif
