/* SPDX-License-Identifier: MIT
 *
 * config_sample.h: a whole config, for tests of reading configs. */
#ifndef LEAT_CONFIG_SAMPLE_H
#define LEAT_CONFIG_SAMPLE_H

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

#endif
