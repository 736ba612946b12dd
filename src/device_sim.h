/* SPDX-License-Identifier: MIT
 *
 * device_sim.h: what only the simulated accelerator can do: run work of a given size. */
#ifndef LEAT_DEVICE_SIM_H
#define LEAT_DEVICE_SIM_H

#include "device_impl.h"
#include "leat/option.h"

/* A simulated accelerator, by roofline. */
typedef struct leat_sim_options {
    double peak_flops;           /* floating-point operations per second */
    double memory_bytes_per_s;
    int64_t launch_ns;           /* host issues one kernel per launch_ns */
    int64_t kernel_min_ns;       /* shortest kernel */
    double copy_bytes_per_s;     /* pinned */
    double pageable_bytes_per_s; /* pageable: synchronous, staged */
    int64_t copy_latency_ns;
} leat_sim_options;

extern const leat_option leat_device_sim_options[];

/* Enqueues one kernel: runs for max(flops / peak, bytes / memory rate, kernel_min_ns) and starts no
 * earlier than its launch. Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_device_sim_kernel(leat_stream *stream, double flops, double bytes);
/* Enqueues a kernel of a given length. */
int leat_device_sim_busy(leat_stream *stream, int64_t ns);
/* Options of an open sim device. */
const leat_sim_options *leat_device_sim_get(const leat_device *device);

#endif
