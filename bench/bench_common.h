/* SPDX-License-Identifier: MIT
 *
 * bench_common.h: what every program under bench/ shares: arms that are run in turn, medians, and
 * ratios against a named baseline of the same run. A figure without its baseline from the same
 * minutes on the same machine says little, so there is no way to print one.
 *
 *     int main(int argc, char **argv)
 *     {
 *         bench *b = bench_open(argc, argv, "order");
 *         const bench_arm arms[] = {
 *             { .name = "loop", .run = loop, .arg = &data, .work = n, .unit = "records" },
 *             { .name = "permute", .run = permute, .arg = &data, .work = n, .unit = "records" },
 *         };
 *         bench_group(b, "n = 50000", arms, 2, "loop");
 *         return bench_close(&b);
 *     }
 *
 * Every program takes --repeats N, --only TEXT (groups or arms whose name has TEXT; the baseline
 * always runs), --json (one object on stdout instead of the table) and --help. */
#ifndef LEAT_BENCH_COMMON_H
#define LEAT_BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct bench bench;

typedef struct bench_arm {
    const char *name;
    /* Does the work once. Returns the nanoseconds that count, or 0 to have the whole call timed
     * (for work with no set-up of its own), or a negative number when it failed. */
    int64_t (*run)(void *arg);
    void *arg;
    double work;      /* units that one run does */
    const char *unit; /* "records", "bytes", "samples": rates are unit/s */
} bench_arm;

/* What one arm came to; times are per run. */
typedef struct bench_figure {
    double median_ns, low_ns, high_ns; /* median, first and third quartile over repeats */
    double per_s;                      /* work / median */
    /* Rate against the baseline's, as median and quartiles of the repeats' own ratios: 2 is twice
     * as fast. 1 for the baseline itself. */
    double ratio, ratio_low, ratio_high;
} bench_figure;

/* Reads the options; ends the program on a wrong one (2) and after --help (0). `name` is the
 * program's; argv is borrowed until bench_close(). */
bench *bench_open(int argc, char **argv, const char *name);

/* Sets the default of --repeats (11 unless called) before the first group. */
void bench_repeats(bench *b, int repeats);

/* True if --only (if given) names the whole group. */
bool bench_wants(const bench *b, const char *group);

/* Runs every arm once to warm it up, then `repeats` times, alternately in order and in reverse order
 * (ABBA), and prints or keeps the figures. `baseline` names one of the arms. An arm that fails is
 * reported and makes bench_close() return 1.
 * figures  n_arms of them, or NULL; zero for arms that were not run */
void bench_group_figures(bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                         const char *baseline, bench_figure *figures);
void bench_group(bench *b, const char *group, const bench_arm *arms, size_t n_arms,
                 const char *baseline);

/* A line or a JSON member beside the figures ("cpu", "AVX2"); both texts are copied. */
void bench_note(bench *b, const char *key, const char *text);

/* Prints what is left to print; returns the program's exit code. */
int bench_close(bench **b);

/* Keeps a result alive, so that the compiler cannot drop the work that made it. */
static inline void bench_keep(const void *memory)
{
    __asm__ volatile("" : : "g"(memory) : "memory");
}

/* Ends the program with the message if rc is an error. */
void bench_check(int rc, const leat_error *err);

/* Bytes of anonymous memory that this process has; what is mapped from files is not in it. */
int64_t bench_anonymous_bytes(void);

/* The quantile q of values (0.5: the median) by linear interpolation; sorts them. */
double bench_quantile(double *values, int n, double q);

/* CLOCK_MONOTONIC, for arms that time a part of their run; and the CPU time of all threads of this process. */
int64_t bench_now_ns(void);
int64_t bench_cpu_ns(void);

#endif
