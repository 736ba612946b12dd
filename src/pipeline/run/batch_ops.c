/* SPDX-License-Identifier: MIT
 *
 * batch_ops.c: runs batch ops (mixup, cutmix) over the rows of a batch. sched.c calls it.
 * Invariant: random numbers depend on the batch and the op, never on the thread.
 *
 * DESIGN. When the last row of a batch is done, its slot goes to BATCH_OPS. It goes through the
 * batch ops one by one and then, if digests are wanted, through its rows once more. Each step is
 * cut into ranges that any thread takes. The next step begins when all ranges are done.
 *
 * An op pairs the rows of a batch: it takes a permutation of them, keyed by seed, epoch, batch
 * number and op, two by two. A last odd row stays as it is, and masked rows are not paired. Both
 * rows of a pair are mixed in place at once, so no copy of the batch is needed, and pairs do not
 * depend on each other. */
#include "base/scratch.h"
#include "engine.h"
#include "ops/image/mix.h"

#define RANGE_BYTES (128 << 10) /* the least to hand to a thread: about 20 us of work */
#define CPU_EVERY   61          /* one range in 61 is timed by CPU time */

static uint64_t n_valid_locked(const leat_slot *slot)
{
    return slot->place.rows - (slot->log ? (uint64_t)slot->log->n_masked : 0);
}

/* Pairs, or rows, of the slot's current step. */
static uint64_t units_locked(const leat_loader *loader, const leat_slot *slot)
{
    return slot->step < loader->plan->n_batch_ops ? n_valid_locked(slot) / 2 : slot->place.rows;
}

static int32_t n_steps(const leat_plan *plan)
{
    return plan->n_batch_ops + (plan->n_batch_ops && plan->engine.digest);
}

/* Begins the first step, from `step` on, that has something to do. Without one the batch is
 * FULL. */
static void begin_step_locked(leat_loader *loader, leat_slot *slot, int32_t step)
{
    for (slot->step = step; slot->step < n_steps(loader->plan); slot->step++) {
        slot->n_left = units_locked(loader, slot);
        slot->step_next = 0;
        if (slot->n_left) {
            slot->state = LEAT_SLOT_BATCH_OPS;
            loader->n_in_batch_ops++;
            return;
        }
    }
    slot->state = LEAT_SLOT_FULL;
    slot->ready_ns = leat_clock_ns();
}

void leat_batch_ops_begin_locked(leat_loader *loader, leat_slot *slot)
{
    begin_step_locked(loader, slot, slot->error.code < 0 ? n_steps(loader->plan) : 0);
}

/* The oldest batch with a range that nobody has taken. */
static leat_slot *find_locked(const leat_loader *loader, int64_t last_batch)
{
    leat_slot *oldest = NULL;
    if (!loader->n_in_batch_ops)
        return NULL;
    for (int64_t i = 0; i < loader->n_slots_made; i++) {
        leat_slot *const slot = &loader->slots[i];
        if (slot->state == LEAT_SLOT_BATCH_OPS && slot->batch <= last_batch &&
            slot->step_next < units_locked(loader, slot) &&
            (!oldest || slot->batch < oldest->batch))
            oldest = slot;
    }
    return oldest;
}

bool leat_batch_ops_can_locked(const leat_loader *loader, int64_t last_batch)
{
    return find_locked(loader, last_batch) != NULL;
}

/* Pairs or rows of a range: half a thread's share of them, but RANGE_BYTES at least. */
static uint64_t range_units(const leat_loader *loader, const leat_slot *slot, uint64_t units)
{
    const leat_plan *const plan = loader->plan;
    const uint64_t threads = (uint64_t)(loader->n_threads > 1 ? loader->n_threads : 1);
    const uint64_t share = (units + 2 * threads - 1) / (2 * threads);
    uint64_t bytes = 0;
    if (slot->step < plan->n_batch_ops)
        bytes = 2 * plan->chains[plan->batch_ops[slot->step].chain].row_bytes;
    for (int32_t c = 0; slot->step == plan->n_batch_ops && c < plan->n_chains; c++)
        bytes += plan->chains[c].row_bytes;
    const uint64_t least = RANGE_BYTES / (bytes + 1) + 1;
    return share > least ? share : least;
}

bool leat_batch_ops_take_locked(leat_loader *loader, int64_t last_batch, leat_batch_ops_range *out)
{
    leat_slot *const slot = find_locked(loader, last_batch);
    if (!slot)
        return false;
    const uint64_t units = units_locked(loader, slot), n = range_units(loader, slot, units);
    *out = (leat_batch_ops_range){ .slot = slot, .op = slot->step, .from = slot->step_next };
    out->to = units - out->from < n ? units : out->from + n;
    slot->step_next = out->to;
    return true;
}

void leat_batch_ops_done_locked(leat_loader *loader, const leat_batch_ops_range *range,
                                uint64_t digest, const leat_error *failed)
{
    leat_slot *const slot = range->slot;
    leat_check(slot->state == LEAT_SLOT_BATCH_OPS && range->op == slot->step);
    leat_check(slot->n_left >= range->to - range->from);
    if (failed)
        slot->error = *failed;
    slot->digest += digest;
    slot->n_left -= range->to - range->from;
    if (slot->n_left == 0) {
        loader->n_in_batch_ops--;
        begin_step_locked(loader, slot, range->op + 1);
    }
}

/* --- outside the lock ------------------------------------------------------------------------- */

/* Lists the *n rows to pair. *out is NULL if these are all rows. */
static int list_valid(const leat_plan *plan, leat_worker *worker, const leat_slot *slot,
                      const uint32_t **out, uint64_t *n, leat_error *err)
{
    const uint8_t *const valid = slot->memory + plan->valid_offset;
    const uint64_t rows = slot->place.rows;
    *out = NULL;
    *n = rows;
    if (!slot->log || slot->log->n_masked == 0)
        return LEAT_OK;
    uint32_t *const list = leat_scratch_take(worker->scratch, rows * sizeof *list);
    if (!list)
        return leat_fail(err, LEAT_E_NOMEM, "a list of %llu rows does not fit in scratch",
                         (unsigned long long)rows);
    *out = list;
    *n = 0;
    for (uint64_t row = 0; row < rows; row++)
        if (valid[row])
            list[(*n)++] = (uint32_t)row;
    return LEAT_OK;
}

static void mix_pair(const leat_plan *plan, const leat_plan_batch_op *batch_op,
                     const leat_draw *drawn, double own, uint8_t *slot, uint64_t a, uint64_t b)
{
    const leat_chain *const image = &plan->chains[batch_op->chain];
    uint8_t *const images = slot + image->host_offset;
    batch_op->op->apply(drawn, &image->shape, images + a * image->row_bytes,
                        images + b * image->row_bytes);
    if (batch_op->label < 0)
        return;
    const leat_chain *const label = &plan->chains[batch_op->label];
    uint8_t *const labels = slot + label->host_offset;
    leat_mix_f32((float *)(labels + a * label->row_bytes), (float *)(labels + b * label->row_bytes),
                 label->row_bytes / sizeof(float), (float)own);
}

static int mix_pairs(const leat_plan *plan, leat_worker *worker, const leat_batch_ops_range *range,
                     leat_error *err)
{
    const leat_slot *const slot = range->slot;
    const leat_plan_batch_op *const batch_op = &plan->batch_ops[range->op];
    leat_rng rng =
        leat_rng_make(plan->seed, slot->place.number, slot->place.epoch, batch_op->stream);
    leat_draw drawn = { { 0 } };
    const uint32_t *list;
    uint64_t n;
    double own;
    const uint64_t high = leat_rng_u32(&rng), key = high << 32 | leat_rng_u32(&rng);
    batch_op->op->draw(batch_op->options, &rng, &plan->chains[batch_op->chain].shape, &drawn, &own);
    if (own >= 1)
        return LEAT_OK;
    leat_scratch_reset(worker->scratch);
    worker->kept.valid = false;
    const int rc = list_valid(plan, worker, slot, &list, &n, err);
    if (rc < 0)
        return rc;
    const leat_perm perm = leat_perm_make(n, key, 0, 0);
    for (uint64_t i = range->from; i < range->to; i++) {
        const uint64_t a = leat_perm_at(&perm, 2 * i), b = leat_perm_at(&perm, 2 * i + 1);
        mix_pair(plan, batch_op, &drawn, own, slot->memory, list ? list[a] : a, list ? list[b] : b);
    }
    return LEAT_OK;
}

int leat_batch_ops_run(const leat_plan *plan, leat_worker *worker,
                       const leat_batch_ops_range *range, uint64_t *digest, leat_error *err)
{
    const leat_slot *const slot = range->slot;
    *digest = 0;
    if (range->op == plan->n_batch_ops) {
        for (uint64_t row = range->from; row < range->to; row++)
            *digest += leat_slot_digest_row(plan, &slot->place, slot->memory, row);
        return LEAT_OK;
    }
    const bool by_cpu = ++worker->n_timed % CPU_EVERY == 0;
    const int64_t cpu = by_cpu ? leat_clock_cpu_ns() : 0, start = leat_clock_ns();
    const uint64_t n = 2 * (range->to - range->from);
    leat_trace_stage *const stage =
        &worker->trace.stages[leat_timing_n_stages(plan) - plan->n_batch_ops + range->op];
    const int rc = mix_pairs(plan, worker, range, err);
    leat_trace_count(stage, n, n * plan->chains[plan->batch_ops[range->op].chain].row_bytes);
    const int64_t ns = leat_clock_ns() - start;
    if (by_cpu)
        leat_trace_cpu(stage, n, leat_clock_cpu_ns() - cpu, ns);
    else
        leat_trace_time(stage, n, ns);
    return rc;
}
