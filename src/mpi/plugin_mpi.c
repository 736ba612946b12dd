/* SPDX-License-Identifier: MIT
 *
 * plugin_mpi.c: the MPI plugin: the functions of mpi_ranks.h, which describes them, over the site's MPI.
 *
 * DESIGN: messages from each rank to each other one, not collectives: what has not come says which rank is late. MPI's
 * errors are returned, so that the message is leat's. Between tests the library sleeps, because MPI's own waits burn the
 * core that a late rank may need. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/ranks/mpi_ranks.h"

enum { TAG = 1, TAG_WAITS = 2 };

typedef struct channel {
    MPI_Comm all;
    MPI_Request *requests; /* [n]: to receive; [n]: to send */
    MPI_Status *ended;
    int *which;
    int bytes;        /* of each transfer in progress */
    int64_t exchange; /* the one in progress, counted from 1 */
    int64_t said; /* the last in which this rank has told that it waits; negative: it was asked */
    int64_t *others; /* [n]: the same of the others, … */
    int64_t *heard;  /* … and in which exchange of this rank that came */
} channel;

static struct {
    channel channels[2];
    pthread_mutex_t lock; /* MPI_THREAD_SERIALIZED: threads take turns in calling */
    int rank, n;
    char *hosts; /* [n][MPI_MAX_PROCESSOR_NAME] */
    bool began;  /* MPI, which ends with it then */
} mpi = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

static int open_channel(channel *c, char *why)
{
    const size_t n = (size_t)mpi.n;
    if (check_call(MPI_Comm_dup(MPI_COMM_WORLD, &c->all), "MPI_Comm_dup", why) < 0)
        return -1;
    MPI_Comm_set_errhandler(c->all, MPI_ERRORS_RETURN);
    c->requests = calloc(2 * n, sizeof *c->requests);
    c->ended = calloc(2 * n, sizeof *c->ended);
    c->which = calloc(2 * n, sizeof *c->which);
    c->others = calloc(n, sizeof *c->others);
    c->heard = calloc(n, sizeof *c->heard);
    if (!c->requests || !c->ended || !c->which || !c->others || !c->heard) {
        snprintf(why, LEAT_MPI_WHY, "no memory for %d ranks", mpi.n);
        return -1;
    }
    for (int i = 0; i < 2 * mpi.n; i++)
        c->requests[i] = MPI_REQUEST_NULL;
    return 0;
}

static void close_channel(channel *c)
{
    MPI_Comm_free(&c->all);
    free(c->requests);
    free(c->ended);
    free(c->which);
    free(c->others);
    free(c->heard);
}

/* Ranks that share cores with this one, itself included: launchers may bind each to its own. */
static int count_here(int32_t *here, char *why)
{
    MPI_Comm machine;
    cpu_set_t mine, both;
    int n = 1;
    if (check_call(MPI_Comm_split_type(mpi.channels[0].all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                       &machine),
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
    mpi.hosts = calloc((size_t)mpi.n, MPI_MAX_PROCESSOR_NAME);
    if (!mpi.hosts) {
        snprintf(why, LEAT_MPI_WHY, "no memory for %d ranks", mpi.n);
        return -1;
    }
    MPI_Get_processor_name(name, &length);
    return check_call(MPI_Allgather(name, sizeof name, MPI_BYTE, mpi.hosts, sizeof name, MPI_BYTE,
                                    mpi.channels[0].all),
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
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi.n);
    *rank = mpi.rank;
    *n = mpi.n;
    for (int i = 0; i < 2; i++)
        if (open_channel(&mpi.channels[i], why) < 0)
            return -1;
    return count_here(here, why) < 0 ? -1 : gather_hosts(why);
}

static int hear(channel *c, char *why)
{
    MPI_Status status;
    int is_there = 0;
    do {
        if (check_call(MPI_Iprobe(MPI_ANY_SOURCE, TAG_WAITS, c->all, &is_there, &status),
                       "MPI_Iprobe", why) < 0 ||
            (is_there && check_call(MPI_Recv(&c->others[status.MPI_SOURCE], 1, MPI_INT64_T,
                                             status.MPI_SOURCE, TAG_WAITS, c->all, &status),
                                    "MPI_Recv", why) < 0))
            return -1;
        if (is_there)
            c->heard[status.MPI_SOURCE] = c->exchange;
    } while (is_there);
    return 0;
}

static int begin(channel *c, const void *mine, size_t stride, void *all, size_t apart, size_t bytes,
                 char *why)
{
    if (hear(c, why) < 0) /* what came before is of exchanges before */
        return -1;
    c->bytes = (int)bytes;
    c->exchange++;
    for (int r = 0; r < mpi.n; r++)
        if (r != mpi.rank && check_call(MPI_Irecv((char *)all + (size_t)r * apart, c->bytes,
                                                  MPI_BYTE, r, TAG, c->all, &c->requests[r]),
                                        "MPI_Irecv", why) < 0)
            return -1;
    for (int i = 1; i < mpi.n;
         i++) { /* each begins with its neighbour, so that none gets all at once */
        const int r = (mpi.rank + i) % mpi.n;
        if (check_call(MPI_Isend((const char *)mine + (size_t)r * stride, c->bytes, MPI_BYTE, r,
                                 TAG, c->all, &c->requests[mpi.n + r]),
                       "MPI_Isend", why) < 0)
            return -1;
    }
    return 0;
}

/* A message of another length is of another exchange. */
static int check_lengths(const channel *c, int n_ended, char *why)
{
    for (int i = 0; i < n_ended; i++) {
        int bytes = c->bytes;
        if (c->which[i] < mpi.n)
            MPI_Get_count(&c->ended[i], MPI_BYTE, &bytes);
        if (bytes != c->bytes) {
            snprintf(why, LEAT_MPI_WHY, "rank %d of %d is in another part of the run", c->which[i],
                     mpi.n);
            return -1;
        }
    }
    return 0;
}

static int test(channel *c, int32_t *left, uint8_t *missing, char *why)
{
    int n_ended = 0;
    if (check_call(MPI_Testsome(2 * mpi.n, c->requests, &n_ended, c->which, c->ended),
                   "MPI_Testsome", why) < 0 ||
        check_lengths(c, n_ended == MPI_UNDEFINED ? 0 : n_ended, why) < 0)
        return -1;
    *left = 0;
    for (int i = 0; i < 2 * mpi.n; i++)
        *left += c->requests[i] != MPI_REQUEST_NULL;
    for (int r = 0; r < mpi.n; r++)
        missing[r] =
            c->requests[r] != MPI_REQUEST_NULL || c->requests[mpi.n + r] != MPI_REQUEST_NULL;
    return 0;
}

/* One that was stopped between two sends makes one rank wait in this exchange and one in the next. */
static int ask(channel *c, int is_over, uint8_t *missing, char *why)
{
    bool is_asked = false;
    if (hear(c, why) < 0)
        return -1;
    for (int r = 0; r < mpi.n; r++) {
        const int64_t said = c->others[r];
        const int64_t apart = llabs(llabs(said) - c->exchange);
        const bool waits = said != 0 && (apart == 0 || (apart == 1 && c->heard[r] == c->exchange));
        is_asked |= waits && said > 0;
        missing[r] &= !waits;
    }
    if (llabs(c->said) == c->exchange || (!is_over && !is_asked))
        return 0;
    c->said = is_over ? c->exchange : -c->exchange;
    for (int r = 0; r < mpi.n; r++) {
        MPI_Request sent;
        if (r == mpi.rank)
            continue;
        if (check_call(MPI_Isend(&c->said, 1, MPI_INT64_T, r, TAG_WAITS, c->all, &sent),
                       "MPI_Isend", why) < 0)
            return -1;
        MPI_Request_free(&sent);
    }
    return 0;
}

static int mpi_begin(int in, const void *mine, size_t stride, void *all, size_t apart, size_t bytes,
                     char *why)
{
    pthread_mutex_lock(&mpi.lock);
    const int rc = begin(&mpi.channels[in], mine, stride, all, apart, bytes, why);
    pthread_mutex_unlock(&mpi.lock);
    return rc;
}

static int mpi_test(int in, int32_t *left, uint8_t *missing, char *why)
{
    pthread_mutex_lock(&mpi.lock);
    const int rc = test(&mpi.channels[in], left, missing, why);
    pthread_mutex_unlock(&mpi.lock);
    return rc;
}

static int mpi_ask(int in, int is_over, uint8_t *missing, char *why)
{
    pthread_mutex_lock(&mpi.lock);
    const int rc = ask(&mpi.channels[in], is_over, missing, why);
    pthread_mutex_unlock(&mpi.lock);
    return rc;
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
    if (MPI_Ibarrier(mpi.channels[0].all, &all_came) == MPI_SUCCESS)
        while (MPI_Test(&all_came, &came, MPI_STATUS_IGNORE) == MPI_SUCCESS && !came)
            nanosleep(&nap, NULL);
    for (int i = 0; i < 2; i++) {
        hear(&mpi.channels[i], (char[LEAT_MPI_WHY]){ 0 }); /* of waits that have ended */
        close_channel(&mpi.channels[i]);
    }
    if (mpi.began)
        MPI_Finalize();
    free(mpi.hosts);
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
