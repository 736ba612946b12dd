/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize.c: from a JPEG to a row of a batch: decode a box, resize, mirror, normalise. DESIGN: the
 * pixels of the box stay in the L2 cache. One output row, or a few, then goes through all steps while it
 * is in the L1 cache. The arithmetic is that of resample.h, so that separate ops give the same bits. With
 * the sampler, mirroring is free, because the sampler lists the outputs from right to left. */
#include <string.h>

#include "jpeg_resize.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"

typedef struct resizer {
    const leat_jpeg_dsp *kernels;
    const leat_jpeg_target *target;
    leat_axis down, across;
    leat_jpeg_sampler sampler; /* n_groups 0: not used */
    const uint8_t *pixels;
    size_t stride_bytes, n_values; /* of one row of the box */
    int16_t *mixed;                /* rows after the vertical pass, mixed_stride values apart */
    size_t mixed_stride;
    uint8_t *sampled;
} resizer;

/* Finds the first tap of each output value in a row of the box, and the place of its weights. Values past
 * the end of the row repeat its last pixel. */
static void find_values(const resizer *r, int32_t *restrict place, uint32_t *restrict weights,
                        int32_t n)
{
    const int32_t channels = r->target->channels, last = r->target->width - 1;
    for (int32_t i = 0; n > 0; i++, n -= channels) {
        const int32_t at = i < last ? i : last;
        const int32_t pixel = r->target->is_mirrored ? last - at : at;
        const int32_t first = r->across.start[pixel] * channels;
        for (int32_t c = 0; c < channels; c++) {
            place[c] = first + c;
            weights[c] = (uint32_t)(pixel * r->across.stride);
        }
        place += channels;
        weights += channels;
    }
}

/* Fills the pairs of taps of group g. Pairs are two pixels apart, so that their places relative to the
 * base are the same. An added tap weighs 0. Returns the largest place. */
static int32_t fill_group(const resizer *r, int32_t g, const int32_t *place,
                          const uint32_t *weights)
{
    const leat_jpeg_sampler *s = &r->sampler;
    const int32_t channels = r->target->channels;
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
        const int16_t *from = r->across.weights + 2 * p;
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

/* Leaves the sampler empty without a kernel, or if the image shrinks too much. */
static int make_sampler(resizer *r, leat_scratch *scratch)
{
    leat_jpeg_sampler *s = &r->sampler;
    const int32_t n_groups = (r->target->width * r->target->channels + 15) / 16;
    const size_t n_values = 16 * (size_t)n_groups + (size_t)r->target->channels;
    int32_t reach = 0;
    if (!r->kernels->sample_row)
        return LEAT_OK;
    s->n_pairs = r->across.stride / 2;
    const size_t n = (size_t)n_groups * (size_t)s->n_pairs;
    s->base = leat_scratch_take(scratch, n * sizeof *s->base);
    s->place = leat_scratch_take(scratch, n * 32 * sizeof *s->place);
    s->weight = leat_scratch_take(scratch, n * 32 * sizeof *s->weight);
    int32_t *place = leat_scratch_take(scratch, n_values * sizeof *place);
    uint32_t *weights = leat_scratch_take(scratch, n_values * sizeof *weights);
    if (!s->base || !s->place || !s->weight || !place || !weights)
        return LEAT_E_NOMEM;
    find_values(r, place, weights, 16 * n_groups);
    for (int32_t g = 0; g < n_groups; g++) {
        const int32_t far = fill_group(r, g, place + 16 * g, weights + 16 * g);
        reach = far > reach ? far : reach;
        if (reach >= LEAT_JPEG_SAMPLER_REACH)
            return LEAT_OK;
    }
    if (reach < LEAT_JPEG_SAMPLER_NEAR)
        make_near(s, n);
    s->n_groups = n_groups;
    return LEAT_OK;
}

static int take_rows(resizer *r, leat_scratch *scratch)
{
    const size_t n_out = (size_t)r->target->width * (size_t)r->target->channels;
    const size_t slack = LEAT_JPEG_SAMPLER_REACH + LEAT_DSP_ROW_SLACK;
    r->mixed_stride = (r->n_values + slack + 31) & ~(size_t)31;
    r->mixed =
        leat_scratch_take(scratch, LEAT_JPEG_FLOAT_ROWS * r->mixed_stride * sizeof *r->mixed);
    r->sampled = leat_scratch_take(scratch, n_out + 16);
    if (!r->mixed || !r->sampled)
        return LEAT_E_NOMEM;
    for (size_t y = 0; y < LEAT_JPEG_FLOAT_ROWS; y++)
        memset(r->mixed + y * r->mixed_stride + r->n_values, 0,
               (r->mixed_stride - r->n_values) * sizeof *r->mixed);
    return LEAT_OK;
}

static int set_up(resizer *r, int32_t height, int32_t width, leat_scratch *scratch)
{
    const leat_jpeg_target *t = r->target;
    int rc;
    if ((rc = leat_resample_axis(&r->down, height, t->height, LEAT_U8, t->interpolation, scratch)) <
            0 ||
        (rc = leat_resample_axis(&r->across, width, t->width, LEAT_U8, t->interpolation, scratch)) <
            0 ||
        (rc = make_sampler(r, scratch)) < 0)
        return rc;
    return take_rows(r, scratch);
}

static int32_t last_shift(const resizer *r)
{
    return r->across.bits + leat_resample_fraction_bits(&r->across);
}

/* The vertical pass of output row y. */
static void mix_row(const resizer *r, int32_t y, int16_t *out)
{
    (r->kernels->mix_rows ? r->kernels->mix_rows : leat_dsp()->mix_rows)(
        out, r->pixels + (size_t)r->down.start[y] * r->stride_bytes, r->stride_bytes, r->n_values,
        r->down.weights + (ptrdiff_t)y * r->down.stride, r->down.n_taps,
        r->down.bits - leat_resample_fraction_bits(&r->across));
}

/* Writes output row y, resized and mirrored, to r->sampled. */
static void resize_row(const resizer *r, int32_t y)
{
    const leat_dsp_table *dsp = leat_dsp();
    const leat_jpeg_target *t = r->target;
    mix_row(r, y, r->mixed);
    if (r->sampler.n_groups) {
        r->kernels->sample_row(r->sampled, r->mixed, &r->sampler, last_shift(r));
        return;
    }
    dsp->sample_row(r->sampled, r->mixed, &r->across, t->channels, last_shift(r));
    if (t->is_mirrored)
        dsp->mirror_row(r->sampled, r->sampled, (size_t)t->width, (size_t)t->channels);
}

static void write_rows(const resizer *r, void *out)
{
    const size_t n = (size_t)r->target->width * (size_t)r->target->channels;
    for (int32_t y = 0; y < r->target->height; y++) {
        resize_row(r, y);
        if (r->target->output)
            leat_output_write(r->target->output, out, (size_t)y * n, r->sampled, n);
        else if (r->target->affine)
            leat_dsp()->affine_u8((float *)out + (size_t)y * n, r->sampled, n, r->target->affine);
        else
            memcpy((uint8_t *)out + (size_t)y * n, r->sampled, n);
    }
}

#if defined(__x86_64__)
static leat_jpeg_floats floats_of(const leat_affine *affine)
{
    leat_jpeg_floats floats = { .n_phases = affine->n_channels };
    for (int32_t i = 0; i < 16 * floats.n_phases; i++) {
        floats.scale[i / 16][i % 16] = affine->scale[i % affine->n_channels];
        floats.shift[i / 16][i % 16] = affine->shift[i % affine->n_channels];
    }
    return floats;
}

static int makes_floats(const resizer *r)
{
    return r->sampler.n_groups && r->target->height >= LEAT_JPEG_FLOAT_ROWS && r->target->affine &&
           r->target->affine->n_channels <= LEAT_JPEG_FLOAT_PHASES &&
           leat_taps_radius(r->target->interpolation) == 1; /* it does not saturate */
}

/* As write_rows(), if makes_floats(). */
static void write_floats(const resizer *r, float *out)
{
    const size_t n = (size_t)r->target->width * (size_t)r->target->channels;
    const leat_jpeg_floats floats = floats_of(r->target->affine);
    const int32_t end = r->target->height - LEAT_JPEG_FLOAT_ROWS;
    for (int32_t y = 0;; y = y + LEAT_JPEG_FLOAT_ROWS < end ? y + LEAT_JPEG_FLOAT_ROWS : end) {
        for (int32_t i = 0; i < LEAT_JPEG_FLOAT_ROWS; i++)
            mix_row(r, y + i, r->mixed + (size_t)i * r->mixed_stride);
        leat_jpeg_sample_floats_avx512(out + (size_t)y * n, n, r->mixed, r->mixed_stride,
                                       &r->sampler, last_shift(r), &floats);
        if (y == end) /* the last rows may be written twice with the same values */
            break;
    }
}
#endif

int leat_jpeg_resize(const leat_jpeg_dsp *kernels, const uint8_t *pixels, size_t stride_bytes,
                     int32_t height, int32_t width, const leat_jpeg_target *target, void *out,
                     leat_scratch *scratch, leat_error *err)
{
    resizer r = { .kernels = kernels,
                  .target = target,
                  .pixels = pixels,
                  .stride_bytes = stride_bytes,
                  .n_values = (size_t)width * (size_t)target->channels };
    const int rc = set_up(&r, height, width, scratch);
    if (rc)
        return leat_fail(err, rc, "jpeg: no memory to resize to %d x %d pixels", target->width,
                         target->height);
#if defined(__x86_64__)
    if (makes_floats(&r)) {
        write_floats(&r, out);
        return LEAT_OK;
    }
#endif
    write_rows(&r, out);
    return LEAT_OK;
}

int leat_jpeg_decode_resized(const leat_jpeg *jpeg, const leat_image_box *box,
                             const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                             leat_error *err)
{
    const size_t stride_bytes = (size_t)box->width * (size_t)target->channels;
    if (box->width < 1 || box->height < 1)
        return leat_fail(err, LEAT_E_ARGUMENT, "jpeg: the box is empty");
    uint8_t *pixels = leat_scratch_take(scratch, stride_bytes * (size_t)box->height);
    if (!pixels)
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for a box of %d x %d pixels",
                         box->width, box->height);
    const int rc = leat_jpeg_decode_box(jpeg, box, target->channels, pixels, scratch, err);
    return rc ? rc
              : leat_jpeg_resize(jpeg->dsp, pixels, stride_bytes, box->height, box->width, target,
                                 out, scratch, err);
}

int leat_jpeg_resize_box(const leat_jpeg *jpeg, const uint8_t *pixels, const leat_image_box *box,
                         const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                         leat_error *err)
{
    const size_t pixel = (size_t)target->channels, stride_bytes = (size_t)jpeg->width * pixel;
    if (box->x < 0 || box->y < 0 || box->width < 1 || box->height < 1 ||
        box->width > jpeg->width - box->x || box->height > jpeg->height - box->y)
        return leat_fail(err, LEAT_E_ARGUMENT, "jpeg: the box is not inside %d x %d pixels",
                         jpeg->width, jpeg->height);
    return leat_jpeg_resize(jpeg->dsp,
                            pixels + (size_t)box->y * stride_bytes + (size_t)box->x * pixel,
                            stride_bytes, box->height, box->width, target, out, scratch, err);
}
