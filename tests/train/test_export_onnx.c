/* SPDX-License-Identifier: MIT
 *
 * test_export_onnx.c: every layer and every ready-made model is written as ONNX, with inputs and our outputs
 * beside it; tests/checks/check_onnx_models.py runs them with onnxruntime. */
#include <sys/stat.h>

#include "fixtures/train_fixture.h"
#include "train/preset.h"

#define OUT_DIR BUILD_DIR "/tests/onnx"

enum { ROWS = 3 };

static const struct {
    const char *name, *model;
    int64_t dims[3];
} models[] = {
    { "conv2d",
      "[conv2d: {filters: 6, kernel: [3, 2], stride: [2, 1], padding: same}, "
      "leaky_relu, conv2d: {filters: 8, groups: 2, dilation: 2, bias: false}, "
      "flatten, dense: 4]",
      { 12, 11, 3 } },
    { "norms",
      "[conv2d: {filters: 4, padding: 1}, batch_norm: {epsilon: 0.01}, gelu, layer_norm, "
      "silu, flatten, layer_norm, dense: 5, tanh, batch_norm, dense: 3, sigmoid]",
      { 7, 6, 2 } },
    { "pools",
      "[max_pool: {size: 3, stride: 2, padding: 1}, avg_pool: {size: 3, stride: 2, padding: "
      "same}, conv2d: {filters: 5, kernel: 1}, dropout: 0.5, global_avg_pool, dense: 4, softmax, "
      "multiply: 2]",
      { 13, 12, 3 } },
    { "merges",
      "[conv2d: {name: a, filters: 4, padding: same}, relu: {name: b}, conv2d: {name: c, "
      "filters: 4, padding: same}, add: {name: d, from: [b, c]}, concat: {from: [d, a, "
      "input]}, multiply: 0.5, flatten, dense: 3]",
      { 6, 5, 2 } },
    { "names",
      "[dense: {units: 4, name: output}, relu: {name: output.weight}, dense: {units: 3, name: "
      "input_nchw}, multiply: {factor: 2, name: output.bias}]",
      { 0, 0, 5 } },
    { "vector", "[dense: 7, relu, dense: 3]", { 0, 0, 9 } },
    { "normalized",
      "[conv2d: {filters: 6}, flatten, dense: 4], normalize: {mean: [0.1, -0.5, 1], std: [2, 0.5, "
      "0.3]}",
      { 7, 6, 3 } },
    { "normalized_vector", "[dense: 3], normalize: {mean: 0.5, std: 0.25}", { 0, 0, 9 } },
    { "resnet18", "{resnet18: {classes: 10}}", { 32, 32, 3 } },
    { "resnet18_large", "{resnet18: {classes: 10, stem: large}}", { 65, 64, 3 } },
    { "resnet50", "{resnet50: {classes: 10}}", { 16, 16, 3 } },
    { "resnet9", "{resnet9: {classes: 10}}", { 32, 32, 3 } },
    { "vgg11", "{vgg11: {classes: 10}}", { 32, 32, 3 } },
    { "lenet", "{lenet: {classes: 10}}", { 28, 28, 1 } },
    { "mlp", "{mlp: [16, 10]}", { 8, 8, 1 } },
};
enum { N_MODELS = sizeof models / sizeof *models };

/* Numbers of rows, inputs and outputs, then inputs and outputs. */
static void write_values(const char *name, int64_t n_in, int64_t n_out, const float *x,
                         const float *y)
{
    const int64_t head[] = { ROWS, n_in, n_out };
    char path[256];
    snprintf(path, sizeof path, OUT_DIR "/%s.bin", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, sizeof *head, 3, file), 3);
    assert_int_equal(fwrite(x, sizeof *x, (size_t)(ROWS * n_in), file), ROWS * n_in);
    assert_int_equal(fwrite(y, sizeof *y, (size_t)(ROWS * n_out), file), ROWS * n_out);
    assert_int_equal(fclose(file), 0);
}

/* Weights of scale_initial 0 would hide a block; running statistics that were never updated, too. */
static void shake(leat_trainer *trainer)
{
    const leat_model *model = &trainer->model;
    for (int32_t i = 0; i < model->n_params; i++) {
        const leat_model_param *p = &model->params[i];
        const bool positive = !strcmp(p->spec->part, "variance") || !strcmp(p->spec->part, "scale");
        float *values = read_param(trainer, p->layer, p->index);
        float *more = random_floats((uint64_t)i, p->n);
        for (size_t k = 0; k < p->n; k++)
            values[k] = p->spec->shape.rank > 1 ? values[k] : (positive ? 1 : 0) + 0.3f * more[k];
        assert_int_equal(trainer->backend->write(trainer->net, p->layer, p->index,
                                                 LEAT_VALUES_WEIGHT, values, NULL),
                         LEAT_OK);
        free(values);
        free(more);
    }
}

static void export_one(size_t i)
{
    const int64_t *d = models[i].dims;
    const leat_trainer_feed feed =
        d[0] ? feed_of(LEAT_F32, 3, d, ROWS) : feed_of(LEAT_F32, 1, d + 2, ROWS);
    char text[1024], path[256];
    fixture f;
    snprintf(text, sizeof text, "train: {loss: softmax_cross_entropy, model: %s}", models[i].model);
    fixture_must_open(&f, text, &feed);
    shake(f.trainer);
    const int64_t n_in = leat_shape_elements(&feed.input), n_out = f.trainer->info.n_outputs;
    float *x = random_floats(5, (size_t)(ROWS * n_in)), *y = calloc((size_t)(ROWS * n_out), 4);
    fixture_logits(&f, &feed, x, ROWS, y);
    snprintf(path, sizeof path, OUT_DIR "/%s.onnx", models[i].name);
    if (leat_trainer_export_onnx(f.trainer, path, &f.err) < 0)
        fail_msg("%s: %s", models[i].name, f.err.message);
    write_values(models[i].name, n_in, n_out, x, y);
    free(x);
    free(y);
    fixture_close(&f);
}

TEST(every_model_is_written)
{
    mkdir(BUILD_DIR "/tests", 0777);
    mkdir(OUT_DIR, 0777);
    for (size_t i = 0; i < N_MODELS; i++)
        export_one(i);
}

/* A new layer or ready-made model has to be added above. */
TEST(the_table_has_all)
{
    for (size_t k = 0; leat_layer_kind(k) || leat_preset_kind(k); k++) {
        bool layer = !leat_layer_kind(k), preset = !leat_preset_kind(k);
        for (size_t i = 0; i < N_MODELS; i++) {
            layer = layer || strstr(models[i].model, leat_layer_kind(k)->name);
            preset = preset || strstr(models[i].model, leat_preset_kind(k)->name);
        }
        if (!layer)
            fail_msg("no model has the layer %s", leat_layer_kind(k)->name);
        if (!preset)
            fail_msg("the model %s is missing", leat_preset_kind(k)->name);
    }
}

TEST(failures_are_reported)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 2);
    fixture f;
    fixture_must_open(&f, "train: {loss: softmax_cross_entropy, model: [dense: 2]}", &feed);
    assert_int_equal(leat_trainer_export_onnx(f.trainer, "/no/such/file", &f.err), LEAT_E_IO);
    assert_int_equal(leat_trainer_export_onnx(NULL, "x", &f.err), LEAT_E_ARGUMENT);
    fixture_close(&f);
}
