/* SPDX-License-Identifier: MIT
 *
 * watch.h: how busy any CUDA program keeps its GPU, unchanged: `leat watch`. The CUDA driver loads leat's plugin into the
 * program and its children; the device's own records (NVIDIA CUPTI, activity API) come over a socket. Needs the plugin and,
 * where the program runs, CUPTI. */
#ifndef LEAT_WATCH_H
#define LEAT_WATCH_H

#include "leat/error.h"
#include "leat/meter.h"
#include "leat/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LEAT_WATCH_PROCESSES = 16 };

/* A process that used CUDA. Its devices count as one. */
typedef struct leat_watch_process {
    int64_t pid;
    char program[64];
    char trouble[256];            /* why there are no records; "": there are */
    int32_t cupti;                /* its version, 130001 for example; 0: not used */
    double seconds;               /* from its first work on the device to the end of its last */
    double shares[LEAT_N_SHARES]; /* of these seconds; what cannot be told from outside is 0 */
    leat_verdict_kind verdict;    /* NONE: nothing ran, or `host_is_late` */
    int32_t
        host_is_late; /* most idle time is the share OTHER_HOST, for which there is no verdict */
    int64_t kernels, copies, launches; /* launches: calls of the host; a graph is one */
    double copied_bytes;               /* between host and device */
    double kernel_us;                  /* median length; 0: none ran */
    double launch_us; /* median time from one launch to the next; 0: fewer than two */
    int64_t lost;     /* records that found no room: then shares are lower bounds of busy */
    int32_t n_largest;
    leat_kernel_time largest[LEAT_KERNEL_TIMES]; /* by their time */
} leat_watch_process;

typedef struct leat_watch_result {
    int32_t exit_code;   /* of the program; -1: a signal ended it */
    int32_t signal;      /* 0: none */
    double seconds;      /* of the program, by the clock */
    double cpu_seconds;  /* of it and of its children that have ended, on all cores */
    int32_t n_processes; /* of those below; 0: no CUDA was used */
    int32_t n_more;      /* that found no place in the list */
    leat_watch_process processes[LEAT_WATCH_PROCESSES];
} leat_watch_result;

/* All zero is the default. */
typedef struct leat_watch_options {
    double every_s; /* calls `progress` so often while the program runs; 0: never */
    /* so_far: without exit code and CPU time. In the calling thread. */
    void (*progress)(void *user, const leat_watch_result *so_far);
    void *user;
    int32_t unwatched; /* 1: only runs the program, to compare its time */
} leat_watch_options;

/* Runs a program, found as execvp() does, with this process's standard streams, and waits for its end. While it runs,
 * SIGINT and SIGQUIT are left to it. arguments end with NULL; the first is the program.
 * Returns LEAT_OK, however the program ends; LEAT_E_UNSUPPORTED (no plugin), LEAT_E_IO (it cannot be started; no socket),
 * LEAT_E_NOMEM, LEAT_E_ARGUMENT. Not while another thread of this process waits for children. */
LEAT_API int leat_watch(const char *const *arguments, const leat_watch_options *options,
                        leat_watch_result *out, leat_error *err);

#ifdef __cplusplus
}
#endif

#endif
