/* SPDX-License-Identifier: MIT
 *
 * test_pretrained.c: `train.weights`. Fine-tuning a file of PyTorch gives PyTorch's numbers (golden/make_finetune.py);
 * each tensor that is not taken is told; nothing is loaded in part, twice, or into a resumed run. */
#include "fixtures/own_folder.h"
#include "fixtures/train_fixture.h"

#include <math.h>

#include "formats/safetensors.h"
#include "leat/checkpoint.h"
#include "train/cpu/onednn.h"

enum { ROWS = 8, STEPS = 6 };

static const char pretrained[] = SOURCE_DIR "/tests/golden/finetune.safetensors";

/* The model of the script; %d: its classes. */
static const char layers[] =
    "[conv2d: {name: conv1, filters: 8, kernel: 3, stride: 2, padding: 1, bias: false}, "
    "batch_norm: {name: bn1}, relu: {name: stem}, conv2d: {name: layer1.0.conv1, filters: 8, "
    "kernel: 3, padding: 1, bias: false}, batch_norm: {name: layer1.0.bn1}, add: {name: add1, "
    "from: [layer1.0.bn1, stem]}, relu: {name: out1}, conv2d: {name: layer1.1.conv1, filters: 8, "
    "kernel: 3, padding: 1, bias: false}, batch_norm: {name: layer1.1.bn1}, add: {from: "
    "[layer1.1.bn1, out1]}, relu, global_avg_pool, dense: {name: fc, units: 4}]";

static leat_trainer_feed feed(void)
{
    return feed_of(LEAT_F32, 3, (int64_t[]){ 8, 8, 3 }, ROWS);
}

static int try_open(fixture *f, const char *model, const char *options)
{
    const leat_trainer_feed of = feed();
    char text[2048];
    snprintf(text, sizeof text, "train: {model: %s, loss: softmax_cross_entropy, %s}", model,
             options);
    return fixture_open(f, text, &of);
}

static void open_with(fixture *f, const char *model, const char *options)
{
    if (try_open(f, model, options) < 0)
        fail_msg("%s", f->err.message);
}

static void must_load(fixture *f)
{
    if (leat_trainer_load(f->trainer, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

/* --- against PyTorch --------------------------------------------------------------------------- */

static leat_safetensors *golden;

static const float *golden_of(const char *name, size_t n)
{
    const leat_safetensor *t = leat_safetensors_find(golden, name);
    if (!t || t->bytes != n * sizeof(float))
        fail_msg("%s: not %zu floats", name, n);
    return t->data;
}

static int32_t layer_named(const fixture *f, const char *name)
{
    const leat_model *m = &f->trainer->model;
    for (int32_t i = 0; i < m->n_layers; i++)
        if (!strcmp(m->layers[i].name, name))
            return i;
    fail_msg("no layer '%s'", name);
    return -1;
}

/* The script's head, [out, in] there. */
static void set_head(fixture *f)
{
    const float *const weight = golden_of("head.weight", 32), *const bias =
                                                                  golden_of("head.bias", 4);
    const leat_backend *const backend = f->trainer->backend;
    float ours[32];
    for (int i = 0; i < 8; i++)
        for (int o = 0; o < 4; o++)
            ours[i * 4 + o] = weight[o * 8 + i];
    const int32_t fc = layer_named(f, "fc");
    assert_int_equal(backend->write(f->trainer->net, fc, 0, LEAT_VALUES_WEIGHT, ours, NULL),
                     LEAT_OK);
    assert_int_equal(backend->write(f->trainer->net, fc, 1, LEAT_VALUES_WEIGHT, bias, NULL),
                     LEAT_OK);
}

/* Value i of a parameter in PyTorch's layout, from ours. */
static float in_torch(const leat_shape *s, const float *v, size_t i)
{
    const size_t d0 = (size_t)s->dims[0], d1 = (size_t)s->dims[1], d2 = (size_t)s->dims[2];
    if (s->rank == 2)
        return v[i % d0 * d1 + i / d0];
    if (s->rank < 4)
        return v[i];
    const size_t window = i % (d0 * d1), in = i / (d0 * d1) % d2, out = i / (d0 * d1 * d2);
    return v[(window * d2 + in) * (size_t)s->dims[3] + out];
}

static const char *torch_part(const char *part)
{
    return !strcmp(part, "scale") ? "weight" : !strcmp(part, "shift") ? "bias" : "running_mean";
}

/* Frozen parameters have the file's bits, others PyTorch's numbers after the run. Its running variance divides by n - 1. */
static void check_params(fixture *f, const char *run, double slack)
{
    const leat_model *m = &f->trainer->model;
    leat_safetensors *file;
    leat_format_error why;
    assert_int_equal(leat_safetensors_open(&file, pretrained, &why), 0);
    for (int32_t i = 0; i < m->n_params; i++) {
        const leat_model_param *p = &m->params[i];
        const leat_model_layer *l = &m->layers[p->layer];
        const char *part = p->spec->part;
        char name[96], whole[112];
        if (!strcmp(part, "variance"))
            continue;
        snprintf(name, sizeof name, "%s.%s", l->name,
                 l->layer->kind.name[0] == 'b' ? torch_part(part) : part);
        snprintf(whole, sizeof whole, "%s.%s", run, name);
        const float *wanted = golden_of(whole, p->n);
        const leat_safetensor *before = leat_safetensors_find(file, name);
        float *now = read_param(f->trainer, p->layer, p->index);
        for (size_t k = 0; k < p->n; k++) {
            const float value = in_torch(&p->spec->shape, now, k);
            if (p->spec->frozen && memcmp(&value, (const float *)before->data + k, sizeof value))
                fail_msg("%s [%zu] is frozen and changed", name, k);
            if (!(fabs((double)value - (double)wanted[k]) <= slack))
                fail_msg("%s, %s [%zu]: %.7f, PyTorch's %.7f", run, name, k, (double)value,
                         (double)wanted[k]);
        }
        free(now);
    }
    leat_safetensors_close(&file);
}

static const struct {
    const char *name, *options;
} runs[] = {
    { "head", "frozen: [conv1, bn1, 'layer1.*']" },
    { "block", "frozen: [conv1, bn1, 'layer1.0.*'], clip: 0.5, multipliers: {'layer1.1.*': 0.1}" },
    { "norms", "frozen: ['*bn1'], clip: 0.3, multipliers: {'conv?': 0.5}" },
};

static void fine_tune(size_t r, const char *how, double slack)
{
    const leat_trainer_feed of = feed();
    float *const x = (float *)(uintptr_t)golden_of("x", ROWS * 8 * 8 * 3);
    int64_t *const y = (int64_t *)(uintptr_t)leat_safetensors_find(golden, "y")->data;
    char text[1024], loss[64];
    float logits[ROWS * 4];
    fixture f;
    snprintf(text, sizeof text,
             "weights: {file: %s, skip: [fc]}, optimizer: {sgd: {learning_rate: 0.1, momentum: "
             "0.9, weight_decay: 0.01}}, %s%s",
             pretrained, runs[r].options, how);
    open_with(&f, layers, text);
    must_load(&f);
    set_head(&f);
    fixture_logits(&f, &of, x, ROWS, logits);
    for (int i = 0; i < ROWS * 4; i++)
        if (!(fabs((double)logits[i] - (double)golden_of("logits", ROWS * 4)[i]) < slack))
            fail_msg("%s: output %d is %.7f, PyTorch's %.7f", text, i, (double)logits[i],
                     (double)golden_of("logits", ROWS * 4)[i]);
    (void)fixture_metrics(&f); /* of that evaluation */
    snprintf(loss, sizeof loss, "%s.loss", runs[r].name);
    for (int i = 0; i < STEPS; i++) {
        fixture_step(&f, &of, x, y, ROWS, true);
        const double now = fixture_metrics(&f).loss;
        if (!(fabs(now - (double)golden_of(loss, STEPS)[i]) < slack))
            fail_msg("%s: loss %d is %.7f, PyTorch's %.7f", text, i, now,
                     (double)golden_of(loss, STEPS)[i]);
    }
    check_params(&f, runs[r].name, slack);
    fixture_close(&f);
}

TEST(fine_tuning_is_pytorchs)
{
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        fine_tune(r, "", 2e-5);
        fine_tune(r, ", micro_batches: 3, threads: 2", 2e-5);
        if (leat_dn_has_bf16())
            fine_tune(r, ", precision: bf16", 0.05);
    }
}

/* --- files of all kinds ------------------------------------------------------------------------ */

static float ones[4096], one_nan[4096];

/* A small model for them. */
static const char small[] = "[conv2d: {name: conv1, filters: 4, kernel: 3}, batch_norm: {name: "
                            "bn1}, relu, global_avg_pool, dense: {name: fc, units: 4}]";

static leat_safetensor tensor(const char *name, uint32_t n_dims, const uint64_t *shape)
{
    leat_safetensor t = {
        .name = name, .dtype = LEAT_SAFETENSORS_F32, .n_dims = n_dims, .data = ones
    };
    if (n_dims)
        memcpy(t.shape, shape, n_dims * sizeof *shape);
    return t;
}

/* What PyTorch would save of that model, with a head of 10 and a counter; at most n tensors more or other ones. */
static const char *write_torch(const leat_safetensor *others, size_t n)
{
    leat_safetensor all[16] = { tensor("conv1.weight", 4, (uint64_t[]){ 4, 3, 3, 3 }),
                                tensor("conv1.bias", 1, (uint64_t[]){ 4 }),
                                tensor("bn1.weight", 1, (uint64_t[]){ 4 }),
                                tensor("bn1.bias", 1, (uint64_t[]){ 4 }),
                                tensor("bn1.running_mean", 1, (uint64_t[]){ 4 }),
                                tensor("bn1.running_var", 1, (uint64_t[]){ 4 }),
                                tensor("fc.weight", 2, (uint64_t[]){ 10, 4 }),
                                tensor("fc.bias", 1, (uint64_t[]){ 10 }),
                                tensor("bn1.num_batches_tracked", 0, NULL) };
    leat_format_error why;
    size_t count = 9;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < count && strcmp(all[at].name, others[i].name) != 0)
            at++;
        all[at] = others[i];
        count += at == count;
    }
    if (leat_safetensors_write(in_folder("torch.st"), all, count, NULL, 0, &why) < 0)
        fail_msg("%s", why.text);
    return in_folder("torch.st");
}

static void expect_row(const fixture *f, const char *name, leat_loaded state)
{
    leat_loaded_info row;
    for (int32_t i = 0; leat_trainer_loaded(f->trainer, i, &row) == LEAT_OK; i++)
        if (!strcmp(row.name, name)) {
            if (row.state != state)
                fail_msg("%s: %s", name, leat_loaded_name(row.state));
            return;
        }
    fail_msg("%s is not told", name);
}

TEST(every_tensor_is_told)
{
    const leat_safetensor more = tensor("head.weight", 2, (uint64_t[]){ 3, 4 });
    leat_loaded_info row;
    fixture f;
    char text[512];
    snprintf(text, sizeof text, "weights: {file: %s, skip: [fc, 'head.*', conv1.bias, extra]}",
             write_torch(&more, 1));
    const char with_extra[] =
        "[conv2d: {name: conv1, filters: 4, kernel: 3}, batch_norm: {name: bn1}, relu, "
        "global_avg_pool, dense: {name: extra, units: 4}, dense: {name: fc, units: 4}]";
    open_with(&f, with_extra, text);
    assert_int_equal(leat_trainer_loaded(f.trainer, 0, &row), LEAT_E_END);
    float *extra = read_param(f.trainer, 4, 0), *fc = read_param(f.trainer, 5, 0);
    must_load(&f);
    int32_t n = 0;
    while (leat_trainer_loaded(f.trainer, n, &row) == LEAT_OK)
        n++;
    assert_int_equal(n, 11);
    expect_row(&f, "conv1.weight", LEAT_LOADED_TAKEN);
    expect_row(&f, "conv1.bias", LEAT_LOADED_SKIPPED);
    expect_row(&f, "bn1.running_var", LEAT_LOADED_TAKEN);
    expect_row(&f, "fc.weight", LEAT_LOADED_UNFIT);
    expect_row(&f, "fc.bias", LEAT_LOADED_UNFIT);
    expect_row(&f, "extra.weight", LEAT_LOADED_NEW);
    expect_row(&f, "extra.bias", LEAT_LOADED_NEW);
    expect_row(&f, "head.weight", LEAT_LOADED_UNUSED);
    float *bias = read_param(f.trainer, 0, 1), *weight = read_param(f.trainer, 0, 0);
    float *extra2 = read_param(f.trainer, 4, 0), *fc2 = read_param(f.trainer, 5, 0);
    assert_true(bias[0] == 0 && weight[0] == 1);
    assert_memory_equal(extra, extra2, 16 * sizeof *extra);
    assert_memory_equal(fc, fc2, 16 * sizeof *fc);
    free(bias);
    free(weight);
    free(extra);
    free(extra2);
    free(fc);
    free(fc2);
    fixture_close(&f);
}

TEST(what_does_not_fit_is_an_error)
{
    leat_safetensor nan = tensor("bn1.bias", 1, (uint64_t[]){ 4 });
    leat_safetensor half = tensor("conv1.bias", 1, (uint64_t[]){ 4 });
    const leat_safetensor other = tensor("conv1.weight", 4, (uint64_t[]){ 4, 3, 5, 5 });
    const leat_safetensor head = tensor("head.weight", 2, (uint64_t[]){ 3, 4 });
    nan.data = one_nan;
    half.dtype = LEAT_SAFETENSORS_F16;
    one_nan[2] = NAN;
    const struct {
        const leat_safetensor *more;
        const char *model, *skip;
        int code;
        const char *said[4];
    } cases[] = {
        { NULL,
          small,
          "[]",
          LEAT_E_CONFIG,
          { "test.yaml:1:",
            "2 of another shape or type: 'fc.weight' (F32 [10, 4], in the model F32 [4, 4]), "
            "'fc.bias' (F32 [10], in the model F32 [4])",
            "write `skip: [fc]`", "name the layers as there" } },
        { &other,
          small,
          "[fc]",
          LEAT_E_CONFIG,
          { "1 of another shape or type: 'conv1.weight' (F32 [4, 3, 5, 5], in the model F32 [4, 3, "
            "3, 3])",
            "write `skip: [fc, conv1]`" } },
        { &head,
          small,
          "fc",
          LEAT_E_CONFIG,
          { "1 of the file not in the model: 'head.weight'", "write `skip: [fc, head]`" } },
        { NULL,
          "[conv2d: {name: conv1, filters: 4, kernel: 3}, batch_norm: {name: bn1}, relu, "
          "global_avg_pool, dense: {name: x.fc, units: 4}]",
          "[]",
          LEAT_E_CONFIG,
          { "2 of the model not in the file: 'x.fc.weight', 'x.fc.bias'",
            "2 of the file not in the model: 'fc.bias', 'fc.weight'",
            "write `skip: [x.fc, fc]`" } },
        { NULL,
          "[flatten, dense: 4]",
          "[]",
          LEAT_E_CONFIG,
          { "2 of the model not in the file: '1.dense.weight', '1.dense.bias'; 8 of the file not "
            "in the model: ",
            ", …; if that" } },
        { NULL,
          small,
          "[fc, con1]",
          LEAT_E_CONFIG,
          { "skip: neither the model nor ", "has a tensor 'con1'; did you mean 'conv1'?" } },
        { NULL, small, "['fcc.*']", LEAT_E_CONFIG, { "did you mean 'fc.*'?" } },
        { &half,
          small,
          "[fc]",
          LEAT_E_CONFIG,
          { "1 of another shape or type: 'conv1.bias' (F16 [4], in the model F32 [4])" } },
        { &nan,
          small,
          "[fc]",
          LEAT_E_DATA,
          { "test.yaml:1:", "tensor 'bn1.bias' holds a value that is not a finite number" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        fixture f, untouched;
        leat_loaded_info row;
        snprintf(text, sizeof text, "weights: {file: %s, skip: %s}",
                 write_torch(cases[i].more, cases[i].more != NULL), cases[i].skip);
        open_with(&f, cases[i].model, text);
        open_with(&untouched, cases[i].model, "epochs: 1");
        assert_int_equal(leat_trainer_load(f.trainer, &f.err), cases[i].code);
        for (int k = 0; k < 4 && cases[i].said[k]; k++)
            if (!strstr(f.err.message, cases[i].said[k]))
                fail_msg("no '%s' in: %s", cases[i].said[k], f.err.message);
        if (!strstr(f.err.message, "train.weights: "))
            fail_msg("%s", f.err.message);
        assert_true(fixture_same_weights(&f, &untouched));
        assert_int_equal(leat_trainer_loaded(f.trainer, 0, &row), LEAT_E_END);
        fixture_close(&f);
        fixture_close(&untouched);
    }
}

/* Names and shapes are the file's: however long, the message keeps to its room. */
TEST(a_message_has_room_for_any_names)
{
    enum { UNFIT = 3, NEW = 4, UNUSED = 4 };
    static const char name_of[] = "backbone.stages.%d.blocks.0.attention.query_projection.%s";
    static const uint64_t large[] = { 0, 1000000000, 100000, 10000 };
    char names[UNFIT + UNUSED][80], model[1200] = "[flatten";
    leat_safetensor more[UNFIT + UNUSED];
    fixture f;
    char text[512];
    for (int i = 0; i < UNFIT + UNUSED; i++) {
        snprintf(names[i], sizeof names[i], name_of, i, i < UNFIT ? "in.weight" : "out.weight");
        more[i] = tensor(names[i], 4, large);
    }
    for (int i = 0; i < UNFIT + NEW; i++) {
        char layer[120], name[80];
        snprintf(name, sizeof name, name_of, i, "in");
        snprintf(layer, sizeof layer, ", dense: {name: %s, units: 4}", name);
        strcat(model, layer);
    }
    strcat(model, "]");
    snprintf(text, sizeof text, "weights: %s", write_torch(more, UNFIT + UNUSED));
    open_with(&f, model, text);
    assert_int_equal(leat_trainer_load(f.trainer, &f.err), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "3 of another shape or type: "));
    assert_non_null(strstr(f.err.message, "of the model not in the file: "));
    fixture_close(&f);
}

/* A value that is not finite does not matter where it is not taken. */
TEST(a_skipped_tensor_is_not_read)
{
    leat_safetensor nan = tensor("fc.bias", 1, (uint64_t[]){ 10 });
    char text[512];
    fixture f;
    nan.data = one_nan;
    snprintf(text, sizeof text, "weights: {file: %s, skip: fc}", write_torch(&nan, 1));
    open_with(&f, small, text);
    must_load(&f);
    fixture_close(&f);
}

TEST(a_file_that_is_none)
{
    static const char *const bad[][2] = {
        { "weights: nowhere.st", "nowhere.st" },
        { "weights: " SOURCE_DIR "/README.md", "no safetensors file" },
        { "weights: {file: x.st, skip: {a: b}}", "skip" },
        { "weights: {skip: [fc]}", "file" },
        { "weights: {file: x.st, frozen: [fc]}", "frozen" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture f;
        int rc = try_open(&f, small, bad[i][0]);
        if (rc == LEAT_OK)
            rc = leat_trainer_load(f.trainer, &f.err);
        if (rc == LEAT_OK || !strstr(f.err.message, bad[i][1]) ||
            !strstr(f.err.message, "test.yaml:1:"))
            fail_msg("%s: %s", bad[i][0], f.err.message);
        fixture_close(&f);
    }
}

/* --- when it is read --------------------------------------------------------------------------- */

static const char *with_weights(const char *more)
{
    static char text[768];
    snprintf(text, sizeof text, "weights: {file: %s, skip: fc}, optimizer: adam%s",
             in_folder("torch.st"), more);
    return text;
}

static void step(fixture *f, uint64_t seed, bool train)
{
    const leat_trainer_feed of = feed();
    float *x = random_floats(seed, ROWS * 8 * 8 * 3);
    int64_t *y = random_labels(seed, ROWS, 4);
    fixture_step(f, &of, x, y, ROWS, train);
    free(x);
    free(y);
}

/* Who does not call leat_trainer_load() trains with these weights, too. */
TEST(whatever_comes_first_loads_it)
{
    const leat_loader_state at = fixture_state(0);
    write_torch(NULL, 0);
    for (int how = 0; how < 5; how++) {
        fixture f, loaded;
        open_with(&f, small, with_weights(""));
        open_with(&loaded, small, with_weights(""));
        must_load(&loaded);
        if (how == 0)
            step(&f, 1, false);
        else if (how == 1)
            assert_int_equal(leat_trainer_save(f.trainer, in_folder("w.st"), &f.err), LEAT_OK);
        else if (how == 2)
            assert_int_equal(leat_checkpoint_write(f.trainer, &at, in_folder("c.st"), &f.err),
                             LEAT_OK);
        else if (how == 3)
            assert_int_equal(leat_trainer_export_onnx(f.trainer, in_folder("m.onnx"), &f.err),
                             LEAT_OK);
        else
            step(&f, 1, true);
        if (how == 4)
            step(&loaded, 1, true);
        if (!fixture_same_weights(&f, &loaded))
            fail_msg("way %d did not load", how);
        fixture_close(&f);
        fixture_close(&loaded);
    }
}

/* It is read once, and neither by a run that goes on nor by one with other weights. */
TEST(a_resumed_run_does_not_read_it)
{
    static const char *const kinds[] = { "", ", frozen: [conv1, bn1]",
                                         ", frozen: [bn1], average: {ema: 0.8}, accumulate: 2" };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const leat_loader_state at = fixture_state(4);
        leat_checkpoint_found found;
        fixture straight, first, second, other;
        write_torch(NULL, 0);
        open_with(&straight, small, with_weights(kinds[k]));
        open_with(&first, small, with_weights(kinds[k]));
        for (uint64_t i = 0; i < 8; i++)
            step(&straight, i, true);
        for (uint64_t i = 0; i < 4; i++)
            step(&first, i, true);
        assert_int_equal(leat_checkpoint_write(first.trainer, &at, in_folder("c.st"), &first.err),
                         LEAT_OK);
        assert_int_equal(unlink(in_folder("torch.st")), 0);
        open_with(&second, small, with_weights(kinds[k]));
        if (leat_checkpoint_resume(second.trainer, in_folder("c.st"), &found, &second.err) < 0)
            fail_msg("%s", second.err.message);
        assert_string_equal(found.changed, "");
        for (uint64_t i = 4; i < 8; i++)
            step(&second, i, true);
        if (!fixture_same_weights(&straight, &second))
            fail_msg("%s: the resumed run is another one", kinds[k]);
        open_with(&other, small, with_weights(kinds[k]));
        assert_int_equal(leat_trainer_restore(other.trainer, in_folder("c.st"), &other.err),
                         LEAT_OK);
        must_load(&other);
        step(&other, 1, true);
        fixture_close(&straight);
        fixture_close(&first);
        fixture_close(&second);
        fixture_close(&other);
    }
}

/* Of a checkpoint with an average, the average is taken, as by leat_trainer_restore(). */
TEST(files_of_leat_are_taken_too)
{
    const leat_loader_state at = fixture_state(3);
    char text[512];
    fixture run, whole, part;
    open_with(&run, small, "optimizer: adam, average: {ema: 0.5}");
    for (uint64_t i = 0; i < 3; i++)
        step(&run, i, true);
    assert_int_equal(leat_checkpoint_write(run.trainer, &at, in_folder("ema.st"), &run.err),
                     LEAT_OK);
    open_with(&whole, small, "seed: 3");
    assert_int_equal(leat_trainer_restore(whole.trainer, in_folder("ema.st"), &whole.err), LEAT_OK);
    snprintf(text, sizeof text, "seed: 3, weights: %s", in_folder("ema.st"));
    open_with(&part, small, text);
    must_load(&part);
    assert_true(fixture_same_weights(&whole, &part));
    uint8_t *bytes;
    size_t n;
    bytes = read_whole(in_folder("ema.st"), &n);
    bytes[n - 5] ^= 1;
    put_file("ema.st", bytes, n);
    free(bytes);
    fixture_close(&part);
    open_with(&part, small, text);
    assert_int_equal(leat_trainer_load(part.trainer, &part.err), LEAT_E_DATA);
    assert_non_null(strstr(part.err.message, "damaged"));
    fixture_close(&run);
    fixture_close(&whole);
    fixture_close(&part);
}

/* The first batch decides the weights of `init: whiten` only where the file does not. */
TEST(loaded_weights_are_not_whitened)
{
    static const char model[] =
        "[conv2d: {name: conv1, filters: 4, kernel: 3, init: whiten, frozen: true}, batch_norm: "
        "{name: bn1}, relu, global_avg_pool, dense: {name: fc, units: 4}]";
    for (int skip = 0; skip < 2; skip++) {
        char text[512];
        fixture f;
        snprintf(text, sizeof text, "weights: {file: %s, skip: [fc%s]}", write_torch(NULL, 0),
                 skip ? ", conv1.weight" : "");
        open_with(&f, model, text);
        must_load(&f);
        float *before = read_param(f.trainer, 0, 0);
        step(&f, 1, true);
        float *now = read_param(f.trainer, 0, 0);
        assert_int_equal(memcmp(before, now, 4 * 27 * sizeof *now) != 0, skip);
        free(before);
        free(now);
        fixture_close(&f);
    }
}

static int begin(void **state)
{
    leat_format_error why;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = one_nan[i] = 1;
    if (leat_safetensors_open(&golden, SOURCE_DIR "/tests/golden/finetune_golden.safetensors",
                              &why) < 0)
        return -1;
    return make_folder(state);
}

static int end(void **state)
{
    leat_safetensors_close(&golden);
    return remove_folder(state);
}

SUITE_FIXTURE(begin, end)
