/* SPDX-License-Identifier: MIT
 *
 * bench_input.h: what benchmarks of the input share: a file of records, the page cache, and whole runs of a plan. */
#ifndef LEAT_BENCH_INPUT_H
#define LEAT_BENCH_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/leat.h"

/* Writes a TFRecord file of n records with one feature, `x`, of this many bytes. An error ends the program. */
void bench_records_write(const char *path, int64_t n, size_t bytes);

/* Brings all of a file into the page cache, or drops it from there. */
void bench_file_cached(const char *path, bool cached);

/* Opens the plan of a config text. NULL: the error is on stderr. */
leat_plan *bench_plan_open(const char *text);

/* Takes all batches of this many epochs. Returns the nanoseconds from before the loader opened to the last batch, or
 * -1 when the error is on stderr. */
int64_t bench_epochs_run(const leat_plan *plan, int64_t epochs);

#endif
