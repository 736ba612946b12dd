/* SPDX-License-Identifier: MIT
 *
 * probe.c: sizes by lookup; scratch by shapes where they are known, else by running a few records. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/scratch.h"
#include "pipeline/sample/sample.h"

#define PLACES       64 /* places of the source where sizes are looked up */
#define NEIGHBOURS   16 /* records per place; they lie on one page of an index */
#define RUNS         3  /* largest records that are run through the ops */
#define ROOM_MOST    ((int64_t)1 << 32)
#define REFUSED_ROOM ((int64_t)64 << 20)
#define FIRST        ((size_t)1 << 16) /* of scratch, where limits of the process leave no more */
#define GUESS        24 /* scratch bytes per stored byte if unknown: JPEG's 10:1, and copies */

/* --- sizes ---------------------------------------------------------------------------------------- */

typedef struct largest {
    uint64_t size[RUNS], record[RUNS]; /* largest first */
    int n;
    uint64_t usual, distance; /* the record with size nearest to the mean; that difference */
    bool has_usual;
} largest;

static void offer(largest *l, uint64_t size, uint64_t record)
{
    int at = 0;
    while (at < l->n && l->size[at] >= size)
        at++;
    if (at == RUNS)
        return;
    l->n += l->n < RUNS;
    for (int i = l->n - 1; i > at; i--) {
        l->size[i] = l->size[i - 1];
        l->record[i] = l->record[i - 1];
    }
    l->size[at] = size;
    l->record[at] = record;
}

static void offer_usual(largest *l, uint64_t size, uint64_t mean, uint64_t record)
{
    const uint64_t distance = size > mean ? size - mean : mean - size;
    if (l->has_usual && l->distance <= distance)
        return;
    l->usual = record;
    l->distance = distance;
    l->has_usual = true;
}

/* Looks up sizes of records, spread evenly. Finds the largest ones and one of average size. */
static void probe_sizes(const leat_source *source, leat_probe *out, largest *l)
{
    const uint64_t n = source->n_records;
    const uint64_t n_places = n < PLACES * NEIGHBOURS ? 1 : PLACES;
    const uint64_t in_a_row = n_places == 1 ? n : NEIGHBOURS;
    out->mean_bytes = source->n_bytes / n;
    for (uint64_t p = 0; p < n_places; p++)
        for (uint64_t i = 0; i < in_a_row; i++) {
            const uint64_t record = (uint64_t)((double)(n - in_a_row) / PLACES * (double)p) + i;
            leat_extent at;
            if (!source->table->locate || source->table->locate(source, record, &at, NULL) < 0)
                continue;
            out->n_sizes++;
            if (at.size > out->most_bytes)
                out->most_bytes = at.size;
            offer(l, at.size, record);
            offer_usual(l, at.size, out->mean_bytes, record);
        }
    for (uint64_t i = 0; !out->n_sizes && i < RUNS; i++) /* the source knows no sizes */
        offer(l, 0, n / RUNS * i);
}

/* --- scratch by shapes ------------------------------------------------------------------------------ */

/* Adds the bytes of a shape. false: it depends on the data. */
static bool add_bytes(const leat_shape *shape, uint64_t *sum)
{
    const int64_t bytes = leat_shape_bytes(shape);
    *sum += bytes < 0 ? 0 : ((uint64_t)bytes + 63) / 64 * 64;
    return bytes >= 0;
}

/* The outputs of all ops together, and half as much for memory inside ops. false: shapes depend on the
 * data. */
static bool sum_shapes(const leat_plan *plan, uint64_t *out)
{
    bool known = true;
    uint64_t sum = 0;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        leat_shape at = plan->source->features[chain->feature].shape, to;
        known &= add_bytes(&at, &sum) || chain->n_ops == 0;
        for (int32_t i = 0; i < chain->n_ops; i++, at = to) {
            if (plan->unbatches && i == chain->unbatch_at)
                at = leat_shape_part(&at);
            if (chain->ops[i].op->shape(chain->ops[i].options, &at, &to, NULL) < 0)
                return false;
            known &= add_bytes(&to, &sum);
        }
    }
    *out = sum + sum / 2;
    return known;
}

/* --- scratch by running ----------------------------------------------------------------------------- */

/* Built-in ops may be run for probing, except `sleep`; user ops may not. */
static bool may_run(const leat_plan *plan)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_ops; i++) {
            const leat_op *const op = plan->chains[c].ops[i].op;
            if (leat_op_find(op->name) != op || !strcmp(op->name, "sleep"))
                return false;
        }
    return true;
}

/* Runs a record through all ops one by one: that takes the most scratch. */
static void run_record(const leat_plan *plan, leat_worker *worker, uint8_t *slot, uint64_t record,
                       leat_probe *out)
{
    leat_error err;
    const int rc = leat_sample_run(plan, worker, record * plan->order.samples_per_record, 0,
                                   &(leat_stored){ .bytes = NULL }, slot, 0, LEAT_UNTIMED, &err);
    leat_scratch_reset(worker->scratch);
    worker->kept.valid = false;
    const uint64_t bytes = leat_scratch_asked(worker->scratch);
    if (bytes > out->scratch_bytes) {
        out->scratch_bytes = bytes;
        out->most_record = record;
    }
    if (rc >= 0 && (!out->usual_bytes || bytes < out->usual_bytes))
        out->usual_bytes = bytes;
    out->n_tried++;
}

static bool is_among(const largest *l, uint64_t record)
{
    for (int i = 0; i < l->n; i++)
        if (l->record[i] == record)
            return true;
    return false;
}

/* What the machine has, as scratch for a record. */
static int64_t room_of_machine(void)
{
    leat_machine machine;
    leat_machine_read("", &machine);
    return machine.memory_bytes;
}

static void run_records(const leat_plan *plan, leat_probe *out, const largest *l, int64_t most)
{
    const size_t limit = (size_t)(most < ROOM_MOST ? most : ROOM_MOST);
    leat_plan *const plain = malloc(sizeof *plain);
    leat_worker *const worker = calloc(1, sizeof *worker);
    leat_scratch *room = NULL;
    if (plain && worker && leat_scratch_open_within(&worker->scratch, FIRST, limit, NULL) >= 0 &&
        leat_scratch_open(&room, plan->slot_bytes, NULL) >= 0) {
        uint8_t *const slot = leat_scratch_take(room, plan->slot_bytes);
        *plain = *plan;
        plain->cache = NULL;
        if (plain->order.buckets) /* the last one has room for any sample */
            worker->bucket = plain->order.buckets->n - 1;
        for (int32_t c = 0; c < plain->n_chains; c++) {
            plain->chains[c].fused = NULL;
            plain->chains[c].cache_at = 0; /* ops before a cache take scratch too */
        }
        for (int i = 0; i < l->n && slot; i++)
            run_record(plain, worker, slot, l->record[i], out);
        if (slot && l->has_usual && !is_among(l, l->usual))
            run_record(plain, worker, slot, l->usual, out);
        if (!out->n_sizes && worker->trace.stages[LEAT_STAGE_READ].n)
            out->mean_bytes = worker->trace.stages[LEAT_STAGE_READ].bytes /
                              worker->trace.stages[LEAT_STAGE_READ].n;
    }
    leat_scratch_close(&room);
    if (worker)
        leat_scratch_close(&worker->scratch);
    free(worker);
    free(plain);
}

/* A record that does not fit in engine.memory stops at an op, and asks for less than it needs. The plan will be refused;
 * so that the message says all of it, it is tried again with little more than a process takes anyway. */
static void probe_scratch(const leat_plan *plan, leat_probe *out, const largest *l)
{
    const int64_t limit = plan->engine.memory;
    leat_probe all = *out;
    run_records(plan, out, l, limit < 0 ? room_of_machine() : limit);
    if (limit < 0 || limit >= REFUSED_ROOM || out->scratch_bytes <= (uint64_t)limit)
        return;
    run_records(plan, &all, l, REFUSED_ROOM);
    if (all.n_tried && all.scratch_bytes > out->scratch_bytes)
        *out = all;
}

void leat_probe_run(const leat_plan *plan, leat_probe *out)
{
    largest l = { .n = 0 };
    uint64_t by_shapes = 0;
    *out = (leat_probe){ .n_sizes = 0 };
    probe_sizes(plan->source, out, &l);
    if (!sum_shapes(plan, &by_shapes) && may_run(plan))
        probe_scratch(plan, out, &l);
    if (!out->n_tried)
        out->scratch_bytes = by_shapes + out->most_bytes;
    if (!out->n_tried && !sum_shapes(plan, &by_shapes))
        out->scratch_bytes += GUESS * (out->most_bytes ? out->most_bytes : 65536);
    if (!out->usual_bytes)
        out->usual_bytes = out->scratch_bytes;
}
