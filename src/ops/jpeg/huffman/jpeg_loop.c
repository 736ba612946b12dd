/* SPDX-License-Identifier: MIT
 *
 * jpeg_loop.c: measures the Huffman loops on this processor, and chooses one. DESIGN: each loop decodes the same
 * blocks, by turns; the fastest of several runs of each counts, so that an interrupted run does not matter. The data
 * are random bits with the usual table for luma: as each code is as long as its symbol is rare, random bits give each
 * symbol as often as a picture for which the table is made. */
#include "jpeg_loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
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
    bool is_set;                        /* by LEAT_JPEG_LOOP */
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

/* The tables of ITU-T T.81, K.3 and K.5: counts of codes by length, then symbols. */
static const uint8_t usual_dc[] = { 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,  0,
                                    0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
static const uint8_t usual_ac[] = {
    0,    2,    1,    3,    3,    2,    4,    3,    5,    5,    4,    4,    0,    0,    1,
    125,  0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51,
    0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15,
    0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a,
    0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44,
    0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63,
    0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
    0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98,
    0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5,
    0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2,
    0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
    0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa
};

static void set_up(trial *t)
{
    uint64_t random = 88172645463325252u;
    leat_jpeg_table_build(&t->dc, usual_dc, 1, &leat_jpeg_dsp_c);
    leat_jpeg_table_build(&t->ac, usual_ac, 0, &leat_jpeg_dsp_c);
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

/* Returns the fastest loop, or the first if none is clearly faster or there is no memory. */
static int measure(void)
{
    leat_jpeg_flat *const loops[] = { leat_jpeg_flat_avx2, leat_jpeg_flat_loads_avx2 };
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
    free(t);
    const int64_t bound = chosen.best_ns[0] / 100 * (100 - GAIN_PERCENT);
    for (int i = 1; i < LEAT_JPEG_N_LOOPS; i++)
        if (chosen.best_ns[i] < bound && chosen.best_ns[i] < chosen.best_ns[best])
            best = i;
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
    chosen.is_set = set >= 0;
    chosen.loop = set >= 0                           ? set
                  : leat_cpu_best() >= LEAT_CPU_AVX2 ? measure()
                                                     : LEAT_JPEG_LOOP_SHIFTS;
}

int leat_jpeg_loop_get(void)
{
    pthread_once(&chosen.once, choose);
    return chosen.loop;
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
        snprintf(why, size, "measured: %.0f %% of the time of %s",
                 100 * (double)chosen.best_ns[loop] / (double)chosen.best_ns[other], names[other]);
    return names[loop];
}
