/* SPDX-License-Identifier: MIT
 *
 * gpu_cases.h: what must hold on every GPU, checked on any device that has a map: by the tests on a
 * fake GPU, and by gpu_check on a real one. */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include "device_impl.h"

typedef enum gpu_verdict { GPU_PASSED, GPU_FAILED, GPU_NOT_RUN } gpu_verdict;

typedef struct gpu_run {
    leat_device *device;
    uint64_t seed;
    int effort;     /* how much of it: 1 for a quick look, 100 for all */
    char text[400]; /* out: what was found, in one line */
} gpu_run;

typedef struct gpu_case {
    const char *name, *help;
    gpu_verdict (*run)(gpu_run *run);
} gpu_case;

/* All cases; the last has a NULL name. */
extern const gpu_case gpu_cases[];

/* Fills run->text. */
gpu_verdict gpu_say(gpu_run *run, gpu_verdict verdict, const char *format, ...) LEAT_PRINTF(3, 4);

/* gpu_case_ops.c: every op with a kernel, on random shapes, options, plans and pixels. */
gpu_verdict gpu_case_ops(gpu_run *run);
/* gpu_case_loader.c: whole pipelines, mapped on the device and on the host. */
gpu_verdict gpu_case_loader(gpu_run *run);
gpu_verdict gpu_case_leaks(gpu_run *run);
/* gpu_cases.c */
gpu_verdict gpu_case_copies(gpu_run *run);
gpu_verdict gpu_case_order(gpu_run *run);
gpu_verdict gpu_case_clock(gpu_run *run);
gpu_verdict gpu_case_memory(gpu_run *run);

#endif
