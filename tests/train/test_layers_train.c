/* SPDX-License-Identifier: MIT
 *
 * Every layer of the CPU backend against a plain implementation in double: outputs (through the
 * loss), gradients of all parameters (through one step of length 1), running statistics; for full
 * and short batches, one thread and two. */
#include "fixtures/train_fixture.h"
#include "fixtures/train_reference.h"

#include <math.h>

enum { CLASSES = 5, MAX_ROWS = 9 };

typedef struct network {
    int32_t n;
    reference_layer *layers;
    double *x, *dx; /* dx: of the input, and of nothing else */
    int64_t n_x;
} network;

static double *doubles(int64_t n)
{
    return calloc((size_t)(n ? n : 1), sizeof(double));
}

static network network_open(leat_trainer *trainer)
{
    const leat_model *model = &trainer->model;
    network net = { .n = model->n_layers };
    net.layers = calloc((size_t)net.n, sizeof *net.layers);
    net.n_x = leat_shape_elements(&model->input);
    net.x = doubles(MAX_ROWS * net.n_x);
    net.dx = doubles(MAX_ROWS * net.n_x);
    for (int32_t i = 0; i < net.n; i++) {
        reference_layer *l = &net.layers[i];
        l->spec = &model->layers[i];
        l->n_in = leat_shape_elements(&l->spec->in);
        l->n_out = leat_shape_elements(&l->spec->out);
        l->y = doubles(MAX_ROWS * l->n_out);
        l->dy = doubles(MAX_ROWS * l->n_out);
        l->mean = doubles(l->n_in);
        l->variance = doubles(l->n_in);
        for (int32_t k = 0; k < l->spec->n_params; k++) {
            l->params[k] = doubles(leat_shape_elements(&l->spec->params[k].shape));
            l->grads[k] = doubles(leat_shape_elements(&l->spec->params[k].shape));
        }
    }
    return net;
}

static void network_close(network *net)
{
    for (int32_t i = 0; i < net->n; i++) {
        reference_layer *l = &net->layers[i];
        for (int32_t k = 0; k < LEAT_LAYER_MAX_PARAMS; k++) {
            free(l->params[k]);
            free(l->grads[k]);
        }
        free(l->y);
        free(l->dy);
        free(l->mean);
        free(l->variance);
    }
    free(net->layers);
    free(net->x);
    free(net->dx);
}

/* Takes the trainer's parameters over. */
static void network_read(network *net, leat_trainer *trainer)
{
    for (int32_t i = 0; i < net->n; i++)
        for (int32_t k = 0; k < net->layers[i].spec->n_params; k++) {
            const int64_t n = leat_shape_elements(&net->layers[i].spec->params[k].shape);
            float *values = read_param(trainer, i, k);
            for (int64_t j = 0; j < n; j++)
                net->layers[i].params[k][j] = (double)values[j];
            memset(net->layers[i].grads[k], 0, (size_t)n * sizeof(double));
            free(values);
        }
}

static double softmax_loss(network *net, const int64_t *labels, int64_t rows)
{
    reference_layer *last = &net->layers[net->n - 1];
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        double *y = last->y + r * last->n_out, most = y[0], sum = 0;
        for (int64_t c = 1; c < last->n_out; c++)
            most = y[c] > most ? y[c] : most;
        for (int64_t c = 0; c < last->n_out; c++)
            y[c] -= most; /* the loss does not change, and exp() stays finite */
        for (int64_t c = 0; c < last->n_out; c++)
            sum += exp(y[c]);
        loss += (log(sum) - y[labels[r]]) / (double)rows;
        for (int64_t c = 0; c < last->n_out; c++)
            last->dy[r * last->n_out + c] = (exp(y[c]) / sum - (c == labels[r])) / (double)rows;
    }
    return loss;
}

/* Output of a layer, or its gradient; -1 is the input. */
static double *values_of(network *net, int32_t i, bool gradient)
{
    if (i < 0)
        return gradient ? net->dx : net->x;
    return gradient ? net->layers[i].dy : net->layers[i].y;
}

/* add and concat have several inputs, so the functions of other layers do not fit them. */
static void merge(network *net, int32_t i, int64_t rows, bool backward)
{
    reference_layer *l = &net->layers[i];
    const bool adds = l->spec->layer == &leat_layer_add;
    const int64_t width = l->spec->out.dims[l->spec->out.rank - 1];
    int64_t first = 0;
    for (int32_t k = 0; k < l->spec->n_inputs; k++) {
        const int32_t from = l->spec->inputs[k];
        const leat_shape *shape =
            from < 0 ? &net->layers[0].spec->in : &net->layers[from].spec->out;
        const int64_t n = shape->dims[shape->rank - 1];
        double *x = values_of(net, from, backward);
        for (int64_t p = 0; p < rows * l->n_out / width; p++)
            for (int64_t c = 0; c < n; c++) {
                const int64_t at = p * width + first + c;
                if (backward)
                    x[p * n + c] += l->dy[at];
                else
                    l->y[at] = x[p * n + c] + (adds && k ? l->y[at] : 0);
            }
        first += adds ? 0 : n;
    }
}

static void run_layer(network *net, int32_t i, int64_t rows, bool training, bool backward)
{
    reference_layer *l = &net->layers[i];
    const int32_t from = l->spec->inputs[0];
    if (l->spec->layer->merges)
        merge(net, i, rows, backward);
    else
        reference_for(l->spec->layer)(l, values_of(net, from, false), values_of(net, from, true),
                                      rows, training, backward);
}

static double network_run(network *net, const float *x, const int64_t *labels, int64_t rows,
                          bool training)
{
    for (int64_t i = 0; i < rows * net->n_x; i++)
        net->x[i] = (double)x[i];
    for (int32_t i = 0; i < net->n; i++)
        run_layer(net, i, rows, training, false);
    for (int32_t i = 0; i < net->n; i++)
        memset(net->layers[i].dy, 0, (size_t)(rows * net->layers[i].n_out) * sizeof(double));
    const double loss = softmax_loss(net, labels, rows);
    for (int32_t i = net->n - 1; i >= 0 && training; i--)
        run_layer(net, i, rows, true, true);
    return loss;
}

static void close_to(double got, double wanted, double scale, const char *what, int64_t at,
                     const char *text)
{
    const double slack = 2e-5 + 3e-5 * scale;
    if (!(fabs(got - wanted) <= slack))
        fail_msg("%s [%lld]: %.9g, reference %.9g, allowed %.2g\n%s", what, (long long)at, got,
                 wanted, slack, text);
}

/* Statistic k of a batch_norm after a step. */
static double running(const reference_layer *l, int32_t k, int64_t j)
{
    const double kept = (double)((const leat_batch_norm_options *)l->spec->options)->momentum;
    return kept * l->params[k][j] + (1 - kept) * (k == 2 ? l->mean : l->variance)[j];
}

/* A parameter has moved by its gradient times the rate. */
static void compare_step(const network *net, leat_trainer *trainer, double rate, const char *text)
{
    for (int32_t i = 0; i < net->n; i++)
        for (int32_t k = 0; k < net->layers[i].spec->n_params; k++) {
            const reference_layer *l = &net->layers[i];
            const int64_t n = leat_shape_elements(&l->spec->params[k].shape);
            float *now = read_param(trainer, i, k);
            char name[64];
            leat_model_param_name(&trainer->model, i, k, name, sizeof name);
            for (int64_t j = 0; j < n; j++) {
                const double before = l->params[k][j];
                const double wanted = l->spec->params[k].trained ? before - rate * l->grads[k][j]
                                      : l->spec->params[k].frozen || !l->spec->params[k].statistic
                                          ? before
                                          : running(l, k, j);
                close_to((double)now[j], wanted, fabs(before) + fabs(wanted - before), name, j,
                         text);
            }
            free(now);
        }
}

static double loss_of(leat_trainer *trainer)
{
    leat_metrics metrics;
    assert_int_equal(leat_trainer_metrics(trainer, &metrics, NULL), LEAT_OK);
    return metrics.loss;
}

/* Two steps (the second from trained parameters) and an evaluation for every number of rows. False: the model has
 * nothing that is frozen by these keys, or nothing else. */
static bool check_model(const char *layers, const char *frozen, const leat_shape *input,
                        int64_t batch, int64_t least, int threads, int n_micro)
{
    char text[1024];
    fixture f;
    /* Without statistics of the batch, values grow faster. */
    const double rate = *frozen ? 0.25 : 1;
    const leat_trainer_feed feed = { .input = *input,
                                     .target = leat_shape_make(LEAT_I64, 0, NULL),
                                     .batch_size = batch,
                                     .seed = 5 };
    snprintf(text, sizeof text,
             "train: {threads: %d, micro_batches: %d, frozen: [%s], model: [%s], loss: "
             "softmax_cross_entropy, optimizer: {sgd: {learning_rate: %g}}}",
             threads, n_micro, frozen, layers, rate);
    if (*frozen && fixture_open(&f, text, &feed) < 0) {
        if (!strstr(f.err.message, "the model has no") && !strstr(f.err.message, "is frozen"))
            fail_msg("%s\n%s", f.err.message, text);
        fixture_close(&f);
        return false;
    }
    if (!*frozen)
        fixture_must_open(&f, text, &feed);
    network net = network_open(f.trainer);
    const int64_t rows_of[] = { batch, batch - 1, batch, least };
    for (uint64_t i = 0; i < 4; i++) {
        const int64_t rows = rows_of[i];
        leat_error err;
        float *x = random_floats(i, (size_t)(rows * net.n_x));
        int64_t *labels = random_labels(i, (size_t)rows, CLASSES);
        const leat_view xs = batch_view(&feed.input, rows, x);
        const leat_view ys = batch_view(&feed.target, rows, labels);
        network_read(&net, f.trainer);
        const double even = network_run(&net, x, labels, rows, false);
        if (leat_trainer_step_views(f.trainer, &xs, &ys, rows, false, &err) < 0)
            fail_msg("%s\n%s", err.message, text);
        close_to(loss_of(f.trainer), even, even, "evaluation loss", rows, text);
        const double loss = network_run(&net, x, labels, rows, true);
        if (leat_trainer_step_views(f.trainer, &xs, &ys, rows, true, &err) < 0)
            fail_msg("%s\n%s", err.message, text);
        close_to(loss_of(f.trainer), loss, loss, "training loss", rows, text);
        compare_step(&net, f.trainer, rate, text);
        free(x);
        free(labels);
    }
    network_close(&net);
    fixture_close(&f);
    return true;
}

typedef struct model_case {
    const char *layers;
    int32_t rank;
    int64_t dims[3];
    int64_t least; /* rows that still make sense */
} model_case;

/* The shape of the input, and `least`. */
#define IMAGE(height, width, channels, least) 3, { height, width, channels }, least
#define VECTOR(size, least)                   1, { size }, least

static const model_case cases[] = {
    { "dense: 5", VECTOR(7, 1) },
    { "dense: {units: 5, bias: false}", VECTOR(33, 1) },
    { "dense: 19, dense: 5", VECTOR(20, 1) },
    { "dense: 16, relu, dense: 64, relu, dense: 5", VECTOR(100, 1) },
    { "relu, dense: 5", VECTOR(12, 1) },
    { "dense: 9, relu, relu, dense: 5", VECTOR(12, 1) },
    { "dense: 9, sigmoid, dense: 5", VECTOR(12, 1) },
    { "dense: 9, sigmoid, relu, dense: 5", VECTOR(12, 1) },
    { "dense: 9, relu, sigmoid, dense: 5", VECTOR(12, 1) },
    { "dense: 9, sigmoid, sigmoid, dense: 5", VECTOR(12, 1) },
    { "dense: 12, batch_norm, dense: 5", VECTOR(10, 3) },
    { "conv2d: {filters: 8, kernel: 3}, max_pool: 2, relu, sigmoid, flatten, dense: 5",
      IMAGE(8, 8, 3, 1) },
    { "dense: 12, batch_norm, relu, dense: 5", VECTOR(10, 3) },
    { "batch_norm: {momentum: 0.5, epsilon: 0.01}, dense: 5", VECTOR(10, 3) },
    { "dense: 8, dropout: 0, relu, dropout: {rate: 0}, dense: 5", VECTOR(6, 1) },
    { "dense: 8, sigmoid, dropout: 0, dense: 5", VECTOR(6, 1) },
    { "flatten, dense: 5", IMAGE(4, 3, 2, 1) },
    { "flatten, dense: 5", 2, { 4, 3 }, 1 },
    { "dense: 5", 0, { 0 }, 1 },
    { "flatten, relu, flatten, dense: 5", IMAGE(5, 4, 3, 1) },
    { "conv2d: {filters: 4, kernel: 3, padding: same}, flatten, dense: 5", IMAGE(6, 5, 3, 1) },
    { "conv2d: {filters: 16, kernel: [3, 2]}, flatten, dense: 5", IMAGE(6, 7, 1, 1) },
    { "conv2d: {filters: 5, kernel: 5, stride: 2, padding: same, bias: false}, relu, flatten, "
      "dense: 5",
      IMAGE(9, 8, 2, 1) },
    { "conv2d: {filters: 20, kernel: 3, stride: [1, 2]}, relu, conv2d: {filters: 17, kernel: 2, "
      "padding: same}, relu, flatten, dense: 5",
      IMAGE(7, 9, 4, 1) },
    { "conv2d: {filters: 32, kernel: 3, padding: same}, relu, conv2d: {filters: 32, kernel: 3, "
      "padding: same}, relu, global_avg_pool, dense: 5",
      IMAGE(8, 8, 3, 1) },
    { "conv2d: {filters: 16, kernel: 1}, conv2d: {filters: 16, kernel: 1}, flatten, dense: 5",
      IMAGE(4, 4, 16, 1) },
    /* oneDNN 2.6 wrote behind its memory here, on CPUs with AVX2 only. */
    { "conv2d: {filters: 4, kernel: 1, stride: 2}, relu, flatten, dense: 5", IMAGE(28, 28, 1, 1) },
    { "conv2d: {filters: 3, kernel: 1, stride: 2}, conv2d: {filters: 12, kernel: 1, stride: 2}, "
      "flatten, dense: 5",
      IMAGE(16, 16, 3, 1) },
    { "conv2d: {filters: 7, kernel: 3}, sigmoid, flatten, dense: 5", IMAGE(6, 6, 2, 1) },
    { "conv2d: {filters: 8, kernel: 3}, max_pool: 2, flatten, dense: 5", IMAGE(8, 9, 3, 1) },
    { "conv2d: {filters: 16, kernel: 3}, max_pool: {size: 3, stride: 2, padding: same}, relu, "
      "flatten, dense: 5",
      IMAGE(9, 8, 3, 1) },
    { "max_pool: {size: [2, 3]}, flatten, dense: 5", IMAGE(6, 6, 3, 1) },
    { "conv2d: {filters: 8, kernel: 3}, avg_pool: 2, flatten, dense: 5", IMAGE(8, 8, 3, 1) },
    { "conv2d: {filters: 6, kernel: 3}, avg_pool: {size: 3, stride: 2, padding: same}, flatten, "
      "dense: 5",
      IMAGE(8, 7, 3, 1) },
    { "conv2d: {filters: 6, kernel: 3}, global_avg_pool, dense: 5", IMAGE(5, 6, 3, 1) },
    { "conv2d: {filters: 16, kernel: 3}, global_avg_pool, relu, dense: 5", IMAGE(5, 6, 3, 1) },
    { "conv2d: {filters: 16, kernel: 3, bias: false}, batch_norm, relu, max_pool: 2, flatten, "
      "dense: 5",
      IMAGE(8, 8, 3, 1) },
    { "conv2d: {filters: 5, kernel: 3}, batch_norm, flatten, dense: 5", IMAGE(6, 6, 3, 1) },
    { "conv2d: {filters: 5, kernel: 3}, relu, batch_norm, sigmoid, flatten, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "batch_norm, relu, conv2d: {filters: 16, kernel: 3}, relu, flatten, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "dense: 12, gelu, dense: 9, silu, dense: 8, tanh, dense: 8, leaky_relu: 0.2, dense: 5",
      VECTOR(10, 1) },
    { "gelu, batch_norm, gelu, dense: 9, batch_norm, silu, dense: 9, batch_norm, tanh, dense: 9, "
      "batch_norm, leaky_relu, dense: 5",
      VECTOR(10, 3) },
    { "dense: 12, layer_norm, relu, layer_norm, dense: 5", VECTOR(10, 1) },
    { "conv2d: {filters: 6, kernel: 3}, layer_norm: {epsilon: 0.01}, gelu, flatten, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "dense: 12, softmax, multiply: 3, dense: 5", VECTOR(10, 1) },
    /* softmax behind an op with two inputs */
    { "dense: {name: a, units: 9}, dense: {name: b, units: 9}, add: {from: [a, b]}, softmax, "
      "dense: 5",
      VECTOR(10, 1) },
    { "conv2d: {filters: 8, kernel: 3, padding: 1, stride: 2, bias: false}, batch_norm: {scale: "
      "false}, gelu, flatten, dense: 5",
      IMAGE(8, 9, 3, 3) },
    { "conv2d: {filters: 8, kernel: 1}, conv2d: {filters: 16, kernel: 3, groups: 4, padding: "
      "same}, relu, flatten, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "conv2d: {filters: 8, kernel: 1}, conv2d: {filters: 8, kernel: 3, groups: 8}, relu, flatten, "
      "dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "conv2d: {filters: 7, kernel: 3, dilation: 2, padding: 2}, relu, conv2d: {filters: 5, "
      "kernel: [2, 3], dilation: [1, 2]}, flatten, dense: 5",
      IMAGE(9, 8, 3, 1) },
    { "max_pool: {size: 3, stride: 2, padding: 1}, conv2d: {filters: 5, kernel: 2, frozen: true}, "
      "relu, avg_pool: {size: 3, stride: 1, padding: 1}, flatten, dense: {units: 5, frozen: true}",
      IMAGE(7, 8, 3, 1) },
    { "conv2d: {name: a, filters: 6, kernel: 3, padding: same}, relu: {name: b}, conv2d: {filters: "
      "6, kernel: 3, padding: same, bias: false}, batch_norm: {name: c}, add: {from: [b, c]}, "
      "relu, flatten, dense: 5",
      IMAGE(6, 6, 3, 3) },
    { "conv2d: {name: a, filters: 6, kernel: 1}, add: {name: e, from: [a, a, a]}, concat: {from: "
      "[a, input, e]}, conv2d: {filters: 4, kernel: 3}, flatten, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "conv2d: {filters: 4, kernel: 3}, flatten: {name: f}, dense: {name: g, units: 7}, concat: "
      "{from: [g, f, g]}, dense: 5",
      IMAGE(6, 6, 3, 1) },
    { "dense: {name: a, units: 7}, gelu: {name: b}, dense: {name: c, from: a, units: 7}, add: "
      "{from: [b, c], name: d}, relu: {name: e}, concat: {from: [d, e, a, input]}, dense: 5",
      VECTOR(10, 1) },
    /* a model reads what is no image as a vector */
    { "dense: {name: a, units: 7}, concat: {from: [a, input]}, dense: 5", 2, { 4, 3 }, 1 },
    { "dense: {name: a, units: 7}, concat: {from: [input, a]}, dense: 5", 0, { 0 }, 1 },
    { "conv2d: {filters: 16, kernel: 3}, dropout: 0, max_pool: 2, flatten, dropout: 0, dense: 5",
      IMAGE(6, 6, 3, 1) },
};
enum { N_CASES = sizeof cases / sizeof *cases };

TEST(layers_equal_the_reference)
{
    static const int how[][2] = { { 1, 1 }, { 1, 2 }, { 2, 2 }, { 2, 3 }, { 3, 7 } };
    for (size_t k = 0; k < sizeof how / sizeof *how; k++)
        for (size_t i = 0; i < N_CASES; i++) {
            const leat_shape input = leat_shape_make(LEAT_F32, cases[i].rank, cases[i].dims);
            check_model(cases[i].layers, "", &input, MAX_ROWS, cases[i].least, how[k][0],
                        how[k][1]);
        }
}

/* What is frozen stays, and the gradients of the rest are those of the reference. */
TEST(so_do_frozen_layers)
{
    static const char *const keys[] = { "bias",         "weight",         "scale",
                                        "shift",        "batch_norm.*",   "batch_norm.mean",
                                        "'0.*'",        "'*.*.weight'",   "'*[02468].*.*'",
                                        "'[0-4].*.*'",  "bias, variance", "'*.scale', mean",
                                        "'*.conv2d.*'", "'*.dense.*'",    "'layer_norm.*'" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        int n = 0;
        for (size_t i = 0; i < N_CASES; i++) {
            const leat_shape input = leat_shape_make(LEAT_F32, cases[i].rank, cases[i].dims);
            n += check_model(cases[i].layers, keys[k], &input, MAX_ROWS, cases[i].least, 2,
                             1 + (int)(i + k) % 3);
        }
        if (n < 2)
            fail_msg("frozen: [%s] matches the layers of %d cases", keys[k], n);
    }
}

TEST(every_layer_is_in_a_case_and_has_a_reference)
{
    for (size_t k = 0; leat_layer_at(k); k++) {
        bool seen = false;
        for (size_t i = 0; i < N_CASES; i++)
            seen = seen || strstr(cases[i].layers, leat_layer_at(k)->kind.name);
        if (!seen || (!reference_for(leat_layer_at(k)) && !leat_layer_at(k)->merges))
            fail_msg("layer '%s' is not compared with a reference", leat_layer_at(k)->kind.name);
    }
}
