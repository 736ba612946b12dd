/* SPDX-License-Identifier: MIT
 *
 * verdict.h: the words of `leat doctor` and `leat compare`: verdicts, their causes, and the parts and shares of a step.
 * Each closed set is one list here. Structs hold enums; whatever prints, reads or explains a word takes it from its row,
 * so a new verdict is one row here and its rule in src/study/verdict_rules.c. docs/measuring.md defines all terms. */
#ifndef LEAT_VERDICT_H
#define LEAT_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "leat/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a verdict means to the reader; the colour beside it. */
typedef enum leat_tone {
    LEAT_TONE_PLAIN, /* no verdict */
    LEAT_TONE_GOOD,
    LEAT_TONE_WARN,
    LEAT_TONE_BAD,  /* a warning of high severity */
    LEAT_TONE_OPEN, /* it could not be decided */
} leat_tone;

/* --- parts of a step -------------------------------------------------------------------------- */

/* What is measured alone. X(ID, word in JSON, name, name as the next limit, text on the screen) */
#define LEAT_PART_LIST(X)                                                                          \
    X(LOADER, "loader", "loader alone", "the loader", "the loader makes a batch")                  \
    X(FIRST_BATCH, "first_batch", "one batch at a time", "",                                       \
      "one batch, made after the step before it")                                                  \
    X(COPY, "copy", "copies", "copies to the device", "a batch is copied to the device")           \
    X(STEP, "step", "step alone", "the step on the device", "the training step")                   \
    X(STEP_QUEUED, "step_queued", "step without waiting for the host", "the step on the device",   \
      "  of it, the device computes")                                                              \
    X(SHARED, "shared", "CPU time of loader and step", "CPU time of loader and step",              \
      "CPU work of loader and step, on all cores")                                                 \
    X(STAGE, "stage", "", "", "")

typedef enum leat_part {
    LEAT_PART_NONE,
#define LEAT_PART_ENUM(id, ...) LEAT_PART_##id,
    LEAT_PART_LIST(LEAT_PART_ENUM)
#undef LEAT_PART_ENUM
        LEAT_N_PARTS
} leat_part;

typedef struct leat_part_row {
    const char *word, *name, *limit, *text;
} leat_part_row;

/* --- shares of a step ------------------------------------------------------------------------- */

/* Where the wall time of a step goes; they sum to 1. X(ID, word in JSON, text on the screen, name in a chart) */
#define LEAT_SHARE_LIST(X)                                                                         \
    X(BUSY, "busy", "device computes", "busy")                                                     \
    X(INPUT_WAIT, "input_wait", "waits for a batch", "input wait")                                 \
    X(EXPOSED_COPY, "exposed_copy", "waits for a copy", "exposed copy")                            \
    X(LAUNCH, "launch", "host is slow to launch", "launch")                                        \
    X(SYNC, "sync", "host waits for a result", "sync")                                             \
    X(PLACEMENT, "placement", "waits for other devices **", "other devices")                       \
    X(OTHER_HOST, "other_host", "host is late *", "host is late")                                  \
    X(UNKNOWN, "unknown", "not explained", "unknown")

typedef enum leat_share {
#define LEAT_SHARE_ENUM(id, ...) LEAT_SHARE_##id,
    LEAT_SHARE_LIST(LEAT_SHARE_ENUM)
#undef LEAT_SHARE_ENUM
        LEAT_N_SHARES
} leat_share;

typedef struct leat_share_row {
    const char *word, *text, *name;
} leat_share_row;

/* --- the workers' time ------------------------------------------------------------------------ */

/* Where the time of the loader's workers goes while the loader runs alone; the shares sum to 1. X(ID, word in JSON, text
 * on the screen) */
#define LEAT_WORK_LIST(X)                                                                          \
    X(COMPUTE, "compute", "compute")                                                               \
    X(CORE, "core", "wait for a core")                                                             \
    X(STORAGE, "storage", "wait for storage")                                                      \
    X(STAGE, "stage", "wait inside a stage")                                                       \
    X(ORDER, "order", "wait for slower rows")                                                      \
    X(HAND_OVER, "hand_over", "wait until batches are taken")

typedef enum leat_worker_time {
#define LEAT_WORK_ENUM(id, ...) LEAT_WORK_##id,
    LEAT_WORK_LIST(LEAT_WORK_ENUM)
#undef LEAT_WORK_ENUM
        LEAT_N_WORKS
} leat_worker_time;

typedef struct leat_work_row {
    const char *word, *text;
} leat_work_row;

/* --- verdicts --------------------------------------------------------------------------------- */

/* What limits a job. X(ID, name, exit code of --fail-if, part that it blames, tone, in a few words, meaning, when) */
#define LEAT_VERDICT_LIST(X)                                                                       \
    X(INPUT_BOUND, "input-bound", 10, LOADER, WARN, "the device waits for its data",               \
      "The device waits for its input: batches come slower than it could use them.",               \
      "the job is as fast as the loader alone, or its batches come unevenly")                      \
    X(TRANSFER_BOUND, "transfer-bound", 11, COPY, WARN, "the device waits for copies",             \
      "The device waits for copies of batches from the host's memory.",                            \
      "the device waits for copies of batches")                                                    \
    X(LAUNCH_BOUND, "launch-bound", 12, STEP, WARN,                                                \
      "starting work takes as long as the work, or longer",                                        \
      "The device waits for the host, which launches many short kernels.",                         \
      "the job is as fast as the step alone, in which the device waits for kernels to be "         \
      "launched; or batches are small, and the host's calls for copies and kernels take turns")    \
    X(SYNC_BOUND, "sync-bound", 13, STEP, WARN, "the host stops to wait for results",              \
      "The host often waits for a result, and then the device waits for the host.",                \
      "the job is as fast as the step alone, in which the device waits while the host waits for "  \
      "results (train.sync_every)")                                                                \
    X(SHARED_CORES, "shared-cores", 14, SHARED, WARN, "loader and training share the cores",       \
      "Input and training need the same CPU cores, and take them from each other.",                \
      "slower than the loader alone and the step alone, because workers and trainer need the "     \
      "same cores")                                                                                \
    X(COMPUTE_BOUND, "compute-bound", 15, STEP, GOOD, "the device is busy, the input keeps up",    \
      "The step itself takes the time, and batches keep up. There is nothing to fix in the "       \
      "input.",                                                                                    \
      "the job is as fast as the step alone, and the device computes nearly all the time; a "      \
      "faster input would change nothing")                                                         \
    X(WARM_UP, "warm-up", 16, NONE, WARN, "what is paid once makes up much of the run",            \
      "Opening and warming up take half of this job or more; a longer job would divide them.",     \
      "one-time costs are half of the job or more. Also the steps before the measurement, until "  \
      "step times are steady; they are not part of any figure")                                    \
    X(PLACEMENT, "placement", 17, STEP, WARN, "the device waits for layers on other devices",      \
      "The device waits for layers that run on other devices, and for what crosses to and from "   \
      "them. Where a layer names a `device` of its own, leave it out.",                            \
      "the device waits for layers that run on other devices, and for what crosses to and from "   \
      "them")                                                                                      \
    X(COMMUNICATION_BOUND, "communication-bound", 18, NONE, WARN,                                  \
      "processes wait for what they send each other",                                              \
      "The processes that train together wait for each other's sums on their way.",                \
      "processes that train together (leat train --ranks) wait for what they send each other for " \
      "10 % of the time or more after the last of them has come, and none is late for longer")     \
    X(STRAGGLER, "straggler", 19, NONE, WARN, "the others wait for one process",                   \
      "The processes that train together wait for one of them.",                                   \
      "of the processes that train together (leat train --ranks) one comes last, and the others "  \
      "wait for it, for 10 % of the time or more beyond what they wait for each other one")        \
    X(ENVIRONMENT, "environment", 20, NONE, OPEN, "other programs used this machine meanwhile",    \
      "Other programs used the CPU meanwhile: end them and run this again. The figures say "       \
      "little.",                                                                                   \
      "the cause is not certain, and other processes used 10 % of the CPUs or more, or a CPU "     \
      "limit stopped the process")                                                                 \
    X(INCONCLUSIVE, "inconclusive", 21, NONE, OPEN, "too short or too noisy to tell",              \
      "The measurements do not explain the step time. Measure again, longer.",                     \
      "the cause is not certain; run longer")

#define LEAT_BUSY_ENOUGH                                                                           \
    0.90 /* a device or copy engine that is busy for this share counts as fully busy */

typedef enum leat_verdict_kind {
    LEAT_VERDICT_NONE,
#define LEAT_VERDICT_ENUM(id, ...) LEAT_VERDICT_##id,
    LEAT_VERDICT_LIST(LEAT_VERDICT_ENUM)
#undef LEAT_VERDICT_ENUM
        LEAT_N_VERDICTS
} leat_verdict_kind;

typedef struct leat_verdict_row {
    const char *name; /* "" of LEAT_VERDICT_NONE */
    int code;         /* 22 of LEAT_VERDICT_NONE */
    leat_part part;
    leat_tone tone;
    const char *words, *meaning, *when;
} leat_verdict_row;

/* All names, each with ", " behind it, for texts: "input-bound, transfer-bound, …, inconclusive, ". */
#define LEAT_VERDICT_NAME(id, name, ...) name ", "
#define LEAT_VERDICT_NAMES               LEAT_VERDICT_LIST(LEAT_VERDICT_NAME)
#define LEAT_SHARE_WORD(id, word, ...)   word ", "
#define LEAT_SHARE_WORDS                 LEAT_SHARE_LIST(LEAT_SHARE_WORD)

/* The cause within a verdict. X(ID, name, what it adds to the meaning of the verdict, the meaning in its place or NULL,
 * when) */
#define LEAT_CAUSE_LIST(X)                                                                         \
    X(STORAGE, "storage", " The workers wait for reads.", NULL,                                    \
      "the workers want cores for less than 75 % of their time, and most of their waiting is for " \
      "storage")                                                                                   \
    X(CPU_SATURATED, "cpu-saturated", " The slowest stage keeps the cores busy.", NULL,            \
      "the workers want cores for 75 % of their time or more, and there are as many workers as "   \
      "cores, or more")                                                                            \
    X(LATENCY_BOUND, "latency-bound",                                                              \
      " In the slowest stage the workers wait, and the cores are idle.", NULL,                     \
      "the workers wait inside of a stage (sleep, locks) for longer than they want cores")         \
    X(SERIAL, "serial", " There are too few workers: cores are idle.", NULL,                       \
      "the workers want cores for 75 % of their time or more, and there are fewer workers than "   \
      "cores")                                                                                     \
    X(ORDERING, "ordering", "",                                                                    \
      "Slow samples hold up the batches behind them; without such samples batches would come "     \
      "faster.",                                                                                   \
      "most of the workers' waiting is for rows that other workers compute, or batches come "      \
      "unevenly")                                                                                  \
    X(NOT_OVERLAPPED, "not-overlapped", "", "Each batch is made after a step, not during it.",     \
      "batches, or copies of them, and steps take turns")                                          \
    X(PAGEABLE, "pageable", " The batches are not in pinned memory.", NULL,                        \
      "copies come from pageable memory")                                                          \
    X(SMALL_COPIES, "small-copies", " The copies are small, so their latency counts.", NULL,       \
      "copies are below 64 KiB")                                                                   \
    X(BUS_SATURATED, "bus-saturated", "", NULL,                                                    \
      "copies run nearly all the time, and are large, pinned and overlapped")                      \
    X(CORES_FULL, "cores-full", "", NULL,                                                          \
      "the CPU time of loader and step explains the step time: together they need all cores")      \
    X(TRAINER_STARVED, "trainer-starved", " The workers take those of the trainer.", NULL,         \
      "on the CPU, the cores would have had time enough: workers took the trainer's core")         \
    X(DRIVER_STARVED, "driver-starved",                                                            \
      " The workers take that of the thread that feeds the device.", NULL,                         \
      "all cores were busy, and the thread that launches came late")                               \
    X(BUSY_NEIGHBOUR, "busy-neighbour", "", NULL, "other processes took 10 % of the CPUs or more") \
    X(CPU_LIMIT, "cpu-limit", "",                                                                  \
      "A CPU limit stopped this process meanwhile: raise it and run this again. The figures say "  \
      "little.",                                                                                   \
      "a CPU limit stopped the process for 5 % of the time or more")                               \
    X(TOO_FEW_STEPS, "too-few-steps", "",                                                          \
      "Fewer than 5 steps were measured: their times say little. Measure again, with more "        \
      "--steps or --rounds.",                                                                      \
      "fewer than 5 steps were measured")

typedef enum leat_cause {
    LEAT_CAUSE_NONE,
#define LEAT_CAUSE_ENUM(id, ...) LEAT_CAUSE_##id,
    LEAT_CAUSE_LIST(LEAT_CAUSE_ENUM)
#undef LEAT_CAUSE_ENUM
} leat_cause;

/* How much of the time it takes. X(ID, name) */
#define LEAT_SEVERITY_LIST(X)                                                                      \
    X(NONE, "none") /* nothing to fix */                                                           \
    X(LOW, "low")                                                                                  \
    X(MODERATE, "moderate")                                                                        \
    X(HIGH, "high")

typedef enum leat_severity {
#define LEAT_SEVERITY_ENUM(id, ...) LEAT_SEVERITY_##id,
    LEAT_SEVERITY_LIST(LEAT_SEVERITY_ENUM)
#undef LEAT_SEVERITY_ENUM
} leat_severity;

enum {
    LEAT_VERDICT_LABEL = 72,
    LEAT_VERDICT_DETAILS = 112
}; /* bytes of its label and its details */

typedef struct leat_verdict {
    leat_verdict_kind kind;
    leat_cause cause;
    char where
        [48]; /* the slowest stage ("decode"), or the layers ("2.dense on cpu"); "": nowhere in particular */
    leat_severity severity;
    leat_verdict_kind also; /* a second verdict whose part is as slow within 5 % */
} leat_verdict;

/* Rows of the lists, static storage. `kind`, `part`, `share` and `work` are of their enums. Any thread. */
LEAT_API const leat_verdict_row *leat_verdict_about(leat_verdict_kind kind);
LEAT_API const leat_part_row *leat_verdict_part(leat_part part);
LEAT_API const leat_share_row *leat_verdict_share(leat_share share);
LEAT_API const leat_work_row *leat_verdict_work(leat_worker_time work);
LEAT_API const char *leat_verdict_severity(leat_severity severity);

/* Whether the device idles inside a step because of the host: and not by its own work. Any thread. */
LEAT_API int32_t leat_verdict_blames_host(leat_verdict_kind kind);

/* From a word in JSON. LEAT_VERDICT_NONE, LEAT_PART_NONE, LEAT_N_SHARES, LEAT_SEVERITY_NONE: it is none. Any thread. */
LEAT_API leat_verdict_kind leat_verdict_find(const char *name);
LEAT_API leat_part leat_verdict_find_part(const char *word);
LEAT_API leat_share leat_verdict_find_share(const char *word);
LEAT_API leat_severity leat_verdict_find_severity(const char *name);

/* Writes where and why: "decode: latency-bound", "ordering", "2.dense on cpu"; "": nothing is known. Returns text. */
LEAT_API const char *leat_verdict_label(const leat_verdict *verdict, char text[LEAT_VERDICT_LABEL]);

/* Writes what follows the verdict's name in a line: " (pageable), and compute-bound within 5 %"; "": nothing. Returns
 * text. */
LEAT_API const char *leat_verdict_details(const leat_verdict *verdict,
                                          char text[LEAT_VERDICT_DETAILS]);

/* The verdict in whole sentences without numbers. Returns text. */
LEAT_API const char *leat_verdict_sentence(const leat_verdict *verdict, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
