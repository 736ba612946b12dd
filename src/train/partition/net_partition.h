/* SPDX-License-Identifier: MIT
 *
 * net_partition.h: the backend of models whose layers run on several devices: a net of several nets. A trainer chooses it. */
#ifndef LEAT_NET_PARTITION_H
#define LEAT_NET_PARTITION_H

#include "train/nn.h"

extern const leat_backend leat_backend_partition;

/* A layer names a device. */
bool leat_partition_wanted(const leat_model *model);

/* crossings, and their bytes, are those of a training step of a full batch without masks. */
typedef struct leat_partition_info {
    int64_t crossings, bytes;
    bool simulated;                                 /* a device is */
    bool ends_simulated;                            /* that of the loss is */
    const char *simulated_layer, *simulated_device; /* the first; NULL: none */
    bool in_host_memory;                            /* all devices compute there */
} leat_partition_info;
leat_partition_info leat_partition_describe(const leat_net *net);

#endif
