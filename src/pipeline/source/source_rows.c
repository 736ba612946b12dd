/* SPDX-License-Identifier: MIT
 *
 * source_rows.c: rows in the memory of the caller (leat_builder_rows). They are never copied here. */
#include <stdlib.h>
#include <string.h>

#include "source.h"

typedef struct rows_source {
    leat_source base;
    const uint8_t *data[LEAT_MAX_FEATURES];
    size_t row_bytes[LEAT_MAX_FEATURES];
} rows_source;

static int load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                leat_view *features, size_t *n_read, leat_error *err)
{
    const rows_source *const source = (const rows_source *)base;
    (void)scratch;
    (void)n_read;
    (void)err;
    for (int32_t i = 0; i < base->n_features; i++)
        features[i] = (leat_view){
            .shape = base->features[i].shape,
            /* Views are not const; the engine writes only to memory it owns. */
            .data = (void *)(uintptr_t)(source->data[i] + record * source->row_bytes[i]),
        };
    return LEAT_OK;
}

#define LINE       64 /* bytes of a cache line */
#define HINT_LINES 8  /* the hardware prefetcher does the rest */

static void fetch(const uint8_t *row, size_t n)
{
    const uint8_t *const end = row + (n < HINT_LINES * LINE ? n : HINT_LINES * LINE);
    for (const uint8_t *at = row - (uintptr_t)row % LINE; at < end; at += LINE)
        __builtin_prefetch(at);
}

static void hint(const leat_source *base, uint64_t record)
{
    const rows_source *const source = (const rows_source *)base;
    for (int32_t i = 0; i < base->n_features; i++)
        fetch(source->data[i] + record * source->row_bytes[i], source->row_bytes[i]);
}

#define AHEAD 12          /* rows that are fetched into the cache while another one is copied */
#define PIECE (256 << 10) /* bytes of a memcpy */

/* In pieces: memcpy moves a piece by the CPU's string instruction, which does not read the destination first. For
 * sizes beyond the second cache glibc uses plain stores, which do. */
static void copy(uint8_t *to, const uint8_t *from, size_t n)
{
    for (; n > PIECE; n -= PIECE, to += PIECE, from += PIECE)
        memcpy(to, from, PIECE);
    memcpy(to, from, n);
}

static void gather_tensor(const uint8_t *data, size_t size, const uint64_t *records, uint64_t n,
                          uint8_t *to)
{
    for (uint64_t i = 0; i < n && i < AHEAD; i++)
        fetch(data + records[i] * size, size);
    for (uint64_t i = 0; i < n; i++, to += size) {
        if (i + AHEAD < n)
            fetch(data + records[i + AHEAD] * size, size);
        copy(to, data + records[i] * size, size);
    }
}

static uint64_t gather(const leat_source *base, leat_gather *g)
{
    const rows_source *const source = (const rows_source *)base;
    for (int32_t i = 0; i < g->n_tensors; i++)
        gather_tensor(source->data[g->features[i]], source->row_bytes[g->features[i]], g->records,
                      g->n, g->rows[i]);
    return g->n;
}

static void describe(const leat_source *source, uint64_t record, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "row %llu in memory", (unsigned long long)record);
}

static void close_rows(leat_source *source)
{
    free(source);
}

static const leat_source_table table = {
    .kind = { "rows", "tensors in memory, given in C", NULL },
    .load = load,
    .hint = hint,
    .gather = gather,
    .describe = describe,
    .close = close_rows,
};

int leat_source_rows_open(uint64_t n_records, const leat_rows *rows, int32_t n_rows,
                          leat_source **out, leat_error *err)
{
    *out = NULL;
    if (n_rows < 1 || n_rows > LEAT_MAX_FEATURES)
        return leat_fail(err, LEAT_E_ARGUMENT, "rows: 1 to %d tensors, got %d", LEAT_MAX_FEATURES,
                         n_rows);
    rows_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "rows: %zu bytes", sizeof *source);
    source->base = (leat_source){
        .table = &table, .n_records = n_records, .n_features = n_rows, .can_gather = true
    };
    for (int32_t i = 0; i < n_rows; i++) {
        const int64_t bytes = leat_shape_bytes(&rows[i].shape);
        if (bytes < 0 || !rows[i].name || (!rows[i].data && n_records)) {
            free(source);
            return leat_fail(
                err, LEAT_E_ARGUMENT,
                "rows: tensor %d needs a name, data and a shape of known type and dims", i);
        }
        snprintf(source->base.features[i].name, sizeof source->base.features[i].name, "%s",
                 rows[i].name);
        source->base.features[i].shape = rows[i].shape;
        source->data[i] = rows[i].data;
        source->row_bytes[i] = (size_t)bytes;
        source->base.n_bytes += n_records * (uint64_t)bytes;
    }
    *out = &source->base;
    return LEAT_OK;
}
