/* SPDX-License-Identifier: MIT
 *
 * test_train_normalize.c: with `train.normalize`, a model learns the same bits from values as stored as with the op
 * `normalize` before it; and what is refused. */
#include "fixtures/train_fixture.h"

#include "train/cpu/onednn.h"

enum { RECORDS = 37, MOST_VALUES = 9 * 8 * 3, CLASSES = 4 };

static uint8_t bytes[RECORDS * MOST_VALUES];
static float floats[RECORDS * MOST_VALUES];
static int64_t labels[RECORDS];

static int draw(void **state)
{
    leat_rng rng = leat_rng_make(3, 0, 0, 9);
    for (int i = 0; i < RECORDS * MOST_VALUES; i++) {
        bytes[i] = (uint8_t)leat_rng_below(&rng, 256);
        floats[i] = leat_rng_range(&rng, -3, 3);
    }
    for (int i = 0; i < RECORDS; i++)
        labels[i] = leat_rng_below(&rng, CLASSES);
    return 0;
}

#define CNN                                                                                        \
    "model: [{conv2d: {filters: 16, kernel: 3}}, batch_norm, relu, {dropout: 0.2}, flatten, "      \
    "dense: 4]"
#define MEANS "{mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}"

static const struct {
    const char *name, *train, *normalize;
    leat_dtype dtype;
    int32_t rank;
    int64_t dims[3];
} cases[] = {
    { "pictures", CNN, MEANS, LEAT_U8, 3, { 9, 8, 3 } },
    { "one for all",
      CNN ", micro_batches: 3, threads: 2",
      "{mean: 0.5, std: 0.25}",
      LEAT_U8,
      3,
      { 6, 5, 3 } },
    { "bfloat16", CNN ", precision: bf16", MEANS, LEAT_U8, 3, { 9, 8, 3 } },
    { "of floats", CNN, "{mean: [1, -2, 0.1], std: 3}", LEAT_F32, 3, { 9, 8, 3 } },
    { "a layer that reads the input once more",
      "model: [{conv2d: {filters: 3, kernel: 3, padding: same}}, {concat: {from: [input, "
      "0.conv2d]}}, flatten, dense: 4]",
      MEANS,
      LEAT_U8,
      3,
      { 6, 6, 3 } },
    { "views", CNN ", views: mirror_shift", MEANS, LEAT_U8, 3, { 9, 8, 3 } },
    { "whitened",
      "model: [{conv2d: {filters: 24, kernel: 2, init: whiten}}, gelu, flatten, dense: 4]",
      MEANS,
      LEAT_U8,
      3,
      { 7, 6, 3 } },
    { "split",
      "model: [{conv2d: {filters: 8, kernel: 3, device: cpu}}, relu, flatten, dense: 4]",
      MEANS,
      LEAT_U8,
      3,
      { 9, 8, 3 } },
    { "a vector",
      "model: [dense: 9, relu, dense: 4]",
      "{mean: [0.1, 0.9, 0.3, 0.4, 0.5, 0.6, 0.7]}",
      LEAT_U8,
      1,
      { 7 } },
    { "pairs", "model: [dense: 4]", "{mean: [0.1, 0.9], std: [1, 2]}", LEAT_F32, 2, { 5, 2 } },
    { "only divided", "model: [dense: 4]", "{}", LEAT_U8, 1, { 200 } },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static leat_plan *open_plan(size_t i, const char *ops)
{
    const leat_rows rows[] = { { "image",
                                 leat_shape_make(cases[i].dtype, cases[i].rank, cases[i].dims),
                                 cases[i].dtype == LEAT_U8 ? (void *)bytes : (void *)floats },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *const builder = leat_builder_open();
    leat_builder_rows(builder, RECORDS, rows, 2);
    leat_builder_stage(builder, "shuffle", "{seed: 1}");
    if (ops)
        leat_builder_stage(builder, "map", ops);
    leat_builder_stage(builder, "batch", "10");
    return plan_of_builder(builder);
}

/* Two epochs, and an evaluation. */
static leat_metrics train(fixture *f, const char *text, const leat_plan *plan)
{
    const leat_loader_options all = { .epochs = 2 };
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_metrics metrics;
    int rc;
    *f = (fixture){ 0 };
    if (leat_config_parse(text, "test.yaml", &f->config, &f->err) < 0 ||
        leat_device_open("cpu", &f->device, &f->err) < 0 ||
        leat_trainer_open(f->config, plan, f->device, &f->trainer, &f->err) < 0)
        fail_msg("%s: %s", text, f->err.message);
    assert_string_equal(f->trainer->note, "");
    assert_int_equal(leat_loader_open(plan, &all, &loader, &f->err), LEAT_OK);
    while ((rc = leat_loader_next(loader, &batch, &f->err)) == LEAT_OK)
        if (leat_trainer_step(f->trainer, batch, &f->err) < 0)
            fail_msg("%s: %s", text, f->err.message);
    assert_int_equal(rc, LEAT_E_END);
    leat_loader_close(&loader);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &f->err), LEAT_OK);
    assert_int_equal(leat_trainer_evaluate(f->trainer, loader, &metrics, &f->err), LEAT_OK);
    leat_loader_close(&loader);
    return metrics;
}

TEST(the_bits_are_those_of_the_op)
{
    for (size_t i = 0; i < N_CASES; i++) {
        fixture host, here;
        char text[1024], ops[256];
        if (strstr(cases[i].train, "bf16") && !leat_dn_has_bf16())
            continue;
        snprintf(ops, sizeof ops, "[{normalize: %s}]", cases[i].normalize);
        leat_plan *const floats_of = open_plan(i, ops), *const stored = open_plan(i, NULL);
        snprintf(text, sizeof text, "train: {loss: softmax_cross_entropy, %s}", cases[i].train);
        const leat_metrics by_op = train(&host, text, floats_of);
        snprintf(text, sizeof text, "train: {normalize: %s, loss: softmax_cross_entropy, %s}",
                 cases[i].normalize, cases[i].train);
        const leat_metrics by_train = train(&here, text, stored);
        if (!fixture_same_weights(&host, &here) || by_op.loss != by_train.loss)
            fail_msg("%s: a loss of %.9g, not %.9g", cases[i].name, by_train.loss, by_op.loss);
        fixture_close(&host);
        fixture_close(&here);
        leat_plan_close((leat_plan **)&floats_of);
        leat_plan_close((leat_plan **)&stored);
    }
}

TEST(what_is_refused)
{
    static const struct {
        const char *normalize, *words;
    } wrong[] = {
        { "{mean: [0, 0], std: 1}", "as many as the input has channels: 3" },
        { "{mean: [0, 0, 0], std: [1, 1]}", "mean has 3 values and std has 2" },
        { "{mean: []}", "mean has 0 values" },
        { "{mean: 127}", "a mean of 127 is none of theirs: divide mean and std by 255" },
        { "{std: 255}", "a std of 255 is none of theirs: divide mean and std by 255" },
        { "{std: 0}", "std" },
        { "{means: 0}", "did you mean 'mean'" },
    };
    const leat_trainer_feed feed = feed_of(LEAT_U8, 3, (int64_t[]){ 4, 4, 3 }, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fixture f;
        char text[512];
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, model: [flatten, dense: 4], normalize: %s}",
                 wrong[i].normalize);
        assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
        if (!strstr(f.err.message, wrong[i].words))
            fail_msg("%s", f.err.message);
        fixture_close(&f);
    }
}

/* A mean per channel would be one per column of images whose channels a map has put first, which may be as many. */
TEST(channels_first_have_no_means_of_their_own)
{
    static const struct {
        const char *mean;
        int code;
    } means[] = { { "0.5", LEAT_OK }, { "[1, 2, 3, 4, 5, 6, 7, 8]", LEAT_E_CONFIG } };
    leat_plan *plan = open_plan(0, "[layout]");
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        fixture f = { 0 };
        char text[200];
        snprintf(text, sizeof text,
                 "train: {model: [flatten, dense: 4], loss: softmax_cross_entropy, normalize: "
                 "{mean: %s, std: 1}}",
                 means[i].mean);
        assert_int_equal(leat_config_parse(text, "test.yaml", &f.config, &f.err), LEAT_OK);
        assert_int_equal(leat_device_open("cpu", &f.device, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err),
                         means[i].code);
        if (means[i].code)
            assert_non_null(strstr(f.err.message, "puts the channels first"));
        fixture_close(&f);
    }
    leat_plan_close(&plan);
}

SUITE_FIXTURE(draw, NULL)
