/* SPDX-License-Identifier: MIT
 *
 * config_fixture.h: what the tests of reading configs share: a whole config, and how one is parsed. */
#ifndef CONFIG_FIXTURE_H
#define CONFIG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/node.h"
#include "leat/config.h"

static const char config_sample[] = "source:\n"
                                    "  tfrecord: data/cifar10-train-*.tfrecord\n"
                                    "pipeline:\n"
                                    "  - shuffle: {seed: 1}\n"
                                    "  - map:\n"
                                    "      device: cpu\n"
                                    "      ops:\n"
                                    "        - decode_jpeg\n"
                                    "        - random_crop: {size: [32, 32], pad: 4}\n"
                                    "        - random_flip\n"
                                    "  - map: [normalize]\n"
                                    "  - batch: 128\n"
                                    "  - prefetch: {batches: 2}\n"
                                    "train:\n"
                                    "  device: cpu\n"
                                    "  model:\n"
                                    "    - dense: {units: 64}\n"
                                    "    - relu\n"
                                    "    - dense: {units: 10}\n"
                                    "  loss: softmax_cross_entropy\n"
                                    "  optimizer: {adam: {learning_rate: 1.0e-3}}\n";

static inline leat_config *parse(const char *text)
{
    leat_config *config;
    leat_error err = { .code = 0 };
    if (leat_config_parse(text, "config.yaml", &config, &err))
        fail_msg("%s: %s", text, err.message);
    assert_non_null(config);
    return config;
}

static inline const leat_node *find(const leat_config *config, const char *key)
{
    const leat_node *node = leat_node_find(leat_config_root(config), key);
    assert_non_null(node);
    return node;
}

#endif
