/* SPDX-License-Identifier: MIT
 *
 * onednn.c: opens oneDNN and chooses its operations; memory and threads. See onednn.h.
 *
 * DESIGN. The caller manages threads, so oneDNN may use only one. The OpenMP functions for that are those of the
 * OpenMP library of oneDNN, if it has one (device/onednn_calls.h).
 *
 * oneDNN does not check every allocation of its code generator: where memory is short, it crashes or ends the process.
 * So before it compiles anything, the largest part that it takes at once is mapped as a probe, and given back. */
#include "onednn.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cores.h"
#include "base/machine.h"
#include "device/onednn_calls.h"
#include "formats/figure.h"

const leat_dn_table *leat_dn_ops;

/* Guards the choice of leat_dn_ops. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const leat_dn_table *table_of(int major)
{
#if LEAT_ONEDNN_2
    if (major == 2)
        return &leat_dn_table_2;
#endif
#if LEAT_ONEDNN_3
    if (major == 3)
        return &leat_dn_table_3;
#endif
    return NULL; /* leat_onednn_calls_open() opens no other */
}

static int choose_locked(leat_error *err)
{
    if (leat_dn_ops)
        return LEAT_OK;
    const leat_dn_table *const table = table_of(leat_onednn.version()->major);
    const char *const missing = table ? table->load() : "version";
    if (missing)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "the oneDNN that was found is %d.%d without %s: leat needs another one "
                         "(name it in the environment variable LEAT_ONEDNN)",
                         leat_onednn.version()->major, leat_onednn.version()->minor, missing);
    leat_dn_ops = table;
    return LEAT_OK;
}

int leat_dn_find(leat_error *err)
{
    int rc = leat_onednn_calls_open(err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    rc = choose_locked(err);
    pthread_mutex_unlock(&lock);
    return rc;
}

int leat_dn_open(int32_t n_threads, leat_dn **out, leat_error *err)
{
    int rc;
    *out = NULL;
    if ((rc = leat_dn_check_room(0, err)) < 0 || (rc = leat_dn_find(err)) < 0)
        return rc;
    return leat_dn_ops->open(n_threads, out, err);
}

void leat_dn_close(leat_dn **dn)
{
    if (*dn)
        leat_dn_ops->close(dn);
}

void leat_dn_primitive_close(leat_dn_primitive **primitive)
{
    if (*primitive)
        leat_dn_ops->primitive_close(primitive);
}

bool leat_dn_has_bf16(void)
{
    return leat_dn_find(NULL) == LEAT_OK && leat_dn_ops->has_bf16();
}

void leat_dn_describe(char *text, size_t size)
{
    if (leat_dn_find(NULL) < 0)
        snprintf(text, size, "none");
    else
        leat_dn_ops->describe(text, size);
}

/* --- memory, threads -------------------------------------------------------------------------- */

int leat_dn_check_room(size_t more_bytes, leat_error *err)
{
    const size_t bytes = more_bytes + LEAT_DN_OWN_BYTES;
    void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char needs[64];
    if (room != MAP_FAILED) {
        munmap(room, bytes);
        return LEAT_OK;
    }
    leat_machine machine;
    leat_machine_read("", &machine);
    snprintf(needs, sizeof needs, "%s and ", leat_figure_bytes((double)more_bytes).text);
    return leat_fail(err, LEAT_E_NOMEM,
                     "training needs %s%s for oneDNN's compiled code, but there are %s (%s): raise "
                     "the memory limit of the process (ulimit -v, ulimit -d), or lower "
                     "pipeline.batch.size",
                     more_bytes ? needs : "", leat_figure_bytes(LEAT_DN_OWN_BYTES).text,
                     leat_figure_bytes((double)machine.memory_bytes).text, machine.memory_why);
}

int32_t leat_dn_threads(int32_t most)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    const int32_t threads = asked ? (int32_t)strtol(asked, NULL, 10) : 0;
    if (threads > 0)
        return threads < 1024 ? threads : 1024;
    return leat_cores_count() < most ? leat_cores_count() : most;
}

int leat_dn_enter(const leat_dn *dn)
{
    (void)dn;
    if (!leat_onednn.omp_set_num_threads)
        return 1;
    const int was = leat_onednn.omp_get_max_threads();
    if (was != 1)
        leat_onednn.omp_set_num_threads(1);
    return was;
}

void leat_dn_leave(const leat_dn *dn, int was)
{
    (void)dn;
    if (leat_onednn.omp_set_num_threads && was != 1)
        leat_onednn.omp_set_num_threads(was);
}
