/* SPDX-License-Identifier: MIT
 *
 * test_axes.c: no op takes the dimensions of an image for others after its channels were put first, not even if the
 * image is so small that sizes do not tell. */
#include "fixtures/engine_fixture.h"

#define N     4
#define SIDES 17
#define MOST  (SIDES * SIDES * 4)

static uint8_t bytes[N * MOST];
static float floats[N * MOST];

static int make_data(void **state)
{
    leat_rng rng = leat_rng_make(3, 0, 0, 0);
    for (size_t i = 0; i < N * MOST; i++) {
        bytes[i] = (uint8_t)leat_rng_below(&rng, 256);
        floats[i] = leat_rng_f32(&rng);
    }
    return 0;
}

/* Maps before and after the batch; NULL: none. LEAT_E_CONFIG: it is refused. */
static int open_plan(const leat_shape *shape, const char *ops, const char *after, leat_plan **plan,
                     leat_error *err)
{
    const leat_rows rows[] = { { "image", *shape,
                                 shape->dtype == LEAT_U8 ? (void *)bytes : floats } };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, N, rows, 1);
    leat_builder_seed(b, 5);
    leat_builder_engine(b, "{threads: 0}");
    if (ops)
        leat_builder_stage(b, "map", ops);
    leat_builder_stage(b, "batch", "4");
    if (after)
        leat_builder_stage(b, "map", after);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

/* The first batch; its digest if `to` is NULL. */
static uint64_t take_batch(const leat_plan *plan, void *to)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(loader, &batch, &err), &err);
    const leat_view view = leat_batch_tensor(batch, 0);
    const uint64_t digest = batch_digest(batch);
    if (to)
        memcpy(to, view.data, (size_t)leat_shape_bytes(&view.shape));
    leat_batch_release(batch);
    leat_loader_close(&loader);
    return digest;
}

/* --- ops of samples -------------------------------------------------------------------------------- */

/* Options to try, with C for a list of as many values as there are channels; an op without a row is tried without options. */
static const struct {
    const char *op, *options[4];
} options_of[] = {
    { "parse_csv", { "{columns: 2}" } },
    { "decode_raw", { "{shape: [-1]}" } },
    { "reshape", { "[-1]" } }, /* what has three dimensions then is an image of the user's making */
    { "resize", { "4", "{size: [1, 3]}" } },
    { "center_crop", { "1", "{size: [1, 3]}" } },
    { "random_crop", { "1", "{size: [3, 1], pad: 2}", "{size: 3, pad: 1, mode: edge}" } },
    { "random_resized_crop", { "4" } },
    { "random_flip", { "{p: 1}", "{p: 1, axis: vertical}", "{p: 1, alternate: true}" } },
    { "random_rotation", { "{degrees: [90, 90]}" } },
    { "random_erasing", { "{p: 1}", "{p: 1, value: C}" } },
    { "pad", { "1", "{pixels: [1, 2], mode: edge}", "{pixels: 1, value: C}" } },
    { "color_jitter", { "{brightness: 0.4, contrast: 0.4, saturation: 0.4}" } },
    { "grayscale", { "{}", "{channels: 3}" } },
    { "cast", { "uint8", "float32", "int64", "bfloat16" } },
    { "normalize",
      { "{mean: 0.5, std: 0.5}", "{mean: C, std: 0.5}", "{mean: 0.5, std: C, dtype: float16}",
        "{layout: channels_first}" } },
    { "layout", { "channels_first" } }, /* channels_last undoes it, and needs no other op before */
    { "scale", { "{factor: 0.5, offset: 2}" } },
    { "one_hot", { "256" } },
    { "sleep", { "{ms: 0}" } },
};

/* Option set i of an op as text, for images of that many channels. False: there is none. */
static bool op_text(const leat_op *op, size_t i, int64_t channels, char *text, size_t size)
{
    static const char *const values[] = { "[0.25]", "[0.25, 0.5]", "[0.25, 0.5, 0.75]",
                                          "[0.25, 0.5, 0.75, 1]" };
    const char *options = i ? NULL : "{}";
    for (size_t k = 0; k < sizeof options_of / sizeof *options_of; k++)
        if (!strcmp(options_of[k].op, op->name))
            options = i < 4 ? options_of[k].options[i] : NULL;
    if (!options)
        return false;
    const char *const at = strchr(options, 'C');
    if (at)
        snprintf(text, size, "{%s: %.*s%s%s}", op->name, (int)(at - options), options,
                 values[channels - 1], at + 1);
    else
        snprintf(text, size, "{%s: %s}", op->name, options);
    return true;
}

/* Ways to put channels first: what comes before the op, and with the op before that. */
static const struct {
    const char *after, *before;
} ways[] = {
    { "[layout, %s]", "[%s, layout]" },
    { "[{normalize: {layout: channels_first}}, %s]", "[normalize, %s, layout]" },
    { "[layout, {scale: 2}, %s]", "[{scale: 2}, %s, layout]" },
};

/* Returns whether the op was refused. */
static bool check_op(const leat_shape *shape, size_t way, const char *op)
{
    leat_plan *after, *before;
    leat_error err;
    char text[400];
    snprintf(text, sizeof text, ways[way].after, op);
    if (open_plan(shape, text, NULL, &after, &err) < 0)
        return true;
    if (leat_plan_tensor(after, 0)->shape.rank == 3) {
        snprintf(text, sizeof text, ways[way].before, op);
        check(open_plan(shape, text, NULL, &before, &err), &err);
        if (!leat_shape_equal(&leat_plan_tensor(after, 0)->shape,
                              &leat_plan_tensor(before, 0)->shape) ||
            take_batch(after, NULL) != take_batch(before, NULL))
            fail_msg("%s after the channels were put first reads other dimensions (way %zu)", op,
                     way);
        leat_plan_close(&before);
    }
    leat_plan_close(&after);
    return false;
}

/* All ops, images of all small sizes: refused, or the same as if it came before. */
TEST(an_op_after_layout_is_refused_or_means_the_same)
{
    int n_refused = 0, n_same = 0;
    for (const leat_op *const *op = leat_ops(); *op; op++)
        for (int64_t i = 0; i < SIDES + 8; i++) {
            static const int64_t others[8][2] = { { 1, 3 }, { 3, 1 },  { 3, 17 }, { 17, 3 },
                                                  { 4, 8 }, { 16, 5 }, { 2, 4 },  { 4, 3 } };
            const int64_t height = i < SIDES ? i + 1 : others[i - SIDES][0],
                          width = i < SIDES ? i + 1 : others[i - SIDES][1];
            for (int64_t channels = 1; channels <= 4; channels++) {
                const int64_t dims[] = { height, width, channels };
                const leat_dtype dtype = (height + channels) % 3 ? LEAT_U8 : LEAT_F32;
                const leat_shape shape = leat_shape_make(dtype, 3, dims);
                char text[200];
                for (size_t k = 0; op_text(*op, k, channels, text, sizeof text); k++)
                    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
                        *(check_op(&shape, way, text) ? &n_refused : &n_same) += 1;
            }
        }
    assert_true(n_refused > 1000 && n_same > 500);
}

/* What decodes or takes images leaves their channels last: there is nothing to put last. */
TEST(an_image_whose_channels_are_last_stays_so)
{
    static const char *const ops[] = { "random_flip", "{pad: 0}", "random_flip, {cast: float32}",
                                       "{normalize: {mean: [0.5, 0.5, 0.5]}}",
                                       "{layout: channels_last}" };
    const leat_shape shape = leat_shape_make(LEAT_U8, 3, (int64_t[]){ 3, 3, 3 });
    leat_plan *plan;
    leat_error err;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char text[200];
        snprintf(text, sizeof text, "[%s, {layout: channels_last}]", ops[i]);
        assert_int_equal(open_plan(&shape, text, NULL, &plan, &err), LEAT_E_CONFIG);
        assert_non_null(strstr(err.message, "are last already"));
    }
    /* of an array that is stored, or that the user shapes, nothing is known */
    check(open_plan(&shape, "[{layout: channels_last}, random_flip]", NULL, &plan, &err), &err);
    leat_plan_close(&plan);
    check(open_plan(&shape, "[random_flip, {reshape: [1, 9, 3]}, {layout: channels_last}]", NULL,
                    &plan, &err),
          &err);
    leat_plan_close(&plan);
    check(open_plan(&shape, "[layout, {layout: channels_last}, random_flip]", NULL, &plan, &err),
          &err);
    leat_plan_close(&plan);
}

/* --- ops of batches -------------------------------------------------------------------------------- */

/* Whether images with channels first in a hold what those with channels last in b hold. */
static bool is_same(const leat_shape *shape, const uint8_t *a, const uint8_t *b)
{
    const int64_t n_px = shape->dims[0] * shape->dims[1], channels = shape->dims[2];
    for (int64_t n = 0; n < N; n++, a += n_px * channels, b += n_px * channels)
        for (int64_t i = 0; i < n_px; i++)
            for (int64_t c = 0; c < channels; c++)
                if (a[c * n_px + i] != b[i * channels + c])
                    return false;
    return true;
}

TEST(an_op_of_batches_after_layout_too)
{
    static uint8_t after[N * MOST], before[N * MOST];
    leat_error err;
    leat_plan *plan;
    for (size_t k = 0; leat_batch_op_kind(k); k++)
        for (int64_t height = 1; height <= SIDES; height++)
            for (int64_t width = 1; width <= SIDES; width++) {
                const int64_t dims[] = { height, width, 1 + (height + width) % 4 };
                const leat_shape shape = leat_shape_make(LEAT_U8, 3, dims);
                char text[100];
                snprintf(text, sizeof text, "[{%s: {label: none}}]", leat_batch_op_kind(k)->name);
                if (open_plan(&shape, "[layout]", text, &plan, &err) < 0)
                    continue;
                take_batch(plan, after);
                leat_plan_close(&plan);
                check(open_plan(&shape, NULL, text, &plan, &err), &err);
                take_batch(plan, before);
                leat_plan_close(&plan);
                if (!is_same(&shape, after, before))
                    fail_msg("%s mixes other parts of images whose channels are first", text);
            }
}

/* Numbers for each entry of a last dimension that is longer than colours are, such as of sensors, say nothing about it. */
TEST(a_number_for_each_sensor_is_no_colour)
{
    static const char *const chains[] = {
        "[{normalize: {mean: [0, .1, .2, .3, .4, .5, .6, .7], std: 1}}, {layout: channels_last}]",
        "[{layout: channels_last}, layout, {normalize: {mean: [0, .1, .2, .3, .4, .5, .6, .7], "
        "std: 1}}]",
    };
    static const int64_t dims[] = { 1, 30, 8 };
    const leat_shape shape = leat_shape_make(LEAT_U8, 3, dims);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        leat_plan *plan;
        leat_error err;
        check(open_plan(&shape, chains[i], NULL, &plan, &err), &err);
        leat_plan_close(&plan);
    }
}

SUITE_FIXTURE(make_data, NULL)
