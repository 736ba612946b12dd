/* SPDX-License-Identifier: MIT
 *
 * mpi_ranks.c: ranks that MPI started, on any machines: opens the plugin of mpi_ranks.h, and waits for its transfers.
 *
 * DESIGN: a waiting rank tests, and gives its core away between tests where there is none for each rank; after a
 * millisecond it sleeps a part of the time that it has waited. What has not come after the deadline is known by rank. The
 * plugin is opened with global symbols, because parts that MPI itself opens may need them, and is never unloaded. */
#include "mpi_ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "exchange.h"

enum { SPIN_NS = 1000 * 1000, NAP_NS = 1000 * 1000, TRANSFER_BYTES = 1 << 28 };
/* For the rank that reports, to write its results. */
static const int64_t REPORT_NS = 60 * INT64_C(1000000000);

typedef struct mpi_group {
    const leat_mpi_table *table;
    bool spins;
    uint8_t missing[]; /* [channel][rank] */
} mpi_group;

/* --- transfers ------------------------------------------------------------------------------- */

static void nap(const mpi_group *g, int64_t waited_ns)
{
    const int64_t ns = waited_ns / 8;
    if (waited_ns > SPIN_NS)
        leat_clock_nap(ns < NAP_NS ? ns : NAP_NS);
    else if (!g->spins)
        sched_yield();
}

static int wait_all(leat_ranks *ranks, leat_error *err)
{
    mpi_group *const g = ranks->own;
    char why[LEAT_MPI_WHY] = "";
    uint8_t *const missing = g->missing + ranks->channel * ranks->n;
    int32_t left, before = INT32_MAX;
    int64_t from_ns = leat_clock_ns();
    for (;;) {
        if (g->table->test(ranks->channel, &left, missing, why) < 0)
            return leat_fail(err, LEAT_E_IO, "%s", why);
        if (left < before) {
            leat_ranks_came(ranks);
            from_ns = ranks->looked_ns;
        }
        before = left;
        const int rc = left ? leat_ranks_waited(ranks, missing, err) : LEAT_OK;
        if (rc < 0 || left == 0)
            return rc;
        nap(g, leat_clock_ns() - from_ns);
    }
}

static int mpi_pass(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                    leat_error *err)
{
    const mpi_group *const g = ranks->own;
    char why[LEAT_MPI_WHY] = "";
    for (size_t at = 0; at < bytes; at += TRANSFER_BYTES) {
        const size_t n = bytes - at < TRANSFER_BYTES ? bytes - at : TRANSFER_BYTES;
        if (g->table->begin(ranks->channel, (const char *)mine + at, stride, (char *)all + at,
                            bytes, n, why) < 0)
            return leat_fail(err, LEAT_E_IO, "%s", why);
        const int rc = wait_all(ranks, err);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

static void mpi_close(leat_ranks *ranks)
{
    mpi_group *const g = ranks->own;
    fflush(NULL);
    if (ranks->broken < 0 &&
        ranks->is_told) { /* that rank ends this one, too, through the launcher */
        signal(SIGTERM, SIG_DFL);
        leat_clock_nap(ranks->deadline_ns + REPORT_NS);
    }
    if (ranks->broken < 0)
        g->table->abort(1);
    g->table->close();
    free(g);
}

static const char *mpi_host(const leat_ranks *ranks, int32_t rank)
{
    return ((const mpi_group *)ranks->own)->table->host(rank);
}

/* Who is not heard stays missing. */
static void mpi_ask(leat_ranks *ranks, bool is_over, uint8_t *missing)
{
    const mpi_group *const g = ranks->own;
    char why[LEAT_MPI_WHY];
    g->table->ask(ranks->channel, is_over, missing, why);
}

static const leat_ranks_table leat_ranks_mpi = { mpi_pass, mpi_close, mpi_host, mpi_ask };

/* --- opening --------------------------------------------------------------------------------- */

/* In the folder of the library or program with this code, then where the dynamic loader looks. */
static void *open_library(leat_error *err)
{
    const char *const named = getenv("LEAT_MPI_PLUGIN");
    char path[PATH_MAX];
    Dl_info info;
    void *library = NULL;
    if (named && *named) {
        library = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    } else {
        const bool known = dladdr(&leat_ranks_mpi, &info) && info.dli_fname;
        const char *const slash = known ? strrchr(info.dli_fname, '/') : NULL;
        const int n = slash ? snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname),
                                       info.dli_fname, LEAT_MPI_PLUGIN)
                            : 0;
        if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0)
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        else
            library = dlopen(LEAT_MPI_PLUGIN, RTLD_NOW | RTLD_GLOBAL);
    }
    const char *const why = library ? NULL : dlerror();
    if (!library)
        leat_fail(err, LEAT_E_UNSUPPORTED,
                  "cannot open the MPI plugin (%.400s); only a build on a system with MPI has it",
                  why ? why : LEAT_MPI_PLUGIN);
    return library;
}

static const leat_mpi_table *open_plugin(leat_error *err)
{
    void *const library = open_library(err);
    const leat_mpi_table *(*get)(int abi) = NULL;
    if (!library)
        return NULL;
    *(void **)&get = dlsym(library, "leat_mpi_get");
    const leat_mpi_table *const table = get ? get(LEAT_MPI_ABI) : NULL;
    if (!table)
        leat_fail(err, LEAT_E_UNSUPPORTED,
                  "the MPI plugin is from another release: install both from one release");
    return table;
}

int leat_ranks_open_mpi(leat_ranks **out, int32_t *rank, int32_t *n, leat_error *err)
{
    char why[LEAT_MPI_WHY] = "";
    leat_ranks own = { .table = &leat_ranks_mpi, .overlap = -1 };
    if (!out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_ranks_open_mpi: out must be given");
    *out = NULL;
    const leat_mpi_table *const table = open_plugin(err);
    if (!table)
        return LEAT_E_UNSUPPORTED;
    if (table->open(&own.rank, &own.n, &own.here, why) < 0)
        return leat_fail(err, LEAT_E_IO, "%s", why);
    leat_ranks *const ranks = calloc(1, sizeof *ranks);
    mpi_group *const g = calloc(1, sizeof *g + 2 * (size_t)own.n);
    if (!ranks || !g) {
        free(ranks);
        free(g);
        return leat_fail(err, LEAT_E_NOMEM, "%d ranks: no memory", own.n);
    }
    *g = (mpi_group){ .table = table, .spins = own.here <= sysconf(_SC_NPROCESSORS_ONLN) };
    own.own = g;
    *ranks = own;
    if (rank)
        *rank = own.rank;
    if (n)
        *n = own.n;
    *out = ranks;
    return LEAT_OK;
}
