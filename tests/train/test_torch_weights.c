/* SPDX-License-Identifier: MIT
 *
 * test_torch_weights.c: weights with torchvision's names and layouts in resnet18 and resnet50 give PyTorch's
 * logits. Both sides compute the weights (make_torch_resnet.py), so only logits are kept. */
#include <math.h>
#include <unistd.h>

#include "fixtures/train_fixture.h"
#include "formats/safetensors.h"
#include "golden/torch_resnet.inc"

enum { ROWS = 2, SIZE = 64, CLASSES = 10 };

static const char path[] = BUILD_DIR "/test_torch_weights.safetensors";

/* As values() in make_torch_resnet.py. */
static float *values_of(const char *name, size_t n)
{
    uint32_t seed = 2166136261u;
    float *values = malloc(n * sizeof *values);
    for (const char *c = name; *c; c++)
        seed = (seed ^ (unsigned char)*c) * 16777619u;
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + seed;
        x = (x ^ (x >> 16)) * 0x45D9F3Bu;
        x ^= x >> 16;
        values[i] = (float)((double)x / 2147483648.0 - 1);
    }
    return values;
}

/* The values that the script gives a tensor. */
static float *filled(const char *name, const leat_safetensor *t, size_t n)
{
    float *v = values_of(name, n);
    const size_t length = strlen(name);
    const bool around_1 = strstr(name, "running_var") || !strcmp(name + length - 6, "weight");
    const float scale = (float)sqrt(3.0 / (double)(n / t->shape[0]));
    for (size_t i = 0; i < n; i++)
        v[i] = t->n_dims > 1 ? v[i] * scale : around_1 ? 1 + v[i] / 4 : v[i] / 4;
    return v;
}

/* Names and shapes as torchvision has them. */
static leat_safetensor torch_tensor(const leat_model *model, int32_t i, char name[96])
{
    static const char *const parts[][2] = { { "scale", "weight" },
                                            { "shift", "bias" },
                                            { "mean", "running_mean" },
                                            { "variance", "running_var" } };
    const leat_model_param *p = &model->params[i];
    const char *part = p->spec->part;
    const int64_t *d = p->spec->shape.dims;
    leat_safetensor t = { .name = name,
                          .dtype = LEAT_SAFETENSORS_F32,
                          .n_dims = (uint32_t)p->spec->shape.rank };
    for (size_t k = 0; k < 4; k++)
        if (!strcmp(part, parts[k][0]))
            part = parts[k][1];
    snprintf(name, 96, "%s.%s", model->layers[p->layer].name, part);
    static const int order[5][4] = { { 0 }, { 0 }, { 1, 0 }, { 0 }, { 3, 2, 0, 1 } };
    for (uint32_t k = 0; k < t.n_dims; k++)
        t.shape[k] = (uint64_t)d[order[t.n_dims][k]];
    t.data = filled(name, &t, p->n);
    return t;
}

static void write_torch_file(const leat_model *model)
{
    const int64_t counter = 7;
    leat_format_error err;
    leat_safetensor *tensors = calloc((size_t)model->n_params + 1, sizeof *tensors);
    char(*names)[96] = calloc((size_t)model->n_params, sizeof *names);
    for (int32_t i = 0; i < model->n_params; i++)
        tensors[i] = torch_tensor(model, i, names[i]);
    tensors[model->n_params] = (leat_safetensor){ .name = "bn1.num_batches_tracked",
                                                  .dtype = LEAT_SAFETENSORS_I64,
                                                  .data = &counter };
    assert_int_equal(
        leat_safetensors_write(path, tensors, (size_t)model->n_params + 1, NULL, 0, &err), 0);
    for (int32_t i = 0; i < model->n_params; i++)
        free((void *)(uintptr_t)tensors[i].data);
    free(tensors);
    free(names);
}

static void check_model(const char *name, const float *wanted)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIZE, SIZE, 3 }, ROWS);
    char text[256];
    fixture f;
    snprintf(text, sizeof text,
             "train: {loss: softmax_cross_entropy, model: {%s: {classes: 10, stem: large}}}", name);
    fixture_must_open(&f, text, &feed);
    write_torch_file(&f.trainer->model);
    if (leat_trainer_restore(f.trainer, path, &f.err) < 0)
        fail_msg("%s", f.err.message);
    float *x = values_of("input", (size_t)ROWS * SIZE * SIZE * 3), y[ROWS * CLASSES];
    fixture_logits(&f, &feed, x, ROWS, y);
    for (int i = 0; i < ROWS * CLASSES; i++)
        if (!(fabs((double)(y[i] - wanted[i])) < 1e-3))
            fail_msg("%s: output %d is %.6f, PyTorch's %.6f", name, i, (double)y[i],
                     (double)wanted[i]);
    free(x);
    fixture_close(&f);
    unlink(path);
}

TEST(resnet18_gives_torchs_logits)
{
    check_model("resnet18", resnet18_logits);
}

TEST(resnet50_gives_torchs_logits)
{
    check_model("resnet50", resnet50_logits);
}

/* Of which an op tells that its channels are last. */
static leat_trainer_feed image_of(int64_t height, int64_t width, int64_t channels)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ height, width, channels }, ROWS);
    feed.channels_last = true;
    return feed;
}

/* A flattened image has its channels first there, last here: rows of the dense weight change places. */
TEST(a_flattened_image_is_reordered)
{
    const leat_trainer_feed feed = image_of(2, 3, 4);
    const leat_safetensors_note note = { "format", "pt" };
    leat_format_error err;
    float weight[24];
    fixture f;
    for (int i = 0; i < 24; i++)
        weight[i] = (float)i; /* [channel][row][column] */
    const leat_safetensor t = { .name = "fc.weight",
                                .dtype = LEAT_SAFETENSORS_F32,
                                .n_dims = 2,
                                .shape = { 1, 24 },
                                .data = weight };
    fixture_must_open(&f,
                      "train: {loss: binary_cross_entropy, model: [flatten, relu, dense: {name: "
                      "fc, units: 1, bias: false}]}",
                      &feed);
    assert_int_equal(leat_safetensors_write(path, &t, 1, &note, 1, &err), 0);
    if (leat_trainer_restore(f.trainer, path, &f.err) < 0)
        fail_msg("%s", f.err.message);
    float *ours = read_param(f.trainer, 2, 0); /* [row][column][channel] */
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++)
            for (int c = 0; c < 4; c++)
                assert_true(ours[(y * 3 + x) * 4 + c] == (float)((c * 2 + y) * 3 + x));
    free(ours);
    fixture_close(&f);
    unlink(path);
}

/* A map that puts the channels first gives the order of PyTorch already. */
TEST(channels_that_are_first_keep_their_order)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 4, 2, 3 }, 2);
    fixture f;
    const leat_safetensor t = { .n_dims = 2, .shape = { 3, 24 } }; /* [out, in] */
    feed.channels_first = true;
    fixture_must_open(&f,
                      "train: {loss: softmax_cross_entropy, model: [flatten, relu, dense: {name: "
                      "fc, units: 3, bias: false}]}",
                      &feed);
    write_torch_file(&f.trainer->model);
    float *const before = filled("fc.weight", &t, 24 * 3);
    if (leat_trainer_restore(f.trainer, path, &f.err) < 0)
        fail_msg("%s", f.err.message);
    float *const ours = read_param(f.trainer, 2, 0); /* [in, out] */
    for (int in = 0; in < 24; in++)
        for (int out = 0; out < 3; out++)
            assert_true(ours[in * 3 + out] == before[out * 24 + in]);
    free(before);
    free(ours);
    fixture_close(&f);
    unlink(path);
}

/* Whether the rows of the last layer's weight have other places than in the file. */
static bool is_moved(const fixture *f)
{
    const int32_t last = f->trainer->model.n_layers - 1;
    const int64_t *const d = f->trainer->model.layers[last].params[0].shape.dims;
    const leat_safetensor t = { .n_dims = 2, .shape = { (uint64_t)d[1], (uint64_t)d[0] } };
    float *const there = filled("fc.weight", &t, (size_t)(d[0] * d[1]));
    float *const ours = read_param(f->trainer, last, 0);
    bool moved = false;
    for (int64_t i = 0; i < d[0] * d[1]; i++)
        moved |= ours[i] != there[i % d[1] * d[0] + i / d[1]];
    free(there);
    free(ours);
    return moved;
}

/* Arrays as a source stores them: their sizes tell, what reads them, or nothing. */
TEST(an_order_that_nothing_tells_is_refused)
{
    enum { AS_STORED, MOVED, REFUSED };
    static const struct {
        int64_t dims[3];
        const char *layers;
        int wanted;
        const char *normalize;
    } cases[] = {
        { { 1, 28, 28 }, "flatten", REFUSED, NULL },
        { { 3, 8, 8 }, "flatten", REFUSED, NULL },
        { { 6, 5, 4 }, "flatten", REFUSED, NULL },
        { { 3, 20, 4 }, "flatten", REFUSED, NULL },
        { { 9, 9, 2 }, "flatten", REFUSED, NULL },
        { { 9, 9, 2 }, "relu, flatten, tanh", REFUSED, NULL },
        { { 9, 9, 2 }, "flatten, layer_norm: {name: n}", REFUSED, NULL },
        { { 9, 9, 2 }, "layer_norm: {name: n}, flatten", REFUSED, NULL },
        { { 9, 9, 2 }, "batch_norm: {name: n}, flatten", MOVED, NULL },
        { { 9, 9, 2 },
          "flatten, dense: {name: d, units: 5}, concat: {name: c, from: [d, d]}",
          REFUSED,
          NULL },
        { { 9, 9, 2 }, "conv2d: {name: c, filters: 2, kernel: 3}, flatten", MOVED, NULL },
        { { 9, 9, 2 }, "max_pool: {size: 3, stride: 1, padding: same}, flatten", MOVED, NULL },
        { { 9, 9, 2 },
          "relu, avg_pool: {size: 3, stride: 1, padding: same}, flatten",
          MOVED,
          NULL },
        { { 9, 9, 2 },
          "conv2d: {name: c, filters: 2, kernel: 3}, flatten: {name: a}, "
          "flatten: {name: b, from: input}, concat: {from: [a, b]}",
          MOVED,
          NULL },
        { { 9, 9, 2 },
          "relu, global_avg_pool: {name: a}, flatten: {name: b, from: input}, "
          "concat: {from: [a, b]}",
          MOVED,
          NULL },
        { { 9, 9, 2 },
          "flatten: {name: a}, tanh: {from: input}, flatten: {name: b}, concat: {from: [a, b]}",
          REFUSED,
          NULL },
        { { 9, 9, 2 }, "relu: {name: a}, add: {from: [a, input]}, flatten", REFUSED, NULL },
        { { 9, 9, 2 }, "multiply: {factor: 2}, dropout: {rate: 0.5}, flatten", REFUSED, NULL },
        { { 9, 9, 2 }, "flatten", MOVED, "{mean: [1, 2], std: [1, 2]}" },
        { { 9, 9, 2 }, "flatten", REFUSED, "{mean: [1], std: [2]}" },
        { { 17, 17, 4 }, "flatten", MOVED, NULL },
        { { 9, 9, 3 }, "flatten", MOVED, NULL },
        { { 28, 28, 1 }, "flatten", AS_STORED, NULL },
        { { 1, 1, 7 }, "flatten", AS_STORED, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_trainer_feed feed = feed_of(LEAT_F32, 3, cases[i].dims, ROWS);
        char text[320];
        fixture f;
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, normalize: %s, model: [%s, dense: {name: "
                 "fc, units: 3}]}",
                 cases[i].normalize ? cases[i].normalize : "null", cases[i].layers);
        fixture_must_open(&f, text, &feed);
        write_torch_file(&f.trainer->model);
        const int rc = leat_trainer_restore(f.trainer, path, &f.err);
        if (rc != (cases[i].wanted == REFUSED ? LEAT_E_DATA : LEAT_OK))
            fail_msg("%zu: %s", i, rc < 0 ? f.err.message : "taken");
        if (rc == LEAT_OK)
            assert_int_equal(is_moved(&f), cases[i].wanted == MOVED);
        fixture_close(&f);
    }
    unlink(path);
}

/* What a user is told to write, in a map of the pipeline. */
TEST(a_map_tells_the_order)
{
    static float x[ROWS * 28 * 28];
    static int64_t y[ROWS];
    static const struct {
        int64_t dims[3];
        const char *map, *said;
        bool moves;
    } cases[] = {
        { { 1, 28, 28 }, "[cast]", "Write `reshape: [784]` in the map", false },
        { { 1, 28, 28 }, "[{reshape: [784]}]", NULL, false },
        { { 1, 28, 28 }, "[{layout: channels_last}]", NULL, false },
        { { 1, 28, 28 }, "[{reshape: [28, 28, 1]}]", NULL, false },
        { { 9, 8, 7 }, "[cast]", "and `layout: channels_first` if it is height, width", false },
        { { 9, 8, 7 }, "[{layout: channels_first}]", NULL, false },
        { { 9, 8, 7 }, "[{layout: channels_last}]", NULL, true },
        { { 9, 8, 2 }, "[random_flip]", NULL, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_rows rows[] = {
            { "image", leat_shape_make(LEAT_F32, 3, cases[i].dims), x },
            { "label", leat_shape_make(LEAT_I64, 0, NULL), y },
        };
        leat_builder *const builder = leat_builder_open();
        fixture f = { 0 };
        leat_builder_rows(builder, ROWS, rows, 2);
        leat_builder_stage(builder, "map", cases[i].map);
        leat_builder_stage(builder, "batch", "2");
        leat_plan *plan = plan_of_builder(builder);
        assert_int_equal(leat_config_parse("train: {loss: softmax_cross_entropy, model: [flatten, "
                                           "dense: {name: fc, units: 3}]}",
                                           "t.yaml", &f.config, &f.err),
                         LEAT_OK);
        assert_int_equal(leat_trainer_open_device(f.config, &f.device, &f.err), LEAT_OK);
        if (leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0)
            fail_msg("%s", f.err.message);
        write_torch_file(&f.trainer->model);
        const int rc = leat_trainer_restore(f.trainer, path, &f.err);
        if (rc != (cases[i].said ? LEAT_E_DATA : LEAT_OK) ||
            (rc < 0 && !strstr(f.err.message, cases[i].said)))
            fail_msg("%zu: %s", i, rc < 0 ? f.err.message : "taken");
        if (rc == LEAT_OK)
            assert_int_equal(is_moved(&f), cases[i].moves);
        fixture_close(&f);
        leat_plan_close(&plan);
    }
    unlink(path);
}

/* --- vectors that were images -------------------------------------------------------------------- */

enum { HEIGHT = 2, WIDTH = 3, CHANNELS = 4, PIXELS = HEIGHT * WIDTH, VALUES = PIXELS * CHANNELS };

/* Opens a model of layers behind one named `a`; false: it refuses its input. */
static bool open_behind(fixture *f, const char *a, const char *layers,
                        const leat_trainer_feed *feed)
{
    char text[512];
    snprintf(text, sizeof text,
             "train: {loss: softmax_cross_entropy, model: [%s, %s, dense: {name: fc, units: 3}]}",
             a, layers);
    return fixture_open(f, text, feed) == LEAT_OK;
}

/* A model that flattens an image, and the same one behind a vector that was flattened as PyTorch does, agree with one
 * file. False: the layers take no vector. */
static bool agree_behind_flatten(const char *layers)
{
    const leat_trainer_feed image = image_of(HEIGHT, WIDTH, CHANNELS);
    const leat_trainer_feed vector = feed_of(LEAT_F32, 1, (int64_t[]){ VALUES }, ROWS);
    float *const x = random_floats(3, (size_t)ROWS * VALUES), there[ROWS * VALUES];
    float a[ROWS * 3], b[ROWS * 3];
    fixture ours, theirs;
    const bool fits = open_behind(&theirs, "multiply: {name: a, factor: 1}", layers, &vector);
    for (int i = 0; i < ROWS * VALUES; i++) {
        const int pixel = i % VALUES / CHANNELS, channel = i % CHANNELS;
        there[i / VALUES * VALUES + channel * PIXELS + pixel] = x[i];
    }
    if (fits) {
        assert_true(open_behind(&ours, "flatten: {name: a}", layers, &image));
        write_torch_file(&theirs.trainer->model);
        if (leat_trainer_restore(ours.trainer, path, &ours.err) < 0 ||
            leat_trainer_restore(theirs.trainer, path, &ours.err) < 0)
            fail_msg("%s: %s", layers, ours.err.message);
        fixture_logits(&ours, &image, x, ROWS, a);
        fixture_logits(&theirs, &vector, there, ROWS, b);
        for (int i = 0; i < ROWS * 3; i++)
            if (!(fabs((double)(a[i] - b[i])) < 1e-4))
                fail_msg("%s: output %d is %g behind an image, %g behind a vector", layers, i,
                         (double)a[i], (double)b[i]);
        fixture_close(&ours);
    }
    fixture_close(&theirs);
    free(x);
    unlink(path);
    return fits;
}

/* Every layer: whether it keeps the order of a vector's elements, mixes them, or has parameters for each. */
TEST(all_layers_may_stand_behind_flatten)
{
    int n_tested = 0;
    for (size_t i = 0; leat_layer_at(i); i++) {
        const leat_kind *const kind = &leat_layer_at(i)->kind;
        char text[256];
        snprintf(text, sizeof text, "%s: {name: l%s%s%s%s}", kind->name,
                 leat_layer_at(i)->merges ? ", from: [a, a]" : "",
                 kind->options[0].initial ? "" : ", ",
                 kind->options[0].initial ? "" : kind->options[0].name,
                 kind->options[0].initial ? "" : ": 24"); /* as many as elements: a square dense */
        n_tested += agree_behind_flatten(text);
    }
    assert_true(n_tested >= 10);
}

TEST(layers_behind_flatten_may_follow_each_other)
{
    static const char *const layers[] = {
        "batch_norm: {name: bn}, relu, layer_norm: {name: n}",
        "flatten: {name: b}, multiply: {name: m, factor: 2}, add: {name: s, from: [m, a]}",
        "dense: {name: d, units: 5}, concat: {name: c, from: [d, a]}, layer_norm: {name: n}",
        "dense: {name: d, units: 5}, concat: {name: c, from: [a, d, a]}, batch_norm: {name: n}",
        "dense: {name: d, units: 24}, dense: {name: e, units: 24}, add: {name: s, from: [d, e]}",
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        assert_true(agree_behind_flatten(layers[i]));
}

/* concat reads an input that is no image as a vector: it has all of its elements, not its first dim. */
TEST(an_input_of_two_dims_is_a_vector)
{
    enum { SIDE = 28, UNITS = 16, N_IN = SIDE * SIDE + UNITS };
    const leat_trainer_feed in = feed_of(LEAT_F32, 2, (int64_t[]){ SIDE, SIDE }, ROWS);
    const leat_safetensor t = { .n_dims = 2, .shape = { 3, N_IN } };
    fixture f;
    assert_true(
        open_behind(&f, "dense: {name: a, units: 16}", "concat: {name: c, from: [input, a]}", &in));
    write_torch_file(&f.trainer->model);
    if (leat_trainer_restore(f.trainer, path, &f.err) < 0)
        fail_msg("%s", f.err.message);
    float *const there = filled("fc.weight", &t, N_IN * 3);
    float *const ours = read_param(f.trainer, 2, 0); /* [in, out] */
    for (int i = 0; i < N_IN * 3; i++)
        assert_true(ours[i] == there[i % 3 * N_IN + i / 3]);
    free(there);
    free(ours);
    fixture_close(&f);
    unlink(path);
}

/* No order of elements makes both of its inputs those of PyTorch. */
TEST(a_sum_of_two_orders_is_refused)
{
    const leat_trainer_feed image = image_of(HEIGHT, WIDTH, CHANNELS);
    fixture f;
    assert_true(open_behind(&f, "flatten: {name: a}",
                            "dense: {name: d, units: 24}, add: {name: s, from: [d, a]}", &image));
    write_torch_file(&f.trainer->model);
    assert_int_equal(leat_trainer_restore(f.trainer, path, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "layer 's' adds vectors whose elements"));
    fixture_close(&f);
    unlink(path);
}

/* A file that says nothing of its writer, and whose layer has the same shape in both layouts. */
TEST(a_square_layer_is_transposed)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 2);
    const float weight[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 }; /* [out][in] */
    leat_safetensor t = { .name = "fc.weight",
                          .dtype = LEAT_SAFETENSORS_F32,
                          .n_dims = 2,
                          .shape = { 3, 3 },
                          .data = weight };
    leat_format_error err;
    fixture f;
    fixture_must_open(&f,
                      "train: {loss: softmax_cross_entropy, model: [dense: {name: fc, units: 3, "
                      "bias: false}]}",
                      &feed);
    assert_int_equal(leat_safetensors_write(path, &t, 1, NULL, 0, &err), 0);
    assert_int_equal(leat_trainer_restore(f.trainer, path, &f.err), LEAT_OK);
    float *ours = read_param(f.trainer, 0, 0);
    for (int i = 0; i < 9; i++)
        assert_true(ours[i % 3 * 3 + i / 3] == weight[i]);
    free(ours);
    t.name = "0.weight";
    assert_int_equal(leat_safetensors_write(path, &t, 1, NULL, 0, &err), 0);
    assert_int_equal(leat_trainer_restore(f.trainer, path, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "has no tensor 'fc.weight'"));
    assert_non_null(strstr(f.err.message, "it has '0.weight' and others: name the layers"));
    fixture_close(&f);
    unlink(path);
}

/* --- files that do not say whose they are ------------------------------------------------------ */

static const float square[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

static leat_safetensor tensor_of(const char *name, uint32_t rank, uint64_t d0, uint64_t d1)
{
    return (leat_safetensor){ .name = name,
                              .dtype = LEAT_SAFETENSORS_F32,
                              .n_dims = rank,
                              .shape = { d0, d1 },
                              .data = square };
}

/* Whether the square layer has the file's values; as PyTorch has them, else as leat. */
static bool has_square(const fixture *f, bool torch)
{
    float *const ours = read_param(f->trainer, 0, 0);
    bool same = true;
    for (int i = 0; i < 9; i++)
        same &= ours[torch ? i % 3 * 3 + i / 3 : i] == square[i];
    free(ours);
    return same;
}

static void write_file(const leat_safetensor *tensors, size_t n, const char *key, const char *value)
{
    const leat_safetensors_note note = { key, value };
    leat_format_error err;
    if (leat_safetensors_write(path, tensors, n, &note, key != NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* Shapes do not tell the layout of a square layer. What does: notes, statistics' names, and a layer that is not square. */
TEST(a_layout_that_nothing_tells_is_refused)
{
    const struct {
        const char *key, *value;
        const char *model;
        leat_safetensor tensors[6];
        int code;
        bool torch;
    } cases[] = {
        { NULL,
          NULL,
          "dense: {units: 3, bias: false}",
          { tensor_of("0.dense.weight", 2, 3, 3) },
          LEAT_E_DATA,
          false },
        { "writer",
          "someone",
          "dense: {units: 3, bias: false}",
          { tensor_of("0.dense.weight", 2, 3, 3) },
          LEAT_E_DATA,
          false },
        { "writer",
          "leat 0",
          "dense: {units: 3, bias: false}",
          { tensor_of("0.dense.weight", 2, 3, 3) },
          LEAT_OK,
          false },
        { "format",
          "pt",
          "dense: {units: 3, bias: false}",
          { tensor_of("0.dense.weight", 2, 3, 3) },
          LEAT_OK,
          true },
        { NULL,
          NULL,
          "dense: {units: 3, bias: false}, dense: {units: 2, bias: false}",
          { tensor_of("0.dense.weight", 2, 3, 3), tensor_of("1.dense.weight", 2, 2, 3) },
          LEAT_OK,
          true },
        { NULL,
          NULL,
          "dense: {units: 3, bias: false}, batch_norm: {name: bn}",
          { tensor_of("0.dense.weight", 2, 3, 3), tensor_of("bn.weight", 1, 3, 0),
            tensor_of("bn.bias", 1, 3, 0), tensor_of("bn.running_mean", 1, 3, 0),
            tensor_of("bn.running_var", 1, 3, 0) },
          LEAT_OK,
          true },
    };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        size_t n = 0;
        fixture f;
        while (cases[i].tensors[n].name)
            n++;
        snprintf(text, sizeof text, "train: {loss: softmax_cross_entropy, model: [%s]}",
                 cases[i].model);
        fixture_must_open(&f, text, &feed);
        write_file(cases[i].tensors, n, cases[i].key, cases[i].value);
        const int rc = leat_trainer_restore(f.trainer, path, &f.err);
        if (rc != cases[i].code)
            fail_msg("%zu: %s", i, f.err.message);
        assert_true(rc < 0 ? !has_square(&f, true) && !has_square(&f, false)
                           : has_square(&f, cases[i].torch));
        if (rc < 0 && (!strstr(f.err.message, "the shape of '0.dense.weight' fits both") ||
                       !strstr(f.err.message, "Write `layout: leat` or `layout: torch`") ||
                       !strstr(f.err.message, "'format': 'pt'")))
            fail_msg("%s", f.err.message);
        fixture_close(&f);
    }
    unlink(path);
}

/* Layers with names of the user's: `scale` is leat's word. The option says what the file does not. */
TEST(the_option_says_the_layout)
{
    const leat_safetensor tensors[] = { tensor_of("fc.weight", 2, 3, 3),
                                        tensor_of("norm.scale", 1, 3, 0) };
    static const struct {
        const char *layout;
        int code;
    } cases[] = {
        { "", LEAT_E_DATA },
        { ", layout: auto", LEAT_E_DATA },
        { ", layout: torch", LEAT_OK },
        { ", layout: leat", LEAT_OK },
    };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 2);
    write_file(tensors, 2, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        fixture f;
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, model: [dense: {name: fc, units: 3, bias: "
                 "false}], weights: {file: %s, skip: norm%s}}",
                 path, cases[i].layout);
        fixture_must_open(&f, text, &feed);
        const int rc = leat_trainer_load(f.trainer, &f.err);
        if (rc != cases[i].code)
            fail_msg("%s: %s", cases[i].layout, f.err.message);
        if (rc < 0)
            assert_non_null(strstr(f.err.message, "'norm.scale' is a name as leat gives"));
        else
            assert_true(has_square(&f, strstr(cases[i].layout, "torch") != NULL));
        fixture_close(&f);
    }
    unlink(path);
}
