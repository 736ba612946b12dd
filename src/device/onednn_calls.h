/* SPDX-License-Identifier: MIT
 *
 * onednn_calls.h: opens oneDNN when a trainer (or a measurement of matrix products) first needs it, so that nothing else
 * needs it: a build has only its headers, of 2.x, 3.x or both (LEAT_ONEDNN_2, LEAT_ONEDNN_3). A library of a major version
 * whose headers were not there is refused. Here is what has one form in both; the trainer finds the rest by name.
 *
 * Searched in this order: the file or folder that the environment variable LEAT_ONEDNN names, and then nothing else;
 * the path of the dynamic loader; the folders above this library, where packages of Python put theirs. Where one of
 * these has both versions, the newer is taken; one that cannot be opened, or lacks what is called here, is passed over. */
#ifndef LEAT_ONEDNN_CALLS_H
#define LEAT_ONEDNN_CALLS_H

#include <oneapi/dnnl/dnnl.h>

#include "leat/error.h"

typedef struct leat_onednn_table {
    __typeof__(&dnnl_version) version;
    __typeof__(&dnnl_sgemm) sgemm;
    /* Of the OpenMP library that oneDNN uses; both NULL if it uses none. */
    int (*omp_get_max_threads)(void);
    void (*omp_set_num_threads)(int);
} leat_onednn_table;

/* [const after leat_onednn_calls_open() returned LEAT_OK] */
extern leat_onednn_table leat_onednn;

/* Opens the library, once in a process; it is never closed. LEAT_E_UNSUPPORTED: it is not there, or another version;
 * the message says what to install. LEAT_E_NOMEM. Any thread. */
int leat_onednn_calls_open(leat_error *err);

/* Any function of the library that was opened, such as "dnnl_memory_create"; NULL: it has none of that name. */
void *leat_onednn_calls_find(const char *name);

#endif
