/* The CnC file: layout, attaching to a driver that comes, is stale, or is foreign, and broken headers. */
#include "apy/cnc.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apy/atomic.h"

#include "check.h"

static char directory[64], path[96];

static const apy_cnc_params_t small = {
    .to_driver_length = 4096 + 768,
    .to_clients_length = 4096 + 128,
    .counters_values_length = 128 * 64,
    .error_log_length = 4096,
    .file_page_size = 4096,
    .client_liveness_timeout_ns = 123,
    .start_ms = 456,
};

static void begin(void)
{
    strcpy(directory, "/dev/shm/aeronpy-test-cnc-XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/cnc.dat", directory);
}

static void end(void)
{
    unlink(path);
    CHECK_EQ(rmdir(directory), 0);
}

static void create(apy_cnc_t *cnc)
{
    CHECK_EQ(apy_cnc_create(cnc, directory, &small), APY_OK);
}

static int64_t now_ms(void)
{
    const apy_clock_t clock = apy_clock_system();
    return apy_epoch_ms(&clock);
}

static void sections_lie_where_the_format_says(void)
{
    begin();
    const apy_cnc_params_t usual = {
        .to_driver_length = 1048576 + 768,
        .to_clients_length = 1048576 + 128,
        .counters_values_length = 8388608,
        .error_log_length = 4194304,
        .file_page_size = 4096,
        .client_liveness_timeout_ns = INT64_C(10000000000),
        .start_ms = 1700000000000,
    };
    apy_cnc_t cnc;
    CHECK_EQ(apy_cnc_create(&cnc, directory, &usual), APY_OK);
    const uint8_t *base = cnc.mapping.address;
    CHECK_EQ(cnc.mapping.length, 48238592);
    CHECK_EQ(cnc.to_driver - base, 128);
    CHECK_EQ(cnc.to_clients - base, 1049472);
    CHECK_EQ(cnc.counters_metadata - base, 2098176);
    CHECK_EQ(cnc.counters_values - base, 35652608);
    CHECK_EQ(cnc.error_log - base, 44041216);
    CHECK_EQ(cnc.counters.count_max, 65536);
    CHECK_EQ(cnc.ring.capacity, 1048576);

    int32_t words[13];
    int64_t longs[3];
    memcpy(words, base, sizeof words);
    memcpy(longs, base + 24, sizeof longs);
    CHECK_EQ(words[0], 0);
    CHECK_EQ(words[1], 1049344);
    CHECK_EQ(words[2], 1048704);
    CHECK_EQ(words[3], 33554432);
    CHECK_EQ(words[4], 8388608);
    CHECK_EQ(words[5], 4194304);
    CHECK_EQ(longs[0], INT64_C(10000000000));
    CHECK_EQ(longs[1], 1700000000000);
    CHECK_EQ(longs[2], getpid());
    CHECK_EQ(words[12], 4096);
    CHECK_EQ(apy_mpsc_ring_next_correlation_id(&cnc.ring), 1);
    apy_cnc_ready(&cnc);
    memcpy(words, base, sizeof words);
    CHECK_EQ(words[0], 0x000200);
    apy_cnc_close(&cnc);
    apy_cnc_close(&cnc);
    end();
}

static void a_file_is_as_long_as_whole_pages(void)
{
    begin();
    apy_cnc_params_t params = small;
    params.file_page_size = 65536;
    apy_cnc_t cnc;
    CHECK_EQ(apy_cnc_create(&cnc, directory, &params), APY_OK);
    /* 128 + 4864 + 4224 + 32768 + 8192 + 4096 = 54272 */
    CHECK_EQ(cnc.mapping.length, 65536);
    apy_cnc_close(&cnc);
    end();
}

static void parameters_out_of_bounds_are_refused_and_leave_nothing(void)
{
    begin();
    for (int fault = 0; fault < 7; fault++) {
        apy_cnc_params_t params = small;
        switch (fault) {
        case 0:
            params.to_driver_length = 4096;
            break;
        case 1:
            params.to_clients_length = 4096;
            break;
        case 2:
            params.counters_values_length = 0;
            break;
        case 3:
            params.counters_values_length = 1 << 30;
            break;
        case 4:
            params.error_log_length = INT32_MAX;
            break;
        case 5:
            params.file_page_size = 1000;
            break;
        default:
            params.error_log_length = -1;
            break;
        }
        apy_cnc_t cnc;
        CHECK_EQ(apy_cnc_create(&cnc, directory, &params), APY_E_ARGUMENT);
        CHECK(access(path, F_OK) != 0);
    }
    end();
}

static void create_does_not_replace_a_file(void)
{
    begin();
    apy_cnc_t first, second;
    create(&first);
    CHECK(apy_cnc_create(&second, directory, &small) < 0);
    CHECK_EQ(access(path, F_OK), 0);
    apy_cnc_close(&first);
    end();
}

static void a_client_attaches_to_a_live_driver_and_both_see_each_other(void)
{
    begin();
    apy_cnc_t driver, client, tool;
    create(&driver);
    apy_cnc_ready(&driver);
    CHECK_EQ(apy_cnc_open(&client, directory, 1000), APY_OK);
    CHECK_EQ(apy_mpsc_ring_next_correlation_id(&client.ring), 1);
    CHECK_EQ(apy_mpsc_ring_write(&client.ring, 1, "command", 7), APY_OK);
    CHECK_EQ(apy_mpsc_ring_size(&driver.ring), 16);
    CHECK_EQ(client.header->client_liveness_timeout_ns, 123);

    CHECK_EQ(apy_cnc_map(&tool, directory, false), APY_OK);
    CHECK_EQ(tool.header->start_ms, 456);
    CHECK_EQ(apy_mpsc_ring_producer_position(&tool.ring), 16);
    CHECK_EQ(tool.counters.count_max, 64);
    apy_cnc_close(&tool);
    apy_cnc_close(&client);
    apy_cnc_close(&driver);
    end();
}

static void attaching_to_nothing_times_out_and_says_what_is_missing(void)
{
    begin();
    apy_cnc_t cnc;
    CHECK_EQ(apy_cnc_open(&cnc, directory, 20), APY_E_TIMEOUT);
    CHECK(strstr(apy_error_text(), "cnc.dat") != NULL);
    CHECK_EQ(apy_cnc_open(&cnc, directory, -1), APY_E_ARGUMENT);
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_E_NOT_FOUND);

    apy_cnc_t driver;
    create(&driver);
    CHECK_EQ(apy_cnc_open(&cnc, directory, 20), APY_E_TIMEOUT);
    CHECK(strstr(apy_error_text(), "not finished starting") != NULL);
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_E_STATE);
    CHECK_EQ(apy_cnc_driver_is_active(directory, 5, NULL), 0);

    apy_store_release_i32(&driver.header->version, APY_CNC_VERSION);
    CHECK_EQ(apy_cnc_open(&cnc, directory, 20), APY_E_TIMEOUT);
    CHECK(strstr(apy_error_text(), "no driver heartbeat detected") != NULL);

    *driver.ring.heartbeat_ms = now_ms() - 60000;
    CHECK_EQ(apy_cnc_open(&cnc, directory, 20), APY_E_TIMEOUT);
    CHECK(strstr(apy_error_text(), "ms ago") != NULL);

    *driver.ring.heartbeat_ms = -1;
    CHECK_EQ(apy_cnc_open(&cnc, directory, 20), APY_E_TIMEOUT);
    CHECK(strstr(apy_error_text(), "shut down") != NULL);
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_OK); /* a tool may still look */
    apy_cnc_close(&cnc);
    apy_cnc_close(&driver);
    end();
}

static void *attach(void *context)
{
    apy_cnc_t *client = context;
    CHECK_EQ(apy_cnc_open(client, directory, 30000), APY_OK);
    return NULL;
}

static void a_client_waits_for_a_driver_that_replaces_a_dead_one(void)
{
    begin();
    apy_cnc_t dead, driver, client;
    create(&dead);
    apy_cnc_ready(&dead);
    *dead.ring.heartbeat_ms = 1000;
    apy_cnc_close(&dead);

    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, attach, &client), 0);
    CHECK_EQ(unlink(path), 0);
    create(&driver);
    apy_cnc_ready(&driver);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(apy_mpsc_ring_write(&client.ring, 1, "x", 1), APY_OK);
    CHECK_EQ(apy_mpsc_ring_size(&driver.ring), 16);
    apy_cnc_close(&client);
    apy_cnc_close(&driver);
    end();
}

static void a_version_that_cannot_be_served_is_named(void)
{
    begin();
    apy_cnc_t driver, cnc;
    create(&driver);
    apy_cnc_ready(&driver);
    apy_store_release_i32(&driver.header->version, 1 << 16 | 3 << 8 | 7);
    CHECK_EQ(apy_cnc_open(&cnc, directory, 1000), APY_E_VERSION);
    CHECK(strstr(apy_error_text(), "1.3.7") != NULL && strstr(apy_error_text(), "0.2.0") != NULL);
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_E_VERSION);
    CHECK_EQ(apy_cnc_driver_is_active(directory, 1000, NULL), APY_E_VERSION);

    apy_store_release_i32(&driver.header->version, 1 << 8 | 9); /* an earlier minor one: for tools, not for clients */
    CHECK_EQ(apy_cnc_open(&cnc, directory, 1000), APY_E_VERSION);
    CHECK(strstr(apy_error_text(), "0.1.9") != NULL && strstr(apy_error_text(), "0.2 or later") != NULL);
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_OK);
    apy_cnc_close(&cnc);
    apy_store_release_i32(&driver.header->version, 3 << 8);
    CHECK_EQ(apy_cnc_open(&cnc, directory, 1000), APY_OK);
    apy_cnc_close(&cnc);
    apy_cnc_close(&driver);
    end();
}

static void activity_is_judged_by_the_heartbeat(void)
{
    begin();
    int64_t age = 0;
    CHECK_EQ(apy_cnc_driver_is_active(directory, 1000, &age), 0);
    CHECK_EQ(age, INT64_MAX);

    apy_cnc_t driver;
    create(&driver);
    apy_cnc_ready(&driver);
    *driver.ring.heartbeat_ms = now_ms() - 5000;
    CHECK_EQ(apy_cnc_driver_is_active(directory, 100000, &age), 1);
    CHECK(age >= 5000 && age < 100000);
    CHECK_EQ(apy_cnc_driver_is_active(directory, 4999, &age), 0);
    CHECK(age >= 5000 && age < 100000);
    *driver.ring.heartbeat_ms = -1;
    CHECK_EQ(apy_cnc_driver_is_active(directory, 100000, &age), 0);
    CHECK_EQ(age, INT64_MAX);
    apy_cnc_close(&driver);
    end();
}

static void a_header_that_breaks_the_format_is_corrupt_not_a_crash(void)
{
    static const struct {
        int64_t offset;
        int32_t value;
    } faults[] = {{4, 0},        {4, -1},  {4, 4096},       {4, INT32_MAX},      {4, INT32_MIN}, {8, 129},
                  {8, -4096},    {12, 0},  {12, -512},      {12, 512},           {16, 0},        {16, INT32_MIN},
                  {16, 1 << 30}, {20, -1}, {20, INT32_MAX}, {4, 768 + (1 << 30)}};
    begin();
    apy_cnc_t driver, cnc;
    create(&driver);
    apy_cnc_ready(&driver);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        int32_t kept;
        memcpy(&kept, driver.mapping.address + faults[i].offset, 4);
        memcpy(driver.mapping.address + faults[i].offset, &faults[i].value, 4);
        CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_E_CORRUPT);
        CHECK(apy_cnc_open(&cnc, directory, 5) < 0);
        memcpy(driver.mapping.address + faults[i].offset, &kept, 4);
    }
    CHECK_EQ(apy_cnc_map(&cnc, directory, false), APY_OK);
    apy_cnc_close(&cnc);

    static const off_t lengths[] = {0, 1, 64, 128, 4096, 54271};
    for (size_t i = sizeof lengths / sizeof lengths[0]; i-- > 0;) {
        CHECK_EQ(truncate(path, lengths[i]), 0);
        CHECK_EQ(apy_cnc_map(&cnc, directory, true), APY_E_CORRUPT);
    }
    apy_cnc_close(&driver);
    end();
}

int main(void)
{
    RUN(sections_lie_where_the_format_says);
    RUN(a_file_is_as_long_as_whole_pages);
    RUN(parameters_out_of_bounds_are_refused_and_leave_nothing);
    RUN(create_does_not_replace_a_file);
    RUN(a_client_attaches_to_a_live_driver_and_both_see_each_other);
    RUN(attaching_to_nothing_times_out_and_says_what_is_missing);
    RUN(a_client_waits_for_a_driver_that_replaces_a_dead_one);
    RUN(a_version_that_cannot_be_served_is_named);
    RUN(activity_is_judged_by_the_heartbeat);
    RUN(a_header_that_breaks_the_format_is_corrupt_not_a_crash);
    return 0;
}
