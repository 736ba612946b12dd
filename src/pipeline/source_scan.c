/* SPDX-License-Identifier: MIT */
#include "source_scan.h"

#include <stdlib.h>

#include "scratch.h"

#define GROUP_BYTES   ((size_t)4 << 20) /* read at once */
#define GROUP_RECORDS 4096
#define SCRATCH_BYTES ((size_t)4 << 30) /* address space; committed by touch */
#define SCRATCH_LEAST ((size_t)1 << 20)

typedef struct scan {
    const leat_source *source;
    const leat_order *order;
    int32_t feature;
    leat_scan_visit *visit;
    void *arg;
    leat_scratch *scratch;
    uint64_t *records; /* of the group under way */
    size_t *sizes;
    uint8_t *bytes;
    size_t room;
} scan;

static int blame(const scan *s, uint64_t record, int rc, leat_error *err)
{
    char where[512];
    s->source->table->describe(s->source, record, where, sizeof where);
    return leat_fail_in(err, rc, "%s: ", where);
}

static uint64_t record_at(const scan *s, uint64_t position)
{
    uint64_t record = position, epoch = 0;
    leat_order_walk(s->order, NULL, NULL, 0, &record, &epoch); /* nothing that needs a cache */
    return record;
}

/* A record whose bytes are not read here. */
static int visit_loaded(scan *s, uint64_t position, uint64_t record, leat_error *err)
{
    const leat_source_table *const table = s->source->table;
    leat_view features[LEAT_MAX_FEATURES];
    size_t n_read = 0;
    int rc = LEAT_E_UNSUPPORTED;
    leat_scratch_reset(s->scratch);
    if (table->known)
        rc = table->known(s->source, record, s->feature, s->scratch, &features[s->feature]);
    if (rc == LEAT_E_UNSUPPORTED)
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
    int rc = make_room(s, at->size, err);
    if (rc < 0)
        return blame(s, s->records[0], rc, err);
    rc = leat_source_pread(at->fd, s->bytes, at->size, at->offset, NULL, n > 1 ? NULL : err);
    if (rc < 0 && n == 1)
        return blame(s, s->records[0], rc, err);
    const bool one_by_one = rc < 0; /* to learn which of them it is */
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

/* Where the record's bytes are; fd = -1: it is loaded. */
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

static int visit_all(scan *s, leat_error *err)
{
    const uint64_t n_all = s->order->n_samples;
    leat_extent group = { .fd = -1 }, at;
    size_t n = 0;
    int rc = LEAT_OK;
    for (uint64_t p = 0; p < n_all && rc >= 0; p++) {
        const uint64_t record = record_at(s, p);
        rc = locate(s, record, &at, err);
        if (rc >= 0 && at.fd >= 0 && join(s, &group, &n, record, &at))
            continue;
        if (rc >= 0 && n)
            rc = visit_group(s, p - n, &group, n, err);
        n = 0;
        if (rc >= 0 && at.fd < 0)
            rc = visit_loaded(s, p, record, err);
        else if (rc >= 0)
            join(s, &group, &n, record, &at);
    }
    return rc >= 0 && n ? visit_group(s, n_all - n, &group, n, err) : rc;
}

int leat_source_scan(const leat_source *source, const leat_order *order, int32_t feature,
                     leat_scan_visit *visit, void *arg, leat_error *err)
{
    scan *const s = calloc(1, sizeof *s);
    if (!s)
        return leat_fail(err, LEAT_E_NOMEM, "reading features: %zu bytes", sizeof *s);
    s->source = source;
    s->order = order;
    s->feature = feature;
    s->visit = visit;
    s->arg = arg;
    s->records = malloc(GROUP_RECORDS * sizeof *s->records);
    s->sizes = malloc(GROUP_RECORDS * sizeof *s->sizes);
    int rc = s->records && s->sizes
                 ? leat_scratch_open_within(&s->scratch, SCRATCH_LEAST, SCRATCH_BYTES, err)
                 : leat_fail(err, LEAT_E_NOMEM, "reading features: %d records", GROUP_RECORDS);
    if (rc >= 0)
        rc = visit_all(s, err);
    leat_scratch_close(&s->scratch);
    free(s->records);
    free(s->sizes);
    free(s->bytes);
    free(s);
    return rc;
}
