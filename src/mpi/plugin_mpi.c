/* SPDX-License-Identifier: MIT
 *
 * plugin_mpi.c: the MPI plugin: the functions of mpi_ranks.h, which describes them, over the site's MPI.
 *
 * DESIGN: messages from each rank to each other one, not collectives: what has not come says which rank is late. MPI's
 * errors are returned, so that the message is leat's. Between tests the library sleeps, because MPI's own waits burn the
 * core that a late rank may need. */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/ranks/mpi_ranks.h"

enum { TAG = 1, TAG_WAITS = 2 };

static struct {
    MPI_Comm all;
    int rank, n;
    char *hosts;           /* [n][MPI_MAX_PROCESSOR_NAME] */
    MPI_Request *requests; /* [n]: to receive; [n]: to send */
    MPI_Status *ended;
    int *which;
    int bytes;        /* of each transfer in progress */
    bool began;       /* MPI, which ends with it then */
    int64_t exchange; /* the one in progress, counted from 1 */
    int64_t said; /* the last in which this rank has told that it waits; negative: it was asked */
    int64_t *others; /* [n]: the same of the others, … */
    int64_t *heard;  /* … and in which exchange of this rank that came */
} mpi;

static int check_call(int code, const char *call, char *why)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &length);
    snprintf(why, LEAT_MPI_WHY, "%s: %.400s", call, text);
    return -1;
}

static int allocate(char *why)
{
    const size_t n = (size_t)mpi.n;
    mpi.hosts = calloc(n, MPI_MAX_PROCESSOR_NAME);
    mpi.requests = calloc(2 * n, sizeof *mpi.requests);
    mpi.ended = calloc(2 * n, sizeof *mpi.ended);
    mpi.which = calloc(2 * n, sizeof *mpi.which);
    mpi.others = calloc(n, sizeof *mpi.others);
    mpi.heard = calloc(n, sizeof *mpi.heard);
    if (!mpi.hosts || !mpi.requests || !mpi.ended || !mpi.which || !mpi.others || !mpi.heard) {
        snprintf(why, LEAT_MPI_WHY, "no memory for %d ranks", mpi.n);
        return -1;
    }
    for (int i = 0; i < 2 * mpi.n; i++)
        mpi.requests[i] = MPI_REQUEST_NULL;
    return 0;
}

/* Ranks that share cores with this one, itself included: launchers may bind each to its own. */
static int count_here(int32_t *here, char *why)
{
    MPI_Comm machine;
    cpu_set_t mine, both;
    int n = 1;
    if (check_call(MPI_Comm_split_type(mpi.all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
                   "MPI_Comm_split_type", why) < 0)
        return -1;
    MPI_Comm_size(machine, &n);
    cpu_set_t *const sets = calloc((size_t)n, sizeof *sets);
    if (sets && sched_getaffinity(0, sizeof mine, &mine) == 0 &&
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, sets, sizeof mine, MPI_BYTE, machine) ==
            MPI_SUCCESS) {
        *here = 0;
        for (int i = 0; i < n; i++) {
            CPU_AND(&both, &mine, &sets[i]);
            *here += CPU_COUNT(&both) > 0;
        }
    } else {
        *here = n;
    }
    free(sets);
    MPI_Comm_free(&machine);
    return 0;
}

static int gather_hosts(char *why)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    return check_call(
        MPI_Allgather(name, sizeof name, MPI_BYTE, mpi.hosts, sizeof name, MPI_BYTE, mpi.all),
        "MPI_Allgather", why);
}

static int mpi_open(int32_t *rank, int32_t *n, int32_t *here, char *why)
{
    int given = MPI_THREAD_SERIALIZED, is_open = 0;
    MPI_Initialized(&is_open);
    if (is_open)
        MPI_Query_thread(&given);
    else if (check_call(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given),
                        "MPI_Init_thread", why) < 0)
        return -1;
    mpi.began = !is_open;
    if (given < MPI_THREAD_SERIALIZED) {
        snprintf(why, LEAT_MPI_WHY, "this MPI may be used by one thread only");
        return -1;
    }
    if (check_call(MPI_Comm_dup(MPI_COMM_WORLD, &mpi.all), "MPI_Comm_dup", why) < 0)
        return -1;
    MPI_Comm_set_errhandler(mpi.all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi.all, &mpi.rank);
    MPI_Comm_size(mpi.all, &mpi.n);
    *rank = mpi.rank;
    *n = mpi.n;
    return allocate(why) < 0 || count_here(here, why) < 0 ? -1 : gather_hosts(why);
}

static int hear(char *why)
{
    MPI_Status status;
    int is_there = 0;
    do {
        if (check_call(MPI_Iprobe(MPI_ANY_SOURCE, TAG_WAITS, mpi.all, &is_there, &status),
                       "MPI_Iprobe", why) < 0 ||
            (is_there && check_call(MPI_Recv(&mpi.others[status.MPI_SOURCE], 1, MPI_INT64_T,
                                             status.MPI_SOURCE, TAG_WAITS, mpi.all, &status),
                                    "MPI_Recv", why) < 0))
            return -1;
        if (is_there)
            mpi.heard[status.MPI_SOURCE] = mpi.exchange;
    } while (is_there);
    return 0;
}

static int mpi_begin(const void *mine, size_t stride, void *all, size_t apart, size_t bytes,
                     char *why)
{
    if (hear(why) < 0) /* what came before is of exchanges before */
        return -1;
    mpi.bytes = (int)bytes;
    mpi.exchange++;
    for (int r = 0; r < mpi.n; r++)
        if (r != mpi.rank && check_call(MPI_Irecv((char *)all + (size_t)r * apart, mpi.bytes,
                                                  MPI_BYTE, r, TAG, mpi.all, &mpi.requests[r]),
                                        "MPI_Irecv", why) < 0)
            return -1;
    for (int i = 1; i < mpi.n;
         i++) { /* each begins with its neighbour, so that none gets all at once */
        const int r = (mpi.rank + i) % mpi.n;
        if (check_call(MPI_Isend((const char *)mine + (size_t)r * stride, mpi.bytes, MPI_BYTE, r,
                                 TAG, mpi.all, &mpi.requests[mpi.n + r]),
                       "MPI_Isend", why) < 0)
            return -1;
    }
    return 0;
}

/* A message of another length is of another exchange. */
static int check_lengths(int n_ended, char *why)
{
    for (int i = 0; i < n_ended; i++) {
        int bytes = mpi.bytes;
        if (mpi.which[i] < mpi.n)
            MPI_Get_count(&mpi.ended[i], MPI_BYTE, &bytes);
        if (bytes != mpi.bytes) {
            snprintf(why, LEAT_MPI_WHY, "rank %d of %d is in another part of the run", mpi.which[i],
                     mpi.n);
            return -1;
        }
    }
    return 0;
}

static int mpi_test(int32_t *left, uint8_t *missing, char *why)
{
    int n_ended = 0;
    if (check_call(MPI_Testsome(2 * mpi.n, mpi.requests, &n_ended, mpi.which, mpi.ended),
                   "MPI_Testsome", why) < 0 ||
        check_lengths(n_ended == MPI_UNDEFINED ? 0 : n_ended, why) < 0)
        return -1;
    *left = 0;
    for (int i = 0; i < 2 * mpi.n; i++)
        *left += mpi.requests[i] != MPI_REQUEST_NULL;
    for (int r = 0; r < mpi.n; r++)
        missing[r] =
            mpi.requests[r] != MPI_REQUEST_NULL || mpi.requests[mpi.n + r] != MPI_REQUEST_NULL;
    return 0;
}

/* One that was stopped between two sends makes one rank wait in this exchange and one in the next. */
static int mpi_ask(int is_over, uint8_t *missing, char *why)
{
    bool is_asked = false;
    if (hear(why) < 0)
        return -1;
    for (int r = 0; r < mpi.n; r++) {
        const int64_t said = mpi.others[r];
        const int64_t apart = llabs(llabs(said) - mpi.exchange);
        const bool waits =
            said != 0 && (apart == 0 || (apart == 1 && mpi.heard[r] == mpi.exchange));
        is_asked |= waits && said > 0;
        missing[r] &= !waits;
    }
    if (llabs(mpi.said) == mpi.exchange || (!is_over && !is_asked))
        return 0;
    mpi.said = is_over ? mpi.exchange : -mpi.exchange;
    for (int r = 0; r < mpi.n; r++) {
        MPI_Request sent;
        if (r == mpi.rank)
            continue;
        if (check_call(MPI_Isend(&mpi.said, 1, MPI_INT64_T, r, TAG_WAITS, mpi.all, &sent),
                       "MPI_Isend", why) < 0)
            return -1;
        MPI_Request_free(&sent);
    }
    return 0;
}

static const char *mpi_host(int32_t rank)
{
    return mpi.hosts + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
}

/* MPI_Finalize would wait, too, but burn a core while rank 0 writes its results. */
static void mpi_close(void)
{
    const struct timespec nap = { .tv_nsec = 1000 * 1000 };
    MPI_Request all_came;
    int came = 0;
    if (MPI_Ibarrier(mpi.all, &all_came) == MPI_SUCCESS)
        while (MPI_Test(&all_came, &came, MPI_STATUS_IGNORE) == MPI_SUCCESS && !came)
            nanosleep(&nap, NULL);
    hear((char[LEAT_MPI_WHY]){ 0 }); /* of waits that have ended */
    MPI_Comm_free(&mpi.all);
    if (mpi.began)
        MPI_Finalize();
    free(mpi.hosts);
    free(mpi.requests);
    free(mpi.ended);
    free(mpi.which);
    free(mpi.others);
    free(mpi.heard);
}

static void mpi_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

const leat_mpi_table *leat_mpi_get(int abi)
{
    static const leat_mpi_table table = { mpi_open, mpi_begin, mpi_test, mpi_ask,
                                          mpi_host, mpi_close, mpi_abort };
    return abi == LEAT_MPI_ABI ? &table : NULL;
}
