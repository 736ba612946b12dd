/* SPDX-License-Identifier: MIT
 *
 * simulated_ranks.c: ranks of which only this process is there. leat_whatif_ranks() measures a step with them. What others
 * send comes at once; the time of a network is exchange.c's. */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

/* What ranks agree on (leat_ranks_gather) is what this one has said; other bytes are gradients, and zero ones do no harm. */
static int simulated_pass(leat_ranks *ranks, const void *mine, size_t stride, void *all,
                          size_t bytes, leat_error *err)
{
    (void)stride;
    (void)err;
    for (int32_t r = 0; r < ranks->n; r++) {
        char *const from = (char *)all + (size_t)r * bytes;
        if (r != ranks->rank && all == ranks->got)
            memcpy(from, mine, bytes);
        else if (r != ranks->rank)
            memset(from, 0, bytes);
    }
    return LEAT_OK;
}

static void simulated_close(leat_ranks *ranks)
{
    (void)ranks;
}

int leat_ranks_open_simulated(int32_t n, leat_ranks **out, leat_error *err)
{
    static const leat_ranks_table table = { .pass = simulated_pass, .close = simulated_close };
    if (!out || n < 1)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_ranks_open_simulated: out, and 1 rank or more");
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "%d ranks: no memory", n);
    **out = (leat_ranks){ .table = &table, .n = n, .here = 1, .overlap = -1 };
    return LEAT_OK;
}
