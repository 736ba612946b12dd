/* SPDX-License-Identifier: MIT
 *
 * test_frozen.c: what is frozen stays as it is, bit for bit, with every optimiser and all that works on updates; it is in
 * no norm and has no state. test_layers_train.c compares the gradients of the rest. */
#include "fixtures/own_folder.h"
#include "fixtures/train_fixture.h"

#include <math.h>

#include "formats/safetensors.h"
#include "leat/checkpoint.h"
#include "train/cpu/onednn.h"
#include "train/losses.h"

enum { ROWS = 8, SIZE = 6 * 6 * 3 };

static const char layers[] =
    "model: [conv2d: {filters: 16, kernel: 3, name: a.conv}, batch_norm: {name: a.bn}, relu, "
    "conv2d: {filters: 8, kernel: 1, name: b.conv}, batch_norm: {name: b.bn}, gelu, flatten, "
    "dense: {units: 6, name: head}, batch_norm: {name: c.bn}, relu, dense: {units: 4, name: fc}]";

static leat_trainer_feed feed(void)
{
    return feed_of(LEAT_F32, 3, (int64_t[]){ 6, 6, 3 }, ROWS);
}

static void open_with(fixture *f, const char *options)
{
    const leat_trainer_feed of = feed();
    char text[1024];
    snprintf(text, sizeof text, "train: {%s, loss: softmax_cross_entropy, %s}", layers, options);
    fixture_must_open(f, text, &of);
}

static void train(fixture *f, int steps)
{
    const leat_trainer_feed of = feed();
    for (int i = 0; i < steps; i++) {
        float *x = random_floats((uint64_t)i, (size_t)ROWS * SIZE);
        int64_t *y = random_labels((uint64_t)i, ROWS, 4);
        for (int k = 0; k < ROWS * SIZE; k++)
            x[k] = 2 * x[k] + 1; /* statistics that are not the initial ones */
        fixture_step(f, &of, x, y, ROWS, true);
        free(x);
        free(y);
    }
}

/* All parameters, one after the other as leat_model.params has them. */
static float **read_all(fixture *f)
{
    const leat_model *m = &f->trainer->model;
    float **all = calloc((size_t)m->n_params, sizeof *all);
    for (int32_t i = 0; i < m->n_params; i++)
        all[i] = read_param(f->trainer, m->params[i].layer, m->params[i].index);
    return all;
}

static void free_all(fixture *f, float **all)
{
    for (int32_t i = 0; i < f->trainer->model.n_params; i++)
        free(all[i]);
    free(all);
}

static bool is_frozen(const leat_model *m, int32_t i)
{
    return m->params[i].spec->frozen;
}

/* Frozen ones keep their bits; all others change, also the statistics. */
static void check(fixture *f, float **before, const char *how)
{
    const leat_model *m = &f->trainer->model;
    float **now = read_all(f);
    for (int32_t i = 0; i < m->n_params; i++) {
        const bool same = !memcmp(now[i], before[i], m->params[i].n * sizeof(float));
        char name[160];
        leat_model_param_name(m, m->params[i].layer, m->params[i].index, name, sizeof name);
        if (same != is_frozen(m, i))
            fail_msg("%s: %s %s", how, name, same ? "did not change" : "changed");
    }
    free_all(f, now);
}

TEST(frozen_values_keep_their_bits)
{
    static const char *const frozen[] = { "'a.*'",           "'b.*', a.conv",
                                          "'*bn'",           "'a.*', 'b.*', head",
                                          "batch_norm.mean", "a.bn, '*.weight'" };
    static const char *const how[] = { "",
                                       ", accumulate: 2",
                                       ", average: {ema: 0.8}",
                                       ", average: {lookahead: {every: 2, power: 0}}",
                                       ", clip: 0.5",
                                       ", clip: 0.5, accumulate: 2, average: {ema: 0.8}",
                                       ", precision: bf16",
                                       ", micro_batches: 3, threads: 2" };
    for (size_t o = 0; leat_optimizer_at(o); o++)
        for (size_t h = 0; h < sizeof how / sizeof *how; h++)
            for (size_t k = 0; k < sizeof frozen / sizeof *frozen; k++) {
                char text[512];
                fixture f;
                if (strstr(how[h], "bf16") && !leat_dn_has_bf16())
                    continue;
                snprintf(text, sizeof text,
                         "frozen: [%s], optimizer: {%s: {learning_rate: 0.02, weight_decay: 0.1}}"
                         "%s",
                         frozen[k], leat_optimizer_at(o)->kind.name, how[h]);
                open_with(&f, text);
                float **before = read_all(&f);
                train(&f, 4);
                check(&f, before, text);
                free_all(&f, before);
                fixture_close(&f);
            }
}

/* As PyTorch's clip_grad_norm_: of what has a gradient. The update of SGD at rate 1 is as long as the limit. */
TEST(frozen_layers_are_in_no_norm)
{
    fixture f;
    double squares = 0;
    open_with(&f, "frozen: ['a.*', 'b.*'], clip: 0.01, optimizer: {sgd: {learning_rate: 1}}");
    const leat_model *m = &f.trainer->model;
    float **before = read_all(&f);
    train(&f, 1);
    float **now = read_all(&f);
    for (int32_t i = 0; i < m->n_params; i++)
        for (size_t k = 0; k < m->params[i].n && m->params[i].spec->trained; k++)
            squares += pow((double)now[i][k] - (double)before[i][k], 2);
    if (!(fabs(sqrt(squares) - 0.01) < 1e-5))
        fail_msg("the update is %g long", sqrt(squares));
    free_all(&f, now);
    free_all(&f, before);
    fixture_close(&f);
}

/* A frozen batch_norm gives in training what it gives in evaluation. */
TEST(it_computes_as_in_evaluation)
{
    static const char *const how[] = { "", ", precision: bf16", ", micro_batches: 3" };
    const leat_trainer_feed of = feed();
    for (size_t h = 0; h < sizeof how / sizeof *how; h++) {
        char text[256];
        fixture f, other;
        if (strstr(how[h], "bf16") && !leat_dn_has_bf16())
            continue;
        /* Statistics that are not those of the batch, from a run that trains them. */
        snprintf(text, sizeof text, "optimizer: {sgd: {learning_rate: 0.01}}%s", how[h]);
        open_with(&other, text);
        train(&other, 5);
        assert_int_equal(leat_trainer_save(other.trainer, in_folder("w.st"), &other.err), LEAT_OK);
        fixture_close(&other);
        snprintf(text, sizeof text, "frozen: ['*bn'], optimizer: {sgd: {learning_rate: 0}}%s",
                 how[h]);
        open_with(&f, text);
        assert_int_equal(leat_trainer_restore(f.trainer, in_folder("w.st"), &f.err), LEAT_OK);
        float *x = random_floats(9, (size_t)ROWS * SIZE);
        int64_t *y = random_labels(9, ROWS, 4);
        fixture_step(&f, &of, x, y, ROWS, false);
        const double even = fixture_metrics(&f).loss;
        fixture_step(&f, &of, x, y, ROWS, true);
        const double loss = fixture_metrics(&f).loss;
        if (!(fabs(loss - even) < (h == 1 ? 2e-2 : 1e-6)))
            fail_msg("%s: loss %.9g, in evaluation %.9g", text, loss, even);
        free(x);
        free(y);
        fixture_close(&f);
    }
}

/* The optimizer has no state of what is frozen, so a checkpoint has none, and cannot give it later. */
TEST(checkpoints_have_no_state_of_it)
{
    static const char free_run[] = "optimizer: adam",
                      frozen_run[] = "frozen: ['a.*'], optimizer: adam";
    const leat_loader_state at = fixture_state(3);
    leat_checkpoint_found found;
    leat_format_error why;
    leat_safetensors *file;
    fixture f;
    open_with(&f, frozen_run);
    train(&f, 3);
    assert_int_equal(leat_checkpoint_write(f.trainer, &at, in_folder("frozen.st"), &f.err),
                     LEAT_OK);
    float **before = read_all(&f);
    fixture_close(&f);
    assert_int_equal(leat_safetensors_open(&file, in_folder("frozen.st"), &why), 0);
    assert_null(leat_safetensors_find(file, "optimizer.0.a.conv.weight"));
    assert_non_null(leat_safetensors_find(file, "optimizer.0.fc.weight"));
    leat_safetensors_close(&file);

    open_with(&f, frozen_run);
    assert_int_equal(leat_checkpoint_resume(f.trainer, in_folder("frozen.st"), &found, &f.err),
                     LEAT_OK);
    assert_string_equal(found.changed, "");
    train(&f, 3);
    check(&f, before, "resumed");
    free_all(&f, before);
    fixture_close(&f);

    open_with(&f, free_run);
    assert_int_equal(leat_checkpoint_resume(f.trainer, in_folder("frozen.st"), &found, &f.err),
                     LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "'a.conv.weight' was frozen in that run"));
    assert_non_null(strstr(f.err.message, "--restore"));
    assert_int_equal(leat_trainer_restore(f.trainer, in_folder("frozen.st"), &f.err), LEAT_OK);
    train(&f, 1);
    assert_int_equal(leat_checkpoint_write(f.trainer, &at, in_folder("free.st"), &f.err), LEAT_OK);
    fixture_close(&f);

    open_with(&f, frozen_run); /* the other way round nothing is missing */
    if (leat_checkpoint_resume(f.trainer, in_folder("free.st"), &found, &f.err) < 0)
        fail_msg("%s", f.err.message);
    assert_string_equal(found.changed, "train.frozen [a.*], was not set");
    fixture_close(&f);
}

TEST(it_is_counted)
{
    leat_layer_info layer;
    leat_train_memory memory, all;
    fixture f, full;
    open_with(&full, "optimizer: adam");
    open_with(&f, "frozen: ['a.*', head.weight], optimizer: adam");
    const leat_trainer_info *info = leat_trainer_get_info(f.trainer);
    assert_int_equal(info->n_frozen, 16 * 3 * 9 + 16 + 2 * 16 + 4 * 4 * 8 * 6);
    assert_int_equal(info->n_parameters + info->n_frozen,
                     leat_trainer_get_info(full.trainer)->n_parameters);
    assert_true(info->flops_per_sample < leat_trainer_get_info(full.trainer)->flops_per_sample);
    assert_int_equal(leat_trainer_layer(f.trainer, 1, &layer), LEAT_OK);
    assert_int_equal(layer.n_parameters, 0);
    assert_int_equal(layer.n_frozen, 32);
    assert_int_equal(leat_trainer_layer(f.trainer, 7, &layer), LEAT_OK);
    assert_int_equal(layer.n_parameters, 6);
    assert_int_equal(layer.n_frozen, 4 * 4 * 8 * 6);
    assert_int_equal(leat_trainer_memory(f.trainer, &memory, NULL), LEAT_OK);
    assert_int_equal(leat_trainer_memory(full.trainer, &all, NULL), LEAT_OK);
    assert_true(memory.gradients < all.gradients && memory.activations < all.activations);
    fixture_close(&f);
    fixture_close(&full);
}

SUITE_FIXTURE(make_folder, remove_folder)
