/* SPDX-License-Identifier: MIT
 *
 * device_sim.h: the simulated accelerator: options, presets, and work of a given size. Trainers and
 * tests call it. */
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
    double pageable_bytes_per_s; /* pageable; such copies are synchronous */
    int64_t copy_latency_ns;
    int32_t copy_data;    /* 1: copies move their bytes; 0: they only take time */
    int32_t host;         /* LEAT_SIM_PLAIN, LEAT_SIM_EAGER */
    leat_string measured; /* result file of gpu_check, "": none */
    int64_t open_ns;      /* opening takes this long */
} leat_sim_options;

enum { LEAT_SIM_PLAIN, LEAT_SIM_EAGER };

extern const leat_option leat_device_sim_options[];

typedef struct leat_sim_preset {
    const char *name;
    const char *source; /* where the figures come from */
    leat_sim_options options;
} leat_sim_preset;

/* Returns the i-th preset, NULL past the end. The first is the default. Static storage. */
const leat_sim_preset *leat_device_sim_preset(size_t i);

/* Parses the text after "sim:": nothing, a preset, options in flow YAML that change the default preset
 * ("{launch_ns: 0}"), or a preset and options. Writes one line about the result to `text`. Returns
 * LEAT_OK, LEAT_E_CONFIG or LEAT_E_NOMEM. */
int leat_device_sim_parse(const char *spec, leat_sim_options *options, char *text, size_t size,
                          leat_error *err);

/* Replaces rates and latency of copies by those in a result file of gpu_check: line "copy rates", figures
 * pinned_4_kib, pinned_37632_kib and pageable_37632_kib in GB/s. Returns LEAT_OK, LEAT_E_IO, LEAT_E_CONFIG
 * (the file has no such figures) or LEAT_E_NOMEM. */
int leat_device_sim_measured(const char *path, leat_sim_options *options, leat_error *err);

/* Enqueues a kernel of max(flops / peak, bytes / memory rate, kernel_min_ns). It starts no earlier than
 * its launch. Returns LEAT_OK. */
int leat_device_sim_kernel(leat_stream *stream, double flops, double bytes);
/* Enqueues a kernel of a given duration. */
int leat_device_sim_busy(leat_stream *stream, int64_t ns);
/* All work of a stream so far. Kernels never overlap, so the difference of work_ns over a step is its busy time. */
typedef struct leat_sim_work {
    int64_t work_ns;               /* duration of all kernels */
    int64_t n_launches, launch_ns; /* time of the host for them */
} leat_sim_work;
leat_sim_work leat_device_sim_work(const leat_stream *stream);

#endif
