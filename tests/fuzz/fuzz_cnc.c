/*
 * fuzz_cnc attaches, as a tool and as a client do, to a command-and-control file that somebody else spoiled, and
 * reads all its parts.
 */
#include "apy/cnc.h"
#include "apy/error.h"
#include "apy/error_log.h"

#include "patched_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* reads every byte that is handed out */

static void touch(const void *bytes, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        sum += ((const uint8_t *)bytes)[i];
    }
}

static uint8_t *make(const char *path, size_t *length)
{
    apy_cnc_t cnc;
    apy_counters_manager_t manager;
    const apy_cnc_params_t params = {.to_driver_length = 1024 + 768,
                                     .to_clients_length = 1024 + 128,
                                     .counters_values_length = 1024,
                                     .error_log_length = 1024,
                                     .file_page_size = 4096,
                                     .client_liveness_timeout_ns = INT64_C(10000000000),
                                     .start_ms = 1};
    unlink(path);
    if (apy_cnc_create(&cnc, patched_directory, &params) != APY_OK) {
        abort();
    }
    if (apy_counters_manager_init(&manager, cnc.counters_metadata, cnc.header->counters_metadata_length,
                                  cnc.counters_values, cnc.header->counters_values_length, apy_clock_system(),
                                  0) == APY_OK) {
        apy_counters_allocate(&manager, 11, "12345678", 8, "a counter", 9, 1, 2, 0, 0);
        apy_counters_manager_close(&manager);
    }
    apy_cnc_ready(&cnc);
    apy_cnc_close(&cnc);
    return patched_read(path, length);
}

static void read_all(const apy_cnc_t *cnc)
{
    apy_counter_info_t info;
    for (int32_t id = 0; apy_counters_get(&cnc->counters, id, &info) >= 0 && id < 64; id++) {
        if (info.state == APY_COUNTER_ALLOCATED) {
            touch(info.label, info.label_length);
            touch(info.key, sizeof info.key);
        }
    }
    int64_t offset = 0;
    apy_error_record_t record;
    while (apy_error_log_next(cnc->error_log, cnc->header->error_log_length, &offset, &record) == 1) {
        touch(record.text, record.text_length);
    }
    sum += (uint64_t)apy_counters_find_by_key_i64(&cnc->counters, 11, 7);
    sum += (uint64_t)apy_mpsc_ring_size(&cnc->ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *pristine;
    static size_t length;
    char path[128];
    apy_cnc_t cnc;
    patched_path(path, sizeof path, APY_CNC_FILE);
    if (pristine == NULL) {
        pristine = make(path, &length);
    }
    patched_write(path, pristine, length, data, size);
    if (apy_cnc_map(&cnc, patched_directory, false) == APY_OK) {
        read_all(&cnc);
        apy_cnc_close(&cnc);
    }
    int64_t age_ms = 0;
    sum += (uint64_t)apy_cnc_driver_is_active(patched_directory, 0, &age_ms);
    if (apy_cnc_open_for(&cnc, patched_directory, 0, 0) == APY_OK) {
        read_all(&cnc);
        apy_cnc_close(&cnc);
    }
    return 0;
}
