/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize.c: from a JPEG to a row of a batch: decode a box, resize, cut, mirror, normalise. DESIGN: the
 * decoder writes rows of pixels into a window that fits the L2 cache. When it is full (most boxes fit whole;
 * to alternate more often is slower), output rows are made of it: one row, or a few, goes through all steps
 * while it is in the L1 cache. The arithmetic is that of resample.h, so that separate ops give the same
 * bits. */
#include <string.h>

#include "base/check.h"
#include "jpeg_resize.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"

enum { WINDOW_BYTES = 256 << 10 }; /* more if an output needs more rows */

typedef struct resizer {
    leat_jpeg_rows rows; /* first: the decoder gets a pointer to it */
    const leat_jpeg_dsp *kernels;
    const leat_jpeg_target *target;
    leat_dsp_axis down, across;
    leat_jpeg_sampler sampler; /* n_groups 0: not used */
    leat_jpeg_floats floats;   /* used if makes_floats */
    int makes_floats;          /* LEAT_JPEG_FLOAT_ROWS rows at a time */
    uint8_t *out;
    int32_t n_done;        /* output rows written */
    uint8_t *window;       /* room for n_room rows of input */
    const uint8_t *pixels; /* input row n_gone, and those after it */
    int32_t n_room, n_gone;
    int32_t n_in;                  /* input rows handed out by next() */
    size_t stride_bytes, n_values; /* of an input row */
    int16_t *mixed;                /* rows after the vertical pass, mixed_stride values apart */
    size_t mixed_stride;
    uint8_t *sampled;
} resizer;

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

/* Whether rows of n floats from `out` on are whole cache lines. */
static int are_lines(const void *out, size_t n)
{
    return (uintptr_t)out % 64 == 0 && n % 16 == 0;
}

static leat_jpeg_floats floats_of(const resizer *r)
{
    const leat_affine *affine = r->target->affine;
    const size_t n = (size_t)r->target->width * (size_t)r->target->channels;
    leat_jpeg_floats floats = { .n_phases = affine->n_channels,
                                .streams = r->target->streams && are_lines(r->out, n) };
    for (int32_t i = 0; i < 16 * floats.n_phases; i++) {
        floats.scale[i / 16][i % 16] = affine->scale[i % affine->n_channels];
        floats.shift[i / 16][i % 16] = affine->shift[i % affine->n_channels];
    }
    return floats;
}

/* Makes the axes of a resize of *box, and reduces *box to what the result needs. */
static int make_axes(resizer *r, leat_image_box *box, leat_scratch *scratch)
{
    const leat_jpeg_target *t = r->target;
    const int32_t height = t->resized_height ? t->resized_height : t->height;
    const int32_t width = t->resized_width ? t->resized_width : t->width;
    int rc;
    if ((rc = leat_resample_axis(&r->down, box->height, height, LEAT_U8, t->interpolation,
                                 scratch)) < 0 ||
        (rc = leat_resample_axis(&r->across, box->width, width, LEAT_U8, t->interpolation,
                                 scratch)) < 0)
        return rc;
    box->y += leat_resample_crop(&r->down, t->top, t->height);
    box->x += leat_resample_crop(&r->across, t->left, t->width);
    box->height = r->down.n_in;
    box->width = r->across.n_in;
    return LEAT_OK;
}

static int set_up(resizer *r, leat_image_box *box, leat_scratch *scratch)
{
    const leat_jpeg_target *t = r->target;
    int rc = make_axes(r, box, scratch);
    if (!rc && r->kernels->sample_row)
        rc = leat_jpeg_sampler_make(&r->sampler, &r->across, t, scratch);
    if (rc)
        return rc;
    r->makes_floats = r->sampler.n_groups && t->height >= LEAT_JPEG_FLOAT_ROWS && t->affine &&
                      t->affine->n_channels <= LEAT_JPEG_FLOAT_PHASES &&
                      leat_taps_radius(t->interpolation) == 1; /* it does not saturate */
    if (r->makes_floats)
        r->floats = floats_of(r);
    r->n_values = (size_t)box->width * (size_t)t->channels;
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
        out, r->pixels + (size_t)(r->down.start[y] - r->n_gone) * r->stride_bytes, r->stride_bytes,
        r->n_values, r->down.weights + (ptrdiff_t)y * r->down.stride, r->down.n_taps,
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

static void write_row(const resizer *r, int32_t y)
{
    const size_t n = (size_t)r->target->width * (size_t)r->target->channels;
    resize_row(r, y);
    if (r->target->output)
        leat_output_write(r->target->output, r->out, (size_t)y * n, r->sampled, n);
    else if (r->target->affine)
        leat_dsp()->affine_u8((float *)(void *)r->out + (size_t)y * n, r->sampled, n,
                              r->target->affine);
    else
        memcpy(r->out + (size_t)y * n, r->sampled, n);
}

#if defined(__x86_64__)
/* Writes LEAT_JPEG_FLOAT_ROWS rows from y on. */
static void write_floats(const resizer *r, int32_t y)
{
    const size_t n = (size_t)r->target->width * (size_t)r->target->channels;
    for (int32_t i = 0; i < LEAT_JPEG_FLOAT_ROWS; i++)
        mix_row(r, y + i, r->mixed + (size_t)i * r->mixed_stride);
    leat_jpeg_sample_floats_avx512((float *)(void *)r->out + (size_t)y * n, n, r->mixed,
                                   r->mixed_stride, &r->sampler, last_shift(r), &r->floats);
}

static void fence(const resizer *r)
{
    if (r->floats.streams)
        leat_jpeg_fence_avx512();
}
#else
static void write_floats(const resizer *r, int32_t y)
{
    (void)r;
    (void)y;
}

static void fence(const resizer *r)
{
    (void)r;
}
#endif

/* Output rows that are written together, and the first of the next ones. The last ones begin earlier, so
 * some rows may be written twice, with the same values. */
static int32_t group_size(const resizer *r)
{
    return r->makes_floats ? LEAT_JPEG_FLOAT_ROWS : 1;
}

static int32_t next_group(const resizer *r)
{
    const int32_t last = r->target->height - group_size(r);
    return r->n_done < last ? r->n_done : last;
}

/* Writes the output rows that need only the first n_in rows of input. */
static void write_ready(resizer *r, int32_t n_in)
{
    const int32_t size = group_size(r);
    while (r->n_done < r->target->height) {
        const int32_t y = next_group(r);
        if (r->down.start[y + size - 1] + r->down.n_taps > n_in)
            return;
        if (r->makes_floats)
            write_floats(r, y);
        else
            write_row(r, y);
        r->n_done = y + size;
    }
}

/* The rows of input that a group of output rows needs, at most. */
static int32_t most_rows(const resizer *r)
{
    const int32_t size = group_size(r);
    int32_t most = 0;
    for (int32_t y = 0; y + size <= r->target->height; y++) {
        const int32_t n = r->down.start[y + size - 1] - r->down.start[y];
        most = n > most ? n : most;
    }
    return most + r->down.n_taps;
}

static int take_window(resizer *r, int32_t height, leat_scratch *scratch)
{
    const size_t fits = WINDOW_BYTES / r->stride_bytes, need = 2 * (size_t)most_rows(r);
    const size_t n = fits > need ? fits : need;
    r->n_room = n < (size_t)height ? (int32_t)n : height;
    r->window = leat_scratch_take(scratch, r->stride_bytes * (size_t)r->n_room);
    r->pixels = r->window;
    return r->window ? LEAT_OK : LEAT_E_NOMEM;
}

/* Moves the rows that are still needed to the start of the full window. NEAREST may need none of them. */
static void slide(resizer *r)
{
    const int32_t ahead = r->down.start[next_group(r)] - r->n_gone;
    const int32_t gone = ahead < r->n_room ? ahead : r->n_room;
    leat_check(gone > 0 && r->n_done < r->target->height);
    memmove(r->window, r->window + (size_t)gone * r->stride_bytes,
            (size_t)(r->n_room - gone) * r->stride_bytes);
    r->n_gone += gone;
}

static uint8_t *next_row(leat_jpeg_rows *rows)
{
    resizer *r = (resizer *)rows;
    if (r->n_in - r->n_gone == r->n_room) {
        write_ready(r, r->n_in);
        slide(r);
    }
    return r->window + (size_t)(r->n_in++ - r->n_gone) * r->stride_bytes;
}

static int no_memory(const leat_jpeg_target *target, leat_error *err)
{
    return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory to resize to %d x %d pixels",
                     target->width, target->height);
}

int leat_jpeg_resize(const leat_jpeg_dsp *kernels, const uint8_t *pixels, size_t stride_bytes,
                     int32_t height, int32_t width, const leat_jpeg_target *target, void *out,
                     leat_scratch *scratch, leat_error *err)
{
    leat_image_box box = { 0, 0, height, width };
    resizer r = { .kernels = kernels, .target = target, .out = out, .stride_bytes = stride_bytes };
    if (set_up(&r, &box, scratch))
        return no_memory(target, err);
    r.pixels = pixels + (size_t)box.y * stride_bytes + (size_t)box.x * (size_t)target->channels;
    write_ready(&r, box.height);
    fence(&r);
    return LEAT_OK;
}

static int check_box(const leat_jpeg *jpeg, const leat_image_box *box, leat_error *err)
{
    return box->x < 0 || box->y < 0 || box->width < 1 || box->height < 1 ||
                   box->width > jpeg->width - box->x || box->height > jpeg->height - box->y
               ? leat_fail(err, LEAT_E_ARGUMENT, "jpeg: the box is not inside %d x %d pixels",
                           jpeg->width, jpeg->height)
               : LEAT_OK;
}

int leat_jpeg_decode_resized(const leat_jpeg *jpeg, const leat_image_box *box,
                             const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                             leat_error *err)
{
    resizer r = { .rows = { next_row }, .kernels = jpeg->dsp, .target = target, .out = out };
    leat_image_box needed = *box;
    int rc = check_box(jpeg, box, err);
    if (rc)
        return rc;
    rc = set_up(&r, &needed, scratch);
    r.stride_bytes = r.n_values;
    if (rc || take_window(&r, needed.height, scratch))
        return no_memory(target, err);
    rc = leat_jpeg_decode_rows(jpeg, &needed, target->channels, &r.rows, scratch, err);
    if (!rc)
        write_ready(&r, needed.height);
    fence(&r); /* after an error too: the ops then write the row anew, one by one */
    return rc;
}

int leat_jpeg_resize_box(const leat_jpeg *jpeg, const uint8_t *pixels, const leat_image_box *box,
                         const leat_jpeg_target *target, void *out, leat_scratch *scratch,
                         leat_error *err)
{
    const size_t pixel = (size_t)target->channels, stride_bytes = (size_t)jpeg->width * pixel;
    const int rc = check_box(jpeg, box, err);
    return rc ? rc
              : leat_jpeg_resize(jpeg->dsp,
                                 pixels + (size_t)box->y * stride_bytes + (size_t)box->x * pixel,
                                 stride_bytes, box->height, box->width, target, out, scratch, err);
}
