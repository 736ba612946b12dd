/* SPDX-License-Identifier: MIT
 *
 * ranks_rows.c: which parts of a batch and of a model are whose, and what all ranks have together. See exchange.h. */
#include <stdio.h>
#include <string.h>

#include "exchange.h"

int32_t leat_ranks_part_of(const leat_ranks *ranks, int32_t rank, int32_t n, int32_t *first)
{
    *first = (int32_t)((int64_t)n * rank / ranks->n);
    return (int32_t)((int64_t)n * (rank + 1) / ranks->n) - *first;
}

int32_t leat_ranks_part(const leat_ranks *ranks, int32_t n, int32_t *first)
{
    *first = 0;
    return ranks ? leat_ranks_part_of(ranks, ranks->rank, n, first) : n;
}

int leat_ranks_check(const leat_model *model, int32_t n_micro, leat_error *err)
{
    const leat_ranks *const ranks = model->ranks;
    char can[1024] = "1", instead[80];
    if (!ranks || n_micro % ranks->n == 0)
        return LEAT_OK;
    for (int32_t i = 2; i <= n_micro; i++)
        if (n_micro % i == 0)
            snprintf(can + strlen(can), sizeof can - strlen(can), ", %d", i);
    if (model->batch_size < ranks->n)
        snprintf(instead, sizeof instead, "make batches larger: a part has a row or more");
    else
        snprintf(instead, sizeof instead,
                 "set train.micro_batches to a multiple of %d, at most the rows", ranks->n);
    return leat_fail(err, LEAT_E_CONFIG,
                     "%d ranks cannot share the %d parts of a batch of %lld rows "
                     "(train.micro_batches) evenly: take one of %s ranks, or %s",
                     ranks->n, n_micro, (long long)model->batch_size, can, instead);
}

int leat_ranks_rows(const leat_model *model, leat_net_rows *rows, int64_t *valid, leat_error *err)
{
    int32_t at;
    const int32_t n = leat_ranks_part(model->ranks, model->n_micro, &at);
    for (int32_t i = at; i < at + n; i++) {
        int64_t first;
        const int64_t in_micro = leat_model_micro(model, rows->all_rows, i, &first);
        first -= rows->first_row;
        valid[i] = rows->valid ? 0 : in_micro;
        for (int64_t k = 0; rows->valid && k < in_micro; k++)
            valid[i] += rows->valid[first + k] != 0;
    }
    const int rc =
        leat_ranks_share(model->ranks, LEAT_OK, valid, model->n_micro, sizeof *valid, err);
    rows->micro_valid = valid;
    rows->n_valid = 0;
    for (int32_t i = 0; rc == LEAT_OK && i < model->n_micro; i++)
        rows->n_valid += valid[i];
    return rc;
}
