/* SPDX-License-Identifier: MIT
 *
 * batch_ops.c: batch ops: mixup, cutmix.
 *
 * DESIGN. When the last row of a batch is there, its slot does not become FULL but FINISHING: it goes
 * through its batch ops one by one, and then, if digests are wanted, through its rows once more. Each of
 * these steps is cut into parts that any worker takes; the next one begins when all parts are done.
 *
 * The rows of a batch are paired: a permutation of them, keyed by seed, pass, batch number and op, is
 * taken two by two (of an odd number the last row stays as it is). Each pair is mixed in place, both ways
 * at once, so no copy of the batch is needed, and pairs do not depend on each other. Masked rows are not
 * paired. What is drawn belongs to the batch and the op, not to who does it. */
#include "batch_ops.h"

#include "base/digest.h"
#include "base/scratch.h"
#include "engine.h"
#include "ops/image/mix.h"

#define PART_BYTES (128 << 10) /* what is worth handing over: some 20 microseconds */
#define CPU_EVERY  61          /* parts, of which one is timed by the CPU's time */

static uint64_t n_valid_locked(const leat_slot *slot)
{
    return slot->place.rows - (slot->log ? (uint64_t)slot->log->n_masked : 0);
}

/* Pairs or rows of the slot's present step. */
static uint64_t units_locked(const leat_loader *loader, const leat_slot *slot)
{
    return slot->finish_op < loader->plan->n_batch_ops ? n_valid_locked(slot) / 2
                                                       : slot->place.rows;
}

static int32_t n_steps(const leat_plan *plan)
{
    return plan->n_batch_ops + (plan->n_batch_ops && plan->engine.digest);
}

/* Goes to the first step from `op` on that has something to do; the batch is full when there is none. */
static void go_on_locked(leat_loader *loader, leat_slot *slot, int32_t op)
{
    for (slot->finish_op = op; slot->finish_op < n_steps(loader->plan); slot->finish_op++) {
        slot->left = units_locked(loader, slot);
        slot->finish_next = 0;
        if (slot->left) {
            slot->state = LEAT_SLOT_FINISHING;
            loader->n_finishing++;
            return;
        }
    }
    slot->state = LEAT_SLOT_FULL;
    slot->ready_ns = leat_clock_ns();
}

void leat_batch_ops_begin_locked(leat_loader *loader, leat_slot *slot)
{
    go_on_locked(loader, slot, slot->error.code < 0 ? n_steps(loader->plan) : 0);
}

/* The oldest batch that has parts nobody has taken. */
static leat_slot *find_locked(const leat_loader *loader, int64_t only)
{
    leat_slot *oldest = NULL;
    if (!loader->n_finishing)
        return NULL;
    for (int64_t i = 0; i < loader->n_slots_made; i++) {
        leat_slot *const slot = &loader->slots[i];
        if (slot->state == LEAT_SLOT_FINISHING && (only < 0 || slot->batch == only) &&
            slot->finish_next < units_locked(loader, slot) &&
            (!oldest || slot->batch < oldest->batch))
            oldest = slot;
    }
    return oldest;
}

bool leat_batch_ops_can_locked(const leat_loader *loader, int64_t only)
{
    return find_locked(loader, only) != NULL;
}

/* How many pairs or rows make a part: a share of each thread, but worth the trouble. */
static uint64_t part_of(const leat_loader *loader, const leat_slot *slot, uint64_t units)
{
    const leat_plan *const plan = loader->plan;
    const uint64_t threads = (uint64_t)(loader->n_threads > 1 ? loader->n_threads : 1);
    const uint64_t share = (units + 2 * threads - 1) / (2 * threads);
    uint64_t bytes = 0;
    if (slot->finish_op < plan->n_batch_ops)
        bytes = 2 * plan->chains[plan->batch_ops[slot->finish_op].chain].row_bytes;
    for (int32_t c = 0; slot->finish_op == plan->n_batch_ops && c < plan->n_chains; c++)
        bytes += plan->chains[c].row_bytes;
    const uint64_t least = PART_BYTES / (bytes + 1) + 1;
    return share > least ? share : least;
}

bool leat_batch_ops_take_locked(leat_loader *loader, int64_t only, leat_batch_ops_task *out)
{
    leat_slot *const slot = find_locked(loader, only);
    if (!slot)
        return false;
    const uint64_t units = units_locked(loader, slot), part = part_of(loader, slot, units);
    *out = (leat_batch_ops_task){ .slot = slot, .op = slot->finish_op, .from = slot->finish_next };
    out->to = units - out->from < part ? units : out->from + part;
    slot->finish_next = out->to;
    return true;
}

void leat_batch_ops_done_locked(leat_loader *loader, const leat_batch_ops_task *task,
                                uint64_t digest, const leat_error *failed)
{
    leat_slot *const slot = task->slot;
    if (failed)
        slot->error = *failed;
    slot->digest += digest;
    slot->left -= task->to - task->from;
    if (slot->left == 0) {
        loader->n_finishing--;
        go_on_locked(loader, slot, task->op + 1);
    }
}

/* --- outside the lock ----------------------------------------------------------------------------- */

uint64_t leat_slot_digest_row(const leat_plan *plan, const leat_order_place *place, uint8_t *slot,
                              uint64_t row)
{
    const uint64_t at = place->first_row + row;
    uint64_t digest = 0;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        const size_t bytes = leat_chain_host_bytes(chain, &plan->order, place->bucket);
        digest += leat_digest_row(slot + chain->host_offset + row * bytes, bytes,
                                  at * LEAT_MAX_FEATURES + (uint64_t)c);
        if (chain->pad.on)
            digest += leat_digest_row(leat_chain_lengths(chain, slot, row),
                                      (size_t)chain->pad.n_lengths * sizeof(int64_t),
                                      ~(at * LEAT_MAX_FEATURES + (uint64_t)c));
    }
    if (plan->on_error == LEAT_ON_ERROR_MASK && !slot[plan->valid_offset + row])
        digest += leat_digest_row("masked", 6, at);
    return digest;
}

/* The rows that are paired, as a list of *n; NULL: all of the batch. */
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
                     const leat_plan64 *drawn, double own, uint8_t *slot, uint64_t a, uint64_t b)
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

static int mix_pairs(const leat_plan *plan, leat_worker *worker, const leat_batch_ops_task *task,
                     leat_error *err)
{
    const leat_slot *const slot = task->slot;
    const leat_plan_batch_op *const batch_op = &plan->batch_ops[task->op];
    leat_rng rng =
        leat_rng_make(plan->seed, slot->place.number, slot->place.epoch, batch_op->stream);
    leat_plan64 drawn = { { 0 } };
    const uint32_t *list;
    uint64_t n;
    double own;
    const uint64_t high = leat_rng_u32(&rng), key = high << 32 | leat_rng_u32(&rng);
    batch_op->op->plan(batch_op->options, &rng, &plan->chains[batch_op->chain].shape, &drawn, &own);
    if (own >= 1)
        return LEAT_OK;
    leat_scratch_reset(worker->scratch);
    worker->kept.valid = false;
    const int rc = list_valid(plan, worker, slot, &list, &n, err);
    if (rc < 0)
        return rc;
    const leat_perm perm = leat_perm_make(n, key, 0, 0);
    for (uint64_t i = task->from; i < task->to; i++) {
        const uint64_t a = leat_perm_at(&perm, 2 * i), b = leat_perm_at(&perm, 2 * i + 1);
        mix_pair(plan, batch_op, &drawn, own, slot->memory, list ? list[a] : a, list ? list[b] : b);
    }
    return LEAT_OK;
}

int leat_batch_ops_run(const leat_plan *plan, leat_worker *worker, const leat_batch_ops_task *task,
                       uint64_t *digest, leat_error *err)
{
    const leat_slot *const slot = task->slot;
    *digest = 0;
    if (task->op == plan->n_batch_ops) {
        for (uint64_t row = task->from; row < task->to; row++)
            *digest += leat_slot_digest_row(plan, &slot->place, slot->memory, row);
        return LEAT_OK;
    }
    const bool by_cpu = ++worker->n_timed % CPU_EVERY == 0;
    const int64_t cpu = by_cpu ? leat_clock_cpu_ns() : 0, start = leat_clock_ns();
    const uint64_t n = 2 * (task->to - task->from);
    leat_trace_stage *const stage =
        &worker->trace.stages[leat_timing_n_stages(plan) - plan->n_batch_ops + task->op];
    const int rc = mix_pairs(plan, worker, task, err);
    leat_trace_count(stage, n, n * plan->chains[plan->batch_ops[task->op].chain].row_bytes);
    const int64_t ns = leat_clock_ns() - start;
    if (by_cpu)
        leat_trace_cpu(stage, n, leat_clock_cpu_ns() - cpu, ns);
    else
        leat_trace_time(stage, n, ns);
    return rc;
}
