/* Any bytes as a segment: a walk with small columns over memory given in pieces must end, inside its bounds. */

#include <stdlib.h>
#include <string.h>

#include "apy/segment_scan.h"

#define ROWS_MAX 7
#define BYTES_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8) {
        return 0;
    }
    const uint8_t choices = data[0];
    const int64_t piece = 64 + 32 * (int64_t)data[1];
    int32_t stream_id;
    memcpy(&stream_id, data + 4, sizeof(stream_id));
    data += 8;
    size -= 8;
    const int64_t limit = (int64_t)(size / 32 * 32);

    apy_segment_scan_t scan;
    if (apy_segment_scan_init(&scan, (choices & 8) != 0 ? INT32_MAX : 0, 65536, stream_id, 0, limit) != 0) {
        return 0;
    }
    scan.frames = (choices & 1) != 0;
    scan.emit_incomplete = (choices & 2) != 0;
    scan.live = (choices & 4) != 0;
    int64_t position[ROWS_MAX], end_position[ROWS_MAX];
    int32_t length[ROWS_MAX], payload_offsets[ROWS_MAX + 1];
    uint8_t *payload = malloc(BYTES_MAX);
    int64_t given = piece;
    for (;;) {
        apy_segment_columns_t columns = {.position = position,
                                         .end_position = end_position,
                                         .length = length,
                                         .payload_offsets = payload_offsets,
                                         .payload = payload,
                                         .rows_max = ROWS_MAX,
                                         .bytes_max = BYTES_MAX};
        const int64_t from = scan.position;
        const int64_t left = from < (int64_t)size ? (int64_t)size - from : 0;
        const int status =
            apy_segment_scan_run(&scan, data + (left > 0 ? from : 0), given < left ? given : left, &columns);
        for (int64_t row = 0; row < columns.row_count; row++) {
            if (position[row] < from || end_position[row] <= position[row] || end_position[row] > limit) {
                abort();
            }
        }
        if (status == APY_SEGMENT_DONE || status == APY_SEGMENT_FAULT) {
            break;
        }
        if (scan.position == from && columns.row_count == 0) {
            if (status == APY_SEGMENT_FULL || given >= left) {
                break; /* one message larger than the columns, or bytes that end within a frame */
            }
            given *= 2;
        } else {
            given = piece;
        }
    }
    free(payload);
    return 0;
}
