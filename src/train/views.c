/* SPDX-License-Identifier: MIT
 *
 * views.c: the functions of views.h, which describes them. */
#include "views.h"

#include <stdlib.h>
#include <string.h>

/* An image is mirrored, then pixel (y, x) is taken from (y + dy, x + dx). */
typedef struct view {
    int32_t mirrored, dy, dx;
    float share;
} view;

static const view mirror[] = { { 0, 0, 0, 0.5f }, { 1, 0, 0, 0.5f } };
static const view mirror_shift[] = { { 0, 0, 0, 0.25f },    { 1, 0, 0, 0.25f },
                                     { 0, -1, -1, 0.125f }, { 1, -1, -1, 0.125f },
                                     { 0, 1, 1, 0.125f },   { 1, 1, 1, 0.125f } };

/* Pixel i of n, mirrored at the edge: -1 is 1. */
static int64_t reflect(int64_t i, int64_t n)
{
    if (n == 1)
        return 0;
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

static void make_view(const view *v, const leat_shape *image, const leat_view *from, int64_t rows,
                      char *to)
{
    const int64_t *d = image->dims;
    const size_t pixel = (size_t)d[2] * leat_dtype_bytes(image->dtype);
    for (int64_t i = 0; i < rows * d[0]; i++) {
        const int64_t y = reflect(i % d[0] + v->dy, d[0]);
        const char *line =
            (const char *)from->data + (size_t)((i / d[0] * d[0] + y) * d[1]) * pixel;
        for (int64_t x = 0; x < d[1]; x++, to += pixel) {
            const int64_t at = reflect(x + v->dx, d[1]);
            memcpy(to, line + (size_t)(v->mirrored ? d[1] - 1 - at : at) * pixel, pixel);
        }
    }
}

static void add_logits(float *sum, const float *logits, float share, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += share * logits[i];
}

/* Runs every view. image: room for all rows; logits: for those of a view; sum: the result. */
static int run_views(const leat_model *model, const leat_backend *backend, leat_net *net,
                     const view *list, size_t n_views, const leat_net_rows *rows, char *image,
                     float *logits, float *sum, size_t n, leat_error *err)
{
    memset(sum, 0, n * sizeof *sum);
    for (size_t i = 0; i < n_views; i++) {
        const leat_net_step how = { .train = false, .logits = logits };
        leat_net_rows here = *rows;
        leat_step_times times = { 0 };
        make_view(&list[i], &model->input, &rows->x, rows->rows, image);
        here.x.data = image;
        const int rc = backend->step(net, NULL, &here, &how, &times, err);
        if (rc < 0)
            return rc;
        add_logits(sum, logits, list[i].share, n);
    }
    return LEAT_OK;
}

int leat_views_outputs(const leat_model *model, const leat_backend *backend, leat_net *net,
                       leat_views views, const leat_net_rows *rows, float *out, leat_error *err)
{
    const bool shifts = views == LEAT_VIEWS_MIRROR_SHIFT;
    const size_t n = (size_t)(rows->rows * model->layers[model->n_layers - 1].out.dims[0]);
    char *image = malloc((size_t)(leat_shape_bytes(&model->input) * rows->rows));
    float *logits = malloc(n * sizeof *logits);
    const int rc = image && logits
                       ? run_views(model, backend, net, shifts ? mirror_shift : mirror,
                                   shifts ? sizeof mirror_shift / sizeof *mirror_shift
                                          : sizeof mirror / sizeof *mirror,
                                   rows, image, logits, out, n, err)
                       : leat_fail(err, LEAT_E_NOMEM, "evaluation: no memory for views");
    free(image);
    free(logits);
    return rc;
}

int leat_views_evaluate(const leat_model *model, const leat_backend *backend, leat_net *net,
                        leat_views views, const leat_net_rows *rows, float *out,
                        leat_net_sums *sums, leat_error *err)
{
    const int64_t classes = model->layers[model->n_layers - 1].out.dims[0];
    const int rc = leat_views_outputs(model, backend, net, views, rows, out, err);
    if (rc == LEAT_OK) {
        const leat_loss_rows all = { .logits = out,
                                     .n = classes,
                                     .rows = rows->rows,
                                     .target = &rows->y,
                                     .weights = rows->weights.data,
                                     .valid = rows->valid,
                                     .batch_rows = rows->n_valid };
        sums->samples += (uint64_t)rows->n_valid;
        model->loss->eval(model->loss_options, &all, &sums->loss, &sums->right);
    }
    return rc;
}
