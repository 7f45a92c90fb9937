/* Counters: the records' layout, allocation, reuse, labels, finding, and bytes that break the format. */
#include "apy/counters.h"

#include "check.h"

enum { COUNT = 8, METADATA = COUNT * 512, VALUES = COUNT * 128 };

static _Alignas(128) uint8_t metadata[METADATA], values[VALUES];
static apy_hand_clock_t hand;
static apy_counters_manager_t manager;

static void begin(int64_t reuse_timeout_ms)
{
    memset(metadata, 0, sizeof metadata);
    memset(values, 0, sizeof values);
    hand = (apy_hand_clock_t){.epoch_ms = 1000};
    CHECK_EQ(apy_counters_manager_init(&manager, metadata, METADATA, values, VALUES, apy_clock_by_hand(&hand),
                                       reuse_timeout_ms),
             APY_OK);
}

static void end(void)
{
    apy_counters_manager_close(&manager);
    apy_counters_manager_close(&manager);
}

static int32_t allocate(int32_t type_id, int64_t registration_id)
{
    return apy_counters_allocate(&manager, type_id, &registration_id, 8, "label", 5, registration_id, 50, 60, 70);
}

static int64_t number_at(const uint8_t *at, size_t size)
{
    int64_t wide;
    int32_t narrow;
    if (size == 4) {
        memcpy(&narrow, at, 4);
        return narrow;
    }
    memcpy(&wide, at, 8);
    return wide;
}

static void a_counter_is_laid_out_as_the_format_says(void)
{
    begin(1000);
    CHECK_EQ(allocate(1, 11), 0);
    CHECK_EQ(allocate(2, 22), 1);
    const uint8_t *record = metadata + 512, *value = values + 128;
    CHECK_EQ(number_at(record, 4), 1);
    CHECK_EQ(number_at(record + 4, 4), 2);
    CHECK_EQ(number_at(record + 8, 8), INT64_MAX);
    CHECK_EQ(number_at(record + 16, 8), 22);
    CHECK_EQ(number_at(record + 128, 4), 5);
    CHECK(memcmp(record + 132, "label", 5) == 0);
    CHECK_EQ(number_at(value, 8), 70);
    CHECK_EQ(number_at(value + 8, 8), 22);
    CHECK_EQ(number_at(value + 16, 8), 50);
    CHECK_EQ(number_at(value + 24, 8), 60);
    CHECK_EQ(number_at(metadata + 1024, 4), 0);
    end();
}

static void a_reader_gets_a_copy_of_all_that_is_known(void)
{
    begin(1000);
    apy_counter_info_t info;
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 0);
    CHECK_EQ(allocate(4, 9), 0);
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
    CHECK_EQ(info.state, APY_COUNTER_ALLOCATED);
    CHECK_EQ(info.type_id, 4);
    CHECK_EQ(info.value, 70);
    CHECK_EQ(info.registration_id, 9);
    CHECK_EQ(info.owner_id, 50);
    CHECK_EQ(info.reference_id, 60);
    CHECK_EQ(info.label_length, 5);
    CHECK(strcmp(info.label, "label") == 0);
    apy_counter_add_ordered(apy_counter_address(&manager.reader, 0), 5);
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
    CHECK_EQ(info.value, 75);
    CHECK_EQ(apy_counters_get(&manager.reader, -1, &info), APY_E_ARGUMENT);
    CHECK_EQ(apy_counters_get(&manager.reader, COUNT, &info), APY_E_ARGUMENT);
    end();
}

static void a_freed_counter_keeps_its_label_and_loses_its_key(void)
{
    begin(1000);
    CHECK_EQ(allocate(4, 9), 0);
    CHECK_EQ(apy_counters_free(&manager, 0), APY_OK);
    CHECK_EQ(number_at(metadata, 4), -1);
    CHECK_EQ(number_at(metadata + 8, 8), 2000);
    CHECK_EQ(number_at(metadata + 16, 8), 0);
    CHECK_EQ(number_at(metadata + 128, 4), 5);
    CHECK_EQ(number_at(values, 8), 70);
    CHECK_EQ(number_at(values + 8, 8), 9);
    apy_counter_info_t info;
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
    CHECK_EQ(info.state, APY_COUNTER_RECLAIMED);
    CHECK_EQ(apy_counters_free(&manager, 0), APY_E_ARGUMENT);
    CHECK_EQ(apy_counters_free(&manager, 5), APY_E_ARGUMENT);
    CHECK_EQ(apy_counters_free(&manager, COUNT), APY_E_ARGUMENT);
    end();
}

static void an_id_is_reused_once_its_deadline_has_come(void)
{
    begin(1000);
    CHECK_EQ(allocate(1, 1), 0);
    CHECK_EQ(apy_counters_free(&manager, 0), APY_OK);
    CHECK_EQ(allocate(1, 2), 1);
    apy_hand_clock_advance_ns(&hand, 999 * INT64_C(1000000));
    CHECK_EQ(allocate(1, 3), 2);
    apy_hand_clock_advance_ns(&hand, 1000000);
    CHECK_EQ(allocate(7, 4), 0);
    CHECK_EQ(number_at(metadata + 4, 4), 7);
    CHECK_EQ(number_at(values + 8, 8), 4);
    end();
}

static void ids_come_back_in_the_order_they_went(void)
{
    begin(0);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(allocate(1, i), i);
    }
    CHECK_EQ(allocate(1, 99), APY_E_FULL);
    static const int32_t order[] = {5, 0, 3};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(apy_counters_free(&manager, order[i]), APY_OK);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(allocate(1, 100 + i), order[i]);
    }
    CHECK_EQ(allocate(1, 99), APY_E_FULL);
    end();
}

static void the_queue_of_free_ids_grows_while_it_is_wound(void)
{
    enum { MANY = 200 };
    static _Alignas(128) uint8_t much_metadata[MANY * 512], many_values[MANY * 128];
    apy_counters_manager_t many;
    hand = (apy_hand_clock_t){.epoch_ms = 1000};
    CHECK_EQ(apy_counters_manager_init(&many, much_metadata, sizeof much_metadata, many_values, sizeof many_values,
                                       apy_clock_by_hand(&hand), 10),
             APY_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(apy_counters_allocate(&many, 1, NULL, 0, NULL, 0, 0, 0, 0, 0), i);
    }
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(apy_counters_free(&many, i), APY_OK);
    }
    hand.epoch_ms += 10;
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(apy_counters_allocate(&many, 1, NULL, 0, NULL, 0, 0, 0, 0, 0), i);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK_EQ(apy_counters_free(&many, i), APY_OK);
    }
    hand.epoch_ms += 10;
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK_EQ(apy_counters_allocate(&many, 1, NULL, 0, NULL, 0, 0, 0, 0, 0), i);
    }
    apy_counters_manager_close(&many);
}

static void long_labels_and_keys_are_cut(void)
{
    begin(0);
    char text[600];
    memset(text, 'k', sizeof text);
    CHECK_EQ(apy_counters_allocate(&manager, 1, text, 600, text, 600, 1, 1, 1, 0), 0);
    apy_counter_info_t info;
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
    CHECK_EQ(info.label_length, 380);
    CHECK_EQ(strlen(info.label), 380);
    CHECK_EQ(info.key[111], 'k');
    CHECK_EQ(number_at(metadata + 512, 4), 0); /* the neighbour is untouched */
    end();
}

static void a_new_owner_sees_no_byte_of_the_old_key(void)
{
    begin(0);
    char text[112];
    memset(text, 'k', sizeof text);
    CHECK_EQ(apy_counters_allocate(&manager, 1, text, 112, "old label", 9, 1, 1, 1, 0), 0);
    CHECK_EQ(apy_counters_free(&manager, 0), APY_OK);
    CHECK_EQ(allocate(2, 2), 0);
    for (int i = 8; i < 112; i++) {
        CHECK_EQ(metadata[16 + i], 0);
    }
    end();
}

static void labels_grow_up_to_their_limit(void)
{
    begin(0);
    CHECK_EQ(allocate(11, 5), 0);
    CHECK_EQ(apy_counters_append_label(&manager.reader, 0, " name=x", 7), APY_OK);
    apy_counter_info_t info;
    CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
    CHECK(strcmp(info.label, "label name=x") == 0);
    char text[600];
    memset(text, 'z', sizeof text);
    CHECK_EQ(apy_counters_append_label(&manager.reader, 0, text, 600), APY_OK);
    CHECK_EQ(apy_counters_append_label(&manager.reader, 0, text, 600), APY_OK);
    CHECK_EQ(number_at(metadata + 128, 4), 380);
    CHECK_EQ(apy_counters_append_label(&manager.reader, 1, "x", 1), APY_E_ARGUMENT);
    end();
}

static void a_key_can_be_rewritten(void)
{
    begin(0);
    CHECK_EQ(allocate(14, 5), 0);
    CHECK_EQ(apy_counters_set_key(&manager, 0, "abc", 3), APY_OK);
    CHECK(memcmp(metadata + 16, "abc\0\0\0\0\0", 8) == 0);
    CHECK_EQ(apy_counters_set_key(&manager, 3, "abc", 3), APY_E_ARGUMENT);
    end();
}

static void counters_are_found_by_what_they_belong_to(void)
{
    begin(0);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(allocate(i % 2 == 0 ? 10 : 11, i), i);
    }
    CHECK_EQ(apy_counters_find_by_registration(&manager.reader, 11, 7), 7); /* the last one too */
    CHECK_EQ(apy_counters_find_by_registration(&manager.reader, 10, 7), -1);
    CHECK_EQ(apy_counters_find_by_key_i64(&manager.reader, 11, 7), 7);
    CHECK_EQ(apy_counters_find_by_key_i64(&manager.reader, 11, 2), -1);
    CHECK_EQ(apy_counters_free(&manager, 7), APY_OK);
    CHECK_EQ(apy_counters_find_by_registration(&manager.reader, 11, 7), -1);
    CHECK_EQ(apy_counters_find_by_key_i64(&manager.reader, 11, 7), -1);
    end();
}

static void a_label_length_out_of_bounds_spoils_no_other_counter(void)
{
    begin(0);
    CHECK_EQ(allocate(1, 1), 0);
    CHECK_EQ(allocate(1, 2), 1);
    static const int32_t lengths[] = {-1, 381, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        memcpy(metadata + 128, &lengths[i], 4);
        apy_counter_info_t info;
        CHECK_EQ(apy_counters_get(&manager.reader, 0, &info), 1);
        CHECK_EQ(info.label_length, 0);
        CHECK_EQ(info.broken_label_length, lengths[i]);
        CHECK_EQ(info.registration_id, 1);
        CHECK_EQ(apy_counters_get(&manager.reader, 1, &info), 1); /* the next one is whole */
        CHECK_EQ(info.broken_label_length, 0);
        CHECK_EQ(info.registration_id, 2);
        CHECK_EQ(apy_counters_append_label(&manager.reader, 0, "x", 1), APY_E_CORRUPT);
        CHECK(strstr(apy_error_text(), "offset 128") != NULL);
    }
    end();
}

static void buffers_that_do_not_belong_together_are_refused(void)
{
    apy_counters_reader_t reader;
    CHECK_EQ(apy_counters_reader_init(&reader, metadata, METADATA - 512, values, VALUES), APY_E_ARGUMENT);
    CHECK_EQ(apy_counters_reader_init(&reader, metadata, METADATA, values, 100), APY_E_ARGUMENT);
    CHECK_EQ(apy_counters_manager_init(&manager, metadata, METADATA, values, VALUES, apy_clock_system(), -1),
             APY_E_ARGUMENT);
}

int main(void)
{
    RUN(a_counter_is_laid_out_as_the_format_says);
    RUN(a_reader_gets_a_copy_of_all_that_is_known);
    RUN(a_freed_counter_keeps_its_label_and_loses_its_key);
    RUN(an_id_is_reused_once_its_deadline_has_come);
    RUN(ids_come_back_in_the_order_they_went);
    RUN(the_queue_of_free_ids_grows_while_it_is_wound);
    RUN(long_labels_and_keys_are_cut);
    RUN(a_new_owner_sees_no_byte_of_the_old_key);
    RUN(labels_grow_up_to_their_limit);
    RUN(a_key_can_be_rewritten);
    RUN(counters_are_found_by_what_they_belong_to);
    RUN(a_label_length_out_of_bounds_spoils_no_other_counter);
    RUN(buffers_that_do_not_belong_together_are_refused);
    return 0;
}
