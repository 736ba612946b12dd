/* SPDX-License-Identifier: MIT
 *
 * engine_options.c: the options of `engine`: how a pipeline is run. */
#include "pipeline/plan/plan_impl.h"

#define RANKS_MAX (1 << 20)

static const char *const autos[] = { "auto", NULL };
static const char *const index_choices[] = { "auto", "off", "require", NULL };
static const char *const ios[] = { "buffered", "direct", NULL };
static const char *const readers[] = { "auto", "io_uring", "pread", NULL };

const leat_option leat_engine_option_table[] = {
    LEAT_OPTION_ROW(
        leat_engine_options, threads, I64, "auto", 0, 1024, autos,
        "threads that work at once, the consumer included while it waits; 0: the consumer "
        "does all; auto: the CPUs this process may use"),
    LEAT_OPTION_ROW(
        leat_engine_options, memory, BYTES, "auto", 1, 0x1p50, autos,
        "most memory that a loader plans for: host, pinned and device; auto: a quarter of "
        "what is available and allowed, more where less does not work"),
    LEAT_OPTION_ENUM(leat_engine_options, reader, "auto", readers,
                     "how files are read; auto: io_uring, or pread where it is refused"),
    LEAT_OPTION_BYTES(
        leat_engine_options, read_bytes, "0", 0, 0x1p40,
        "memory of reads in flight; 0: two windows of mean records, 4 to 64 MiB, less where "
        "the budget asks for it, and used as far as the latency of reads asks for"),
    LEAT_OPTION_ENUM(leat_engine_options, io, "buffered", ios,
                     "buffered: through the page cache; direct: past it (O_DIRECT), for sets that "
                     "are larger than memory; falls back, and says so, where the file system "
                     "refuses"),
    LEAT_OPTION_I64(leat_engine_options, run, "0", 0, 65536,
                    "rows per task; 0: as many as make 50 microseconds"),
    LEAT_OPTION_BOOL(leat_engine_options, fuse, "true",
                     "do neighbouring ops in one go where that gives the same bytes; of a damaged "
                     "JPEG file only what a crop needs is looked at then"),
    LEAT_OPTION_ENUM(
        leat_engine_options, jpeg_index, "auto", index_choices,
        "the index of JPEG files beside them (`leat index --jpeg`), by which only what a "
        "crop needs is decoded; auto: where it is there and fits; require: else an "
        "error"),
    LEAT_OPTION_BOOL(leat_engine_options, timing, "true",
                     "time the stages (on some samples only, so that it costs under 1 %)"),
    LEAT_OPTION_I64(leat_engine_options, spans, "1024", 0, 1 << 24,
                    "spans of a trace kept per thread, the newest (64 bytes each); 0: none"),
    LEAT_OPTION_BOOL(leat_engine_options, digest, "false",
                     "compute a digest of every batch (reads every byte put out)"),
    LEAT_OPTION_I64(leat_engine_options, rank, "0", 0, RANKS_MAX - 1,
                    "which part of every batch this process makes, from 0 to ranks - 1"),
    LEAT_OPTION_I64(leat_engine_options, ranks, "1", 1, RANKS_MAX,
                    "processes that share every batch: each makes its part of the rows, and all "
                    "parts together are the same batch for any number"),
    LEAT_OPTION_END
};
