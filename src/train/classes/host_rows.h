/* SPDX-License-Identifier: MIT
 *
 * host_rows.h: targets, weights and mask of a batch in host memory, wherever the batch lies. */
#ifndef LEAT_HOST_ROWS_H
#define LEAT_HOST_ROWS_H

#include "train/trainer.h"

typedef struct leat_host_rows {
    leat_view y;
    const float *weights; /* NULL: all 1 */
    const uint8_t *valid; /* NULL: all count */
    int64_t rows, n_valid;
    void *copies[3]; /* NULL: the batch itself lies there */
} leat_host_rows;

/* Waits for copies. leat_host_rows_fini() takes a half-built one. Returns LEAT_OK, LEAT_E_NOMEM, LEAT_E_DEVICE. */
int leat_host_rows_init(leat_host_rows *out, leat_trainer *trainer, const leat_net_rows *rows,
                        leat_error *err);
void leat_host_rows_fini(leat_host_rows *rows);
/* For losses, with the model's outputs. Borrows both. */
leat_loss_rows leat_host_rows_with(const leat_host_rows *rows, const leat_trainer *trainer,
                                   const float *outputs);

#endif
