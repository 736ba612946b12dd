/* SPDX-License-Identifier: MIT
 *
 * device_sim.h: what only the simulated accelerator can do: run work of a given size. */
#ifndef LEAT_DEVICE_SIM_H
#define LEAT_DEVICE_SIM_H

#include "device_table.h"
#include "leat/option.h"

/* A simulated accelerator, by roofline. */
typedef struct leat_sim_options {
    double peak_flops; /* floating-point operations per second */
    double memory_bytes_per_s;
    int64_t launch_ns;           /* host issues one kernel per launch_ns */
    int64_t kernel_min_ns;       /* shortest kernel */
    double copy_bytes_per_s;     /* pinned */
    double pageable_bytes_per_s; /* pageable: synchronous, staged */
    int64_t copy_latency_ns;
    int32_t copy_data; /* 1: copies move their bytes; 0: only their time is modelled */
} leat_sim_options;

extern const leat_option leat_device_sim_options[];

typedef struct leat_sim_preset {
    const char *name;
    const char *source; /* of the figures */
    leat_sim_options options;
} leat_sim_preset;

/* i-th preset, NULL past the end; the first is the default. Static storage. */
const leat_sim_preset *leat_device_sim_preset(size_t i);

/* Reads what may follow "sim:": nothing, the name of a preset, options in flow YAML
 * ("{launch_ns: 0}": the default preset with these changed), or a name and options. `text` gets
 * one line about the result. Returns LEAT_OK, LEAT_E_CONFIG or LEAT_E_NOMEM. */
int leat_device_sim_parse(const char *spec, leat_sim_options *options, char *text, size_t size,
                          leat_error *err);

/* Enqueues one kernel: runs for max(flops / peak, bytes / memory rate, kernel_min_ns) and starts no
 * earlier than its launch. Returns LEAT_OK. */
int leat_device_sim_kernel(leat_stream *stream, double flops, double bytes);
/* Enqueues a kernel of a given length. */
int leat_device_sim_busy(leat_stream *stream, int64_t ns);
/* Length of all kernels that were ever enqueued on the stream. Kernels never overlap each other, so
 * the difference around a step is the step's busy time. */
int64_t leat_device_sim_work_ns(const leat_stream *stream);

#endif
