/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize_taps.c: arranges the horizontal taps of a resize for vectors of 16 sums (leat_jpeg_sampler).
 * jpeg_resize.c calls it. Mirroring is free here: the outputs are listed from right to left. */
#include <string.h>

#include "jpeg_resize.h"

/* Finds the first tap of each output value in a row of the box, and the place of its weights. Values past
 * the end of the row repeat its last pixel. */
static void find_values(const leat_dsp_axis *across, const leat_jpeg_target *target,
                        int32_t *restrict place, uint32_t *restrict weights, int32_t n)
{
    const int32_t channels = target->channels, last = target->width - 1;
    for (int32_t i = 0; n > 0; i++, n -= channels) {
        const int32_t at = i < last ? i : last;
        const int32_t pixel = target->is_mirrored ? last - at : at;
        const int32_t first = across->start[pixel] * channels;
        for (int32_t c = 0; c < channels; c++) {
            place[c] = first + c;
            weights[c] = (uint32_t)(pixel * across->stride);
        }
        place += channels;
        weights += channels;
    }
}

/* Fills the pairs of taps of group g. Pairs are two pixels apart, so that their places relative to the
 * base are the same. An added tap weighs 0. Returns the largest place. */
static int32_t fill_group(const leat_jpeg_sampler *s, const leat_dsp_axis *across, int32_t channels,
                          int32_t g, const int32_t *place, const uint32_t *weights)
{
    ptrdiff_t at = (ptrdiff_t)g * s->n_pairs;
    int32_t base = place[0], most = place[0];
    int16_t near[32];
    for (int32_t lane = 0; lane < 16; lane++) {
        base = place[lane] < base ? place[lane] : base;
        most = place[lane] > most ? place[lane] : most;
    }
    for (int32_t lane = 0; lane < 16; lane++) {
        near[2 * lane] = (int16_t)(place[lane] - base);
        near[2 * lane + 1] = (int16_t)(place[lane] - base + channels);
    }
    for (int32_t p = 0; p < s->n_pairs; p++, at++) {
        const int16_t *from = across->weights + 2 * p;
        int16_t *weight = s->weight + 32 * at;
        s->base[at] = base + 2 * p * channels;
        memcpy(s->place + 32 * at, near, sizeof near);
        for (int32_t lane = 0; lane < 16; lane++)
            memcpy(weight + 2 * lane, from + weights[lane], 2 * sizeof *weight);
    }
    return most - base + channels;
}

/* Converts n times 32 places of values to places of their bytes. */
static void make_near(leat_jpeg_sampler *s, size_t n)
{
    for (int16_t *place = s->place; n; n--, place += 32)
        for (int32_t i = 0; i < 32; i++)
            place[i] = (int16_t)(2 * place[i] + ((2 * place[i] + 1) << 8));
    s->is_near = 1;
}

int leat_jpeg_sampler_make(leat_jpeg_sampler *s, const leat_dsp_axis *across,
                           const leat_jpeg_target *target, leat_scratch *scratch)
{
    const int32_t n_groups = (target->width * target->channels + 15) / 16;
    const size_t n_values = 16 * (size_t)n_groups + (size_t)target->channels;
    int32_t reach = 0;
    *s = (leat_jpeg_sampler){ .n_pairs = across->stride / 2 };
    const size_t n = (size_t)n_groups * (size_t)s->n_pairs;
    s->base = leat_scratch_take(scratch, n * sizeof *s->base);
    s->place = leat_scratch_take(scratch, n * 32 * sizeof *s->place);
    s->weight = leat_scratch_take(scratch, n * 32 * sizeof *s->weight);
    int32_t *place = leat_scratch_take(scratch, n_values * sizeof *place);
    uint32_t *weights = leat_scratch_take(scratch, n_values * sizeof *weights);
    if (!s->base || !s->place || !s->weight || !place || !weights)
        return LEAT_E_NOMEM;
    find_values(across, target, place, weights, 16 * n_groups);
    for (int32_t g = 0; g < n_groups; g++) {
        const int32_t far =
            fill_group(s, across, target->channels, g, place + 16 * g, weights + 16 * g);
        reach = far > reach ? far : reach;
        if (reach >= LEAT_JPEG_SAMPLER_REACH)
            return LEAT_OK;
    }
    if (reach < LEAT_JPEG_SAMPLER_NEAR)
        make_near(s, n);
    s->n_groups = n_groups;
    return LEAT_OK;
}
