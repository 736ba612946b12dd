/* SPDX-License-Identifier: MIT
 *
 * consumer.c: the least a user's program does, in words that C and C++ share: a plan built in C
 * over rows in memory, a loader, every row counted once. */
#include <leat/leat.h>
#include <stdio.h>

enum { N = 10 };

static int run(leat_error *err)
{
    static int64_t values[N];
    int64_t sum = 0;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_batch *batch = NULL;
    leat_rows rows;
    for (int i = 0; i < N; i++)
        values[i] = i;
    rows.name = "x";
    rows.shape = leat_shape_make(LEAT_I64, 0, NULL);
    rows.data = values;

    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, N, &rows, 1);
    leat_builder_stage(builder, "shuffle", "{seed: 1}");
    leat_builder_stage(builder, "batch", "4");
    int rc = leat_builder_plan(builder, &plan, err);
    leat_builder_close(&builder);
    if (!rc)
        rc = leat_loader_open(plan, NULL, &loader, err);
    while (!rc && !(rc = leat_loader_next(loader, &batch, err))) {
        const leat_view view = leat_batch_tensor(batch, 0);
        for (int64_t i = 0; i < view.shape.dims[0]; i++)
            sum += ((const int64_t *)view.data)[i];
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    if (rc != LEAT_E_END)
        return rc;
    return sum == N * (N - 1) / 2 ? 0
                                  : leat_fail(err, LEAT_E_INTERNAL, "the rows sum to %d", (int)sum);
}

int main(void)
{
    leat_error err;
    err.message[0] = '\0';
    err.code = run(&err);
    if (err.code) {
        leat_error_print(&err, stderr);
        return 1;
    }
    printf("consumer: leat %s ok\n", leat_version());
    return 0;
}
