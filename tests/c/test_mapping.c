/* Files in memory: made, refused, opened, shared, closed. */
#include "apy/mapping.h"

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char directory[] = "/dev/shm/apy-test-mapping-XXXXXX";
static char path[128];

static void what_one_writes_another_reads(void)
{
    apy_mapping_t made = {0}, opened = {0};
    CHECK_EQ(apy_mapping_create(&made, path, 8192, false), APY_OK);
    struct stat found;
    CHECK_EQ(stat(path, &found), 0);
    CHECK_EQ(found.st_size, 8192);
    CHECK_EQ(found.st_blocks * 512, 8192);
    for (int i = 0; i < 8192; i++) {
        CHECK_EQ(made.address[i], 0);
    }
    CHECK_EQ(apy_mapping_open(&opened, path, false), APY_OK);
    CHECK_EQ(opened.length, 8192);
    made.address[5000] = 42;
    CHECK_EQ(opened.address[5000], 42);
    CHECK_EQ(apy_mapping_sync(&made), APY_OK);
    apy_mapping_close(&opened);
    apy_mapping_close(&made);
    apy_mapping_close(&made);
    CHECK(made.address == NULL);
    unlink(path);
}

static void a_sparse_file_takes_no_room_until_touched(void)
{
    apy_mapping_t made = {0};
    CHECK_EQ(apy_mapping_create(&made, path, 1 << 20, true), APY_OK);
    struct stat found;
    CHECK_EQ(stat(path, &found), 0);
    CHECK_EQ(found.st_size, 1 << 20);
    CHECK_EQ(found.st_blocks, 0);
    apy_mapping_touch(&made);
    apy_mapping_close(&made);
    unlink(path);
}

static void an_existing_file_is_left_alone(void)
{
    apy_mapping_t first = {0}, second = {.length = 7};
    CHECK_EQ(apy_mapping_create(&first, path, 4096, true), APY_OK);
    CHECK_EQ(apy_mapping_create(&second, path, 4096, true), APY_E_OS);
    CHECK_EQ(second.length, 7);
    CHECK_EQ(access(path, F_OK), 0);
    apy_mapping_close(&first);
    unlink(path);
}

static void what_does_not_fit_is_refused_with_the_numbers(void)
{
    int64_t bytes_free = 0;
    CHECK_EQ(apy_storage_free(directory, &bytes_free), APY_OK);
    CHECK(bytes_free > 0);
    apy_mapping_t made = {0};
    for (int sparse = 0; sparse < 2; sparse++) {
        CHECK_EQ(apy_mapping_create(&made, path, (size_t)1 << 50, sparse), APY_E_STORAGE);
        CHECK(strstr(apy_error_text(), "needs 1024 TiB") != NULL);
        CHECK(strstr(apy_error_text(), directory) != NULL);
        CHECK(strstr(apy_error_text(), "raise --shm-size") != NULL);
        CHECK(made.address == NULL);
        CHECK(access(path, F_OK) != 0);
    }
}

static void absent_and_empty_files_are_told_apart(void)
{
    apy_mapping_t opened = {0};
    CHECK_EQ(apy_mapping_open(&opened, path, false), APY_E_NOT_FOUND);
    CHECK_EQ(apy_mapping_open(&opened, directory, false), APY_E_ARGUMENT);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fclose(file);
    CHECK_EQ(apy_mapping_open(&opened, path, true), APY_E_CORRUPT);
    unlink(path);
    CHECK_EQ(apy_mapping_create(&opened, path, 0, true), APY_E_ARGUMENT);
    CHECK_EQ(apy_mapping_create(&opened, "/dev/shm/no-such-directory/x", 1, true), APY_E_OS);
}

int main(void)
{
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/file", directory);
    RUN(what_one_writes_another_reads);
    RUN(a_sparse_file_takes_no_room_until_touched);
    RUN(an_existing_file_is_left_alone);
    RUN(what_does_not_fit_is_refused_with_the_numbers);
    RUN(absent_and_empty_files_are_told_apart);
    CHECK_EQ(rmdir(directory), 0);
    return 0;
}
