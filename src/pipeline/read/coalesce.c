/* SPDX-License-Identifier: MIT
 *
 * coalesce.c: implements coalesce.h. */
#include "coalesce.h"

#include <stdlib.h>

#include "base/check.h"

#define GAP      4096 /* bytes; reading a smaller gap is cheaper than a second read */
#define ROWS_MAX 64   /* of a task */

static uint64_t round_down(uint64_t x, bool direct)
{
    return direct ? x / LEAT_COALESCE_ALIGN * LEAT_COALESCE_ALIGN : x;
}

static uint64_t round_up(uint64_t x, bool direct)
{
    return direct ? (x + LEAT_COALESCE_ALIGN - 1) / LEAT_COALESCE_ALIGN * LEAT_COALESCE_ALIGN : x;
}

static bool is_before(const leat_row_read *a, const leat_row_read *b)
{
    return a->fd != b->fd ? a->fd < b->fd : a->offset < b->offset;
}

/* Sorts rows by file and offset. Insertion sort: mostly they are sorted, or few. */
static uint32_t sort(leat_row_read *rows, uint32_t n, leat_row_read *sorted[ROWS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!rows[i].size)
            continue;
        uint32_t k = count++;
        for (; k && is_before(&rows[i], sorted[k - 1]); k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = &rows[i];
    }
    return count;
}

/* The gap between both rows is small enough to read it. It is never larger than the row, so that
 * a task takes at most twice the bytes of its rows. */
static bool is_close(const leat_row_read *last, const leat_row_read *row)
{
    const uint64_t end = last->offset + last->size;
    return last->fd == row->fd && row->offset >= end && row->offset - end <= GAP &&
           row->offset - end <= row->size;
}

/* Adds the row to the open read, if it lies close behind. */
static bool join(leat_coalesce *coalesce, leat_row_read *row, uint64_t used_from)
{
    leat_row_read *const first = coalesce->first, *const last = coalesce->last;
    if (!first || !is_close(last, row))
        return false;
    const uint64_t length = round_up(row->offset + row->size, row->direct) - first->from;
    if (length > coalesce->most || coalesce->at % coalesce->bytes + length > coalesce->bytes ||
        coalesce->at + length - used_from > coalesce->bytes)
        return false;
    first->length = (size_t)length;
    last->next = row;
    coalesce->last = row;
    coalesce->to = coalesce->at + length;
    return true;
}

/* Begins a new read with the row. False: no room. */
static bool begin(leat_coalesce *coalesce, leat_row_read *row, uint64_t used_from)
{
    const uint64_t from = round_down(row->offset, row->direct);
    const uint64_t length = round_up(row->offset + row->size, row->direct) - from;
    uint64_t at = round_up(coalesce->to, row->direct);
    const uint64_t in = at % coalesce->bytes;
    if (in && in + length > coalesce->end) /* no room before the end: wrap */
        at += coalesce->bytes - at % coalesce->bytes;
    if (at + length - used_from > coalesce->bytes)
        return false;
    row->from = from;
    row->length = (size_t)length;
    coalesce->first = coalesce->last = row;
    coalesce->at = at;
    coalesce->to = at + length;
    return true;
}

/* Where the row lies in memory, counted without wrapping. */
static uint64_t place_of(const leat_coalesce *coalesce, const leat_row_read *row)
{
    return coalesce->at + (row->offset - coalesce->first->from);
}

int leat_coalesce_place(leat_coalesce *coalesce, leat_row_read *rows, uint32_t n,
                        uint64_t used_from, uint64_t *before_end, uint64_t *end)
{
    const leat_coalesce before = *coalesce;
    const size_t before_length = before.first ? before.first->length : 0;
    const uint64_t before_ended = before_end ? *before_end : 0;
    leat_row_read *sorted[ROWS_MAX];
    leat_check(n <= ROWS_MAX && coalesce->to - used_from <= coalesce->bytes);
    const uint32_t count = sort(rows, n, sorted);
    int n_reads = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows[i].bytes = NULL;
        rows[i].next = NULL;
        rows[i].length = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        leat_row_read *const row = sorted[i];
        if (!join(coalesce, row, used_from)) {
            if (!begin(coalesce, row, used_from))
                goto no_room;
            n_reads++;
        }
        row->bytes = coalesce->memory + place_of(coalesce, row) % coalesce->bytes;
        if (i == 0 && n_reads == 0 && before_end && *before_end > place_of(coalesce, row))
            *before_end = place_of(coalesce, row);
    }
    if (!count) /* else an empty task could share the block of its neighbours */
        leat_coalesce_close(coalesce);
    *end = coalesce->to;
    return n_reads;
no_room:
    *coalesce = before;
    if (before.first) {
        before.first->length = before_length;
        before.last->next = NULL;
    }
    if (before_end)
        *before_end = before_ended;
    return -1;
}

void leat_coalesce_close(leat_coalesce *coalesce)
{
    coalesce->first = coalesce->last = NULL;
}
