/* SPDX-License-Identifier: MIT
 *
 * exchange.c: exchanges between ranks that also agree on errors. See exchange.h. */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

/* What a rank puts in front of its bytes. */
typedef struct front {
    int32_t rc, flag;
    int64_t bytes;
} front;

static int grow(char **memory, size_t *bytes, size_t wanted, leat_error *err)
{
    if (wanted <= *bytes)
        return LEAT_OK;
    char *const larger = realloc(*memory, wanted);
    if (!larger)
        return leat_fail(err, LEAT_E_NOMEM, "ranks: %zu bytes", wanted);
    *memory = larger;
    *bytes = wanted;
    return LEAT_OK;
}

static const front *front_of(const leat_ranks *ranks, int32_t rank)
{
    const front *const mine = (const front *)ranks->given;
    return (const front *)(ranks->got + (size_t)rank * (sizeof *mine + (size_t)mine->bytes));
}

const void *leat_ranks_from(const leat_ranks *ranks, int32_t rank)
{
    return front_of(ranks, rank) + 1;
}

static int exchange(leat_ranks *ranks, size_t bytes, leat_error *err)
{
    if (ranks->rank < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "ranks: this process has not joined");
    if (ranks->broken < 0)
        return leat_fail(err, ranks->broken, "ranks: an earlier exchange failed");
    ranks->broken = ranks->table->gather(ranks, ranks->given, ranks->got, bytes, err);
    return ranks->broken;
}

/* The error of one rank becomes that of all. */
static int take_error(leat_ranks *ranks, int32_t from, leat_error *err)
{
    leat_error *const all = calloc((size_t)ranks->n, sizeof *all);
    leat_error none = { .code = LEAT_E_INTERNAL };
    const int code = front_of(ranks, from)->rc;
    if (!all) {
        ranks->broken = LEAT_E_NOMEM; /* the others notice it when this one leaves */
        return leat_fail(err, LEAT_E_NOMEM, "ranks: no memory for an error");
    }
    const int rc = ranks->table->gather(ranks, err ? err : &none, all, sizeof *all, err);
    if (rc == LEAT_OK && err)
        *err = all[from];
    free(all);
    return rc < 0 ? rc : code;
}

/* n: bytes of mine; what is left of `bytes` is not defined. */
static int gather(leat_ranks *ranks, int rc, int32_t *flag, const void *mine, size_t n,
                  size_t bytes, leat_error *err)
{
    const size_t all = sizeof(front) + bytes;
    int grown = grow(&ranks->given, &ranks->given_bytes, all, err);
    if (grown < 0 ||
        (grown = grow(&ranks->got, &ranks->got_bytes, all * (size_t)ranks->n, err)) < 0)
        return ranks->broken = grown;
    *(front *)ranks->given = (front){ rc, flag && *flag, (int64_t)bytes };
    if (n)
        memcpy(ranks->given + sizeof(front), mine, n);
    const int sent = exchange(ranks, all, err);
    if (sent < 0)
        return sent;
    for (int32_t r = 0; r < ranks->n; r++)
        if (front_of(ranks, r)->rc < 0)
            return take_error(ranks, r, err);
    for (int32_t r = 0; flag && r < ranks->n; r++)
        *flag |= front_of(ranks, r)->flag;
    return LEAT_OK;
}

int leat_ranks_gather(leat_ranks *ranks, int rc, const void *mine, size_t bytes, leat_error *err)
{
    return ranks ? gather(ranks, rc, NULL, mine, bytes, bytes, err) : rc;
}

int leat_ranks_share(leat_ranks *ranks, int rc, void *all, int32_t n, size_t bytes, leat_error *err)
{
    int32_t first, here = leat_ranks_part(ranks, n, &first);
    const size_t most = (size_t)((n + ranks->n - 1) / ranks->n) * bytes;
    rc = gather(ranks, rc, NULL, (char *)all + (size_t)first * bytes, (size_t)here * bytes, most,
                err);
    for (int32_t r = 0; rc == LEAT_OK && r < ranks->n; r++) {
        here = leat_ranks_part_of(ranks, r, n, &first);
        memcpy((char *)all + (size_t)first * bytes, leat_ranks_from(ranks, r),
               (size_t)here * bytes);
    }
    return rc;
}

int leat_ranks_agree(leat_ranks *ranks, int rc, int32_t *flag, leat_error *err)
{
    return ranks ? gather(ranks, rc, flag, NULL, 0, 0, err) : rc;
}

void leat_ranks_close(leat_ranks **ranks)
{
    if (!ranks || !*ranks)
        return;
    (*ranks)->table->close(*ranks);
    free((*ranks)->given);
    free((*ranks)->got);
    free(*ranks);
    *ranks = NULL;
}
