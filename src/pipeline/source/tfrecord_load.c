/* SPDX-License-Identifier: MIT
 *
 * tfrecord_load.c: loads records of kept and compressed files, and copies features of many records into rows at
 * once.
 *
 * DESIGN. Rows are made in three passes. First the places of all records are looked up, so that these memory
 * accesses overlap. Then each record is prefetched into the CPU's cache some rows before it is copied. A record
 * outside kept pieces is read here. Of a record whose bytes stay, the CRCs and the layout are checked once; from then
 * on its row is copies from known places. It stops at the first record that is damaged or lacks a feature; the caller
 * computes that row the usual way, which reports the error. */
#include <string.h>

#include "base/scratch.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "tfrecord_impl.h"

int leat_tfrecord_read_plain(leat_tfrecord_shard *s, uint8_t *to, size_t size, uint64_t offset,
                             const char *name, leat_error *err)
{
    int fd, rc = leat_open_file_claim(&s->file, &fd, err);
    if (rc < 0)
        return rc;
    rc = leat_source_pread(fd, to, size, offset, name, err);
    leat_open_file_release(&s->file);
    return rc;
}

int leat_tfrecord_read(const leat_source *base, uint64_t record, uint8_t *to, size_t size, int *fd)
{
    leat_tfrecord_shard *const s =
        leat_tfrecord_shard_of((const leat_tfrecord_source *)base, record);
    uint64_t offset, bytes;
    int rc =
        leat_tfrecord_shard_extent(s, record - s->first, &offset, &bytes); /* `locate` opened it */
    if (rc < 0 || bytes != size) {
        rc = LEAT_E_DATA;
        if (*fd < 0)
            return rc;
    } else if (*fd >= 0) {
        rc = leat_source_pread(*fd, to, size, offset, NULL, NULL);
    } else if ((rc = leat_open_file_try(&s->file, fd, NULL)) < 0) {
        *fd = -1;
        return rc;
    } else if (!leat_source_pread_begin(*fd, to, size, offset)) {
        return LEAT_OK;
    }
    leat_open_file_release(&s->file);
    *fd = -1;
    return rc;
}

/* Returns the bytes of a record of a kept, closed or compressed file; NULL: an error. *stays: they are kept ones. */
static const uint8_t *load_bytes(const leat_tfrecord_source *source, leat_tfrecord_shard *s,
                                 uint64_t offset, size_t size, leat_scratch *scratch,
                                 size_t *n_read, bool *stays, leat_error *err)
{
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
    const uint8_t *const kept =
        opened->compression ? NULL
                            : leat_kept_files_get(source->kept, &s->kept, offset, size, n_read);
    *stays = kept && leat_kept_files_stay(source->kept);
    uint8_t *const bytes = *stays ? NULL : leat_scratch_take(scratch, size);
    if (*stays)
        return kept;
    if (kept && bytes)
        memcpy(bytes, kept, size);
    if (kept)
        leat_kept_files_put(source->kept, &s->kept, offset);
    if (kept && bytes)
        return bytes;
    if (!bytes) {
        leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch", size);
        return NULL;
    }
    const int rc =
        opened->compression
            ? leat_compressed_read(source->chunks, &opened->compressed, offset, size, bytes, err)
            : leat_tfrecord_read_plain(s, bytes, size, offset, NULL, err);
    *n_read += rc < 0 ? 0 : size;
    return rc < 0 ? NULL : bytes;
}

int leat_tfrecord_load(const leat_source *base, uint64_t record, leat_scratch *scratch,
                       leat_view *features, size_t *n_read, leat_error *err)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    uint64_t offset, size;
    bool stays;
    leat_error why;
    const int ready = leat_tfrecord_ready(source, s, err);
    if (ready < 0)
        return ready;
    leat_tfrecord_shard_extent(s, record - s->first, &offset, &size);
    const uint8_t *const bytes =
        load_bytes(source, s, offset, (size_t)size, scratch, n_read, &stays, &why);
    if (bytes) {
        const uint8_t before =
            stays ? leat_kept_files_checked(source->kept, &s->kept, record - s->first)
                  : LEAT_KEPT_UNKNOWN;
        uint8_t checked = before;
        const int rc = leat_tfrecord_parse(base, record, bytes, (size_t)size, &checked, scratch,
                                           features, err);
        if (stays && checked != before)
            leat_kept_files_note(source->kept, &s->kept, record - s->first, checked);
        return rc;
    }
    /* if the file was changed while in use, report the change: it explains the error */
    const bool is_compressed = leat_tfrecord_shard_opened(s)->compression != NULL;
    const int changed = is_compressed ? leat_open_file_check_now(&s->file, err) : 0;
    return changed < 0 ? changed : leat_fail_as(err, &why);
}

int leat_tfrecord_keep(const leat_source *base, uint64_t bytes, leat_error *err)
{
    return leat_kept_files_start(((const leat_tfrecord_source *)base)->kept, bytes, err);
}

/* --- many rows at once ---------------------------------------------------------------------------- */

#define LINE        64   /* bytes of a cache line */
#define FETCH_MOST  1024 /* bytes of a record; the hardware prefetcher does the rest */
#define ASKED_EVERY 16   /* records of which one is asked whether the page cache has it */
#define AHEAD       16   /* records that are fetched into the cache while another one is copied */

/* Inline: compilers see no effect in it and drop calls. */
__attribute__((always_inline)) static inline void fetch(const uint8_t *from, size_t n)
{
    if (!from)
        return;
    const uint8_t *const end = from + (n < FETCH_MOST ? n : FETCH_MOST);
    for (const uint8_t *at = from - (uintptr_t)from % LINE; at < end; at += LINE)
        __builtin_prefetch(at);
}

void leat_tfrecord_hint(const leat_source *base, uint64_t record)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
    uint64_t offset, size;
    if (opened && !opened->compression && leat_kept_files_started(source->kept) &&
        leat_tfrecord_shard_extent(s, record - s->first, &offset, &size) == LEAT_FORMAT_OK)
        fetch(leat_kept_files_place(source->kept, &s->kept, offset), (size_t)size);
}

void leat_tfrecord_announce(const leat_source *base, uint64_t record)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
    uint64_t offset, size;
    if (opened && !opened->compression &&
        leat_tfrecord_shard_extent(s, record - s->first, &offset, &size) == LEAT_FORMAT_OK)
        leat_kept_files_announce(source->kept, &s->kept, offset);
}

/* Finds the records in files and in memory. Returns how many are there. */
static uint64_t find_records(const leat_tfrecord_source *source, leat_gather *g,
                             leat_tfrecord_place *out)
{
    const leat_tfrecord_shard *checked = NULL;
    uint64_t n = 0;
    for (uint64_t i = 0; i < g->n; i++) {
        leat_tfrecord_shard *const s = out[i].shard = leat_tfrecord_shard_of(source, g->records[i]);
        if (leat_tfrecord_ready(source, s, NULL) < 0)
            break;
        n++;
        leat_index_fetch(&leat_tfrecord_shard_opened(s)->index, g->records[i] - s->first);
        __builtin_prefetch(leat_kept_files_flag(source->kept, &s->kept, g->records[i] - s->first));
    }
    for (uint64_t i = 0; i < n; i++) {
        leat_tfrecord_place *const at = &out[i];
        leat_tfrecord_shard *const s = at->shard;
        const uint64_t record = g->records[i] - s->first;
        if ((s != checked && leat_open_file_check(&s->file, NULL) < 0) ||
            leat_tfrecord_shard_extent(s, record, &at->offset, &at->size) < 0)
            return i;
        checked = s;
        at->checked = leat_kept_files_checked(source->kept, &s->kept, record);
        at->bytes = at->checked ? leat_kept_files_place(source->kept, &s->kept, at->offset)
                                : leat_kept_files_get(source->kept, &s->kept, at->offset,
                                                      (size_t)at->size, &g->n_read);
        at->is_kept = at->bytes != NULL;
    }
    return n;
}

bool leat_tfrecord_copy(const leat_tfrecord_source *source, const leat_gather *g, uint64_t i,
                        const leat_feature *found, uint64_t skip)
{
    for (int32_t k = 0; k < g->n_tensors; k++) {
        const leat_tfrecord_wanted *const wanted = &source->features.wanted[g->features[k]];
        const leat_feature *const f = &found[g->features[k]];
        const uint8_t *bytes;
        size_t size;
        if (skip >> k & 1)
            continue;
        if (f->kind != wanted->kind || f->n != wanted->n)
            return false;
        if (f->kind == LEAT_FEATURE_FLOAT)
            leat_feature_floats(f, (float *)(void *)g->rows[k] + i * f->n, f->n, NULL);
        else if (f->kind == LEAT_FEATURE_INT64)
            leat_feature_int64s(f, (int64_t *)(void *)g->rows[k] + i * f->n, f->n, NULL);
        else if (leat_feature_bytes(f, 0, &bytes, &size) < 0 || size != g->row_bytes[k])
            return false;
        else
            memcpy(g->rows[k] + i * size, bytes, size);
    }
    return true;
}

/* Copies the values of record i to its rows; false: it needs more than a copy, or is damaged. */
static bool copy_values(const leat_tfrecord_source *source, const leat_gather *g, uint64_t i,
                        const uint8_t *bytes, size_t size, uint8_t *checked)
{
    leat_feature found[LEAT_MAX_FEATURES];
    return leat_tfrecord_find(source, bytes, size, checked, found, NULL) >= 0 &&
           leat_tfrecord_copy(source, g, i, found, 0);
}

/* Tensors whose rows are plain copies of bytes in records that are LEAT_KEPT_ALIKE. */
typedef struct alike_copy {
    int32_t n;
    struct {
        size_t at, bytes, row_bytes; /* `at` counts from the record's frame */
        uint8_t *rows;
    } list[LEAT_MAX_FEATURES];
    uint64_t tensors; /* the set of these tensors, a bit each */
    bool is_all;
} alike_copy;

static void find_copies(const leat_tfrecord_source *source, const leat_gather *g, alike_copy *out)
{
    out->n = 0;
    out->tensors = 0;
    for (int32_t k = 0; k < g->n_tensors; k++) {
        const leat_tfrecord_wanted *const wanted = &source->features.wanted[g->features[k]];
        const leat_layout_feature *const f = &source->layout.features[g->features[k]];
        const bool as_stored = f->kind == LEAT_FEATURE_BYTES ||
                               (f->kind == LEAT_FEATURE_FLOAT && __BYTE_ORDER == __LITTLE_ENDIAN);
        const bool is_copy = as_stored && f->kind == wanted->kind && f->n == wanted->n &&
                             f->values.size == g->row_bytes[k];
        if (!is_copy)
            continue;
        out->list[out->n].at = LEAT_TFRECORD_HEADER + f->values.at;
        out->list[out->n].bytes = f->values.size;
        out->list[out->n].row_bytes = g->row_bytes[k];
        out->list[out->n++].rows = g->rows[k];
        out->tensors |= (uint64_t)1 << k;
    }
    out->is_all = out->n == g->n_tensors;
}

/* Reads a record into scratch; NULL on failure. asks: also test whether the page cache has it. */
static const uint8_t *read_record(leat_gather *g, const leat_tfrecord_place *at, bool asks)
{
    const size_t size = (size_t)at->size;
    uint8_t *const bytes = leat_scratch_take(g->scratch, size);
    int fd;
    if (!bytes)
        return NULL;
    g->n_read += size;
    if (leat_open_file_claim(&at->shard->file, &fd, NULL) < 0)
        return NULL;
    bool all = asks && leat_source_pread_cached(fd, bytes, size, at->offset);
    g->waited |= asks && !all;
    all = all || leat_source_pread_once(fd, bytes, size, at->offset) ||
          leat_source_pread(fd, bytes, size, at->offset, NULL, NULL) >= 0;
    leat_open_file_release(&at->shard->file);
    return all ? bytes : NULL;
}

/* Makes row i of a record that is LEAT_KEPT_ALIKE. */
static bool gather_alike(const leat_tfrecord_source *source, const leat_gather *g,
                         const alike_copy *copies, const leat_tfrecord_place *at, uint64_t i)
{
    leat_feature found[LEAT_MAX_FEATURES];
    for (int32_t k = 0; k < copies->n; k++)
        memcpy(copies->list[k].rows + i * copies->list[k].row_bytes, at->bytes + copies->list[k].at,
               copies->list[k].bytes);
    if (copies->is_all)
        return true;
    leat_example_layout_take(&source->layout, at->bytes + LEAT_TFRECORD_HEADER, found);
    return leat_tfrecord_copy(source, g, i, found, copies->tensors);
}

/* Makes row i alone; false: it needs more than a copy, or is damaged. */
static bool gather_one(const leat_tfrecord_source *source, leat_gather *g, leat_tfrecord_place *at,
                       uint64_t i)
{
    if (!copy_values(source, g, i, at->bytes, (size_t)at->size, &at->checked))
        return false;
    if (at->is_kept)
        leat_kept_files_note(source->kept, &at->shard->kept, g->records[i] - at->shard->first,
                             at->checked);
    return true;
}

/* Reads record i, and if it is short the next ones, to check them together. False: record i cannot be read. */
static bool read_next(leat_gather *g, leat_tfrecord_place *places, uint64_t i, uint64_t n)
{
    for (uint64_t k = i; k < n && k < i + LEAT_TFRECORD_TOGETHER; k++) {
        if (k > i && (places[k].bytes || places[k].size > FETCH_MOST))
            break;
        places[k].bytes = read_record(g, &places[k], k % ASKED_EVERY == 0);
        if (!places[k].bytes || places[k].size > FETCH_MOST)
            break;
    }
    return places[i].bytes != NULL;
}

/* Checks the CRCs of the next records that are in memory, if they are short. What is damaged stays unknown. */
static void check_next(leat_tfrecord_place *places, uint64_t n)
{
    const uint8_t *framed[LEAT_TFRECORD_TOGETHER];
    size_t sizes[LEAT_TFRECORD_TOGETHER];
    if (n < LEAT_TFRECORD_TOGETHER)
        return;
    for (int i = 0; i < LEAT_TFRECORD_TOGETHER; i++) {
        if (!places[i].bytes || places[i].checked || places[i].size > FETCH_MOST)
            return;
        framed[i] = places[i].bytes;
        sizes[i] = (size_t)places[i].size;
    }
    const unsigned intact = leat_tfrecord_check_together(framed, sizes, LEAT_TFRECORD_TOGETHER);
    for (int i = 0; i < LEAT_TFRECORD_TOGETHER; i++)
        if (intact >> i & 1)
            places[i].checked = LEAT_KEPT_INTACT;
}

/* Makes row i, and those behind it that are read with it. Returns how many; 0: it needs more than a copy. mark: of
 * scratch without records. */
static uint64_t gather_next(const leat_tfrecord_source *source, leat_gather *g,
                            leat_tfrecord_place *places, uint64_t i, uint64_t n, size_t mark)
{
    if (!places[i].bytes) {
        leat_scratch_rewind(g->scratch, mark);
        const uint64_t n_made = leat_tfrecord_scatter_read(source, g, places, i, n);
        if (n_made)
            return n_made;
        leat_scratch_rewind(g->scratch, mark);
        if (!read_next(g, places, i, n))
            return 0;
    }
    if (!places[i].checked)
        check_next(places + i, n - i);
    return gather_one(source, g, &places[i], i);
}

uint64_t leat_tfrecord_gather(const leat_source *base, leat_gather *g)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_tfrecord_place places[LEAT_GATHER_ROWS];
    const uint64_t n = find_records(source, g, places);
    const size_t mark = leat_scratch_mark(g->scratch);
    uint64_t i = 0, n_made = 1;
    alike_copy copies;
    find_copies(source, g, &copies);
    for (; i < n && i < AHEAD; i++)
        fetch(places[i].bytes, (size_t)places[i].size);
    for (i = 0; i < n && n_made; i += n_made) {
        if (i + AHEAD < n)
            fetch(places[i + AHEAD].bytes, (size_t)places[i + AHEAD].size);
        if (places[i].checked == LEAT_KEPT_ALIKE)
            n_made = gather_alike(source, g, &copies, &places[i], i);
        else
            n_made = gather_next(source, g, places, i, n, mark);
    }
    leat_scratch_rewind(g->scratch, mark);
    for (uint64_t k = 0; k < n; k++)
        if (places[k].is_kept && !leat_kept_files_stay(source->kept))
            leat_kept_files_put(source->kept, &places[k].shard->kept, places[k].offset);
    return i;
}
