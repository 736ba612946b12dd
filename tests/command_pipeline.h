/* SPDX-License-Identifier: MIT
 *
 * command_pipeline.h: a config over the images of command_fixture.h, for the commands that run one. */
#ifndef COMMAND_PIPELINE_H
#define COMMAND_PIPELINE_H

#include "command_fixture.h"

static const char pipeline[] =
    "source: {tfrecord: \"x-*.tfrecord\"}\n"
    "pipeline:\n"
    "  - shuffle: {seed: 3}\n"
    "  - map: {ops: [decode_jpeg, {random_crop: {size: [16, 16], pad: 2}}, random_flip,\n"
    "               {normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}]}\n"
    "  - batch: {size: 16}\n"
    "  - prefetch: {batches: 2}\n"
    "eval:\n"
    "  source: {tfrecord: \"y-*.tfrecord\"}\n"
    "  pipeline:\n"
    "    - map: {ops: [decode_jpeg, {center_crop: {size: [16, 16]}},\n"
    "                  {normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}]}\n"
    "    - batch: {size: 16}\n"
    "train:\n"
    "  epochs: 2\n"
    "  model: [flatten, {dense: {units: 10}}]\n"
    "  loss: softmax_cross_entropy\n"
    "  optimizer: {adam: {learning_rate: 1.0e-3}}\n";

static inline void make_pipeline(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(pipeline, file);
    assert_int_equal(fclose(file), 0);
    expect_success(shell("$L convert images images -o x --shards 2 -q && "
                         "$L convert images test-images -o y -q"));
}

static inline double real(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_number(value))
        fail_msg("no number \"%s\"", key);
    return json_number_value(value);
}

static inline void expect_shares(const json_t *json)
{
    const double sum = real(json, "busy") + real(json, "input_wait") + real(json, "exposed_copy") +
                       real(json, "other");
    assert_true(sum > 0.999 && sum < 1.001);
    assert_true(real(json, "samples_per_s") > 0);
    assert_true(real(json, "step_p50_ms") <= real(json, "step_p95_ms"));
}

#endif
