/* SPDX-License-Identifier: MIT
 *
 * trainer_options.c: the rows of `train`, `train.checkpoint`, `train.weights` and `train.cuda`. */
#include "leat/checkpoint.h"
#include "trainer.h"

static const char *const autos[] = { "auto", NULL };
static const char *const view_names[] = {
#define VIEWS(name, text) text,
    LEAT_VIEWS_LIST(VIEWS) NULL
#undef VIEWS
};
static const char *const precisions[] = {
#define PRECISION(name, text) text,
    LEAT_PRECISION_LIST(PRECISION) NULL
#undef PRECISION
};

static const char *const graphs[] = {
#define GRAPH(name, text) text,
    LEAT_GRAPH_LIST(GRAPH) NULL
#undef GRAPH
};

static const leat_option train_table[] = {
    LEAT_OPTION_STRING(leat_train_options, device, "cpu", "cpu, cuda:N or sim:NAME"),
    LEAT_OPTION_I64(leat_train_options, epochs, "1", 1, 1e9, "passes over the pipeline"),
    LEAT_OPTION_NODE(leat_train_options, model, NULL,
                     "list of layers, in order, or a ready-made model"),
    LEAT_OPTION_NODE(leat_train_options, loss, NULL, "loss function to minimise"),
    LEAT_OPTION_NODE(leat_train_options, optimizer, "", "how weights are updated; default: sgd"),
    LEAT_OPTION_NODE(leat_train_options, schedule, "",
                     "how the learning rate changes during the run; default: constant"),
    LEAT_OPTION_NODE(leat_train_options, stop, "",
                     "end the run when evaluations stop improving; default: after the last epoch"),
    LEAT_OPTION_STRINGS(leat_train_options, metrics, "[]",
                        "also measured at every evaluation, as means over classes and for each of "
                        "them: precision, recall, f1, auc"),
    LEAT_OPTION_NODE(leat_train_options, average, "",
                     "averages of the weights over updates; default: no average"),
    LEAT_OPTION_NODE(leat_train_options, multipliers, "",
                     "factors of the learning rate of single parameters, by name or pattern, such "
                     "as {bias: 2, batch_norm.shift: 64, 'layer1.*': 0.1}"),
    LEAT_OPTION_STRINGS(leat_train_options, no_decay, "[]",
                        "parameters without weight decay, such as [bias, batch_norm.scale]"),
    LEAT_OPTION_NODE(leat_train_options, weights, "",
                     "file of weights that the run begins with, which may fit the model only in "
                     "part; default: no file"),
    LEAT_OPTION_STRINGS(
        leat_train_options, frozen, "[]",
        "layers and parameters that stay as they are, by name or pattern, such as [conv1, "
        "'layer1.*']; a frozen batch_norm uses and keeps its running statistics in training, too"),
    LEAT_OPTION_STRING(
        leat_train_options, input, "",
        "tensor that the model reads; default: image, or the first that is neither target "
        "nor sample_weight"),
    LEAT_OPTION_NODE(
        leat_train_options, normalize, "",
        "mean and std of the input, which the device subtracts and divides by; default: neither"),
    LEAT_OPTION_STRING(leat_train_options, target, "label", "tensor to predict"),
    LEAT_OPTION_STRING(leat_train_options, sample_weight, "",
                       "tensor of one float32 per sample, 0 or more, that its loss is multiplied "
                       "by; default: no weights"),
    LEAT_OPTION_I64_OR(leat_train_options, seed, "auto", 0, LEAT_OPTION_I64_MAX, autos,
                       "seed of initial weights and dropout; auto: the config's seed"),
    LEAT_OPTION_I64_OR(leat_train_options, threads, "auto", 1, 1024, autos,
                       "compute threads on the CPU; auto: OMP_NUM_THREADS, else one per 50 million "
                       "operations of a step, up to all CPUs"),
    LEAT_OPTION_I64_OR(
        leat_train_options, micro_batches, "auto", 1, 256, autos,
        "parts of a batch whose gradients are summed in a fixed order, so that weights do not "
        "depend on threads; also the maximum number of computing threads; auto: the largest of 1, "
        "2, 4, 6, 12, 24, 48 that leaves each 32 rows"),
    LEAT_OPTION_ENUM(
        leat_train_options, precision, "fp32", precisions,
        "how layers compute; bf16: activations in bfloat16, weights in float32; tf32 is for GPUs"),
    LEAT_OPTION_ENUM(leat_train_options, graph, "auto", graphs,
                     "on a GPU: record the step, and that of evaluation, once as a CUDA graph and "
                     "replay it; auto: where that is possible"),
    LEAT_OPTION_NODE(leat_train_options, cuda, "",
                     "on a GPU: how cuDNN's plans are chosen and kept; default: by its heuristics, "
                     "anew in each run"),
    LEAT_OPTION_I64(leat_train_options, accumulate, "1", 1, 100000,
                    "batches per update; their gradients are averaged"),
    LEAT_OPTION_ENUM(
        leat_train_options, views, "none", view_names,
        "views of each image whose outputs are averaged in evaluation; mirror: also its mirror "
        "image; mirror_shift: also both shifted by a pixel, six views in all, of which the four "
        "shifted ones have half the weight"),
    LEAT_OPTION_F32(leat_train_options, clip, "0", 0, 1e9,
                    "largest norm of the whole gradient; a larger one is scaled down; 0: no limit"),
    LEAT_OPTION_I64(leat_train_options, sync_every, "0", 0, 1e9,
                    "steps between waits for the device (as when the loss is read); 0: never wait"),
    LEAT_OPTION_NODE(leat_train_options, checkpoint, "",
                     "where and how often to save what a run needs to continue; default: nowhere"),
    LEAT_OPTION_END
};

static const char *const bests[] = { "none",
#define BEST(name, text, field) text,
                                     LEAT_METRIC_LIST(BEST) NULL
#undef BEST
};

static const leat_option checkpoint_table[] = {
    LEAT_OPTION_STRING(leat_checkpoint_options, dir, NULL,
                       "folder of the checkpoints; created if missing"),
    LEAT_OPTION_I64(leat_checkpoint_options, every_steps, "0", 0, 1e12,
                    "also save every N steps, besides each epoch and the end; 0: off"),
    LEAT_OPTION_F64(leat_checkpoint_options, every_minutes, "0", 0, 1e6,
                    "also save every N minutes; 0: off"),
    LEAT_OPTION_I64(
        leat_checkpoint_options, keep, "3", 0, 1e9,
        "number of newest checkpoints to keep; older ones of the same model are deleted; "
        "0: all"),
    LEAT_OPTION_ENUM(leat_checkpoint_options, best, "none", bests,
                     "also keep the weights of the best evaluation, by this metric, in "
                     "best.safetensors of the folder"),
    LEAT_OPTION_END
};

static const char *const plan_choices[] = { "heuristic", "measure", NULL };

static const leat_option cuda_table[] = {
    LEAT_OPTION_ENUM(leat_cuda_options, plans, "heuristic", plan_choices,
                     "how cuDNN's plan of each layer is chosen; measure: by timing the first few "
                     "that its heuristics name, so that results can differ between runs"),
    LEAT_OPTION_STRING(leat_cuda_options, plan_cache, "",
                       "folder that keeps cuDNN's plans for later runs, which then open sooner; "
                       "default: no folder"),
    LEAT_OPTION_END
};

static const char *const layouts[] = {
#define LAYOUT_NAME(name, text) text,
    LEAT_WEIGHT_LAYOUT_LIST(LAYOUT_NAME)
#undef LAYOUT_NAME
        NULL
};

static const leat_option weights_table[] = {
    LEAT_OPTION_STRING(leat_weights_options, file, NULL,
                       "weights (safetensors) of leat, or with the names of PyTorch's modules"),
    LEAT_OPTION_STRINGS(leat_weights_options, skip, "[]",
                        "layers and tensors, by name or pattern, such as [fc, 'layer4.*'], that "
                        "are not taken: of the model they keep their initial values; without it, "
                        "whatever is only in one of the two or has another shape is an error"),
    LEAT_OPTION_ENUM(leat_weights_options, layout, "auto", layouts,
                     "whose names and layouts the file has; auto: leat's where its notes say so, "
                     "else PyTorch's"),
    LEAT_OPTION_END
};

typedef struct normalize_options {
    leat_f32s mean, std;
} normalize_options;

/* As of the op. */
static const leat_option normalize_table[] = {
    LEAT_OPTION_F32S(normalize_options, mean, "0", -1e6, 1e6,
                     "mean of each channel (uint8 pixels count as 0 to 1), or one for all"),
    LEAT_OPTION_F32S(normalize_options, std, "1", 1e-6, 1e6,
                     "standard deviation of each channel, in the unit of `mean`, or one for all"),
    LEAT_OPTION_END
};

const leat_kind *leat_normalize_kind(size_t i)
{
    static const leat_kind kind = {
        "normalize",
        "subtract the mean of the model's input and divide by its standard deviation, on the "
        "device, as the op of that name does before the copy",
        normalize_table
    };
    return i == 0 ? &kind : NULL;
}

const leat_kind *leat_weights_kind(size_t i)
{
    static const leat_kind kind = { "weights", "weights that a run begins with", weights_table };
    return i == 0 ? &kind : NULL;
}

const leat_kind *leat_cuda_kind(size_t i)
{
    static const leat_kind kind = { "cuda", "training on a GPU", cuda_table };
    return i == 0 ? &kind : NULL;
}

const leat_kind *leat_checkpoint_kind(size_t i)
{
    static const leat_kind kind = { "checkpoint", "where and how often a run is saved",
                                    checkpoint_table };
    return i == 0 ? &kind : NULL;
}

const leat_kind *leat_train_kind(size_t i)
{
    static const leat_kind kind = { "train", "the model and how it is trained", train_table };
    return i == 0 ? &kind : NULL;
}

int leat_trainer_options(const leat_config *config, leat_train_options *out, const leat_node **node,
                         leat_error *err)
{
    const leat_node *root = leat_config_root(config);
    *node = leat_node_find(root, "train");
    if (leat_node_is_null(*node))
        return leat_node_fail(root, err, LEAT_E_CONFIG,
                              "the config has no `train` part with a model and a loss");
    return leat_node_options(*node, *node, "train", train_table, out, err);
}

int leat_trainer_options_checkpoint(const leat_node *node, leat_checkpoint_options *out,
                                    leat_error *err)
{
    if (leat_node_is_null(node))
        return LEAT_OK;
    const int rc = leat_node_options(node, node, "train.checkpoint", checkpoint_table, out, err);
    return rc < 0 || *out->dir.text ? rc
                                    : leat_node_fail(node, err, LEAT_E_CONFIG,
                                                     "train.checkpoint: `dir` is empty: name a "
                                                     "folder");
}

int leat_trainer_options_cuda(const leat_node *node, leat_cuda_options *out, leat_error *err)
{
    return leat_node_options(node, node, "train.cuda", cuda_table, out, err);
}

int leat_trainer_options_weights(const leat_node *node, leat_weights_options *out, leat_error *err)
{
    return leat_node_options(node, node, "train.weights", weights_table, out, err);
}

int leat_trainer_options_normalize(const leat_node *node, const leat_shape *input,
                                   bool channels_first, leat_model_normalize *out, leat_error *err)
{
    normalize_options o;
    const bool bytes = input->dtype == LEAT_U8;
    const double unit = bytes ? 255 : 1;
    int rc = leat_node_is_null(node)
                 ? LEAT_OK
                 : leat_node_options(node, node, "train.normalize", normalize_table, &o, err);
    if (rc < 0 || leat_node_is_null(node))
        return rc;
    const int32_t n = o.mean.n > o.std.n ? o.mean.n : o.std.n;
    const int64_t channels = input->rank ? input->dims[input->rank - 1] : 1;
    if (n < 1 || (n != 1 && n != channels) || (o.mean.n != n && o.mean.n != 1) ||
        (o.std.n != n && o.std.n != 1))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "train.normalize: mean has %d values and std has %d; give one, or as "
                              "many as the input has channels: %lld",
                              (int)o.mean.n, (int)o.std.n, (long long)channels);
    if (n > 1 && channels_first)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "train.normalize: mean and std are for the last dimension, but a map "
                              "puts the channels first: normalize in the map, before `layout`");
    for (int32_t c = 0; c < n; c++) {
        const double mean = (double)o.mean.values[o.mean.n > 1 ? c : 0];
        const double std = (double)o.std.values[o.std.n > 1 ? c : 0];
        if (bytes && (mean > 1 || std > 1))
            return leat_node_fail(node, err, LEAT_E_CONFIG,
                                  "train.normalize: uint8 pixels count as 0 to 1, so a %s of %g "
                                  "is none of theirs: divide mean and std by 255",
                                  mean > 1 ? "mean" : "std", mean > 1 ? mean : std);
        out->scale[c] = (float)(1.0 / (unit * std));
        out->shift[c] = (float)(-mean / std);
    }
    out->n = n;
    return LEAT_OK;
}
