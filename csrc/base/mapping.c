#include "apy/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apy/error.h"

#define SIZE_TEXT_MAX 32

/* "192 MiB" for 201326592; one decimal where it is not whole. */
static const char *size_text(int64_t bytes, char *text)
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit < sizeof(names) / sizeof(names[0]) - 1; unit++) {
        value /= 1024;
    }
    snprintf(text, SIZE_TEXT_MAX, value == (double)(int64_t)value ? "%.0f %s" : "%.1f %s", value, names[unit]);
    return text;
}

int apy_storage_free(const char *directory, int64_t *bytes_free)
{
    struct statvfs found;
    if (statvfs(directory, &found) != 0) {
        return apy_fail_os("cannot ask for the free space of %s", directory);
    }
    *bytes_free = (int64_t)found.f_bavail * (int64_t)found.f_frsize;
    return APY_OK;
}

static int parent_of(const char *path, char *directory)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (length >= PATH_MAX) {
        return apy_fail(APY_E_TOO_LONG, "a path of %zu characters is longer than %d", strlen(path), PATH_MAX);
    }
    memcpy(directory, path, length);
    directory[length] = '\0';
    if (length == 0) {
        strcpy(directory, slash == NULL ? "." : "/");
    }
    return APY_OK;
}

static int fail_storage(const char *path, const char *directory, int64_t needed, int64_t bytes_free)
{
    char needed_text[SIZE_TEXT_MAX], free_text[SIZE_TEXT_MAX];
    return apy_fail(APY_E_STORAGE, "%s needs %s, %s has %s free: raise --shm-size or set a smaller term_length", path,
                    size_text(needed, needed_text), directory, size_text(bytes_free, free_text));
}

static int check_space(const char *path, const char *directory, size_t length)
{
    int64_t bytes_free = 0;
    const int rc = apy_storage_free(directory, &bytes_free);
    if (rc == APY_OK && (uint64_t)bytes_free < length) {
        return fail_storage(path, directory, (int64_t)length, bytes_free);
    }
    return rc;
}

/* A file is no more open than its directory: what is private above is private below. */
static mode_t mode_in(const char *directory)
{
    struct stat found;
    return stat(directory, &found) == 0 ? found.st_mode & 0666 : 0600;
}

static int set_length(int fd, const char *path, const char *directory, size_t length, bool sparse)
{
    if (ftruncate(fd, (off_t)length) != 0) {
        return apy_fail_os("cannot set %s to %zu bytes", path, length);
    }
    if (sparse) {
        return APY_OK;
    }
    const int error = posix_fallocate(fd, 0, (off_t)length); /* returns its error */
    if (error == ENOSPC) {
        int64_t bytes_free = 0; /* others were faster since the check */
        (void)apy_storage_free(directory, &bytes_free);
        return fail_storage(path, directory, (int64_t)length, bytes_free);
    }
    if (error != 0) {
        errno = error;
        return apy_fail_os("cannot allocate %zu bytes for %s", length, path);
    }
    return APY_OK;
}

static int map(apy_mapping_t *mapping, int fd, const char *path, size_t length, bool writable)
{
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *address = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) {
        return apy_fail_os("cannot map %zu bytes of %s", length, path);
    }
    *mapping = (apy_mapping_t){address, length, writable};
    return APY_OK;
}

int apy_mapping_create(apy_mapping_t *mapping, const char *path, size_t length, bool sparse)
{
    char directory[PATH_MAX];
    if (length == 0 || length > INT64_MAX) {
        return apy_fail(APY_E_ARGUMENT, "%s cannot have %zu bytes", path, length);
    }
    int rc = parent_of(path, directory);
    if (rc == APY_OK) {
        rc = check_space(path, directory, length);
    }
    if (rc != APY_OK) {
        return rc;
    }

    const int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode_in(directory));
    if (fd < 0) {
        return apy_fail_os("cannot create %s", path);
    }
    rc = set_length(fd, path, directory, length, sparse);
    apy_mapping_t made = {NULL, 0, false};
    if (rc == APY_OK) {
        rc = map(&made, fd, path, length, true);
    }
    close(fd);
    if (rc != APY_OK) {
        unlink(path);
        return rc;
    }
    *mapping = made;
    return APY_OK;
}

int apy_mapping_open(apy_mapping_t *mapping, const char *path, bool writable)
{
    const int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return apy_fail(APY_E_NOT_FOUND, "there is no %s", path);
    }
    if (fd < 0) {
        return apy_fail_os("cannot open %s", path);
    }
    struct stat found;
    int rc = APY_OK;
    if (fstat(fd, &found) != 0) {
        rc = apy_fail_os("cannot stat %s", path);
    } else if (!S_ISREG(found.st_mode)) {
        rc = apy_fail(APY_E_ARGUMENT, "%s is not a regular file", path);
    } else if (found.st_size == 0) {
        rc = apy_fail(APY_E_CORRUPT, "%s is empty", path);
    } else {
        rc = map(mapping, fd, path, (size_t)found.st_size, writable);
    }
    close(fd);
    return rc;
}

void apy_mapping_touch(const apy_mapping_t *mapping)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < mapping->length; at += page) {
        /* A load faults a page in without racing with those who write there already. */
        (void)*(const volatile uint8_t *)(mapping->address + at);
    }
}

int apy_mapping_sync(const apy_mapping_t *mapping)
{
    if (mapping->address != NULL && msync(mapping->address, mapping->length, MS_SYNC) != 0) {
        return apy_fail_os("cannot sync %zu bytes", mapping->length);
    }
    return APY_OK;
}

void apy_mapping_close(apy_mapping_t *mapping)
{
    if (mapping->address != NULL) {
        munmap(mapping->address, mapping->length);
        *mapping = (apy_mapping_t){NULL, 0, false};
    }
}
