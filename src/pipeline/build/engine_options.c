/* SPDX-License-Identifier: MIT
 *
 * engine_options.c: the options of `engine`. Every one keeps the bytes of batches the same. */
#include "pipeline/plan/plan_impl.h"

#define RANKS_MAX (1 << 20)

static const char *const autos[] = { "auto", NULL };
static const char *const index_choices[] = { "auto", "off", "require", NULL };
static const char *const ios[] = { "buffered", "direct", NULL };
static const char *const verifies[] = { "once", "always", NULL };
static const char *const stores[] = { "auto", "cached", "streamed", NULL };
static const char *const readers[] = { "auto", "io_uring", "pread", NULL };

const leat_option leat_engine_option_table[] = {
    LEAT_OPTION_ROW(leat_engine_options, threads, I64, "auto", 0, 1024, autos,
                    "threads that work at once, including the consumer while it waits; 0: the "
                    "consumer does all the work; auto: the CPUs that this process may use"),
    LEAT_OPTION_ROW(leat_engine_options, memory, BYTES, "auto", 1, 0x1p50, autos,
                    "memory limit of a loader, for host, pinned and device memory; auto: a quarter "
                    "of the memory that is available and allowed, more if the pipeline needs it"),
    LEAT_OPTION_ENUM(leat_engine_options, reader, "auto", readers,
                     "how files are read; auto: io_uring, or pread if io_uring is refused; files "
                     "of small records are kept in memory if they fit in half of the limit, or if "
                     "reading ahead does not fit"),
    LEAT_OPTION_BYTES(
        leat_engine_options, read_bytes, "0", 0, 0x1p40,
        "memory for reads in flight; 0: two windows of average records, 4 to 64 MiB, less if the "
        "memory limit requires it; slow reads use more of it than fast ones"),
    LEAT_OPTION_ENUM(
        leat_engine_options, io, "buffered", ios,
        "buffered: through the page cache; direct: around it (O_DIRECT), for data sets larger than "
        "memory; buffered, with a note, if the file system refuses or the source reads without "
        "io_uring"),
    LEAT_OPTION_ENUM(leat_engine_options, verify, "once", verifies,
                     "once: a record that is kept in memory is checked (CRC) when it is first "
                     "used; always: at each use; records that are read anew are always checked"),
    LEAT_OPTION_I64(leat_engine_options, run, "0", 0, 65536,
                    "rows per task; 0: enough for 50 microseconds of work"),
    LEAT_OPTION_BOOL(leat_engine_options, fuse, "true",
                     "run neighbouring ops as one where that gives the same bytes; then only the "
                     "part of a damaged JPEG file that a crop needs is checked"),
    LEAT_OPTION_ENUM(
        leat_engine_options, jpeg_index, "auto", index_choices,
        "index of JPEG files (`leat index --jpeg`), for decoding only what a crop needs; auto: use "
        "it where it exists and fits; require: an error where it does not"),
    LEAT_OPTION_ENUM(leat_engine_options, stores, "auto", stores,
                     "how the floats of JPEG pictures are written to batches with AVX-512; cached: "
                     "through the CPU's caches; streamed: around them; auto: streamed if that is "
                     "faster and batches are too large for the caches"),
    LEAT_OPTION_BOOL(leat_engine_options, timing, "true",
                     "time the stages (only for some samples, so that it costs under 1 %)"),
    LEAT_OPTION_I64(leat_engine_options, spans, "1024", 0, 1 << 24,
                    "newest spans of a trace kept per thread (64 bytes each); 0: none"),
    LEAT_OPTION_BOOL(leat_engine_options, digest, "false",
                     "compute a digest of every batch (reads every byte of the output)"),
    LEAT_OPTION_I64(
        leat_engine_options, rank, "0", 0, RANKS_MAX - 1,
        "which part of every batch this process makes, 0 to ranks - 1; needed where ranks is above "
        "1"),
    LEAT_OPTION_I64(leat_engine_options, ranks, "1", 1, RANKS_MAX,
                    "processes that share every batch; each makes its part of the rows; all parts "
                    "together are the same batch for any number of ranks"),
    LEAT_OPTION_END
};
