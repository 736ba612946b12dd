/* SPDX-License-Identifier: MIT
 *
 * bad_rows.c: handles records that cannot be read, parsed, decoded or mapped. task.c calls
 * leat_bad_rows_one(); upload.c and loader.c apply the limit per batch. Invariant: what a row contains
 * depends only on the order of records, never on threads or time.
 *
 * DESIGN. The worker that meets a bad record handles it at once: it writes zeros, or runs a
 * replacement, which order_replace.c computes and the worker itself reads. So no row waits for
 * another read. Each bad row is entered in the log of its slot. Limits on their number are
 * applied in batch order: with a device before the copy is enqueued, otherwise when the batch is
 * handed out. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "formats/visible.h"
#include "pipeline/order/order_replace.h"

int leat_bad_rows_open(leat_loader *loader, leat_error *err)
{
    const size_t n_logs = (size_t)(loader->n_slots + loader->n_buffers);
    loader->bad_epoch = -1;
    if (loader->plan->on_error == LEAT_ON_ERROR_FAIL)
        return LEAT_OK;
    loader->logs = calloc(n_logs, sizeof *loader->logs);
    if (!loader->errors) /* survives until the loader is freed */
        loader->errors = calloc(LEAT_BATCH_ERRORS, sizeof *loader->errors);
    if (!loader->logs || !loader->errors)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %zu lists of bad records", n_logs);
    return LEAT_OK;
}

void leat_bad_rows_close(leat_loader *loader)
{
    free(loader->logs);
    loader->logs = NULL;
}

/* --- one row ---------------------------------------------------------------------------------- */

/* The error is the record's fault, and not the machine's or the program's. */
static bool is_of_record(int code)
{
    return code == LEAT_E_DATA || code == LEAT_E_IO || code == LEAT_E_UNSUPPORTED;
}

/* Inserts in row order. When the list is full, the lowest rows stay. */
static void enter_locked(leat_bad_log *log, const leat_row_error *bad)
{
    int32_t at = log->n;
    *(bad->replaced ? &log->n_replaced : &log->n_masked) += 1;
    while (at > 0 && log->rows[at - 1].row > bad->row)
        at--;
    if (at == LEAT_BATCH_ERRORS)
        return;
    if (log->n < LEAT_BATCH_ERRORS)
        log->n++;
    memmove(&log->rows[at + 1], &log->rows[at], (size_t)(log->n - 1 - at) * sizeof *log->rows);
    log->rows[at] = *bad;
}

/* Fills the row with zeros and marks it as masked. */
static void mask(const leat_plan *plan, uint32_t bucket, uint8_t *slot, uint64_t row)
{
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        const size_t bytes = leat_chain_host_bytes(chain, &plan->order, bucket);
        memset(slot + chain->host_offset + row * bytes, 0, bytes);
        if (chain->pad.on)
            memset(leat_chain_lengths(chain, slot, row), 0,
                   (size_t)chain->pad.n_lengths * sizeof(int64_t));
    }
    slot[plan->valid_offset + row] = 0;
}

/* Runs other samples into the row until one works. If none does, *err stays the first error. */
static int replace(const leat_plan *plan, leat_worker *worker, const leat_slot *slot, uint64_t row,
                   uint64_t bad, uint64_t *record, leat_error *err)
{
    leat_error again;
    uint64_t epoch;
    for (uint32_t attempt = 0; attempt < LEAT_REPLACE_ATTEMPTS; attempt++) {
        leat_order_replace(&plan->order, &worker->order, plan->seed, (uint64_t)slot->batch, row,
                           bad, attempt, record, &epoch);
        const int rc = leat_sample_run(plan, worker, *record, epoch, &(leat_stored){ 0 },
                                       slot->memory, row, LEAT_UNTIMED, &again);
        if (rc >= 0) {
            *record /= plan->order.samples_per_record;
            return LEAT_OK;
        }
        if (!is_of_record(rc)) {
            *err = again;
            return rc;
        }
    }
    return leat_fail_in(err, err->code,
                        "%d replacements failed too; the first error: ", LEAT_REPLACE_ATTEMPTS);
}

int leat_bad_rows_one(leat_loader *loader, leat_worker *worker, leat_slot *slot, uint64_t row,
                      uint64_t sample, uint64_t epoch, leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    leat_row_error bad = { .batch = slot->batch,
                           .row = (int64_t)row,
                           .record = leat_order_record(&plan->order, sample),
                           .epoch = epoch,
                           .replaced = plan->on_error == LEAT_ON_ERROR_REPLACE,
                           .code = err->code,
                           .not_finite = err->not_finite };
    if (plan->on_error == LEAT_ON_ERROR_FAIL || !is_of_record(err->code))
        return err->code;
    leat_visible(err->message, strlen(err->message), "\n", bad.message, sizeof bad.message);
    if (bad.replaced) {
        const int rc = replace(plan, worker, slot, row, sample, &bad.replacement, err);
        if (rc < 0)
            return rc;
    } else {
        mask(plan, slot->place.bucket, slot->memory, row);
    }
    pthread_mutex_lock(&loader->lock);
    enter_locked(slot->log, &bad);
    pthread_mutex_unlock(&loader->lock);
    return LEAT_OK;
}

/* --- in batch order --------------------------------------------------------------------------- */

void leat_bad_rows_begin_locked(leat_loader *loader, leat_slot *slot)
{
    if (!loader->logs)
        return;
    if (!slot->log && loader->free_logs) {
        slot->log = loader->free_logs;
        loader->free_logs = slot->log->next;
    } else if (!slot->log) { /* so that a small window touches few logs */
        slot->log = &loader->logs[loader->n_logs_used++];
    }
    leat_check(loader->n_logs_used <= loader->n_slots + loader->n_buffers);
    slot->log->n_masked = slot->log->n_replaced = slot->log->n = 0;
    slot->log->is_counted = false;
}

void leat_bad_rows_limit_locked(leat_loader *loader, leat_slot *slot)
{
    leat_bad_log *const log = slot->log;
    if (slot->error.code < 0 || !log || log->n == 0 || log->is_counted)
        return;
    log->is_counted = true;
    const leat_order *const order = &loader->plan->order;
    const int64_t epoch = slot->batch / (int64_t)leat_order_epoch_batches(order);
    const int64_t most = loader->plan->max_errors;
    if (epoch != loader->bad_epoch)
        loader->n_bad = 0;
    loader->bad_epoch = epoch;
    const int64_t before = loader->n_bad;
    loader->n_bad += log->n_masked + log->n_replaced;
    if (loader->n_bad <= most)
        return;
    const leat_row_error *const last =
        &log->rows[most - before < log->n ? most - before : log->n - 1];
    leat_fail(&slot->error, last->code,
              "more than %lld bad record%s in epoch %lld (on_error.max_errors); the first one over "
              "the limit: %s",
              (long long)most, most == 1 ? "" : "s", (long long)epoch, last->message);
    slot->error.record = (int64_t)last->record;
    slot->error.not_finite = last->not_finite;
}

void leat_bad_rows_move_locked(leat_slot *slot, leat_batch *batch)
{
    batch->log = slot->log;
    slot->log = NULL;
    batch->info.n_masked = batch->log ? batch->log->n_masked : 0;
    batch->info.n_replaced = batch->log ? batch->log->n_replaced : 0;
}

void leat_bad_rows_count_locked(leat_loader *loader, const leat_batch *batch)
{
    const leat_bad_log *const log = batch->log;
    if (!log)
        return;
    loader->n_masked += (uint64_t)log->n_masked;
    loader->n_replaced += (uint64_t)log->n_replaced;
    for (int32_t i = 0; i < log->n && loader->n_errors < LEAT_BATCH_ERRORS; i++)
        loader->errors[loader->n_errors++] = log->rows[i];
}

void leat_bad_rows_release_locked(leat_loader *loader, leat_batch *batch)
{
    if (!batch->log)
        return;
    batch->log->next = loader->free_logs;
    loader->free_logs = batch->log;
    batch->log = NULL;
}

/* --- public ----------------------------------------------------------------------------------- */

const leat_row_error *leat_batch_error(const leat_batch *batch, int32_t i)
{
    return batch && batch->log && i >= 0 && i < batch->log->n ? &batch->log->rows[i] : NULL;
}

int32_t leat_loader_errors(leat_loader *loader, leat_row_error *out, int32_t n)
{
    if (!loader || !out || leat_loader_is_forked(loader))
        return 0;
    pthread_mutex_lock(&loader->lock);
    if (n > loader->n_errors)
        n = loader->n_errors;
    if (n > 0)
        memcpy(out, loader->errors, (size_t)n * sizeof *out);
    pthread_mutex_unlock(&loader->lock);
    return n > 0 ? n : 0;
}
