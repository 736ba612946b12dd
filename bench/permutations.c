/* SPDX-License-Identifier: MIT
 *
 * permutations.c: what it costs to ask which record stands at a position, against looking it up in a
 * shuffled table of all records, which needs 8 bytes for each. */
#include <stdio.h>
#include <stdlib.h>

#include "base/perm.h"
#include "bench_common.h"

enum { ASKED = 200000 };

typedef struct job {
    leat_perm perm;
    uint64_t *table;
} job;

static int64_t in_a_row(void *arg)
{
    const job *const j = arg;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ASKED; i++)
        sum += leat_perm_at(&j->perm, i % j->perm.n);
    bench_keep(&sum);
    return 0;
}

static int64_t one_after_the_other(void *arg)
{
    const job *const j = arg;
    uint64_t at = 3;
    for (uint64_t i = 0; i < ASKED; i++)
        at = leat_perm_at(&j->perm, at);
    bench_keep(&at);
    return 0;
}

static int64_t from_table(void *arg)
{
    const job *const j = arg;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ASKED; i++)
        sum += j->table[i % j->perm.n];
    bench_keep(&sum);
    return 0;
}

static int64_t table_one_after_the_other(void *arg)
{
    const job *const j = arg;
    uint64_t at = 3;
    for (uint64_t i = 0; i < ASKED; i++)
        at = j->table[at];
    bench_keep(&at);
    return 0;
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = { 50, 50000, 1281167, 20000000 };
    bench *b = bench_open(argc, argv, "permutations");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char group[64];
        job j = { leat_perm_make(sizes[s], 1, 0, 0), malloc(sizes[s] * sizeof *j.table) };
        if (!j.table)
            return 1;
        for (uint64_t i = 0; i < sizes[s]; i++)
            j.table[i] = leat_perm_at(&j.perm, i);
        const bench_arm arms[] = {
            { "table, in a row", from_table, &j, ASKED, "records" },
            { "table, each from the last", table_one_after_the_other, &j, ASKED, "records" },
            { "arithmetic, in a row", in_a_row, &j, ASKED, "records" },
            { "arithmetic, each from the last", one_after_the_other, &j, ASKED, "records" },
        };
        snprintf(group, sizeof group, "%llu records", (unsigned long long)sizes[s]);
        bench_group(b, group, arms, sizeof arms / sizeof *arms, "table, in a row");
        free(j.table);
    }
    return bench_close(&b);
}
