#include "apy/segment_scan.h"

#include <string.h>

#include "apy/error.h"
#include "apy/frame.h"
#include "apy/position.h"

/* A message while it is put together; none when fragments is 0. */
typedef struct group {
    apy_frame_t first;
    int64_t begin;
    int64_t end;
    int64_t byte_count; /* of payload in the columns behind byte_count */
    int64_t length;
    int32_t fragments;
    bool owned; /* its rows are asked for */
} group_t;

typedef struct walk {
    apy_segment_scan_t *scan;
    apy_segment_columns_t *columns;
    const uint8_t *memory;
    int64_t base; /* position of memory[0] */
    int64_t end;  /* position after memory */
    int64_t at;
    group_t group;
} walk_t;

enum { GO_ON = -100 };

int apy_segment_scan_init(apy_segment_scan_t *scan, int32_t initial_term_id, int32_t term_length, int32_t stream_id,
                          int64_t position, int64_t limit)
{
    if (term_length < APY_TERM_LENGTH_MIN || term_length > APY_TERM_LENGTH_MAX ||
        (term_length & (term_length - 1)) != 0) {
        return apy_fail(APY_E_ARGUMENT, "term length %d is not a power of two from 65536 to 1073741824", term_length);
    }
    if (position < 0 || position % APY_FRAME_ALIGN != 0 || limit < 0 || limit % APY_FRAME_ALIGN != 0 ||
        limit > apy_position_max(term_length)) {
        return apy_fail(APY_E_ARGUMENT, "positions %lld and %lld are not multiples of 32 within the stream",
                        (long long)position, (long long)limit);
    }
    *scan = (apy_segment_scan_t){.initial_term_id = initial_term_id,
                                 .term_length = term_length,
                                 .stream_id = stream_id,
                                 .from = position,
                                 .to = limit,
                                 .limit = limit,
                                 .position = position,
                                 .incomplete_position = -1};
    return APY_OK;
}

static apy_segment_fault_kind_t fault_of(const walk_t *walk, const apy_frame_t *frame)
{
    const apy_segment_scan_t *scan = walk->scan;
    const int32_t offset = apy_position_offset(walk->at, scan->term_length);
    if (frame->length <= 0) {
        return APY_SEGMENT_EMPTY;
    }
    if (frame->length < APY_FRAME_HEADER) {
        return APY_SEGMENT_SHORT;
    }
    if (frame->version != 0) {
        return APY_SEGMENT_VERSION;
    }
    if (frame->type != APY_FRAME_DATA && frame->type != APY_FRAME_PAD) {
        return APY_SEGMENT_TYPE;
    }
    if (frame->term_offset != offset) {
        return APY_SEGMENT_TERM_OFFSET;
    }
    if (frame->term_id !=
        apy_position_term_id(walk->at, apy_position_shift(scan->term_length), scan->initial_term_id)) {
        return APY_SEGMENT_TERM_ID;
    }
    if (frame->stream_id != scan->stream_id) {
        return APY_SEGMENT_STREAM_ID;
    }
    /* compared before rounding up, which would overflow near the largest length */
    if (frame->length > scan->term_length - offset) {
        return APY_SEGMENT_PAST_TERM;
    }
    if (apy_frame_span(frame->length) > scan->limit - walk->at) {
        return APY_SEGMENT_PAST_LIMIT;
    }
    return APY_SEGMENT_OK;
}

static bool is_owned(const apy_segment_scan_t *scan, int64_t begin)
{
    return begin >= scan->from && begin < scan->to;
}

static void set_row(apy_segment_columns_t *columns, const apy_frame_t *first, int64_t begin, int64_t end,
                    int64_t length, int32_t fragments, int incomplete)
{
    const int64_t row = columns->row_count++;
    if (columns->position != NULL) {
        columns->position[row] = begin;
    }
    if (columns->end_position != NULL) {
        columns->end_position[row] = end;
    }
    if (columns->term_id != NULL) {
        columns->term_id[row] = first->term_id;
    }
    if (columns->term_offset != NULL) {
        columns->term_offset[row] = first->term_offset;
    }
    if (columns->flags != NULL) {
        columns->flags[row] = first->flags;
    }
    if (columns->type != NULL) {
        columns->type[row] = (int16_t)first->type;
    }
    if (columns->session_id != NULL) {
        columns->session_id[row] = first->session_id;
    }
    if (columns->reserved_value != NULL) {
        columns->reserved_value[row] = first->reserved_value;
    }
    if (columns->fragments != NULL) {
        columns->fragments[row] = fragments;
    }
    if (columns->length != NULL) {
        columns->length[row] = (int32_t)length;
    }
    if (columns->incomplete != NULL) {
        columns->incomplete[row] = (uint8_t)incomplete;
    }
    if (columns->payload != NULL) {
        columns->payload_offsets[row + 1] = (int32_t)columns->byte_count;
    }
}

/* End the open group: a row if it is asked for, a count if a fragment is missing. */
static void close_group(walk_t *walk, int incomplete)
{
    apy_segment_scan_t *scan = walk->scan;
    const group_t *group = &walk->group;
    scan->frame_count += group->fragments;
    if (incomplete != APY_ROW_WHOLE && group->owned) {
        if (scan->incomplete_count++ == 0) {
            scan->incomplete_position = group->begin;
        }
    }
    if (group->owned && (incomplete == APY_ROW_WHOLE || scan->emit_incomplete)) {
        walk->columns->byte_count += group->byte_count;
        set_row(walk->columns, &group->first, group->begin, group->end, group->length, group->fragments, incomplete);
    }
    scan->position = group->end;
    walk->group.fragments = 0;
}

/* What comes next does not continue the open group, if there is one. */
static void close_broken_group(walk_t *walk)
{
    if (walk->group.fragments > 0) {
        close_group(walk, APY_ROW_NO_END | ((walk->group.first.flags & APY_FLAG_BEGIN) != 0 ? 0 : APY_ROW_NO_BEGIN));
    }
}

static int report_fault(walk_t *walk, const apy_frame_t *frame, apy_segment_fault_kind_t kind)
{
    close_broken_group(walk);
    apy_segment_fault_t *fault = &walk->scan->fault;
    fault->kind = kind;
    fault->position = walk->at;
    fault->offset = walk->at - walk->base;
    memcpy(fault->header, frame, sizeof(*frame));
    walk->scan->position = walk->at;
    return APY_SEGMENT_FAULT;
}

/* Append a data frame's payload to the open group, opening one first. */
static int take_fragment(walk_t *walk, const apy_frame_t *frame)
{
    apy_segment_columns_t *columns = walk->columns;
    group_t *group = &walk->group;
    const int32_t bytes = frame->length - APY_FRAME_HEADER;
    const bool opens = group->fragments == 0;
    const bool owned = opens ? is_owned(walk->scan, walk->at) : group->owned;
    if (owned && opens && columns->row_count == columns->rows_max) {
        return APY_SEGMENT_FULL;
    }
    if (owned && columns->payload != NULL) {
        const int64_t used = columns->byte_count + (opens ? 0 : group->byte_count);
        if (bytes > columns->bytes_max - used) {
            return APY_SEGMENT_FULL;
        }
        memcpy(columns->payload + used, walk->memory + (walk->at - walk->base) + APY_FRAME_HEADER, (size_t)bytes);
    }
    if (opens) {
        group->first = *frame;
        group->begin = walk->at;
        group->byte_count = 0;
        group->length = 0;
        group->owned = owned;
    }
    group->fragments++;
    group->byte_count += columns->payload != NULL ? bytes : 0;
    group->length += bytes;
    walk->at += apy_frame_span(frame->length);
    group->end = walk->at;
    if ((frame->flags & APY_FLAG_END) != 0) {
        close_group(walk, (group->first.flags & APY_FLAG_BEGIN) != 0 ? APY_ROW_WHOLE : APY_ROW_NO_BEGIN);
    } else if (apy_position_offset(walk->at, walk->scan->term_length) == 0) {
        close_broken_group(walk); /* nobody continues a message in the next term */
    }
    return GO_ON;
}

static int take_frame_row(walk_t *walk, const apy_frame_t *frame)
{
    apy_segment_scan_t *scan = walk->scan;
    apy_segment_columns_t *columns = walk->columns;
    const int32_t bytes = frame->type == APY_FRAME_DATA ? frame->length - APY_FRAME_HEADER : 0;
    const int64_t end = walk->at + apy_frame_span(frame->length);
    if (is_owned(scan, walk->at)) {
        if (columns->row_count == columns->rows_max ||
            (columns->payload != NULL && bytes > columns->bytes_max - columns->byte_count)) {
            return APY_SEGMENT_FULL;
        }
        if (columns->payload != NULL) {
            memcpy(columns->payload + columns->byte_count, walk->memory + (walk->at - walk->base) + APY_FRAME_HEADER,
                   (size_t)bytes);
            columns->byte_count += bytes;
        }
        set_row(columns, frame, walk->at, end, frame->length - APY_FRAME_HEADER, 1, APY_ROW_WHOLE);
    }
    scan->frame_count++;
    walk->at = end;
    scan->position = end;
    return GO_ON;
}

/* One checked frame whose bytes are all in memory. */
static int take_frame(walk_t *walk, const apy_frame_t *frame)
{
    if (walk->scan->frames) {
        return take_frame_row(walk, frame);
    }
    if (walk->group.fragments > 0 && (frame->type == APY_FRAME_PAD || (frame->flags & APY_FLAG_BEGIN) != 0)) {
        close_broken_group(walk);
        if (walk->at >= walk->scan->to) {
            return APY_SEGMENT_DONE;
        }
    }
    if (frame->type == APY_FRAME_PAD) {
        walk->scan->frame_count++;
        walk->at += apy_frame_span(frame->length);
        walk->scan->position = walk->at;
        return GO_ON;
    }
    return take_fragment(walk, frame);
}

static int step(walk_t *walk)
{
    const apy_segment_scan_t *scan = walk->scan;
    if (walk->at >= scan->limit || (walk->group.fragments == 0 && walk->at >= scan->to)) {
        if (walk->group.fragments > 0 && !scan->live) {
            close_broken_group(walk);
        }
        return APY_SEGMENT_DONE;
    }
    if (walk->end - walk->at < APY_FRAME_HEADER) {
        return APY_SEGMENT_MORE;
    }
    apy_frame_t frame;
    memcpy(&frame, walk->memory + (walk->at - walk->base), sizeof(frame));
    const apy_segment_fault_kind_t kind = fault_of(walk, &frame);
    if (kind != APY_SEGMENT_OK) {
        return report_fault(walk, &frame, kind);
    }
    if (frame.type == APY_FRAME_DATA && frame.length > walk->end - walk->at) {
        return APY_SEGMENT_MORE; /* of padding only the header need be there: its body may be a hole past the file's end */
    }
    return take_frame(walk, &frame);
}

int apy_segment_scan_run(apy_segment_scan_t *scan, const uint8_t *memory, int64_t length,
                         apy_segment_columns_t *columns)
{
    if (length < 0 || columns->rows_max < 1 || columns->bytes_max < 0 || columns->bytes_max > INT32_MAX ||
        columns->row_count < 0 || columns->row_count > columns->rows_max || columns->byte_count < 0 ||
        columns->byte_count > columns->bytes_max || (columns->payload != NULL) != (columns->payload_offsets != NULL)) {
        return apy_fail(APY_E_ARGUMENT, "columns of %lld rows and %lld bytes with %lld rows and %lld bytes in them",
                        (long long)columns->rows_max, (long long)columns->bytes_max, (long long)columns->row_count,
                        (long long)columns->byte_count);
    }
    if (columns->payload != NULL && columns->row_count == 0) {
        columns->payload_offsets[0] = 0;
    }
    walk_t walk = {.scan = scan,
                   .columns = columns,
                   .memory = memory,
                   .base = scan->position,
                   .end = scan->position + length,
                   .at = scan->position};
    scan->fault.kind = APY_SEGMENT_OK;
    int status;
    do {
        status = step(&walk);
    } while (status == GO_ON);
    return status;
}
