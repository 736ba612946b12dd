/* SPDX-License-Identifier: MIT
 *
 * gpu_cases.h: what must hold on every GPU, checked on any device that has a map: by the tests on a
 * fake GPU, and by gpu_check on a real one. */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include "device/device_table.h"
#include "leat/loader.h"

typedef enum gpu_verdict { GPU_PASSED, GPU_FAILED, GPU_NOT_RUN } gpu_verdict;

/* A number that was measured. */
typedef struct gpu_figure {
    char name[48], unit[16];
    double value;
} gpu_figure;
enum { GPU_FIGURES = 40 };

typedef struct gpu_run {
    leat_device *device;
    uint64_t seed;
    int effort; /* how much of it: 1 for a quick look, 100 for all */
    /* out: what was found, in one line, and in numbers */
    char text[400];
    int32_t n_figures;
    gpu_figure figures[GPU_FIGURES];
} gpu_run;

typedef struct gpu_case {
    const char *name, *help;
    gpu_verdict (*run)(gpu_run *run);
} gpu_case;

/* All cases, and what is measured on a real GPU only; the last has a NULL name. */
extern const gpu_case gpu_cases[];
extern const gpu_case gpu_benches[];

/* Fills run->text. */
gpu_verdict gpu_say(gpu_run *run, gpu_verdict verdict, const char *format, ...) LEAT_PRINTF(3, 4);
/* Prints a line at once: what a case found before it was cut short, or failed at more than one place. */
void gpu_note(const char *format, ...) LEAT_PRINTF(1, 2);
/* Keeps a number. */
void gpu_keep(gpu_run *run, const char *name, double value, const char *unit);

/* gpu_benches.c: the median, the upper one of an even number; sorts them. */
double gpu_median(double *values, int n);

/* gpu_case_ops.c: every op with a kernel, on random shapes, options, plans and pixels. */
gpu_verdict gpu_case_ops(gpu_run *run);
/* gpu_case_loader.c: whole pipelines, mapped on the device and on the host. */
gpu_verdict gpu_case_loader(gpu_run *run);
gpu_verdict gpu_case_leaks(gpu_run *run);
/* The tensors of a batch in host memory, one behind the other; device memory is copied behind the batch's
 * events. */
int gpu_fetch(gpu_run *run, leat_batch *batch, const leat_plan *plan, bool on_gpu,
              leat_stream *stream, uint8_t *to, size_t *bytes, leat_error *err);
/* gpu_bench_prims.c: on the first GPU, with a CUDA runtime of its own. */
gpu_verdict gpu_bench_prims(gpu_run *run);
/* gpu_bench_jpeg.c */
gpu_verdict gpu_bench_jpeg(gpu_run *run);
/* gpu_case_decode.c */
gpu_verdict gpu_case_decode(gpu_run *run);
gpu_verdict gpu_case_damage(gpu_run *run);
typedef struct gpu_pixels {
    int64_t batches, values, differing;
    uint64_t sum; /* of the differences */
    int most;
    int64_t rows, other_rows; /* that are other pictures: they differ by 10 of 255 on average */
    char first[100];          /* of those */
} gpu_pixels;
/* Two epochs of two loaders side by side, on the host and on the device. The first tensor's values are
 * bytes, whose differences are counted; all others must be the same. */
int gpu_compare_pixels(gpu_run *run, const leat_plan *host_plan, const leat_plan *gpu_plan,
                       leat_stream *stream, gpu_pixels *t, leat_error *err);
/* gpu_cases.c */
gpu_verdict gpu_case_copies(gpu_run *run);
gpu_verdict gpu_case_order(gpu_run *run);
gpu_verdict gpu_case_clock(gpu_run *run);
gpu_verdict gpu_case_memory(gpu_run *run);

/* gpu_case_device_cache.c: rows that stay on the device. */
gpu_verdict gpu_case_device_cache(gpu_run *run);

/* gpu_steps.c: a loader and a planted consumer, step by step. */
typedef struct gpu_steps {
    int prefetch, batch, steps;
    int64_t row_bytes;  /* of one sample */
    double sleep_ms;    /* of each sample on the CPU: the input's time */
    int64_t compute_ns; /* of a step on the device */
    int64_t launches;   /* kernels that it is cut into; 0 is 1 */
    int64_t host_ns;    /* the host sleeps before each step */
    bool pageable, record;
} gpu_steps;
typedef struct gpu_steps_result {
    double step_ms, idle, input_wait, exposed_copy, copy_ms; /* shares of 1; from events */
    bool recorded;
    char no_record[200];       /* why not */
    leat_device_shares shares; /* of the window */
    double recorded_idle, window_ms;
    uint64_t dropped;
    int utilisation; /* by the driver, of its last sample period; -1: not known */
} gpu_steps_result;
/* Returns a code; *err says more. */
int gpu_steps_run(leat_device *device, const gpu_steps *what, gpu_steps_result *out,
                  leat_error *err);

#endif
