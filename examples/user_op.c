/* SPDX-License-Identifier: MIT
 *
 * user_op.c: an op of one's own in a map: `cutout` fills a random square of an image. An op is a table
 * of options and three functions: what comes out (shape), what is drawn (draw), what is done
 * (apply). It is checked, configured and made repeatable like the built-in ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/leat.h"

/* --- the op --------------------------------------------------------------------------------------- */

typedef struct cutout_options {
    int64_t size, value;
} cutout_options;

static const leat_option cutout_table[] = {
    LEAT_OPTION_I64(cutout_options, size, NULL, 1, 4096, "side of the square in pixels"),
    LEAT_OPTION_I64(cutout_options, value, "0", 0, 255, "what it is filled with"), LEAT_OPTION_END
};

/* Once when the plan is made (dims may be unknown then), and for every sample. */
static int cutout_shape(const void *options, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const cutout_options *o = options;
    char text[96];
    if (in->dtype != LEAT_U8 || in->rank != 3)
        return leat_fail(err, LEAT_E_CONFIG, "expects an image uint8[h, w, c], got %s",
                         leat_shape_text(in, text, sizeof text));
    for (int i = 0; i < 2; i++)
        if (in->dims[i] != LEAT_UNKNOWN_DIM && in->dims[i] < o->size)
            return leat_fail(err, LEAT_E_CONFIG, "a square of %lld does not fit in %s",
                             (long long)o->size, leat_shape_text(in, text, sizeof text));
    *out = *in;
    return LEAT_OK;
}

/* What is drawn: at most 64 bytes. */
typedef struct place {
    uint32_t top, left;
} place;

/* All random decisions of one sample; the generator belongs to its record and epoch, so they do not
 * depend on threads, batch size or other ops. */
static void cutout_draw(const void *options, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const int64_t size = ((const cutout_options *)options)->size;
    place at;
    at.top = leat_rng_below(rng, (uint32_t)(in->dims[0] - size + 1));
    at.left = leat_rng_below(rng, (uint32_t)(in->dims[1] - size + 1));
    LEAT_DRAW_PUT(out, at);
}

static int cutout_apply(const void *options, const leat_draw *draw, const leat_view *in,
                        const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const cutout_options *o = options;
    const int64_t channels = in->shape.dims[2], stride = in->shape.dims[1] * channels;
    place at;
    (void)scratch;
    (void)err;
    memcpy(&at, draw, sizeof at);
    if (out->data != in->data) /* LEAT_OP_IN_PLACE: it may be the same memory */
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    for (int64_t y = at.top; y < at.top + o->size; y++)
        memset((uint8_t *)out->data + y * stride + at.left * channels, (int)o->value,
               (size_t)(o->size * channels));
    return LEAT_OK;
}

static const leat_op cutout = {
    .name = "cutout",
    .help = "fill a random square",
    .options_size = sizeof(cutout_options),
    .options = cutout_table,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_IMAGE,
    .shape = cutout_shape,
    .draw = cutout_draw,
    .apply = cutout_apply,
};

/* --- a pipeline that uses it ---------------------------------------------------------------------- */

enum { IMAGES = 4, SIDE = 12 };

static uint8_t images[IMAGES][SIDE][SIDE][1];

static int build(const char *engine, leat_plan **plan, leat_error *err)
{
    const int64_t dims[] = { SIDE, SIDE, 1 };
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 3, dims), images };
    leat_builder *builder = leat_builder_open();
    if (!builder)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for a builder");
    leat_builder_rows(builder, IMAGES, &rows, 1);
    leat_builder_op(builder, &cutout); /* from here on `map` knows it by its name */
    leat_builder_engine(builder, engine);
    leat_builder_stage(builder, "map", "{ops: [{cutout: {size: 5}}]}");
    leat_builder_stage(builder, "batch", "4");
    const int rc = leat_builder_plan(builder, plan, err);
    leat_builder_close(&builder);
    return rc;
}

static void print_images(const uint8_t *pixels)
{
    for (int y = 0; y < SIDE; y++) {
        for (int i = 0; i < IMAGES; i++) {
            for (int x = 0; x < SIDE; x++)
                putchar(pixels[(i * SIDE + y) * SIDE + x] ? '#' : '.');
            fputs(i < IMAGES - 1 ? "  " : "\n", stdout);
        }
    }
}

/* Takes the one batch of the plan; returns its digest. */
static uint64_t run(const char *engine, int print)
{
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    if (build(engine, &plan, &err) != LEAT_OK ||
        leat_loader_open(plan, NULL, &loader, &err) != LEAT_OK ||
        leat_loader_next(loader, &batch, &err) != LEAT_OK) {
        leat_error_print(&err, stderr);
        exit(1);
    }
    const uint64_t digest = leat_batch_get_info(batch)->digest;
    if (print)
        print_images(leat_batch_tensor(batch, 0).data);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return digest;
}

int main(void)
{
    memset(images, 255, sizeof images);
    const uint64_t alone = run("{threads: 0, digest: true}", 1);
    const uint64_t many = run("{threads: 4, digest: true}", 0);
    printf("digest with 0 threads %016llx, with 4 threads %016llx: %s\n", (unsigned long long)alone,
           (unsigned long long)many, alone == many ? "the same squares" : "THEY DIFFER");
    return alone != many;
}
