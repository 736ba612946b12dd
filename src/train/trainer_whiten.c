/* SPDX-License-Identifier: MIT
 *
 * trainer_whiten.c: gives whiten.c the batches that decide the weights of `init: whiten`: those of a loader, or else the
 * first batch of training. */
#include <stdlib.h>

#include "base/float_mode.h"
#include "trainer.h"
#include "whiten.h"

/* The rows with input and mask in host memory; *copy: to free(). */
static int host_rows(leat_trainer *trainer, const leat_net_rows *rows, leat_net_rows *host,
                     char **copy, leat_error *err)
{
    const leat_device_table *const t = trainer->device->table;
    const size_t bytes = (size_t)leat_shape_bytes(&rows->x.shape), n = (size_t)rows->rows;
    *host = *rows;
    *copy = NULL;
    if (t->host_memory)
        return LEAT_OK;
    if (!(*copy = malloc(bytes + n)))
        return leat_fail(err, LEAT_E_NOMEM, "init: whiten: %zu bytes", bytes + n);
    int rc = t->copy_to_host(trainer->stream, *copy, rows->x.data, bytes);
    if (rc == LEAT_OK && rows->valid)
        rc = t->copy_to_host(trainer->stream, *copy + bytes, rows->valid, n);
    host->x.data = *copy;
    host->valid = rows->valid ? (const uint8_t *)*copy + bytes : NULL;
    return rc < 0 ? leat_fail(err, rc, "%s: cannot copy a batch for init: whiten",
                              trainer->info.device)
                  : t->stream_sync(trainer->stream, err);
}

static int add_rows(leat_trainer *trainer, leat_whiten *whiten, const leat_net_rows *rows,
                    leat_error *err)
{
    leat_net_rows host;
    char *copy;
    const int rc = host_rows(trainer, rows, &host, &copy, err);
    if (rc == LEAT_OK)
        leat_whiten_add(whiten, &host);
    free(copy);
    return rc;
}

static int add_batch(leat_trainer *trainer, leat_whiten *whiten, leat_batch *batch, leat_error *err)
{
    leat_net_rows rows;
    int rc = LEAT_OK;
    if (leat_batch_get_info(batch)->rows > 0 &&
        (rc = leat_trainer_rows_of(trainer, batch, &rows, err)) == LEAT_OK &&
        (rc = leat_batch_wait_on(batch, trainer->stream)) == LEAT_OK)
        rc = add_rows(trainer, whiten, &rows, err);
    leat_trainer_give_back(trainer, batch);
    return rc;
}

static int add_all(leat_trainer *trainer, leat_whiten *whiten, leat_loader *loader, leat_error *err)
{
    leat_batch *batch;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK)
        if ((rc = add_batch(trainer, whiten, batch, err)) < 0)
            return rc;
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* The sums of one process: each rank goes on with those of the rank before it. */
static int add_in_turn(leat_trainer *trainer, leat_whiten *whiten, const leat_net_rows *rows,
                       leat_error *err)
{
    leat_ranks *const ranks = trainer->model.ranks;
    int rc = LEAT_OK;
    for (int32_t r = 0; r < ranks->n && rc == LEAT_OK; r++) {
        if (r == ranks->rank)
            rc = add_rows(trainer, whiten, rows, err);
        rc = leat_whiten_take(whiten, ranks, r, rc, err);
    }
    return rc;
}

/* rows or loader: where the images come from. */
static int whiten_from(leat_trainer *trainer, const leat_net_rows *rows, leat_loader *loader,
                       leat_error *err)
{
    leat_whiten *whiten;
    int rc = leat_whiten_open(&trainer->model, &whiten, err);
    if (rc == LEAT_OK)
        rc = loader                 ? add_all(trainer, whiten, loader, err)
             : trainer->model.ranks ? add_in_turn(trainer, whiten, rows, err)
                                    : add_rows(trainer, whiten, rows, err);
    if (rc == LEAT_OK && loader) /* of a first batch, the step tells which record it is */
        rc = leat_whiten_check(whiten, err);
    if (rc == LEAT_OK)
        rc = leat_whiten_end(whiten, trainer->backend, trainer->net, err);
    trainer->whiten = rc < 0;
    leat_whiten_close(&whiten);
    return rc;
}

int leat_trainer_whiten_rows(leat_trainer *trainer, const leat_net_rows *rows, leat_error *err)
{
    return whiten_from(trainer, rows, NULL, err);
}

int32_t leat_trainer_whitens(const leat_trainer *trainer)
{
    return trainer && trainer->whiten;
}

int leat_trainer_whiten(leat_trainer *trainer, leat_loader *loader, leat_error *err)
{
    if (!trainer || !loader)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_whiten: trainer and loader must be given");
    LEAT_FLOAT_MODE;
    return trainer->whiten ? whiten_from(trainer, NULL, loader, err) : LEAT_OK;
}
