/* SPDX-License-Identifier: MIT
 *
 * op_loops.c: each inner loop of the ops at each CPU level, against plain C, on rows of a training image
 * in cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "bench_common.h"
#include "leat/op.h"
#include "ops/image/dsp.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"

enum { ROWS = 224, WIDTH = 224, CHANNELS = 3, VALUES = WIDTH * CHANNELS, WIDE = 500, TALL = 375 };

typedef struct data {
    uint8_t pixels[TALL * WIDE * CHANNELS];
    int16_t row[WIDE * CHANNELS + LEAT_DSP_ROW_SLACK];
    uint8_t out[ROWS * VALUES];
    float floats[ROWS * VALUES], float_out[ROWS * VALUES];
    leat_affine affine;
    leat_dsp_axis down, across;
} data;

typedef struct arm_arg {
    data *d;
    const leat_dsp_table *dsp;
} arm_arg;

static int64_t affine_u8(void *arg)
{
    const arm_arg *a = arg;
    a->dsp->affine_u8(a->d->float_out, a->d->pixels, ROWS * VALUES, &a->d->affine);
    return 0;
}

static int64_t affine_f32(void *arg)
{
    const arm_arg *a = arg;
    a->dsp->affine_f32(a->d->float_out, a->d->floats, ROWS * VALUES, &a->d->affine);
    return 0;
}

static int64_t mirror_row(void *arg)
{
    const arm_arg *a = arg;
    for (size_t y = 0; y < ROWS; y++)
        a->dsp->mirror_row(a->d->out + y * VALUES, a->d->pixels + y * VALUES, WIDTH, CHANNELS);
    return 0;
}

static int64_t add_u8(void *arg)
{
    const arm_arg *a = arg;
    a->dsp->add_u8(a->d->out, a->d->pixels, ROWS * VALUES, -30);
    return 0;
}

static int64_t mix_rows(void *arg)
{
    const arm_arg *a = arg;
    const leat_dsp_axis *down = &a->d->down;
    for (int32_t y = 0; y < ROWS; y++)
        a->dsp->mix_rows(a->d->row, a->d->pixels + (size_t)down->start[y] * WIDE * CHANNELS,
                         WIDE * CHANNELS, WIDE * CHANNELS, down->weights + y * down->stride,
                         down->n_taps, down->bits - 7);
    return 0;
}

static int64_t sample_row(void *arg)
{
    const arm_arg *a = arg;
    for (size_t y = 0; y < ROWS; y++)
        a->dsp->sample_row(a->d->out + y * VALUES, a->d->row, &a->d->across, CHANNELS,
                           a->d->across.bits + 7);
    return 0;
}

static const struct {
    const char *name;
    int64_t (*run)(void *);
} loops[] = {
    { "affine_u8 (normalize)", affine_u8 },      { "affine_f32 (normalize)", affine_f32 },
    { "mirror_row (flip)", mirror_row },         { "add_u8 (brightness)", add_u8 },
    { "mix_rows (resize, vertical)", mix_rows }, { "sample_row (resize, horizontal)", sample_row },
};

static void fill(data *d, leat_scratch *scratch)
{
    for (size_t i = 0; i < sizeof d->pixels; i++)
        d->pixels[i] = (uint8_t)(i * 2654435761u >> 13);
    d->affine = (leat_affine){ .n_channels = CHANNELS,
                               .scale = { 0.017f, 0.018f, 0.019f },
                               .shift = { -2.1f, -2.0f, -1.8f } };
    leat_dsp_affine_fill(&d->affine);
    if (leat_resample_axis(&d->down, TALL, ROWS, LEAT_U8, LEAT_BILINEAR, scratch) != LEAT_OK ||
        leat_resample_axis(&d->across, WIDE, WIDTH, LEAT_U8, LEAT_BILINEAR, scratch) != LEAT_OK)
        exit(1);
}

int main(int argc, char **argv)
{
    bench *b = bench_open(argc, argv, "op_loops");
    data *d = calloc(1, sizeof *d);
    leat_scratch *scratch;
    if (!d || leat_scratch_open(&scratch, 1 << 20, NULL) != LEAT_OK)
        return 1;
    fill(d, scratch);
    bench_note(b, "cpu level", leat_cpu_name(leat_cpu_best()));
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        bench_arm arms[LEAT_N_CPU_LEVELS];
        arm_arg args[LEAT_N_CPU_LEVELS];
        size_t n = 0;
        for (int level = 0; level <= leat_cpu_best(); level++) {
            if (level && leat_dsp_level(level) == leat_dsp_level(level - 1))
                continue;
            args[n] = (arm_arg){ d, leat_dsp_level(level) };
            arms[n] =
                (bench_arm){ leat_cpu_name(level), loops[i].run, &args[n], ROWS * WIDTH, "pixels" };
            n++;
        }
        bench_group(b, loops[i].name, arms, n, leat_cpu_name(LEAT_CPU_C));
    }
    leat_scratch_close(&scratch);
    free(d);
    return bench_close(&b);
}
