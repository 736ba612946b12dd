/* SPDX-License-Identifier: MIT
 *
 * feature_scan.c: reads one feature of all records, with several threads. Stages that depend on stored values
 * call it at open.
 *
 * DESIGN. Threads take pieces of up to 8192 neighbouring positions. Results belong to positions, so it does
 * not matter which thread takes a piece. After an error no thread takes a new piece, but the pieces before
 * the failed one are already taken and are finished. So the error of the lowest position always wins. */
#include "feature_scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/cores.h"
#include "base/pool.h"
#include "base/scratch.h"

#define PIECE_LEAST   512 /* positions; others are multiples: see leat_scan_visit */
#define PIECE_MOST    8192
#define GROUP_BYTES   ((size_t)1 << 20) /* read at once */
#define GROUP_RECORDS 4096
#define SCRATCH_BYTES ((size_t)4 << 30) /* address space; committed by touch */
#define SCRATCH_LEAST ((size_t)1 << 20)

/* Shared by all threads. */
typedef struct scan_work {
    const leat_source *source;
    const leat_order *order;
    int32_t feature;
    leat_scan_visit *visit;
    void *arg;
    uint64_t piece;          /* positions */
    _Atomic uint64_t next;   /* first position that no thread has taken */
    _Atomic uint64_t failed; /* first position of the lowest piece that failed */
    pthread_mutex_t lock;
    leat_error error; /* of that piece. [lock] */
} scan_work;

/* Of one thread. */
typedef struct scan {
    const leat_source *source;
    const leat_order *order;
    int32_t feature;
    leat_scan_visit *visit;
    void *arg;
    leat_scratch *scratch;
    uint64_t *records; /* of the current group */
    size_t *sizes;
    uint8_t *bytes;
    size_t room;
} scan;

static int blame(const scan *s, uint64_t record, int rc, leat_error *err)
{
    return leat_source_fail_in(s->source, record, err, rc);
}

static uint64_t record_at(const scan *s, uint64_t position)
{
    uint64_t record = position, epoch = 0;
    leat_order_walk(s->order, NULL, NULL, 0, &record, &epoch); /* its steps need no cache */
    return record;
}

/* Visits a record that the source loads itself, or whose feature it knows. */
static int visit_loaded(scan *s, uint64_t position, uint64_t record, leat_error *err)
{
    const leat_source_table *const table = s->source->table;
    leat_view features[LEAT_MAX_FEATURES];
    size_t n_read = 0;
    int rc = LEAT_E_UNSUPPORTED;
    leat_scratch_reset(s->scratch);
    if (table->peek)
        rc = table->peek(s->source, record, s->feature, s->scratch, &features[s->feature]);
    if (rc < 0) /* not known, or damaged: `load` says why */
        rc = table->load(s->source, record, s->scratch, features, &n_read, err);
    return rc < 0 ? blame(s, record, rc, err)
                  : s->visit(s->arg, position, &features[s->feature], err);
}

static int visit_parsed(scan *s, uint64_t position, uint64_t record, const uint8_t *bytes,
                        size_t size, leat_error *err)
{
    leat_view features[LEAT_MAX_FEATURES];
    leat_scratch_reset(s->scratch);
    const int rc =
        s->source->table->parse(s->source, record, bytes, size, s->scratch, features, err);
    return rc < 0 ? blame(s, record, rc, err)
                  : s->visit(s->arg, position, &features[s->feature], err);
}

static int make_room(scan *s, size_t bytes, leat_error *err)
{
    if (bytes <= s->room)
        return LEAT_OK;
    free(s->bytes);
    s->room = 0;
    s->bytes = malloc(bytes);
    if (!s->bytes)
        return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes", bytes);
    s->room = bytes;
    return LEAT_OK;
}

/* Reads a group and visits its records, from position `first` on. */
static int visit_group(scan *s, uint64_t first, const leat_extent *at, size_t n, leat_error *err)
{
    size_t offset = 0;
    leat_check(n >= 1 && n <= GROUP_RECORDS);
    int rc = make_room(s, at->size, err);
    if (rc < 0)
        return blame(s, s->records[0], rc, err);
    rc = leat_source_pread(at->fd, s->bytes, at->size, at->offset, NULL, n > 1 ? NULL : err);
    if (rc < 0 && n == 1)
        return blame(s, s->records[0], rc, err);
    const bool one_by_one = rc < 0; /* to find the record that fails */
    rc = LEAT_OK;
    for (size_t i = 0; i < n && rc >= 0; offset += s->sizes[i++]) {
        if (one_by_one)
            rc = leat_source_pread(at->fd, s->bytes + offset, s->sizes[i], at->offset + offset,
                                   NULL, err);
        if (rc < 0)
            return blame(s, s->records[i], rc, err);
        rc = visit_parsed(s, first + i, s->records[i], s->bytes + offset, s->sizes[i], err);
    }
    return rc;
}

/* Where the record's bytes are. fd = -1: the source loads it itself. */
static int locate(const scan *s, uint64_t record, leat_extent *out, leat_error *err)
{
    out->fd = -1;
    if (!s->source->table->locate)
        return LEAT_OK;
    const int rc = s->source->table->locate(s->source, record, out, err);
    return rc < 0 ? blame(s, record, rc, err) : rc;
}

/* Appends the record to the group if it lies right behind it. */
static bool join(scan *s, leat_extent *group, size_t *n, uint64_t record, const leat_extent *at)
{
    const bool begins = *n == 0;
    if (!begins && (at->fd != group->fd || at->offset != group->offset + group->size ||
                    group->size + at->size > GROUP_BYTES || *n == GROUP_RECORDS))
        return false;
    if (begins)
        *group = (leat_extent){ .fd = at->fd, .offset = at->offset };
    group->size += at->size;
    s->records[*n] = record;
    s->sizes[(*n)++] = at->size;
    return true;
}

/* Positions from `first` to below `end`. */
static int visit_piece(scan *s, uint64_t first, uint64_t end, leat_error *err)
{
    leat_extent group = { .fd = -1 }, at;
    size_t n = 0;
    int rc = LEAT_OK;
    for (uint64_t p = first; p < end && rc >= 0; p++) {
        const uint64_t record = record_at(s, p);
        rc = locate(s, record, &at, err);
        if (rc >= 0 && at.fd >= 0 && join(s, &group, &n, record, &at))
            continue;
        if (n) {
            const int before = visit_group(s, p - n, &group, n, err);
            rc = before < 0 ? before : rc;
        }
        n = 0;
        if (rc >= 0 && at.fd < 0)
            rc = visit_loaded(s, p, record, err);
        else if (rc >= 0)
            join(s, &group, &n, record, &at);
    }
    return rc >= 0 && n ? visit_group(s, end - n, &group, n, err) : rc;
}

/* --- threads ------------------------------------------------------------------------------------- */

static void close_scan(scan *s)
{
    leat_scratch_close(&s->scratch);
    free(s->records);
    free(s->sizes);
    free(s->bytes);
}

static int open_scan(scan *s, const scan_work *work, leat_error *err)
{
    *s = (scan){ .source = work->source,
                 .order = work->order,
                 .feature = work->feature,
                 .visit = work->visit,
                 .arg = work->arg,
                 .records = malloc(GROUP_RECORDS * sizeof *s->records),
                 .sizes = malloc(GROUP_RECORDS * sizeof *s->sizes) };
    const int rc =
        s->records && s->sizes
            ? leat_scratch_open_within(&s->scratch, SCRATCH_LEAST, SCRATCH_BYTES, err)
            : leat_fail(err, LEAT_E_NOMEM, "reading features: %d records", GROUP_RECORDS);
    if (rc < 0)
        close_scan(s);
    return rc;
}

static void note_failure(scan_work *work, uint64_t first, int rc, const leat_error *error)
{
    pthread_mutex_lock(&work->lock);
    if (first < atomic_load(&work->failed)) {
        atomic_store(&work->failed, first);
        work->error = *error;
        work->error.code = rc;
    }
    pthread_mutex_unlock(&work->lock);
}

/* Takes pieces until none is left, or a lower one has failed. */
static void take_pieces(scan_work *work, scan *s)
{
    const uint64_t n = work->order->n_samples;
    for (;;) {
        leat_error error = { 0 };
        const uint64_t first = atomic_fetch_add(&work->next, work->piece);
        if (first >= n || first > atomic_load(&work->failed))
            return;
        const uint64_t end = n - first < work->piece ? n : first + work->piece;
        const int rc = visit_piece(s, first, end, &error);
        if (rc < 0)
            note_failure(work, first, rc, &error);
    }
}

/* A thread that cannot allocate returns; others take the pieces. */
static void help(void *arg, int i)
{
    scan s;
    (void)i;
    if (open_scan(&s, arg, NULL) < 0)
        return;
    take_pieces(arg, &s);
    close_scan(&s);
}

/* Sets the size of pieces: 8 per thread, so that threads end at about the same time. Returns the number of
 * threads beside the caller. */
static int divide(scan_work *work, int64_t threads)
{
    const uint64_t n = work->order->n_samples;
    work->piece = PIECE_MOST;
    if (n <= PIECE_LEAST || threads == 0 || threads == 1)
        return 0;
    const uint64_t all = threads < 0 ? (uint64_t)leat_cores_count() : (uint64_t)threads;
    const uint64_t share = n / (8 * all) / PIECE_LEAST * PIECE_LEAST;
    work->piece = share > PIECE_MOST ? PIECE_MOST : share > PIECE_LEAST ? share : PIECE_LEAST;
    const uint64_t n_pieces = (n + work->piece - 1) / work->piece;
    return (int)(n_pieces < all ? n_pieces : all) - 1;
}

int leat_feature_scan(const leat_source *source, const leat_order *order, int32_t feature,
                      int64_t threads, leat_scan_visit *visit, void *arg, leat_error *err)
{
    scan_work work = { .source = source,
                       .order = order,
                       .feature = feature,
                       .visit = visit,
                       .arg = arg,
                       .failed = UINT64_MAX,
                       .lock = PTHREAD_MUTEX_INITIALIZER };
    leat_pool *pool = NULL;
    scan s;
    const int rc = open_scan(&s, &work, err), n_more = divide(&work, threads);
    if (rc < 0)
        return rc;
    if (n_more) /* if no thread starts, the caller works alone */
        leat_pool_open(&pool, n_more, "scan", help, &work, NULL);
    take_pieces(&work, &s);
    leat_pool_close(&pool);
    close_scan(&s);
    if (work.failed == UINT64_MAX)
        return LEAT_OK;
    return leat_fail_as(err, &work.error);
}
