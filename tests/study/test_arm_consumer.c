/* SPDX-License-Identifier: MIT
 *
 * test_arm_consumer.c: a step of given duration, whatever the batch. */
#include <math.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "study/arm.h"

enum { N_RECORDS = 32, STEP_NS = 1000000, N_STEPS = 10 };

/* Alone it makes as many samples of a second as it would make of the batches of the runs. */
TEST(it_takes_as_long_for_a_short_batch)
{
    static const int batches[] = { 31, 8, 32, 1 };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const int batch = batches[i];
        leat_arm arm = { .step_ns = STEP_NS };
        leat_compare_arm out = { .steps = N_STEPS };
        char text[512];
        leat_error err;
        snprintf(text, sizeof text,
                 "source:\n  tfrecord: {files: '%s', features: {x: {}, id: {type: int64}}}\n"
                 "engine: {threads: 1, reader: pread}\n"
                 "pipeline: [{batch: %d}, {prefetch: {batches: 2}}]\n",
                 path, batch);
        check(leat_arm_init(&arm, &out, 2, &err), &err);
        check(leat_config_parse(text, "arm.yaml", &arm.config, &err), &err);
        check(leat_arm_open(&arm, &err), &err);
        arm.settle = 1;
        for (int32_t round = 0; round < 2; round++) {
            check(leat_arm_run(&arm, round, &err), &err);
            check(leat_arm_run_step(&arm, round, &err), &err);
            assert_int_equal(arm.span_steps, N_STEPS * (round + 1));
            const double rows = (double)arm.use_run.rows / (double)arm.span_steps;
            const leat_meter *const alone = &arm.step[round];
            assert_true(rows == (batch == 31 ? 16 : batch));
            assert_int_equal(alone->wall_ns, STEP_NS * (int64_t)alone->n_steps);
            assert_true(fabs(alone->samples_per_s * STEP_NS * 1e-9 / rows - 1) < 1e-9);
        }
        leat_arm_close(&arm);
    }
}

SUITE_RECORD_FILE(N_RECORDS, 0)
