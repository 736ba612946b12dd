/* SPDX-License-Identifier: MIT
 *
 * own_loop.c: a training loop of one's own over a leat pipeline: softmax regression by hand.
 *
 *     own_loop                  on points made in memory
 *     own_loop CONFIG.yaml      on any pipeline whose first tensor is float32 of one size and that has an
 *                               int64 `label`: what leat delivers does not care who trains */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "leat/leat.h"

enum { EPOCHS = 3, POINTS = 6000, INPUTS = 16, CLASSES = 10 };

static void stop(const leat_error *err)
{
    leat_error_print(err, stderr);
    exit(1);
}

/* --- the model: knows arrays, nothing of leat --------------------------------------------------- */

typedef struct model {
    int64_t n_inputs, n_classes;
    float *weights; /* n_classes rows of n_inputs and a bias */
} model;

/* Probabilities of all classes. */
static void predict(const model *m, const float *x, float *p)
{
    float most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < m->n_classes; c++) {
        const float *w = m->weights + c * (m->n_inputs + 1);
        p[c] = w[m->n_inputs];
        for (int64_t i = 0; i < m->n_inputs; i++)
            p[c] += w[i] * x[i];
        most = p[c] > most ? p[c] : most;
    }
    for (int64_t c = 0; c < m->n_classes; c++)
        sum += p[c] = expf(p[c] - most);
    for (int64_t c = 0; c < m->n_classes; c++)
        p[c] /= sum;
}

/* One descent along the gradient of one sample's cross-entropy; returns its loss. */
static double descend(model *m, const float *x, int64_t label, float rate, float *p)
{
    predict(m, x, p);
    const double loss = -log(fmaxf(p[label], 1e-30f));
    for (int64_t c = 0; c < m->n_classes; c++) {
        float *w = m->weights + c * (m->n_inputs + 1);
        const float step = rate * (p[c] - (c == label));
        for (int64_t i = 0; i < m->n_inputs; i++)
            w[i] -= step * x[i];
        w[m->n_inputs] -= step;
    }
    return loss;
}

/* --- data for when no config is given: one cloud of points per class ------------------------------ */

static float points[POINTS][INPUTS];
static int64_t labels[POINTS];

static leat_plan *plan_of_points(void)
{
    const int64_t dims[] = { INPUTS };
    const leat_rows rows[] = {
        { "x", leat_shape_make(LEAT_F32, 1, dims), points },
        { "label", leat_shape_make(LEAT_I64, 0, NULL), labels },
    };
    leat_rng rng = leat_rng_make(1, 0, 0, 0);
    leat_plan *plan;
    leat_error err;
    for (int64_t r = 0; r < POINTS; r++) {
        labels[r] = leat_rng_below(&rng, CLASSES);
        for (int64_t i = 0; i < INPUTS; i++)
            points[r][i] = leat_rng_normal(&rng) + (i == labels[r] ? 3.0f : 0.0f);
    }
    leat_builder *builder = leat_builder_open();
    if (!builder)
        exit(1);
    leat_builder_rows(builder, POINTS, rows, 2);
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "batch", "64");
    leat_builder_stage(builder, "prefetch", NULL);
    if (leat_builder_plan(builder, &plan, &err) != LEAT_OK)
        stop(&err);
    leat_builder_close(&builder);
    return plan;
}

/* --- the loop ------------------------------------------------------------------------------------- */

static leat_plan *open_plan(const char *path)
{
    leat_plan *plan;
    leat_error err;
    if (!path)
        return plan_of_points();
    if (leat_plan_load(path, &plan, &err) != LEAT_OK)
        stop(&err);
    return plan;
}

/* Trains on one batch; returns the sum of its losses. */
static double train_on(model *m, const leat_batch *batch, int32_t label_index, float *p)
{
    const leat_view x = leat_batch_tensor(batch, 0); /* {rows, …}, row after row */
    const leat_view y = leat_batch_tensor(batch, label_index);
    const uint8_t *const valid = leat_batch_valid(batch); /* NULL: all are samples */
    double loss = 0;
    for (int64_t row = 0; row < x.shape.dims[0]; row++) {
        const int64_t label = ((const int64_t *)y.data)[row];
        if (label < 0 || label >= m->n_classes) {
            fprintf(stderr, "own_loop: label %lld of %lld classes\n", (long long)label,
                    (long long)m->n_classes);
            exit(1);
        }
        if (!valid || valid[row])
            loss += descend(m, (const float *)x.data + row * m->n_inputs, label, 0.005f, p);
    }
    return loss;
}

static void train(const leat_plan *plan, model *m, int32_t label_index, float *p)
{
    const leat_loader_options options = { .epochs = EPOCHS };
    leat_loader_stats_info stats;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    double loss = 0;
    int64_t n_samples = 0, epoch = 0;
    if (leat_loader_open(plan, &options, &loader, &err) != LEAT_OK)
        stop(&err);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const leat_batch_info *info = leat_batch_get_info(batch);
        if (info->epoch != epoch) {
            printf("epoch %lld: loss %.4f\n", (long long)epoch, loss / (double)n_samples);
            loss = 0;
            n_samples = 0;
            epoch = info->epoch;
        }
        loss += train_on(m, batch, label_index, p);
        n_samples += info->rows - info->n_masked;
        leat_batch_release(batch);
    }
    if (err.code != LEAT_E_END)
        stop(&err);
    printf("epoch %lld: loss %.4f\n", (long long)epoch, loss / (double)n_samples);
    leat_loader_stats(loader, &stats);
    printf("%llu samples in %.0f ms, of which %.0f ms were spent waiting for batches\n",
           (unsigned long long)stats.samples, (double)stats.wall_ns / 1e6,
           (double)stats.wait_ns / 1e6);
    leat_loader_close(&loader);
}

int main(int argc, char **argv)
{
    leat_plan *plan = open_plan(argc > 1 ? argv[1] : NULL);
    const leat_tensor_info *input = leat_plan_tensor(plan, 0);
    const int32_t label_index = leat_plan_tensor_index(plan, "label");
    if (input->shape.dtype != LEAT_F32 || input->varies || label_index < 0 ||
        leat_plan_tensor(plan, label_index)->shape.dtype != LEAT_I64) {
        fprintf(stderr,
                "own_loop: needs a float32 tensor of one size first and an int64 `label`\n");
        return 1;
    }
    const int32_t known = leat_plan_get_info(plan)->n_classes;
    model m = { .n_inputs = leat_shape_elements(&input->shape),
                .n_classes = known ? known : CLASSES };
    m.weights = calloc((size_t)(m.n_classes * (m.n_inputs + 1)), sizeof *m.weights);
    float *p = calloc((size_t)m.n_classes, sizeof *p);
    if (!m.weights || !p)
        return 1;
    train(plan, &m, label_index, p);
    leat_plan_close(&plan);
    free(m.weights);
    free(p);
    return 0;
}
