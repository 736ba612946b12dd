/* SPDX-License-Identifier: MIT
 *
 * test_fold.c: in evaluation in bfloat16 a batch_norm is part of the convolution before it where nothing else
 * reads that. Outputs are those of the same model with a layer between them that changes nothing. Says so
 * where the CPU has no bfloat16. */
#include <math.h>

#include "fixtures/train_fixture.h"
#include "train/cpu/net_cpu.h"

enum { ROWS = 6, SIDE = 7, CHANNELS = 3, IN = SIDE * SIDE * CHANNELS, OUT = 4 };

/* Of the program for evaluation: batch_norms in convolutions, others, activations on their own. */
static const struct {
    const char *text;
    int32_t n_folded, n_norms, n_acts;
} models[] = {
    { "[conv2d: {filters: 8, kernel: 3, padding: same, bias: false}, batch_norm, relu, flatten, "
      "dense: 4]",
      1, 0, 0 },
    { "[conv2d: {filters: 8, kernel: 3, stride: 2}, batch_norm, gelu, flatten, dense: 4]", 1, 0,
      1 },
    { "[conv2d: {filters: 9, kernel: 3, groups: 3, padding: same}, batch_norm, conv2d: {filters: "
      "5, kernel: 1}, batch_norm, relu, global_avg_pool, dense: 4]",
      2, 0, 0 },
    /* an activation, another reader or nothing stands before the batch_norm */
    { "[conv2d: {filters: 8, kernel: 3}, relu, batch_norm, flatten, dense: 4]", 0, 1, 0 },
    { "[conv2d: {filters: 6, kernel: 3, padding: same, name: a}, batch_norm: {name: b}, add: "
      "{from: [a, b]}, relu, flatten, dense: 4]",
      0, 1, 0 },
    { "[batch_norm, flatten, dense: 4, batch_norm]", 0, 2, 0 },
    /* behind flatten it has channels of each pixel */
    { "[conv2d: {filters: 8, kernel: 3}, flatten, batch_norm, relu, dense: 4]", 0, 1, 0 },
    /* of two in a row, the first */
    { "[conv2d: {filters: 8, kernel: 3}, batch_norm, dropout: 0.2, batch_norm, relu, flatten, "
      "dense: 4]",
      1, 1, 0 },
    /* both ends of a residual block */
    { "[conv2d: {filters: 6, kernel: 3, padding: same}, batch_norm, relu: {name: a}, conv2d: "
      "{filters: 6, kernel: 3, padding: same}, batch_norm: {name: b}, add: {from: [a, b]}, relu, "
      "flatten, dense: 4]",
      2, 0, 0 },
};
enum { N_MODELS = sizeof models / sizeof *models };

static leat_trainer_feed feed(void)
{
    return feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, ROWS);
}

static void open_text(fixture *f, const char *model, const char *how)
{
    const leat_trainer_feed of = feed();
    char text[2000];
    snprintf(text, sizeof text,
             "train: {threads: 2, micro_batches: 2, %s model: %s, loss: softmax_cross_entropy}",
             how, model);
    fixture_must_open(f, text, &of);
}

/* apart: a layer that changes nothing stands before every batch_norm. */
static void open_model(fixture *f, int m, const char *how, bool apart)
{
    char model[800] = "";
    const char *at = models[m].text;
    for (const char *norm; apart && (norm = strstr(at, "batch_norm")); at = norm + 10) {
        strncat(model, at, (size_t)(norm - at));
        strcat(model, "multiply: 1, batch_norm");
    }
    strcat(model, at);
    open_text(f, model, how);
}

static void steps(fixture *f, int first, int n)
{
    const leat_trainer_feed of = feed();
    for (int i = first; i < first + n; i++) {
        float *x = random_floats((uint64_t)i, ROWS * IN);
        int64_t *y = random_labels((uint64_t)i, ROWS, OUT);
        for (int k = 0; k < ROWS * IN; k++)
            x[k] = 3 * x[k] + 1;
        fixture_step(f, &of, x, y, ROWS, true);
        free(x);
        free(y);
    }
}

static void copy_weights(fixture *from, fixture *to)
{
    const leat_model *a = &from->trainer->model, *b = &to->trainer->model;
    assert_int_equal(a->n_params, b->n_params);
    for (int32_t i = 0; i < a->n_params; i++) {
        float *values = read_param(from->trainer, a->params[i].layer, a->params[i].index);
        assert_int_equal(a->params[i].n, b->params[i].n);
        assert_int_equal(to->trainer->backend->write(to->trainer->net, b->params[i].layer,
                                                     b->params[i].index, LEAT_VALUES_WEIGHT, values,
                                                     &to->err),
                         LEAT_OK);
        free(values);
    }
}

static void outputs_of(fixture *f, float out[ROWS * OUT])
{
    const leat_trainer_feed of = feed();
    float *x = random_floats(99, ROWS * IN);
    fixture_logits(f, &of, x, ROWS, out);
    free(x);
}

/* apart: in float32. */
static void must_agree(fixture *f, fixture *apart, const char *model)
{
    float is[ROWS * OUT], wanted[ROWS * OUT];
    double most = 0, size = 0;
    copy_weights(f, apart);
    outputs_of(f, is);
    outputs_of(apart, wanted);
    for (int i = 0; i < ROWS * OUT; i++) {
        most = fmax(most, fabs((double)is[i] - (double)wanted[i]));
        size = fmax(size, fabs((double)wanted[i]));
    }
    if (getenv("LEAT_TEST_SAY"))
        printf("%s: %.2g\n", model, most / size);
    if (!(most <= 0.02 * size))
        fail_msg("%s: outputs differ by %g of %g", model, most, size);
}

/* Also after weights, or running statistics alone, have changed. */
TEST(outputs_are_those_of_both_layers)
{
    for (int m = 0; m < N_MODELS; m++) {
        fixture f, apart;
        open_model(&f, m, "precision: bf16, accumulate: 3,", false);
        open_model(&apart, m, "accumulate: 3,", true);
        must_agree(&f, &apart, models[m].text);
        steps(&f, 0, 6); /* two updates */
        must_agree(&f, &apart, models[m].text);
        steps(&f, 6, 2); /* none, but statistics move */
        must_agree(&f, &apart, models[m].text);
        steps(&apart, 8, 3);
        copy_weights(&apart, &f);
        must_agree(&f, &apart, models[m].text);
        fixture_close(&f);
        fixture_close(&apart);
    }
}

/* --- drawn models ------------------------------------------------------------------------------ */

enum { N_DRAWN = 150 };

static const char *const of_images[] = {
    "batch_norm",
    "batch_norm",
    "conv2d: {filters: 6, kernel: 3, padding: same}",
    "conv2d: {filters: 6, kernel: 1, bias: false}",
    "conv2d: {filters: 6, kernel: 3, groups: 3, padding: same}",
    "relu",
    "gelu",
    "dropout: 0.2",
    "max_pool: {size: 3, stride: 1, padding: same}",
    "avg_pool: {size: 3, stride: 1, padding: same}",
    /* #: a digit of its own */
    "conv2d: {filters: 6, kernel: 1, name: a#}, batch_norm: {name: b#}, add: {from: [a#, b#]}",
    "conv2d: {filters: 6, kernel: 1, name: a#}, relu: {name: b#}, add: {from: [a#, b#]}",
};
static const char *const to_vectors[] = { "flatten", "flatten, batch_norm", "global_avg_pool" };
static const char *const of_vectors[] = { "batch_norm", "relu", "dropout: 0.2", "dense: 5" };

/* Up to `most` pieces. */
static void draw_pieces(leat_rng *rng, const char *const *pieces, size_t n, uint32_t most,
                        char text[1500])
{
    const uint32_t n_drawn = leat_rng_below(rng, most + 1);
    for (uint32_t i = 0; i < n_drawn; i++) {
        char *at = text + strlen(text);
        sprintf(at, ", %s", pieces[leat_rng_below(rng, (uint32_t)n)]);
        while ((at = strchr(at, '#')))
            *at = (char)('0' + i);
    }
}

static void draw_model(leat_rng *rng, char text[1500])
{
    strcpy(text, "[conv2d: {filters: 6, kernel: 3}");
    draw_pieces(rng, of_images, sizeof of_images / sizeof *of_images, 5, text);
    sprintf(text + strlen(text), ", %s", to_vectors[leat_rng_below(rng, 3)]);
    draw_pieces(rng, of_vectors, sizeof of_vectors / sizeof *of_vectors, 3, text);
    strcat(text, ", dense: 4]");
}

/* Also statistics, so that none is the one that it begins with. */
static void draw_weights(leat_rng *rng, fixture *f)
{
    const leat_model *model = &f->trainer->model;
    for (int32_t i = 0; i < model->n_params; i++) {
        const leat_model_param *p = &model->params[i];
        float *values = read_param(f->trainer, p->layer, p->index);
        for (size_t k = 0; k < p->n && model->layers[p->layer].layer == &leat_layer_batch_norm; k++)
            values[k] = leat_rng_range(rng, 0.5f, 1.5f);
        assert_int_equal(f->trainer->backend->write(f->trainer->net, p->layer, p->index,
                                                    LEAT_VALUES_WEIGHT, values, &f->err),
                         LEAT_OK);
        free(values);
    }
}

TEST(outputs_of_drawn_models_are_those_in_float32)
{
    leat_rng rng = leat_rng_make(17, 0, 0, 0);
    for (int m = 0; m < N_DRAWN; m++) {
        fixture f, plain;
        char text[1500];
        draw_model(&rng, text);
        open_text(&f, text, "precision: bf16,");
        open_text(&plain, text, "");
        draw_weights(&rng, &f);
        must_agree(&f, &plain, text);
        fixture_close(&f);
        fixture_close(&plain);
    }
}

TEST(an_evaluation_changes_no_training)
{
    for (int m = 0; m < N_MODELS; m++) {
        fixture a, b;
        float out[ROWS * OUT];
        open_model(&a, m, "precision: bf16,", false);
        open_model(&b, m, "precision: bf16,", false);
        for (int i = 0; i < 4; i++) {
            steps(&a, i, 1);
            steps(&b, i, 1);
            outputs_of(&a, out);
        }
        assert_true(fixture_same_weights(&a, &b));
        fixture_close(&a);
        fixture_close(&b);
    }
}

TEST(what_can_be_folded_is)
{
    for (int m = 0; m < N_MODELS; m++) {
        fixture f;
        int32_t n_folded = 0, n_norms = 0, n_acts = 0;
        open_model(&f, m, "precision: bf16,", false);
        const leat_program *p = f.trainer->net->even.program;
        for (int32_t i = 0; i < p->n_ops; i++) {
            n_folded += p->ops[i].norm >= 0;
            n_norms += p->ops[i].prim == LEAT_PRIM_NORM_FIXED;
            n_acts += p->ops[i].prim == LEAT_PRIM_ACT;
        }
        if (n_folded != models[m].n_folded || n_norms != models[m].n_norms ||
            n_acts != models[m].n_acts)
            fail_msg("model %d: %d folded, %d batch_norms, %d activations", m, n_folded, n_norms,
                     n_acts);
        p = f.trainer->net->train.program;
        for (int32_t i = 0; i < p->n_ops; i++)
            assert_int_equal(p->ops[i].norm, -1);
        fixture_close(&f);
    }
}

int main(void)
{
    if (leat_dn_has_bf16())
        return unit_run();
    puts("this CPU has no bfloat16: nothing is folded");
    return 0;
}
