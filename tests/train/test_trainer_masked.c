/* SPDX-License-Identifier: MIT
 *
 * test_trainer_masked.c: a batch with masked rows trains like the batch without them, and its loss and
 * accuracy count only valid rows. */
#include "fixtures/train_fixture.h"

#include <math.h>
#include <stdbool.h>

#include "train/cpu/onednn.h"

enum { ROWS = 12, SIDE = 4, CHANNELS = 3, VALUES = SIDE * SIDE * CHANNELS, CLASSES = 4, STEPS = 6 };

static const char *const models[] = {
    "train: {device: cpu, threads: %d, model: [flatten, dense: 9, relu, dense: 4], "
    "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}}",
    "train: {device: cpu, threads: %d, model: [{conv2d: {filters: 5, kernel: 3, padding: same}}, "
    "batch_norm, relu, {max_pool: {size: 2}}, flatten, dense: 6, batch_norm, dense: 4], "
    "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}}",
};

static leat_shape input_shape(void)
{
    return leat_shape_make(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS });
}

/* Which rows of step s count: from all to a few, whole ends of the batch missing. */
static bool counts(int s, int row)
{
    switch (s % STEPS) {
    case 0:
        return true;
    case 1:
        return row != 5;
    case 2:
        return row >= 7;
    case 3:
        return row < 4;
    case 4:
        return row % 4 == 2;
    default:
        return row % 3 != 1;
    }
}

typedef struct batch {
    float x[ROWS * VALUES];
    int64_t y[ROWS];
    uint8_t valid[ROWS];
    int64_t rows, n_valid;
} batch;

/* Masked rows are zeros, as the loader leaves them; `kept` has the others alone. */
static void draw(int s, batch *all, batch *kept)
{
    float *const x = random_floats((uint64_t)s, ROWS * VALUES);
    int64_t *const y = random_labels((uint64_t)s, ROWS, CLASSES);
    memset(all, 0, sizeof *all);
    memset(kept, 0, sizeof *kept);
    for (int r = 0; r < ROWS; r++) {
        all->valid[r] = counts(s, r);
        if (!counts(s, r))
            continue;
        memcpy(all->x + r * VALUES, x + r * VALUES, VALUES * sizeof *x);
        memcpy(kept->x + kept->rows * VALUES, x + r * VALUES, VALUES * sizeof *x);
        all->y[r] = kept->y[kept->rows] = y[r];
        kept->rows++;
    }
    all->rows = ROWS;
    all->n_valid = kept->n_valid = kept->rows;
    free(x);
    free(y);
}

static void step(fixture *f, batch *b, bool masks, bool train)
{
    const leat_shape in = input_shape(), target = leat_shape_make(LEAT_I64, 0, NULL);
    const leat_net_rows rows = { .x = batch_view(&in, b->rows, b->x),
                                 .y = batch_view(&target, b->rows, b->y),
                                 .valid = masks ? b->valid : NULL,
                                 .rows = b->rows,
                                 .n_valid = b->n_valid };
    if (leat_trainer_step_rows(f->trainer, &rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static void same_metrics(fixture *a, fixture *b, uint64_t samples)
{
    leat_metrics m[2];
    assert_int_equal(leat_trainer_metrics(a->trainer, &m[0], NULL), LEAT_OK);
    assert_int_equal(leat_trainer_metrics(b->trainer, &m[1], NULL), LEAT_OK);
    assert_true(m[0].samples == samples && m[1].samples == samples);
    assert_true(fabs(m[0].loss - m[1].loss) < 1e-4 * (1 + fabs(m[1].loss)));
    assert_true(m[0].accuracy == m[1].accuracy);
}

static void same_weights(fixture *a, fixture *b)
{
    const leat_model *const model = &a->trainer->model;
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++) {
            float *const wa = read_param(a->trainer, i, k), *const wb =
                                                                read_param(b->trainer, i, k);
            for (int64_t e = 0; e < leat_shape_elements(&model->layers[i].params[k].shape); e++)
                if (fabsf(wa[e] - wb[e]) > 2e-4f)
                    fail_msg("layer %d, %s [%lld]: %g and %g", i, model->layers[i].params[k].part,
                             (long long)e, (double)wa[e], (double)wb[e]);
            free(wa);
            free(wb);
        }
}

static void open_pair(const char *model, int threads, fixture *a, fixture *b)
{
    const leat_trainer_feed feed = { .input = input_shape(),
                                     .target = leat_shape_make(LEAT_I64, 0, NULL),
                                     .batch_size = ROWS,
                                     .seed = 3 };
    char text[600];
    snprintf(text, sizeof text, model, threads);
    fixture_must_open(a, text, &feed);
    fixture_must_open(b, text, &feed);
}

TEST(masked_rows_teach_nothing)
{
    static batch all, kept;
    for (int m = 0; m < 2; m++)
        for (int threads = 1; threads <= 3; threads++) {
            fixture masked, without;
            open_pair(models[m], threads, &masked, &without);
            for (int s = 0; s < STEPS; s++) {
                draw(s, &all, &kept);
                step(&masked, &all, true, true);
                step(&without, &kept, false, true);
                same_metrics(&masked, &without, (uint64_t)kept.rows);
            }
            same_weights(&masked, &without);
            for (int s = 0; s < STEPS; s++) { /* forward only, running statistics */
                draw(STEPS + s, &all, &kept);
                step(&masked, &all, true, false);
                step(&without, &kept, false, false);
                same_metrics(&masked, &without, (uint64_t)kept.rows);
            }
            fixture_close(&masked);
            fixture_close(&without);
        }
}

/* Not even the optimiser's momentum moves. */
/* The first batch decides the weights of `init: whiten`, but not by rows that do not count, and a checkpoint waits
 * for them. */
TEST(masked_rows_do_not_whiten)
{
    static const char text[] =
        "train: {device: cpu, threads: %%d, precision: %s, model: [{conv2d: {filters: 20, kernel: "
        "2, init: whiten, frozen: true}}, relu, flatten, dense: 4], loss: softmax_cross_entropy}";
    static batch all, kept;
    for (int half = 0; half < (leat_dn_has_bf16() ? 2 : 1); half++) {
        char model[400];
        fixture masked, without, drawn, drawn_too;
        snprintf(model, sizeof model, text, half ? "bf16" : "fp32");
        open_pair(model, 1, &masked, &without);
        open_pair(model, 1, &drawn, &drawn_too);
        draw(2, &all, &kept);
        for (int i = 0; i < ROWS * VALUES; i++)
            all.x[i] = all.valid[i / VALUES] ? all.x[i] : 100.0f;
        assert_false(leat_checkpoint_ready(masked.trainer));
        step(&masked, &all, true, true);
        step(&without, &kept, false, true);
        assert_true(leat_checkpoint_ready(masked.trainer));
        float *a = read_param(masked.trainer, 0, 0), *b = read_param(without.trainer, 0, 0);
        float *before = read_param(drawn.trainer, 0, 0);
        assert_memory_equal(a, b, 2 * 2 * CHANNELS * 20 * sizeof *a);
        assert_true(memcmp(a, before, 2 * 2 * CHANNELS * 20 * sizeof *a) != 0);
        same_weights(&masked, &without);
        free(a);
        free(b);
        free(before);
        fixture_close(&masked);
        fixture_close(&without);
        fixture_close(&drawn);
        fixture_close(&drawn_too);
    }
}

TEST(a_batch_of_masked_rows_is_no_step)
{
    static batch all, kept;
    fixture masked, without;
    open_pair(models[1], 2, &masked, &without);
    for (int s = 0; s < 3; s++) {
        draw(0, &all, &kept);
        step(&masked, &all, true, true);
        step(&without, &all, true, true);
        memset(&all, 0, sizeof all);
        all.rows = ROWS;
        step(&masked, &all, true, true);
    }
    same_metrics(&masked, &without, 3 * ROWS);
    same_weights(&masked, &without);
    fixture_close(&masked);
    fixture_close(&without);
}

/* --- through a loader ------------------------------------------------------------------------------ */

enum { RECORDS = 60 };

static int bad_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    *out = *in;
    return LEAT_OK;
}

static bool is_bad(float first)
{
    return first < -0.5f; /* a quarter of the rows */
}

static int bad_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                     leat_scratch *scratch, leat_error *err)
{
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return is_bad(*(const float *)in->data) ? leat_fail(err, LEAT_E_DATA, "planted") : LEAT_OK;
}

static const leat_option no_options[] = { LEAT_OPTION_END };
static const leat_op bad_op = { .name = "bad",
                                .help = "fails on rows that begin with a small number",
                                .options = no_options,
                                .shape = bad_shape,
                                .apply = bad_apply };

static leat_plan *plan_of(const float *x, const int64_t *y)
{
    leat_builder *b = leat_builder_open();
    const leat_rows rows[] = { { "image", input_shape(), x },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), y } };
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_op(b, &bad_op);
    leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
    leat_builder_stage(b, "map", "[bad]");
    leat_builder_stage(b, "batch", "12");
    return plan_of_builder(b);
}

TEST(a_loader_hands_its_masks_to_the_trainer)
{
    static const char *const devices[] = { "cpu", "sim" };
    float *const x = random_floats(9, RECORDS * VALUES);
    int64_t *const y = random_labels(9, RECORDS, CLASSES);
    leat_plan *plan = plan_of(x, y);
    for (int d = 0; d < 2; d++) {
        fixture f = { 0 };
        leat_loader *loader = NULL;
        leat_batch *b;
        leat_metrics metrics;
        uint64_t n_good = 0;
        char text[600];
        snprintf(text, sizeof text, models[0], 1);
        if (leat_config_parse(text, "test.yaml", &f.config, &f.err) < 0 ||
            leat_device_open(devices[d], &f.device, &f.err) < 0 ||
            leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
            leat_loader_open(plan, &(leat_loader_options){ .device = f.device }, &loader, &f.err) <
                0)
            fail_msg("%s", f.err.message);
        while (leat_loader_next(loader, &b, &f.err) == LEAT_OK)
            assert_int_equal(leat_trainer_step(f.trainer, b, &f.err), LEAT_OK);
        assert_int_equal(f.err.code, LEAT_E_END);
        for (int i = 0; i < RECORDS; i++)
            n_good += !is_bad(x[i * VALUES]);
        assert_in_range(n_good, 30, 55);
        leat_loader_close(&loader);
        if (leat_loader_open(plan, &(leat_loader_options){ .device = f.device }, &loader, &f.err) <
            0)
            fail_msg("%s", f.err.message);
        assert_int_equal(leat_trainer_evaluate(f.trainer, loader, &metrics, &f.err), LEAT_OK);
        assert_int_equal(metrics.samples, n_good);
        leat_loader_close(&loader);
        assert_int_equal(leat_trainer_metrics(f.trainer, &metrics, &f.err), LEAT_OK);
        assert_int_equal(metrics.samples, n_good);
        fixture_close(&f);
    }
    leat_plan_close(&plan);
    free(x);
    free(y);
}
