/* SPDX-License-Identifier: MIT */
#include "host_rows.h"

#include <stdlib.h>

static int copy_back(leat_trainer *trainer, const void *from, size_t bytes, void **to,
                     leat_error *err)
{
    const leat_device_table *t = trainer->device->table;
    *to = malloc(bytes ? bytes : 1);
    if (!*to)
        return leat_fail(err, LEAT_E_NOMEM, "evaluation: %zu bytes", bytes);
    const int rc = t->copy_to_host(trainer->stream, *to, from, bytes);
    return rc < 0 ? leat_fail(err, rc, "%s: cannot copy targets back", trainer->info.device)
                  : t->stream_sync(trainer->stream, err);
}

int leat_host_rows_init(leat_host_rows *out, leat_trainer *trainer, const leat_net_rows *rows,
                        leat_error *err)
{
    *out = (leat_host_rows){ .y = rows->y,
                             .weights = trainer->model.weighted ? rows->weights.data : NULL,
                             .valid = rows->valid,
                             .rows = rows->rows,
                             .n_valid = rows->n_valid };
    if (!trainer->stream)
        return LEAT_OK;
    int rc = copy_back(trainer, out->y.data, (size_t)leat_shape_bytes(&out->y.shape),
                       &out->copies[0], err);
    out->y.data = out->copies[0];
    if (rc == LEAT_OK && out->valid) {
        rc = copy_back(trainer, out->valid, (size_t)rows->rows, &out->copies[1], err);
        out->valid = out->copies[1];
    }
    if (rc == LEAT_OK && out->weights) {
        rc = copy_back(trainer, out->weights, (size_t)rows->rows * sizeof(float), &out->copies[2],
                       err);
        out->weights = out->copies[2];
    }
    return rc;
}

void leat_host_rows_fini(leat_host_rows *rows)
{
    for (int k = 0; k < 3; k++)
        free(rows->copies[k]);
    *rows = (leat_host_rows){ .rows = 0 };
}

leat_loss_rows leat_host_rows_with(const leat_host_rows *rows, const leat_trainer *trainer,
                                   const float *outputs)
{
    return (leat_loss_rows){ .logits = outputs,
                             .n = trainer->info.n_outputs,
                             .rows = rows->rows,
                             .target = &rows->y,
                             .weights = rows->weights,
                             .valid = rows->valid,
                             .batch_rows = rows->n_valid };
}
