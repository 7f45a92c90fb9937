#ifndef PATCHED_FILE_H
#define PATCHED_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apy/atomic.h"

/*
 * patched_file makes a file that is right but for what an input does to it: the input is a run of patches, each four
 * bytes of offset (taken modulo the file's length), one of length, and the bytes. Its first two bytes, when the
 * second's highest bit is set, cut that many bytes off the file's end.
 */

/* A directory of this process, gone when it ends. */
static char patched_directory[64];

static void patched_remove(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", patched_directory);
    if (system(command) != 0) {
        perror(command);
    }
}

static const char *patched_path(char *path, size_t size, const char *name)
{
    if (patched_directory[0] == '\0') {
        strcpy(patched_directory, "/dev/shm/aeronpy-fuzz-XXXXXX");
        if (mkdtemp(patched_directory) == NULL) {
            perror("mkdtemp");
            abort();
        }
        atexit(patched_remove);
    }
    snprintf(path, size, "%s/%s", patched_directory, name);
    return path;
}

static size_t patched_word(const uint8_t *data, size_t bytes)
{
    size_t word = 0;
    for (size_t i = 0; i < bytes; i++) {
        word |= (size_t)data[i] << (8 * i);
    }
    return word;
}

/* Write what the file has to be read as; returns what is left of the input. */
static void patched_write(const char *path, const uint8_t *pristine, size_t length, const uint8_t *data, size_t size)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t kept = length;
    if (size >= 2) {
        const size_t cut = patched_word(data, 2);
        kept = cut & 0x8000 ? length - (cut & 0x7fff) % length : length;
        data += 2;
        size -= 2;
    }
    if (fd < 0 || ftruncate(fd, (off_t)length) != 0) {
        perror(path);
        abort();
    }
    /* Zero pages stay holes, so that a big file costs little. */
    for (size_t at = 0; at < length; at += 4096) {
        const size_t part = length - at < 4096 ? length - at : 4096;
        size_t used = 0;
        while (used < part && pristine[at + used] == 0) {
            used++;
        }
        if (used < part && pwrite(fd, pristine + at, part, (off_t)at) < 0) {
            perror(path);
            abort();
        }
    }
    while (size >= 5) {
        const size_t at = patched_word(data, 4) % length;
        size_t count = data[4];
        count = count < size - 5 ? count : size - 5;
        count = count < length - at ? count : length - at;
        if (count > 0 && pwrite(fd, data + 5, count, (off_t)at) < 0) {
            perror(path);
            abort();
        }
        data += 5 + count;
        size -= 5 + count;
    }
    if (kept < length && ftruncate(fd, (off_t)kept) != 0) {
        perror(path);
        abort();
    }
    close(fd);
}

/* The bytes of a file that was made right. */
static uint8_t *patched_read(const char *path, size_t *length)
{
    struct stat status;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        abort();
    }
    uint8_t *bytes = malloc((size_t)status.st_size);
    if (bytes == NULL || read(fd, bytes, (size_t)status.st_size) != status.st_size) {
        perror(path);
        abort();
    }
    close(fd);
    *length = (size_t)status.st_size;
    return bytes;
}

#endif
