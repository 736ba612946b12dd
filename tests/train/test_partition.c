/* SPDX-License-Identifier: MIT
 *
 * test_partition.c: models whose layers name devices. Cut where nothing crosses, a model trains and evaluates as an uncut
 * one, bit for bit; what crosses to a simulated device is counted; what cannot be cut is refused by name. */
#include <math.h>
#include <unistd.h>

#include "fixtures/train_fixture.h"
#include "train/cpu/onednn.h"
#include "train/partition/net_partition.h"

enum { BATCH = 12, SIDE = 6, STEPS = 9, CLASSES = 4 };

/* @1, @2, @3 in a text: where a layer may name its device. */
typedef struct model {
    const char *name, *text;
} model;

static const model models[] = {
    { "dense", "optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01}}, model: "
               "[flatten, {dense: {@1 units: 16}}, relu, {dense: {@2 units: 9}}, {dropout: {@3 "
               "rate: 0.4}}, dense: 4]" },
    { "convolutions",
      "optimizer: adam, no_decay: [bias], multipliers: {bias: 2}, micro_batches: 3, "
      "threads: 2, model: [{conv2d: {filters: 8, kernel: 3, padding: same}}, "
      "{batch_norm: {@1}}, gelu, {max_pool: {@2 size: 2}}, {conv2d: {filters: 9, "
      "kernel: 3}}, batch_norm, relu, {flatten: {@3}}, dense: 4]" },
    { "bfloat16",
      "precision: bf16, optimizer: adam, model: [{conv2d: {filters: 8, kernel: 3}}, batch_norm, "
      "{conv2d: {@1 filters: 16, kernel: 3}}, {relu: {@2}}, {flatten: {@3}}, dense: 4]" },
    { "branches",
      "optimizer: lars, accumulate: 2, micro_batches: 2, model: [{conv2d: {@1 filters: 6, kernel: "
      "3}}, {conv2d: {@2 filters: 6, kernel: 3, padding: same, name: a}}, {relu: {@2 from: a, "
      "name: b}}, {add: {@2 from: [a, b]}}, {global_avg_pool: {@3}}, dense: 4]" },
    { "a branch over a whole part",
      "optimizer: muon, average: {ema: {decay: 0.9}}, model: [{conv2d: {@1 filters: 6, kernel: 3, "
      "name: a}}, {conv2d: {filters: 6, kernel: 3, padding: same, name: b}}, {add: {from: [a, "
      "b]}}, {layer_norm: {@2}}, {flatten: {@3}}, {dense: {@3 units: 4}}]" },
    { "a frozen start",
      "optimizer: adamw, sample_weight: w, average: {lookahead: {power: 0}}, model: [{conv2d: {@1 "
      "filters: 6, kernel: 3, bias: false, frozen: true}}, {relu: {@2}}, {dropout: {rate: 0.2}}, "
      "flatten, {dense: {@3 units: 7}}, {dense: {units: 4}}]" },
    { "whitened", "optimizer: adam, model: [{conv2d: {@1 filters: 24, kernel: 2, init: whiten, "
                  "frozen: true}}, gelu, {flatten: {@2}}, {dense: {@3 units: 4}}]" },
};

/* Puts "device: NAME, " at the marks whose bits are in `at`. */
static int try_cut(fixture *f, const char *text, int at, const char *device)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, 3 }, BATCH);
    char config[2048];
    size_t n =
        (size_t)snprintf(config, sizeof config, "train: {loss: softmax_cross_entropy, seed: 5, ");
    for (const char *c = text; *c; c++)
        if (*c != '@')
            config[n++] = *c;
        else if (at & 1 << (*++c - '1'))
            n += (size_t)snprintf(config + n, sizeof config - n, "device: '%s', ", device);
    snprintf(config + n, sizeof config - n, "}");
    return fixture_open(f, config, &feed);
}

static void open_cut(fixture *f, const char *text, int at, const char *device)
{
    if (try_cut(f, text, at, device) < 0)
        fail_msg("%s: %s", text, f->err.message);
}

/* Batch i: now and then short, or with masked rows. */
typedef struct batch {
    float x[BATCH * SIDE * SIDE * 3], weights[BATCH];
    int64_t y[BATCH];
    uint8_t valid[BATCH];
    leat_net_rows rows;
} batch;

static void draw(batch *b, int i, bool weighted)
{
    const leat_shape image = leat_shape_make(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, 3 });
    const leat_shape label = leat_shape_make(LEAT_I64, 0, NULL),
                     weight = leat_shape_make(LEAT_F32, 0, NULL);
    const int64_t rows = i % 4 == 2 ? BATCH - 5 : BATCH;
    leat_rng rng = leat_rng_make((uint64_t)i, 7, 0, 0);
    *b = (batch){ .rows = { .rows = rows } };
    for (size_t k = 0; k < sizeof b->x / sizeof *b->x; k++)
        b->x[k] = leat_rng_range(&rng, -1, 1);
    for (int k = 0; k < BATCH; k++) {
        b->y[k] = leat_rng_below(&rng, CLASSES);
        b->weights[k] = leat_rng_range(&rng, 0, 2);
        b->valid[k] = k != 3;
    }
    b->rows.x = batch_view(&image, rows, b->x);
    b->rows.y = batch_view(&label, rows, b->y);
    if (weighted)
        b->rows.weights = batch_view(&weight, rows, b->weights);
    b->rows.valid = i % 3 == 1 ? b->valid : NULL;
    b->rows.n_valid = b->rows.valid ? rows - 1 : rows;
}

static void step(fixture *f, int i, bool train)
{
    static batch b;
    draw(&b, i, f->trainer->model.weighted);
    if (leat_trainer_step_rows(f->trainer, &b.rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

/* --- the same bits ----------------------------------------------------------------------------- */

static void must_be_same(const model *m, int at, fixture *uncut, fixture *cut)
{
    const leat_model *const of_both = &uncut->trainer->model;
    float logits[2][BATCH * CLASSES];
    static batch b;
    draw(&b, 77, of_both->weighted);
    for (int k = 0; k < 2; k++) {
        const fixture *const f = k ? cut : uncut;
        const leat_net_step how = { .logits = logits[k] };
        leat_step_times times = { 0 };
        assert_int_equal(
            f->trainer->backend->step(f->trainer->net, NULL, &b.rows, &how, &times, NULL), LEAT_OK);
    }
    const size_t n = (size_t)(b.rows.rows * CLASSES);
    if (memcmp(logits[0], logits[1], n * sizeof(float)) != 0)
        fail_msg("%s, cut at %d: other outputs", m->name, at);
    for (int32_t i = 0; i < of_both->n_params; i++)
        for (int which = 0; which <= of_both->optimizer->n_states; which++) {
            const leat_model_param *const p = &of_both->params[i];
            float *const x = calloc(2 * p->n, sizeof *x);
            for (int k = 0; k < 2; k++) {
                const leat_trainer *const t = (k ? cut : uncut)->trainer;
                assert_int_equal(t->backend->read(t->net, p->layer, p->index,
                                                  (leat_param_values)which, x + (size_t)k * p->n,
                                                  NULL),
                                 LEAT_OK);
            }
            if (memcmp(x, x + p->n, p->n * sizeof *x) != 0)
                fail_msg("%s, cut at %d: values %d of '%s' is another", m->name, at, which,
                         of_both->layers[p->layer].name);
            free(x);
        }
}

TEST(a_cut_model_learns_the_same_bits)
{
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int at = 1; at < 8; at++) {
            fixture uncut, cut;
            if (strstr(models[m].text, "bf16") && !leat_dn_has_bf16())
                continue;
            open_cut(&uncut, models[m].text, 0, "");
            open_cut(&cut, models[m].text, at, "cpu");
            assert_ptr_equal(cut.trainer->backend, &leat_backend_partition);
            assert_int_equal(leat_trainer_get_info(cut.trainer)->crossings, 0);
            for (int i = 0; i < STEPS; i++) {
                step(&uncut, i, true);
                step(&cut, i, true);
                if (i == 4) {
                    step(&uncut, 99, false);
                    step(&cut, 99, false);
                }
            }
            const leat_metrics a = fixture_metrics(&uncut), b = fixture_metrics(&cut);
            assert_memory_equal(&a, &b, sizeof a);
            must_be_same(&models[m], at, &uncut, &cut);
            fixture_close(&uncut);
            fixture_close(&cut);
        }
}

/* Files know nothing of devices. */
TEST(weights_move_to_an_uncut_model)
{
    static const char path[] = "test_partition.safetensors";
    fixture uncut, cut;
    open_cut(&uncut, models[1].text, 0, "");
    open_cut(&cut, models[1].text, 5, "cpu");
    for (int i = 0; i < 3; i++)
        step(&cut, i, true);
    assert_int_equal(leat_trainer_save(cut.trainer, path, NULL), LEAT_OK);
    assert_int_equal(leat_trainer_restore(uncut.trainer, path, NULL), LEAT_OK);
    assert_true(fixture_same_weights(&uncut, &cut));
    unlink(path);
    fixture_close(&uncut);
    fixture_close(&cut);
}

/* A batch of evaluation may be larger than those of training, and end anywhere in a micro-batch. */
static void evaluate_rows(int64_t n_rows, const char *text)
{
    enum { ROWS = 3 * BATCH + 5 };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, 3 }, BATCH);
    float *const x = random_floats(3, (size_t)ROWS * SIDE * SIDE * 3);
    int64_t *const y = random_labels(3, ROWS, CLASSES);
    float logits[2][ROWS * CLASSES] = { { 0 } };
    leat_metrics metrics[2];
    fixture f[2];
    for (int k = 0; k < 2; k++) {
        open_cut(&f[k], text, k ? 7 : 0, "cpu");
        step(&f[k], 0, true);
        fixture_metrics(&f[k]);
        fixture_step(&f[k], &feed, x, y, n_rows, false);
        metrics[k] = fixture_metrics(&f[k]);
        fixture_logits(&f[k], &feed, x, n_rows, logits[k]);
        fixture_close(&f[k]);
    }
    assert_int_equal(metrics[1].samples, n_rows);
    assert_true(fabs(metrics[0].loss - metrics[1].loss) < 1e-12);
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    free(x);
    free(y);
}

TEST(evaluation_takes_larger_batches)
{
    static const char uneven[] = "optimizer: adam, micro_batches: 5, threads: 2, model: [{conv2d: "
                                 "{filters: 8, kernel: 3, padding: same}}, {batch_norm: {@1}}, "
                                 "relu, {max_pool: {@2 size: 2}}, {flatten: {@3}}, dense: 4]";
    for (int64_t n = 1; n <= 3 * BATCH + 5; n += n < BATCH ? 1 : 5) {
        evaluate_rows(n, models[1].text);
        evaluate_rows(n, uneven);
    }
}

/* --- what crosses ------------------------------------------------------------------------------ */

static leat_step_times one_step(fixture *f, bool train)
{
    static batch b;
    leat_step_times times = { 0 };
    const leat_net_step how = {
        .train = train, .first = true, .last = true, .share = 1, .rate = 0.1
    };
    draw(&b, 0, false);
    if (f->trainer->backend->step(f->trainer->net, f->trainer->stream, &b.rows, &how, &times,
                                  &f->err) < 0)
        fail_msg("%s", f->err.message);
    return times;
}

/* Of a layer in the middle the input, its output, and both gradients; of the last one also the targets. */
TEST(crossings_are_counted)
{
    static const struct {
        int at;
        int64_t crossings, floats;
    } cases[] = { { 1, 3, SIDE * SIDE * 3 + 2 * 16 },
                  { 2, 4, 2 * 16 + 2 * 9 },
                  { 6, 4, 2 * 16 + 2 * 9 },
                  { 3, 3, SIDE * SIDE * 3 + 2 * 9 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        leat_layer_info layer;
        open_cut(&f,
                 "optimizer: adam, model: [flatten, {dense: {@1 units: 16}}, {relu: {@1}}, {dense: "
                 "{@2 units: 9}}, {relu: {@3}}, dense: 4]",
                 cases[i].at, "sim:{copy_latency_ns: 20000, launch_ns: 1000}");
        const leat_trainer_info *const info = leat_trainer_get_info(f.trainer);
        assert_int_equal(info->crossings, cases[i].crossings);
        assert_int_equal(info->crossed_bytes, cases[i].floats * 4 * BATCH);
        assert_true(info->simulated);
        const leat_step_times t = one_step(&f, true), even = one_step(&f, false);
        assert_int_equal(t.crossings, info->crossings);
        assert_int_equal(t.crossed_bytes, info->crossed_bytes);
        assert_true(t.crossing_ns >= 20000 * t.crossings && t.elsewhere_ns > 0 && t.busy_ns > 0);
        assert_int_equal(even.crossings, 2);
        assert_int_equal(leat_trainer_layer(f.trainer, 0, &layer), LEAT_OK);
        assert_string_equal(layer.device, "cpu");
        fixture_close(&f);
    }
}

/* Names that differ only at their end are two devices. */
TEST(devices_are_told_apart_by_their_whole_names)
{
    fixture f;
    open_cut(
        &f,
        "optimizer: sgd, model: [flatten, {dense: {device: 'sim:{copy_bytes_per_s: 1e9, "
        "copy_latency_ns: 1000, launch_ns: 1000, kernel_min_ns: 1}', units: 9}}, {dense: {@1 "
        "units: 4}}]",
        1, "sim:{copy_bytes_per_s: 1e9, copy_latency_ns: 1000, launch_ns: 1000, kernel_min_ns: 2}");
    /* the input, the output and its gradient between the two, and the targets */
    assert_int_equal(leat_trainer_get_info(f.trainer)->crossings, 4);
    fixture_close(&f);
}

/* --- what is refused --------------------------------------------------------------------------- */

TEST(what_cannot_be_cut_is_named)
{
    static const struct {
        const char *text, *device;
        int code;
        const char *says;
    } cases[] = {
        { "model: [{conv2d: {filters: 3, kernel: 1, name: a}}, {conv2d: {@1 filters: 3, kernel: 1, "
          "name: b}}, {relu: {name: c}}, {add: {from: [c, a], name: d}}, flatten, dense: 4]",
          "cpu", LEAT_E_CONFIG, "layer 'd' reads 'a'" },
        { "model: [{conv2d: {@1 filters: 3, kernel: 1}}, {add: {from: [input, 0.conv2d], name: "
          "d}}, flatten, dense: 4]",
          "cpu", LEAT_E_CONFIG, "layer 'd' reads 'input'" },
        { "model: [flatten, {dense: {@1 units: 4, name: d}}]", "cpo", LEAT_E_CONFIG,
          "layer 'd': " },
        { "clip: 1, model: [flatten, {dense: {@1 units: 4}}]", "cpu", LEAT_E_UNSUPPORTED,
          "train.clip" },
        { "graph: true, model: [flatten, {dense: {@1 units: 4}}]", "cpu", LEAT_E_UNSUPPORTED,
          "train.graph" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        const int rc = try_cut(&f, cases[i].text, 1, cases[i].device);
        if (rc != cases[i].code || !strstr(f.err.message, cases[i].says))
            fail_msg("%s: %d, %s", cases[i].text, rc, f.err.message);
        fixture_close(&f);
    }
}

/* The weights of no part change. */
TEST(a_bad_value_is_reported_where_it_is_seen)
{
    fixture f, fresh;
    static batch b;
    open_cut(&f, models[0].text, 2, "cpu");
    open_cut(&fresh, models[0].text, 0, "");
    draw(&b, 0, false);
    b.x[5] = NAN;
    assert_int_equal(leat_trainer_step_rows(f.trainer, &b.rows, true, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "because the model's input is not"));
    assert_true(fixture_same_weights(&f, &fresh));
    fixture_close(&f);
    fixture_close(&fresh);
}

/* The front part has a batch_norm, whose statistics any forward pass moves. */
TEST(a_bad_target_is_refused_before_any_layer_computes)
{
    fixture f, fresh;
    static batch b;
    open_cut(&f, models[1].text, 4, "cpu");
    open_cut(&fresh, models[1].text, 0, "");
    draw(&b, 0, false);
    b.y[7] = CLASSES;
    assert_int_equal(leat_trainer_step_rows(f.trainer, &b.rows, true, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "row 7"));
    assert_true(fixture_same_weights(&f, &fresh));
    fixture_close(&f);
    fixture_close(&fresh);
    open_cut(&f, models[1].text, 4, "sim"); /* the loader refuses them, as the loss is computed */
    assert_int_equal(leat_trainer_get_info(f.trainer)->expect.classes, CLASSES);
    fixture_close(&f);
}
