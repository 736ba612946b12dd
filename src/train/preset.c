/* SPDX-License-Identifier: MIT
 *
 * preset.c: ready-made models. model.c expands them to the list of layers that a user could write, so they need
 * nothing of their own in backends, help or checkpoints.
 *
 * Sources: ResNet: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", 2016, with the stride
 * of ResNet-50 in the 3x3 convolution and the names of layers as torchvision has them. VGG: Simonyan and
 * Zisserman, 2015, configuration A with batch_norm. LeNet-5: LeCun, Bottou, Bengio, Haffner, 1998, with relu and
 * max_pool. ResNet-9: the form known from the DAWNBench contest (Page, "How to Train Your ResNet", 2018). */
#include "preset.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn_text.h"

typedef struct preset_options {
    int64_t classes;
    int32_t stem;
} preset_options;

static const char *const stems[] = { "auto", "small", "large", NULL };
static const char *const autos[] = { "auto", NULL };

static const leat_option preset_table[] = {
    LEAT_OPTION_I64_OR(preset_options, classes, "auto", 1, 1 << 24, autos,
                       "length of the output; auto: the classes of the source"),
    LEAT_OPTION_END
};

static const leat_option resnet_table[] = {
    LEAT_OPTION_I64_OR(preset_options, classes, "auto", 1, 1 << 24, autos,
                       "length of the output; auto: the classes of the source"),
    LEAT_OPTION_ENUM(preset_options, stem, "auto", stems,
                     "first layers; small: one 3x3 convolution, for images of 64 px and less; "
                     "large: 7x7 with stride 2, then max_pool"),
    LEAT_OPTION_END
};

typedef struct mlp_options {
    leat_i64s units;
} mlp_options;

static const leat_option mlp_table[] = { LEAT_OPTION_I64S(
                                             mlp_options, units, NULL, 1, 1 << 24,
                                             "lengths of the dense layers; the last is the output"),
                                         LEAT_OPTION_END };

/* What a model is written with. */
typedef struct writer {
    FILE *to;
    const leat_model *model;
    const void *options;
    int64_t classes;
    bool small;
} writer;

static void layer(const writer *w, const char *format, ...) LEAT_PRINTF(2, 3);

static void layer(const writer *w, const char *format, ...)
{
    va_list args;
    fputs("- ", w->to);
    va_start(args, format);
    vfprintf(w->to, format, args);
    va_end(args);
    fputc('\n', w->to);
}

/* --- resnet ---------------------------------------------------------------------------------- */

typedef struct residual {
    const char *name, *input; /* prefix of its layers, and the name of the layer that it reads */
    int channels, stride;
    bool project; /* its input has another shape than its output */
} residual;

static void projection(const writer *w, const residual *r, int out)
{
    if (!r->project)
        return;
    layer(w,
          "conv2d: {name: %s.downsample.0, from: %s, filters: %d, kernel: 1, stride: %d, bias: "
          "false}",
          r->name, r->input, out, r->stride);
    layer(w, "batch_norm: {name: %s.downsample.1}", r->name);
}

static void shortcut(const writer *w, const residual *r, const char *last)
{
    layer(w, "add: {name: %s.add, from: [%s.%s, %s%s]}", r->name, r->name, last,
          r->project ? r->name : r->input, r->project ? ".downsample.1" : "");
    layer(w, "relu: {name: %s.out}", r->name);
}

static void basic_block(const writer *w, const residual *r)
{
    projection(w, r, r->channels);
    layer(w,
          "conv2d: {name: %s.conv1, from: %s, filters: %d, kernel: 3, stride: %d, padding: 1, "
          "bias: false}",
          r->name, r->input, r->channels, r->stride);
    layer(w, "batch_norm: {name: %s.bn1}", r->name);
    layer(w, "relu");
    layer(w, "conv2d: {name: %s.conv2, filters: %d, kernel: 3, padding: 1, bias: false}", r->name,
          r->channels);
    layer(w, "batch_norm: {name: %s.bn2, scale_initial: 0}", r->name);
    shortcut(w, r, "bn2");
}

static void bottleneck_block(const writer *w, const residual *r)
{
    projection(w, r, 4 * r->channels);
    layer(w, "conv2d: {name: %s.conv1, from: %s, filters: %d, kernel: 1, bias: false}", r->name,
          r->input, r->channels);
    layer(w, "batch_norm: {name: %s.bn1}", r->name);
    layer(w, "relu");
    layer(w,
          "conv2d: {name: %s.conv2, filters: %d, kernel: 3, stride: %d, padding: 1, bias: false}",
          r->name, r->channels, r->stride);
    layer(w, "batch_norm: {name: %s.bn2}", r->name);
    layer(w, "relu");
    layer(w, "conv2d: {name: %s.conv3, filters: %d, kernel: 1, bias: false}", r->name,
          4 * r->channels);
    layer(w, "batch_norm: {name: %s.bn3, scale_initial: 0}", r->name);
    shortcut(w, r, "bn3");
}

static void resnet(const writer *w, const int blocks[4], bool bottleneck)
{
    char name[32], input[40] = "stem";
    if (w->small) {
        layer(w, "conv2d: {name: conv1, filters: 64, kernel: 3, padding: 1, bias: false}");
    } else {
        layer(w,
              "conv2d: {name: conv1, filters: 64, kernel: 7, stride: 2, padding: 3, bias: false}");
    }
    layer(w, "batch_norm: {name: bn1}");
    layer(w, "relu: {name: %s}", w->small ? "stem" : "relu1");
    if (!w->small)
        layer(w, "max_pool: {name: stem, size: 3, stride: 2, padding: 1}");
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            snprintf(name, sizeof name, "layer%d.%d", stage + 1, i);
            const residual r = { name, input, 64 << stage, stage && !i ? 2 : 1,
                                 !i && (stage || bottleneck) };
            (bottleneck ? bottleneck_block : basic_block)(w, &r);
            snprintf(input, sizeof input, "%s.out", name);
        }
    layer(w, "global_avg_pool");
    layer(w, "dense: {name: fc, units: %lld}", (long long)w->classes);
}

static void resnet18(const writer *w)
{
    resnet(w, (const int[]){ 2, 2, 2, 2 }, false);
}

static void resnet50(const writer *w)
{
    resnet(w, (const int[]){ 3, 4, 6, 3 }, true);
}

/* --- others ---------------------------------------------------------------------------------- */

static void conv_norm_relu(const writer *w, int channels, const char *name)
{
    layer(w, "conv2d: {filters: %d, kernel: 3, padding: same, bias: false}", channels);
    layer(w, "batch_norm");
    if (*name)
        layer(w, "relu: {name: %s}", name);
    else
        layer(w, "relu");
}

static void resnet9(const writer *w)
{
    conv_norm_relu(w, 64, "");
    conv_norm_relu(w, 128, "");
    layer(w, "max_pool: {name: a}");
    conv_norm_relu(w, 128, "");
    conv_norm_relu(w, 128, "b");
    layer(w, "add: {from: [a, b]}");
    conv_norm_relu(w, 256, "");
    layer(w, "max_pool");
    conv_norm_relu(w, 512, "");
    layer(w, "max_pool: {name: c}");
    conv_norm_relu(w, 512, "");
    conv_norm_relu(w, 512, "d");
    layer(w, "add: {from: [c, d]}");
    layer(w, "max_pool: {size: [%lld, %lld]}", (long long)(w->model->input.dims[0] / 8),
          (long long)(w->model->input.dims[1] / 8));
    layer(w, "flatten");
    layer(w, "dense: {units: %lld, bias: false}", (long long)w->classes);
    layer(w, "multiply: 0.125");
}

static void vgg11(const writer *w)
{
    static const int channels[] = { 64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0 };
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        if (channels[i])
            conv_norm_relu(w, channels[i], "");
        else
            layer(w, "max_pool");
    }
    layer(w, "flatten");
    layer(w, "dense: %lld", (long long)w->classes);
}

static void lenet(const writer *w)
{
    layer(w, "conv2d: {filters: 6, kernel: 5, padding: %s}",
          w->model->input.dims[0] < 32 ? "same" : "valid");
    layer(w, "relu");
    layer(w, "max_pool");
    layer(w, "conv2d: {filters: 16, kernel: 5}");
    layer(w, "relu");
    layer(w, "max_pool");
    layer(w, "flatten");
    layer(w, "dense: 120");
    layer(w, "relu");
    layer(w, "dense: 84");
    layer(w, "relu");
    layer(w, "dense: %lld", (long long)w->classes);
}

static void mlp(const writer *w)
{
    const mlp_options *o = w->options;
    layer(w, "flatten");
    for (int32_t i = 0; i < o->units.n; i++) {
        layer(w, "dense: %lld", (long long)o->units.values[i]);
        if (i + 1 < o->units.n)
            layer(w, "relu");
    }
}

/* --- the list -------------------------------------------------------------------------------- */

static const struct {
    leat_kind kind;
    void (*write)(const writer *w);
    int64_t least_px; /* sides of the image that it needs; 0: it takes everything */
} presets[] = {
    { { "resnet18", "ResNet-18", resnet_table }, resnet18, 8 },
    { { "resnet50", "ResNet-50", resnet_table }, resnet50, 8 },
    { { "resnet9", "a small residual network for 32x32 images", preset_table }, resnet9, 8 },
    { { "vgg11", "VGG-11 with batch_norm, for 32x32 images", preset_table }, vgg11, 32 },
    { { "lenet", "LeNet-5, for small images", preset_table }, lenet, 12 },
    { { "mlp", "dense layers with relu between them", mlp_table }, mlp, 0 },
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const leat_kind *leat_preset_kind(size_t i)
{
    return i < N_PRESETS ? &presets[i].kind : NULL;
}

static int no_preset(const leat_node *node, const char *name, leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    for (size_t i = 0; i < N_PRESETS; i++)
        leat_nearest_offer(&near, presets[i].kind.name);
    return leat_node_fail(node, err, LEAT_E_CONFIG,
                          "train.model is a list of layers, such as [flatten, dense: 10], or a "
                          "ready-made model; none is called '%s'%s%s%s (there are: %s)",
                          name, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", near.known.text);
}

static int check(const writer *w, size_t at, const leat_node *node, leat_error *err)
{
    char text[160];
    const int64_t *d = w->model->input.dims, least = presets[at].least_px;
    if (!least)
        return LEAT_OK;
    if (w->classes < 1)
        return leat_node_fail(
            node, err, LEAT_E_CONFIG,
            "%s: the source does not tell how many classes there are; write %s: {classes: N}",
            presets[at].kind.name, presets[at].kind.name);
    if (w->model->input.rank != 3 || d[0] < least || d[1] < least)
        return leat_node_fail(
            node, err, LEAT_E_CONFIG,
            "%s needs an image [height, width, channels] of %lld x %lld px or more, got %s",
            presets[at].kind.name, (long long)least, (long long)least,
            leat_nn_dims_text(&w->model->input, text, sizeof text));
    return LEAT_OK;
}

/* Writes the text and parses it. */
static int expand(leat_model *model, size_t at, writer *w, const leat_node **list, leat_error *err)
{
    char *text = NULL, name[64];
    size_t n = 0;
    if (!(w->to = open_memstream(&text, &n)))
        return leat_fail(err, LEAT_E_NOMEM, "train.model: no memory");
    fputs("model:\n", w->to);
    presets[at].write(w);
    const bool ok = !ferror(w->to);
    fclose(w->to);
    snprintf(name, sizeof name, "<%s>", presets[at].kind.name);
    const int rc = ok && text ? leat_config_parse(text, name, &model->preset, err)
                              : leat_fail(err, LEAT_E_NOMEM, "train.model: no memory");
    free(text);
    if (rc == LEAT_OK)
        *list = leat_node_find(leat_config_root(model->preset), "model");
    return rc;
}

int leat_preset_expand(leat_model *model, const leat_node *node, const leat_node **list,
                       leat_error *err)
{
    union {
        preset_options common;
        mlp_options mlp;
    } options = { 0 };
    const leat_node *given;
    const char *name;
    size_t at = 0;
    *list = node;
    if (leat_node_is_null(node) || node->kind == LEAT_NODE_LIST)
        return LEAT_OK;
    int rc = leat_node_named(node, "model", &name, &given, err);
    if (rc < 0)
        return rc;
    while (at < N_PRESETS && strcmp(presets[at].kind.name, name) != 0)
        at++;
    if (at == N_PRESETS)
        return no_preset(node, name, err);
    if ((rc = leat_node_options(given, node, name, presets[at].kind.options, &options, err)) < 0)
        return rc;
    writer w = { .model = model, .options = &options };
    w.classes = presets[at].least_px && options.common.classes > 0 ? options.common.classes
                                                                   : model->n_classes;
    w.small = options.common.stem == 1 || (options.common.stem == 0 && model->input.dims[0] <= 64);
    rc = check(&w, at, node, err);
    return rc < 0 ? rc : expand(model, at, &w, list, err);
}
