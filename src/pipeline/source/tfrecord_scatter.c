/* SPDX-License-Identifier: MIT
 *
 * tfrecord_scatter.c: reads large values of records straight into their rows, so that they are not copied once more.
 * tfrecord_load.c calls it for rows that are copies of records. Invariant: a row counts only if its record has passed
 * both CRCs and is built like the one that has set the features.
 *
 * DESIGN. The layout of that record says where the large values are in a record before it is read. One scattered read
 * takes a record's values to their rows and the rest, with its frame, to scratch; neighbours in the file share a
 * read. Then the CRC goes over all parts in order, and the rest is compared with the layout. */
#include <string.h>
#include <sys/uio.h>

#include "base/scratch.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "tfrecord_impl.h"

#define LARGE 16384 /* bytes of a value */
#define READ_MOST                                                                                  \
    (1 << 20)     /* bytes of a read: they should still be in the core's cache for the CRC */
#define PARTS 256 /* of a read */

void leat_tfrecord_scatter_make(leat_tfrecord_source *source)
{
    const leat_example_layout *const layout = &source->layout;
    leat_tfrecord_scatter *const scatter = &source->scatter;
    bool large[LEAT_LAYOUT_FEATURES] = { 0 };
    for (size_t i = 0; layout->size && i < layout->n_features; i++) {
        const leat_layout_feature *const f = &layout->features[i];
        large[i] = f->kind == LEAT_FEATURE_BYTES && f->n == 1 && f->values.size >= LARGE;
        if (!large[i])
            continue;
        const leat_tfrecord_value value = { (int32_t)i, LEAT_TFRECORD_HEADER + f->values.at,
                                            f->values.size };
        int32_t k = scatter->n_values++;
        for (; k && scatter->values[k - 1].at > value.at; k--)
            scatter->values[k] = scatter->values[k - 1];
        scatter->values[k] = value;
    }
    if (!scatter->n_values)
        return;
    leat_example_layout_without(layout, large, &scatter->rest);
    scatter->record_bytes = layout->size + LEAT_TFRECORD_OVERHEAD;
    scatter->rest_bytes = scatter->rest.size + LEAT_TFRECORD_OVERHEAD;
}

/* Records that are read together. */
typedef struct scatter_read {
    const leat_tfrecord_scatter *scatter;
    const leat_gather *g;
    int32_t tensors[LEAT_LAYOUT_FEATURES]; /* of each large value */
    uint64_t in_rows;                      /* the set of these tensors, a bit each */
    uint64_t row;                          /* the first */
    uint8_t *rest;                         /* of all records, one after another */
    struct iovec parts[PARTS];
    int n_parts;
} scatter_read;

/* Finds the tensor of each large value. False: not one and only one tensor is a copy of it. */
static bool match_tensors(scatter_read *r)
{
    for (int32_t v = 0; v < r->scatter->n_values; v++) {
        int n = 0;
        for (int32_t k = 0; k < r->g->n_tensors; k++)
            if (r->g->features[k] == r->scatter->values[v].feature) {
                r->tensors[v] = k;
                n++;
            }
        if (n != 1 || r->g->row_bytes[r->tensors[v]] != r->scatter->values[v].size)
            return false;
        r->in_rows |= (uint64_t)1 << r->tensors[v];
    }
    return true;
}

static uint8_t *row_of(const scatter_read *r, int32_t value, uint64_t row)
{
    const int32_t tensor = r->tensors[value];
    return r->g->rows[tensor] + row * r->g->row_bytes[tensor];
}

/* How many of the n records can share a read: neighbours of one size. */
static uint64_t count(const scatter_read *r, const leat_tfrecord_place *at, uint64_t n)
{
    const uint64_t bytes = r->scatter->record_bytes, parts = 2 * (uint64_t)r->scatter->n_values + 1;
    uint64_t m = 0;
    while (m < n && at[m].size == bytes && !at[m].bytes && at[m].shard == at[0].shard &&
           at[m].offset == at[0].offset + m * bytes && (!m || (m + 1) * bytes <= READ_MOST) &&
           (m + 1) * parts <= PARTS)
        m++;
    return m;
}

static void add_part(scatter_read *r, uint8_t *to, size_t size)
{
    struct iovec *const last = r->n_parts ? &r->parts[r->n_parts - 1] : NULL;
    if (last && (uint8_t *)last->iov_base + last->iov_len == to)
        last->iov_len += size;
    else
        r->parts[r->n_parts++] = (struct iovec){ to, size };
}

/* Lists where the parts of n records go. */
static void list_parts(scatter_read *r, uint64_t n)
{
    uint8_t *rest = r->rest;
    for (uint64_t i = 0; i < n; i++) {
        size_t at = 0;
        for (int32_t v = 0; v < r->scatter->n_values; v++) {
            const leat_tfrecord_value *const value = &r->scatter->values[v];
            add_part(r, rest, value->at - at);
            add_part(r, row_of(r, v, r->row + i), value->size);
            rest += value->at - at;
            at = value->at + value->size;
        }
        add_part(r, rest, r->scatter->record_bytes - at);
        rest += r->scatter->record_bytes - at;
    }
}

/* Checks the length and both CRCs of a record whose parts have been read. */
static bool check(const scatter_read *r, const uint8_t *rest, uint64_t row)
{
    const leat_tfrecord_scatter *const scatter = r->scatter;
    uint32_t crc = LEAT_TFRECORD_CRC_BEGIN;
    uint64_t length;
    size_t at = LEAT_TFRECORD_HEADER;
    if (leat_tfrecord_check_length(rest, &length, NULL) < 0 ||
        length != scatter->record_bytes - LEAT_TFRECORD_OVERHEAD)
        return false;
    rest += LEAT_TFRECORD_HEADER;
    for (int32_t v = 0; v < scatter->n_values; v++) {
        const leat_tfrecord_value *const value = &scatter->values[v];
        crc = leat_tfrecord_crc_more(crc, rest, value->at - at);
        crc = leat_tfrecord_crc_more(crc, row_of(r, v, row), value->size);
        rest += value->at - at;
        at = value->at + value->size;
    }
    const size_t last = LEAT_TFRECORD_HEADER + (size_t)length - at;
    crc = leat_tfrecord_crc_more(crc, rest, last);
    return leat_tfrecord_crc_masked(crc) == leat_load_u32(rest + last);
}

/* Checks a record and copies its small values. */
static bool take(const leat_tfrecord_source *source, const scatter_read *r, const uint8_t *rest,
                 uint64_t row)
{
    leat_feature found[LEAT_MAX_FEATURES];
    return check(r, rest, row) &&
           leat_example_layout_match(&r->scatter->rest, rest + LEAT_TFRECORD_HEADER,
                                     r->scatter->rest.size, found) &&
           leat_tfrecord_copy(source, r->g, row, found, r->in_rows);
}

static bool read_parts(const scatter_read *r, const leat_tfrecord_place *at, size_t bytes)
{
    int fd;
    if (leat_open_file_claim(&at->shard->file, &fd, NULL) < 0)
        return false;
    const bool all = leat_source_preadv_cached(fd, r->parts, r->n_parts, bytes, at->offset);
    leat_open_file_release(&at->shard->file);
    return all;
}

uint64_t leat_tfrecord_scatter_read(const leat_tfrecord_source *source, leat_gather *g,
                                    const leat_tfrecord_place *places, uint64_t i, uint64_t n)
{
    const leat_tfrecord_scatter *const scatter = &source->scatter;
    if (!scatter->n_values || g->waited || places[i].size != scatter->record_bytes)
        return 0;
    scatter_read r = { .scatter = scatter, .g = g, .row = i };
    const uint64_t most = match_tensors(&r) ? count(&r, places + i, n - i) : 0;
    r.rest = most ? leat_scratch_take(g->scratch, most * scatter->rest_bytes) : NULL;
    if (!r.rest)
        return 0;
    list_parts(&r, most);
    const size_t bytes = most * scatter->record_bytes;
    if (!read_parts(&r, &places[i], bytes)) {
        g->waited = true;
        return 0;
    }
    g->n_read += bytes;
    uint64_t done = 0;
    while (done < most && take(source, &r, r.rest + done * scatter->rest_bytes, i + done))
        done++;
    return done;
}
