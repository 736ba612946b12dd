/* SPDX-License-Identifier: MIT
 *
 * build_plan.c: a pipeline without a config file: rows in memory, stages added one by one. Options
 * are the YAML that a config would have, so everything that docs/config.md says holds here. */
#include <stdio.h>
#include <stdlib.h>

#include "leat/leat.h"

enum { IMAGES = 1000, SIDE = 28 };

static uint8_t images[IMAGES][SIDE][SIDE][1]; /* height, width, channels */
static int64_t labels[IMAGES];

/* A bright bar on a dark ground; its row is the label. */
static void draw_images(void)
{
    for (int64_t i = 0; i < IMAGES; i++) {
        labels[i] = i % 10;
        for (int64_t x = 0; x < SIDE; x++)
            images[i][4 + 2 * labels[i]][x][0] = 255;
    }
}

static int build(const char *batch_options, leat_plan **plan, leat_error *err)
{
    const int64_t dims[] = { SIDE, SIDE, 1 };
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, dims), images }, /* borrowed, not copied */
        { "label", leat_shape_make(LEAT_I64, 0, NULL), labels },
    };
    leat_builder *builder = leat_builder_open();
    if (!builder)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for a builder");
    leat_builder_rows(builder, IMAGES, rows, 2);
    leat_builder_seed(builder, 7);
    leat_builder_engine(builder, "{threads: 2}");
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "map",
                       "{ops: [{random_crop: {size: [28, 28], pad: 2}}, random_flip,"
                       "       {normalize: {mean: [0.5], std: [0.5]}}]}");
    leat_builder_stage(builder, "batch", batch_options);
    leat_builder_stage(builder, "prefetch", "{batches: 2}");
    const int rc = leat_builder_plan(builder, plan, err); /* the first error of all calls above */
    leat_builder_close(&builder);
    return rc;
}

static void print_plan(const leat_plan *plan)
{
    const leat_plan_info *info = leat_plan_get_info(plan);
    char shape[96];
    printf("%llu records in %lld batches of %lld\n", (unsigned long long)info->n_records,
           (long long)info->n_batches, (long long)info->batch_size);
    for (int32_t i = 0; i < info->n_tensors; i++) {
        const leat_tensor_info *tensor = leat_plan_tensor(plan, i);
        printf("  %s: %s\n", tensor->name, leat_shape_text(&tensor->shape, shape, sizeof shape));
    }
}

int main(void)
{
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    int64_t counts[10] = { 0 };
    draw_images();

    /* A mistake is found before anything runs, and the message names what was meant. */
    if (build("{size: 32, drop_remaindr: true}", &plan, &err) == LEAT_OK)
        return 1;
    printf("a mistake: %s\n\n", err.message);

    if (build("{size: 32, drop_remainder: true}", &plan, &err) != LEAT_OK ||
        leat_loader_open(plan, NULL, &loader, &err) != LEAT_OK) {
        leat_error_print(&err, stderr);
        return 1;
    }
    print_plan(plan);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const leat_view y = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "label"));
        for (int64_t row = 0; row < y.shape.dims[0]; row++)
            counts[((const int64_t *)y.data)[row]]++;
        leat_batch_release(batch);
    }
    if (err.code != LEAT_E_END) {
        leat_error_print(&err, stderr);
        return 1;
    }
    printf("samples per class in one epoch:");
    for (int c = 0; c < 10; c++)
        printf(" %lld", (long long)counts[c]);
    printf("\n");
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return 0;
}
