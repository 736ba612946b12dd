/* SPDX-License-Identifier: MIT
 *
 * cost_device.c: what a sample costs the device: its ops on a batch of real rows, by events around
 * them, and the copy of a batch. Neither is as large as real batches may be: so much of one that the
 * device has enough to do at once. Files that it decodes lie in pinned memory, as they do in a slot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "engine.h"

#define TIMES      3
#define LONG_NS    10000000
#define MAP_BYTES  ((size_t)16 << 20) /* of a batch of ops that is timed */
#define WIRE_BYTES ((size_t)16 << 20)
#define MOST_FILES ((size_t)64)

/* Two events on a stream, and what lies between. */
typedef struct stopwatch {
    leat_device *device;
    leat_stream *stream;
    leat_event *begin, *end;
} stopwatch;

static int fail(leat_device *device, int rc, const char *what, leat_error *err)
{
    char why[256] = "";
    if (device->table->explain)
        device->table->explain(device, why, sizeof why);
    return leat_fail(err, rc, "%s: %s", what, why[0] ? why : leat_code_text(rc));
}

static int open_stopwatch(stopwatch *w, leat_device *device, leat_error *err)
{
    const leat_device_table *const t = device->table;
    *w = (stopwatch){ .device = device };
    int rc = t->stream_open(device, &w->stream, err);
    if (rc >= 0)
        rc = t->event_open(device, &w->begin, err);
    return rc < 0 ? rc : t->event_open(device, &w->end, err);
}

static void close_stopwatch(stopwatch *w)
{
    const leat_device_table *const t = w->device->table;
    if (w->stream) /* waits for what is in it */
        t->stream_close(w->stream);
    if (w->begin)
        t->event_close(w->begin);
    if (w->end)
        t->event_close(w->end);
}

/* Times what enqueue(arg) enqueues: once for nothing, then the least of some times; where once takes
 * long, that is it. */
static int time_it(const stopwatch *w, int (*enqueue)(leat_stream *stream, void *arg), void *arg,
                   double *ns, leat_error *err)
{
    const leat_device_table *const t = w->device->table;
    *ns = INFINITY;
    for (int i = 0; i <= TIMES; i++) {
        int rc = t->event_record(w->begin, w->stream);
        if (rc >= 0)
            rc = enqueue(w->stream, arg);
        if (rc >= 0)
            rc = t->event_record(w->end, w->stream);
        if (rc >= 0)
            rc = t->event_sync(w->end);
        if (rc < 0)
            return fail(w->device, rc, "timing work", err);
        const double took = (double)(t->event_ns(w->end) - t->event_ns(w->begin));
        if (took < *ns && (i || took > LONG_NS))
            *ns = took > 0 ? took : 0;
        if (took > LONG_NS)
            break;
    }
    return LEAT_OK;
}

/* --- ops ------------------------------------------------------------------------------------------ */

/* A batch of one chain: rows, their plans, and what comes of them. */
typedef struct op_job {
    stopwatch watch;
    leat_device_op ops[LEAT_MAX_CHAIN];
    leat_device_chain chain;
    leat_device_files files; /* of chain */
    leat_device_map_spec spec;
    leat_device_map *map;
    uint8_t *rows, *memory;
    bool pinned;   /* rows are */
    size_t n_rows; /* bytes of `rows`; of these so many come into the buffer */
    size_t n_copied;
    double file_bytes; /* in the mean */
} op_job;

static size_t up(size_t n)
{
    return (n + 255) / 256 * 256;
}

/* Room for the largest of the files that were made, or a row that the CPU has made of one. */
static size_t room_of(const leat_chain *chain, const uint8_t *slot,
                      const bool rows[LEAT_COST_RECORDS])
{
    const leat_device_file *const heads =
        (const leat_device_file *)(const void *)(slot + chain->files.heads);
    int64_t most = leat_shape_bytes(&chain->files_shape);
    for (size_t r = 0; r < LEAT_COST_RECORDS; r++)
        if (rows[r] && heads[r].bytes > most)
            most = heads[r].bytes;
    return ((size_t)most + 63) / 64 * 64;
}

/* The same for files: beside the buffer, behind what is copied to it. */
static void lay_out_files(op_job *job, const leat_plan *cut, const leat_chain *chain, int32_t n,
                          size_t room)
{
    const uint64_t rows = leat_order_slot_rows(&cut->order);
    const size_t r = rows < MOST_FILES ? rows : MOST_FILES;
    job->n_copied = up((size_t)n * sizeof(leat_plan64) * r);
    job->files = (leat_device_files){ .heads = job->n_copied,
                                      .at = job->n_copied + up(r * sizeof(leat_device_file)),
                                      .room = room,
                                      .most_px = chain->files.most_px };
    job->n_rows = job->files.at + r * room;
    job->chain = (leat_device_chain){
        .ops = job->ops, .n_ops = n, .files = &job->files, .to = job->n_copied
    };
    job->spec = (leat_device_map_spec){
        .chains = &job->chain,
        .n_chains = 1,
        .rows = (int64_t)r,
        .buffer_bytes = job->chain.to + up(chain->row_bytes * r),
        .n_buffers = 1,
    };
}

static void lay_out(op_job *job, const leat_plan *cut, const leat_chain *chain, int32_t n)
{
    const size_t plans = (size_t)n * sizeof(leat_plan64);
    const size_t most = MAP_BYTES / (chain->host_bytes + plans + chain->row_bytes + 1);
    const uint64_t rows = leat_order_slot_rows(&cut->order);
    const int64_t r = (int64_t)(rows < most ? rows : most ? most : 1);
    job->chain = (leat_device_chain){ .ops = job->ops, .n_ops = n };
    job->chain.plans = up(chain->host_bytes * (size_t)r);
    job->chain.to = job->chain.plans + up(plans * (size_t)r);
    job->spec = (leat_device_map_spec){
        .chains = &job->chain,
        .n_chains = 1,
        .rows = r,
        .buffer_bytes = job->chain.to + up(chain->row_bytes * (size_t)r),
        .n_buffers = 1,
    };
    job->n_rows = job->n_copied = job->chain.to;
}

static void put_file(op_job *job, const leat_chain *chain, const uint8_t *slot, size_t from,
                     size_t i)
{
    const leat_device_file *const heads =
        (const leat_device_file *)(const void *)(slot + chain->files.heads);
    const int64_t made = leat_shape_bytes(&chain->files_shape);
    const size_t bytes = (size_t)(heads[from].bytes ? heads[from].bytes : made);
    memcpy(job->rows + job->files.heads + i * sizeof *heads, &heads[from], sizeof *heads);
    memcpy(job->rows + job->files.at + i * job->files.room,
           slot + chain->files.at + from * chain->files.room, bytes);
    job->file_bytes += (double)bytes / (double)job->spec.rows;
}

/* As many rows as are wanted, of the few that were made. */
static int fill_rows(op_job *job, const leat_chain *chain, const uint8_t *slot,
                     const bool rows[LEAT_COST_RECORDS])
{
    const size_t plans = (size_t)job->chain.n_ops * sizeof(leat_plan64);
    const leat_device_table *const t = job->watch.device->table;
    size_t r = 0;
    job->pinned = chain->is_files;
    job->rows = job->pinned ? t->pinned_alloc(job->watch.device, job->n_rows) : malloc(job->n_rows);
    if (job->rows)
        memset(job->rows, 0, job->n_rows);
    for (int64_t i = 0; job->rows && i < job->spec.rows; i++, r++) {
        while (!rows[r % LEAT_COST_RECORDS]) /* some is */
            r++;
        const size_t from = r % LEAT_COST_RECORDS;
        if (chain->is_files)
            put_file(job, chain, slot, from, (size_t)i);
        else
            memcpy(job->rows + (size_t)i * chain->host_bytes,
                   slot + chain->host_offset + from * chain->host_bytes, chain->host_bytes);
        memcpy(job->rows + job->chain.plans + (size_t)i * plans,
               slot + chain->plans_offset + from * plans, plans);
    }
    return job->rows ? LEAT_OK : LEAT_E_NOMEM;
}

static int run_ops(leat_stream *stream, void *arg)
{
    const op_job *const job = arg;
    int64_t bad_row;
    return stream->device->table->map_run(job->map, stream, 0, job->rows, job->spec.rows, &bad_row);
}

static int time_ops(op_job *job, leat_device *device, double *ns, leat_error *err)
{
    const leat_device_table *const t = device->table;
    int rc = open_stopwatch(&job->watch, device, err);
    if (rc < 0)
        return rc;
    job->memory = t->device_alloc(device, job->spec.buffer_bytes);
    if (!job->memory)
        return fail(device, LEAT_E_NOMEM, "a batch to be timed", err);
    if ((rc = t->map_open(device, &job->spec, &job->map, err)) < 0 ||
        (rc = t->map_add(job->map, 0, job->memory, err)) < 0)
        return rc;
    rc = t->copy_to_device(job->watch.stream, job->memory, job->rows, job->n_copied, job->pinned);
    if (rc < 0)
        return fail(device, rc, "a copy to be timed", err);
    return time_it(&job->watch, run_ops, job, ns, err);
}

int leat_cost_device(leat_device *device, const leat_plan *cut, int32_t c, const uint8_t *slot,
                     const bool rows[LEAT_COST_RECORDS], leat_cost_work *out, leat_error *err)
{
    const leat_device_table *const t = device->table;
    const leat_chain *const chain = &cut->chains[c];
    op_job *const job = calloc(1, sizeof *job);
    int32_t n;
    if (!job)
        return leat_fail(err, LEAT_E_NOMEM, "ops to be timed");
    job->watch.device = device;
    int rc = leat_ship_map_describe(chain, job->ops, &n, err);
    if (rc >= 0 && chain->is_files)
        lay_out_files(job, cut, chain, n, room_of(chain, slot, rows));
    else if (rc >= 0)
        lay_out(job, cut, chain, n);
    if (rc >= 0 && (rc = fill_rows(job, chain, slot, rows)) < 0)
        fail(device, rc, "rows to be timed", err);
    *out = (leat_cost_work){ .file_bytes = job->file_bytes };
    if (rc >= 0)
        rc = time_ops(job, device, &out->ns, err);
    out->ns /= (double)(job->spec.rows ? job->spec.rows : 1);
    out->decodes_apart = job->map && job->map->decodes_apart;
    close_stopwatch(&job->watch);
    if (job->map)
        t->map_close(job->map);
    if (job->memory)
        t->device_free(device, job->memory);
    if (job->pinned)
        t->pinned_free(device, job->rows);
    else
        free(job->rows);
    free(job);
    return rc;
}

/* --- a copy --------------------------------------------------------------------------------------- */

typedef struct wire_job {
    stopwatch watch;
    uint8_t *from, *to;
    size_t bytes;
    bool pinned;
} wire_job;

static int run_copy(leat_stream *stream, void *arg)
{
    const wire_job *const job = arg;
    return stream->device->table->copy_to_device(stream, job->to, job->from, job->bytes,
                                                 job->pinned);
}

int leat_cost_wire(leat_device *device, size_t wire_bytes, bool pinned, double *ns, leat_error *err)
{
    const leat_device_table *const t = device->table;
    wire_job job = { .bytes = wire_bytes < WIRE_BYTES ? wire_bytes : WIRE_BYTES, .pinned = pinned };
    int rc = open_stopwatch(&job.watch, device, err);
    if (rc >= 0) {
        job.from = pinned ? t->pinned_alloc(device, job.bytes) : malloc(job.bytes);
        job.to = t->device_alloc(device, job.bytes);
        if (!job.from || !job.to)
            rc = fail(device, LEAT_E_NOMEM, "a copy to be timed", err);
    }
    if (rc >= 0) {
        memset(job.from, 1, job.bytes);
        rc = time_it(&job.watch, run_copy, &job, ns, err);
        *ns /= (double)job.bytes;
    }
    close_stopwatch(&job.watch);
    if (job.to)
        t->device_free(device, job.to);
    if (job.from && pinned)
        t->pinned_free(device, job.from);
    else
        free(job.from);
    return rc;
}
