/* SPDX-License-Identifier: MIT
 *
 * jpeg_loop.c: measures the Huffman loops on this processor, and chooses one. DESIGN: each loop decodes the same
 * blocks, alternating; the fastest of several runs of each counts, so that an interrupted run does not matter. The data
 * are random bits with the usual table for luma: as each code is as long as its symbol is rare, random bits give each
 * symbol as often as a picture for which the table is made. */
#include "jpeg_loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "jpeg_usual.h"
#include "leat/jpeg_probe.h"
#include "ops/jpeg/jpeg_dsp.h"

static const char *const names[] = {
#define LEAT_JPEG_LOOP_NAME(name, text) text,
    LEAT_JPEG_LOOP_LIST(LEAT_JPEG_LOOP_NAME)
#undef LEAT_JPEG_LOOP_NAME
};

static struct {
    pthread_once_t once;
    int loop;
    bool is_set; /* by LEAT_JPEG_LOOP; then with pairs */
    bool pairs;
    int64_t alone_ns, pair_ns;          /* two halves, one after the other and at the same time */
    int64_t best_ns[LEAT_JPEG_N_LOOPS]; /* 0: not measured */
} chosen = { .once = PTHREAD_ONCE_INIT };

#if defined(__x86_64__)
enum {
    N_BLOCKS = 256,
    N_BYTES = 64 * N_BLOCKS, /* more than the blocks have bits: 30 bytes each on average */
    N_RUNS = 8,
    GAIN_PERCENT = 2 /* that another loop than the first must have */
};

typedef struct trial {
    leat_jpeg_table dc, ac;
    leat_jpeg_node nodes[N_BLOCKS];
    int16_t blocks[64 * N_BLOCKS];
    uint8_t bytes[N_BYTES + LEAT_JPEG_PAD];
} trial;

static void set_up(trial *t)
{
    uint64_t random = 88172645463325252u;
    leat_jpeg_table_build(&t->dc, leat_jpeg_usual_dc[0], 1, &leat_jpeg_dsp_c);
    leat_jpeg_table_build(&t->ac, leat_jpeg_usual_ac[0], 0, &leat_jpeg_dsp_c);
    for (int i = 0; i < N_BLOCKS; i++)
        t->nodes[i] = (leat_jpeg_node){ .end = t->blocks + 64 * i + 64,
                                        .ac = t->ac.fast,
                                        .next_dc = t->dc.fast,
                                        .next = t->blocks + 64 * ((i + 1) % N_BLOCKS),
                                        .after = &t->nodes[i] + 1 };
    for (int i = 0; i < N_BYTES; i++) { /* xorshift64; no byte FF, so that no code has ones only */
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        t->bytes[i] = (uint8_t)(random % 255);
    }
}

static int64_t time_once(trial *t, leat_jpeg_flat *flat)
{
    leat_jpeg_bits bits = { .p = t->bytes, .limit = t->bytes + N_BYTES };
    const int64_t start = leat_clock_ns();
    const int rc = flat(&bits, t->nodes, t->nodes + N_BLOCKS, t->blocks, t->dc.fast);
    return rc ? INT64_MAX : leat_clock_ns() - start;
}

/* Both halves of the blocks, from both halves of the bytes. pair NULL: one after the other. */
static int64_t time_halves(trial *t, leat_jpeg_flat *flat, leat_jpeg_pair *pair)
{
    leat_jpeg_block_run halves[2];
    for (int i = 0; i < 2; i++) {
        const leat_jpeg_node *const first = t->nodes + i * (N_BLOCKS / 2);
        halves[i] = (leat_jpeg_block_run){ .bits = { .p = t->bytes + i * (N_BYTES / 2),
                                                     .limit = t->bytes + N_BYTES },
                                           .node = first,
                                           .stop = first + N_BLOCKS / 2,
                                           .at = first->end - 64,
                                           .table = t->dc.fast };
    }
    const int64_t start = leat_clock_ns();
    int rc = pair ? pair(&halves[0], &halves[1]) : 0;
    for (leat_jpeg_block_run *s = halves; s < halves + 2 && !rc; s++)
        if (s->node < s->stop)
            rc = flat(&s->bits, s->node, s->stop, s->at, s->table);
    return rc ? INT64_MAX : leat_clock_ns() - start;
}

static void measure_pairs(trial *t, leat_jpeg_flat *flat, leat_jpeg_pair *pair)
{
    chosen.alone_ns = chosen.pair_ns = INT64_MAX;
    for (int run = 0; run < N_RUNS; run++) {
        const int64_t alone = time_halves(t, flat, NULL), both = time_halves(t, flat, pair);
        chosen.alone_ns = alone < chosen.alone_ns ? alone : chosen.alone_ns;
        chosen.pair_ns = both < chosen.pair_ns ? both : chosen.pair_ns;
    }
    chosen.pairs = chosen.pair_ns < chosen.alone_ns / 100 * (100 - GAIN_PERCENT);
}

/* Returns the fastest loop, or the first if none is clearly faster or there is no memory. */
static int measure(void)
{
    leat_jpeg_flat *const loops[] = { leat_jpeg_flat_avx2, leat_jpeg_flat_loads_avx2 };
    leat_jpeg_pair *const pairs[] = { leat_jpeg_pair_avx2, leat_jpeg_pair_loads_avx2 };
    _Static_assert(sizeof loops / sizeof *loops == LEAT_JPEG_N_LOOPS, "one of each");
    trial *const t = calloc(1, sizeof *t);
    int best = 0;
    if (!t)
        return best;
    set_up(t);
    for (int run = 0; run < N_RUNS; run++)
        for (int i = 0; i < LEAT_JPEG_N_LOOPS; i++) {
            const int64_t ns = time_once(t, loops[i]);
            if (!run || ns < chosen.best_ns[i])
                chosen.best_ns[i] = ns;
        }
    const int64_t bound = chosen.best_ns[0] / 100 * (100 - GAIN_PERCENT);
    for (int i = 1; i < LEAT_JPEG_N_LOOPS; i++)
        if (chosen.best_ns[i] < bound && chosen.best_ns[i] < chosen.best_ns[best])
            best = i;
    measure_pairs(t, loops[best], pairs[best]);
    free(t);
    return best;
}
#else
static int measure(void)
{
    return 0;
}
#endif

/* The loop of this name; -1: there is none. */
static int find(const char *name)
{
    for (int i = 0; i < LEAT_JPEG_N_LOOPS; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

const char *leat_jpeg_loop_misnamed(void)
{
    const char *const wanted = getenv("LEAT_JPEG_LOOP");
    return wanted && *wanted && find(wanted) < 0 ? wanted : NULL;
}

static void choose(void)
{
    const char *const wanted = getenv("LEAT_JPEG_LOOP");
    const int set = wanted ? find(wanted) : -1;
    chosen.is_set = chosen.pairs = set >= 0;
    chosen.loop = set >= 0                           ? set
                  : leat_cpu_best() >= LEAT_CPU_AVX2 ? measure()
                                                     : LEAT_JPEG_LOOP_SHIFTS;
}

int leat_jpeg_loop_get(void)
{
    pthread_once(&chosen.once, choose);
    return chosen.loop;
}

bool leat_jpeg_loop_pairs(void)
{
    leat_jpeg_loop_get();
    return chosen.pairs;
}

const char *leat_jpeg_loop(char *why, size_t size)
{
    if (why && size)
        *why = 0;
    if (leat_cpu_level() < LEAT_CPU_AVX2)
        return "c";
    const int loop = leat_jpeg_loop_get(), other = !loop;
    if (why && chosen.is_set)
        snprintf(why, size, "set by LEAT_JPEG_LOOP");
    else if (why && chosen.best_ns[loop])
        snprintf(why, size, "measured: %.0f %% of the time of %s; two places at a time%s: %.0f %%",
                 100 * (double)chosen.best_ns[loop] / (double)chosen.best_ns[other], names[other],
                 chosen.pairs ? ", with an index" : " are not used",
                 100 * (double)chosen.pair_ns / (double)chosen.alone_ns);
    return names[loop];
}
