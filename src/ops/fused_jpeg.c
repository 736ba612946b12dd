/* SPDX-License-Identifier: MIT
 *
 * fused_jpeg.c: decode_jpeg (or decode_image), then random_resized_crop, or resize and perhaps center_crop,
 * then, if they follow, random_flip and normalize, at once. It decodes only the part of the image that the
 * result needs, and resizes, mirrors and normalises it while writing the batch row. Or decode_jpeg and a crop
 * that does not resize. Files that the decoder in jpeg/ does not support go through the ops one by one. */
#include "base/cpu.h"
#include "base/scratch.h"
#include "fused.h"
#include "op_list.h"
#include "ops/decode/decode.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg/jpeg_turbo.h"
#include "resizing.h"

static int match(const leat_fused_op *ops, int n)
{
    int taken = 2;
    if (n < 2 || !leat_decode_fuses(ops[0].op, ops[0].options) ||
        (ops[1].op != &leat_op_random_resized_crop && ops[1].op != &leat_op_resize))
        return 0;
    if (taken < n && ops[1].op == &leat_op_resize && ops[taken].op == &leat_op_center_crop)
        taken++;
    if (taken < n && ops[taken].op == &leat_op_random_flip &&
        leat_random_flip_is_horizontal(ops[taken].options))
        taken++;
    if (taken < n && ops[taken].op == &leat_op_normalize)
        taken++;
    return taken;
}

/* The size of the result; normalize, the last op, may put its channels first. */
static leat_jpeg_target target_of(const leat_fused_op *ops, int n, const leat_shape *out)
{
    const bool is_planar =
        ops[n - 1].op == &leat_op_normalize && leat_normalize_is_planar(ops[n - 1].options);
    const int64_t *const dims = out->dims;
    return (leat_jpeg_target){ .height = (int32_t)dims[is_planar ? 1 : 0],
                               .width = (int32_t)dims[is_planar ? 2 : 1],
                               .channels = (int32_t)dims[is_planar ? 0 : 2] };
}

/* The part of the image that ops[1] resizes: what it has drawn, or everything. */
static leat_image_box box_of(const leat_fused_op *ops, const leat_draw *draws,
                             const leat_jpeg *jpeg)
{
    leat_image_box box = { 0, 0, jpeg->height, jpeg->width };
    if (ops[1].op == &leat_op_random_resized_crop)
        LEAT_DRAW_GET(&draws[1], box);
    return box;
}

/* The whole image. */
static leat_shape shape_of(const leat_jpeg *jpeg, int64_t channels)
{
    const int64_t dims[] = { jpeg->height, jpeg->width, channels };
    return leat_shape_make(LEAT_U8, 3, dims);
}

/* Adds cutting the middle out of what resize gives. */
static int set_crop(const leat_fused_op *resize, const leat_jpeg *jpeg, leat_jpeg_target *target,
                    leat_error *err)
{
    const leat_shape in = shape_of(jpeg, target->channels);
    leat_shape resized;
    const int rc = resize->op->shape(resize->options, &in, &resized, err);
    if (rc < 0)
        return rc;
    const leat_image_box cut =
        leat_center_crop_box(&resized, (int32_t)target->height, (int32_t)target->width);
    target->resized_height = (int32_t)resized.dims[0];
    target->resized_width = (int32_t)resized.dims[1];
    target->top = cut.y;
    target->left = cut.x;
    return LEAT_OK;
}

/* Adds cutting, mirroring and normalising to the target, as the ops' draws and options say. */
static int set_target(const leat_fused_op *ops, int n, const leat_draw *draws,
                      const leat_jpeg *jpeg, leat_jpeg_target *target, leat_output *output,
                      leat_error *err)
{
    target->interpolation =
        (ops[1].op == &leat_op_resize ? leat_resize_interpolation
                                      : leat_random_resized_crop_interpolation)(ops[1].options);
    for (int i = 2; i < n; i++) {
        if (ops[i].op == &leat_op_random_flip) {
            target->is_mirrored = leat_random_flip_mirrors(&draws[i]);
        } else if (ops[i].op == &leat_op_normalize) {
            const int64_t dims[] = { target->height, target->width, target->channels };
            const leat_shape shape = leat_shape_make(LEAT_U8, 3, dims);
            leat_normalize_output(ops[i].options, &shape, output);
            if (leat_output_is_plain(output))
                target->affine = &output->affine;
            else
                target->output = output;
        } else {
            const int rc = set_crop(&ops[1], jpeg, target, err);
            if (rc < 0)
                return rc;
        }
    }
    return LEAT_OK;
}

/* What to do with a file. */
typedef struct job {
    const leat_image_box *box;
    const leat_jpeg_target *target;
} job;

static int decode(const leat_jpeg *jpeg, const void *how, void *out, leat_scratch *scratch,
                  leat_error *err)
{
    const job *j = how;
    return leat_jpeg_decode_resized(jpeg, j->box, j->target, out, scratch, err);
}

/* Decodes the whole image with libjpeg-turbo, which is faster than ours on CPUs without AVX2. */
static int decode_whole(const leat_jpeg *jpeg, const leat_view *in, int64_t channels,
                        leat_view *whole, leat_scratch *scratch, leat_error *err)
{
    *whole = (leat_view){ .shape = shape_of(jpeg, channels) };
    whole->data = leat_scratch_take(scratch, (size_t)leat_shape_bytes(&whole->shape));
    if (!whole->data)
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                         jpeg->height);
    return leat_jpeg_turbo_decode(in->data, (size_t)in->shape.dims[0], 1, false, whole, scratch,
                                  err);
}

static int apply(const leat_fused_op *ops, int n, const leat_draw *draws, const leat_view *in,
                 const leat_view *out, bool streams, leat_scratch *scratch, leat_error *err)
{
    leat_jpeg jpeg;
    leat_output output; /* target points to it if `normalize` is one of the ops */
    leat_jpeg_target target = target_of(ops, n, &out->shape);
    int rc = leat_jpeg_open(&jpeg, in->data, (size_t)in->shape.dims[0], err);
    if (rc < 0)
        return rc;
    target.streams = streams;
    const leat_image_box box = box_of(ops, draws, &jpeg);
    rc = set_target(ops, n, draws, &jpeg, &target, &output, err);
    if (rc < 0)
        return rc;
    if (leat_cpu_level() < LEAT_CPU_AVX2) {
        const size_t mark = leat_scratch_mark(scratch);
        leat_view whole;
        rc = decode_whole(&jpeg, in, target.channels, &whole, scratch, err);
        if (rc == LEAT_OK)
            rc = leat_jpeg_resize_box(&jpeg, whole.data, &box, &target, out->data, scratch, err);
        if (rc != LEAT_E_DATA)
            return rc;
        leat_scratch_rewind(scratch, mark); /* damaged, but perhaps not inside the box */
    }
    const job how = { &box, &target };
    return leat_jpeg_with_seek(&jpeg, in->seek, decode, &how, out->data, scratch, err);
}

const leat_fused leat_fused_jpeg = {
    .help = "decodes, crops, resizes, mirrors and normalises in one go",
    .match = match,
    .apply = apply,
};

/* --- a crop that does not resize ---------------------------------------------------------------- */

static int match_crop(const leat_fused_op *ops, int n)
{
    const bool crops =
        n >= 2 && (ops[1].op == &leat_op_center_crop ||
                   (ops[1].op == &leat_op_random_crop && !leat_random_crop_pads(ops[1].options)));
    return crops && leat_decode_fuses(ops[0].op, ops[0].options) ? 2 : 0;
}

/* What to do with a file. */
typedef struct crop_job {
    leat_image_box box;
    int channels;
} crop_job;

static int decode_crop(const leat_jpeg *jpeg, const void *how, void *out, leat_scratch *scratch,
                       leat_error *err)
{
    const crop_job *j = how;
    return leat_jpeg_decode_box(jpeg, &j->box, j->channels, out, scratch, err);
}

static int apply_crop(const leat_fused_op *ops, int n, const leat_draw *draws, const leat_view *in,
                      const leat_view *out, bool streams, leat_scratch *scratch, leat_error *err)
{
    const int64_t *const dims = out->shape.dims;
    crop_job how = { .channels = (int)dims[2] };
    leat_jpeg jpeg;
    (void)n;
    (void)streams;
    int rc = leat_jpeg_open(&jpeg, in->data, (size_t)in->shape.dims[0], err);
    if (rc < 0)
        return rc;
    const leat_shape shape = shape_of(&jpeg, how.channels);
    if (ops[1].op == &leat_op_random_crop)
        LEAT_DRAW_GET(&draws[1], how.box);
    else
        how.box = leat_center_crop_box(&shape, (int32_t)dims[0], (int32_t)dims[1]);
    if (leat_cpu_level() < LEAT_CPU_AVX2) {
        const size_t mark = leat_scratch_mark(scratch);
        leat_view whole;
        rc = decode_whole(&jpeg, in, how.channels, &whole, scratch, err);
        if (rc == LEAT_OK)
            leat_image_crop(&whole, out, &how.box, LEAT_PAD_CONSTANT);
        if (rc != LEAT_E_DATA)
            return rc;
        leat_scratch_rewind(scratch, mark); /* damaged, but perhaps not inside the box */
    }
    return leat_jpeg_with_seek(&jpeg, in->seek, decode_crop, &how, out->data, scratch, err);
}

const leat_fused leat_fused_jpeg_crop = {
    .help = "decodes only the part that is cut out",
    .match = match_crop,
    .apply = apply_crop,
};
