/* SPDX-License-Identifier: MIT
 *
 * bench_job.h: a job whose bottleneck is known: records of one size, an op that takes a given time, a consumer that
 * only takes or a simulated device; and one run of it with given settings. */
#ifndef LEAT_BENCH_JOB_H
#define LEAT_BENCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_job {
    const char *name;
    size_t record_bytes;
    bool cold;      /* files are not in the page cache */
    int64_t rounds; /* of arithmetic per sample; some 0.8 ns each */
    int64_t slow_every;
    int64_t batch;
    double step_us; /* of the device per sample; 0: a consumer that only takes */
} bench_job;

typedef struct bench_setting {
    char engine[160];
    char prefetch[16];
    double rate; /* samples/s of a search */
} bench_setting;

/* What one run came to. */
typedef struct bench_job_figure {
    double rate;   /* samples/s */
    double cpu_ns; /* of all threads, per sample: on a busy machine the calmer figure */
} bench_job_figure;

/* Runs a job on a file of bench_records_write() over `ms`, after a third as long to warm up; a cold file is read once
 * at most. An error ends the program. */
bench_job_figure bench_job_run(const bench_job *job, const char *path, const bench_setting *setting,
                               int64_t ms);

#endif
