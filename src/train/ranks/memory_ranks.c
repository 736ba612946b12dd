/* SPDX-License-Identifier: MIT
 *
 * memory_ranks.c: ranks that are processes of one machine and share memory, which they have from a fork.
 *
 * DESIGN: every rank has two places of a piece each, and a count of the pieces that it has put there. A rank writes its
 * piece, counts, and waits until all have counted as far; then it reads theirs. It uses its two places in turn: who has
 * counted piece k + 1 has read all of piece k, so the place of piece k is free for k + 2, and one wait per piece is enough.
 * Each of the two channels has its own places and counts. A waiting rank spins briefly, if there is a core for each, and then sleeps (futex). It looks from time to time whether
 * the others are alive: one that was killed cannot say so. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"

enum { PIECE_BYTES = 1 << 20, RANKS_MAX = 256, SPINS = 2000, LOOK_NS = 50 * 1000 * 1000 };

/* In shared memory. */
typedef struct member {
    struct {
        _Alignas(64) atomic_uint pieces; /* put, modulo 2^32; its waiters sleep on it */
    } channels[2];
    atomic_int pid;  /* 0: has not joined */
    atomic_int left; /* closed */
    atomic_int late; /* killed, because it was */
} member;

typedef struct shared {
    size_t bytes;
    int spins;
    member *members;
    char *places; /* [channel][2][rank][PIECE_BYTES] */
} shared;

static char *place(const leat_ranks *ranks, unsigned piece, int32_t rank)
{
    const shared *const s = ranks->own;
    const size_t turn = (size_t)ranks->channel * 2 + (piece & 1);
    return s->places + (turn * (size_t)ranks->n + (size_t)rank) * PIECE_BYTES;
}

/* Of a rank, in a channel. */
static atomic_uint *pieces_of(const leat_ranks *ranks, int32_t rank)
{
    const shared *const s = ranks->own;
    return &s->members[rank].channels[ranks->channel].pieces;
}

static bool has_put(const leat_ranks *ranks, int32_t rank, unsigned piece)
{
    const unsigned put = atomic_load_explicit(pieces_of(ranks, rank), memory_order_acquire);
    return (int)(put - piece) >= 0;
}

/* A process that has ended is there for kill() until its parent, which may be any program, has waited for it; its pidfd
 * says so at once, and waitid() to that parent. */
bool leat_ranks_has_ended(int pid, int pidfd)
{
    struct pollfd of = { .fd = pidfd, .events = POLLIN };
    siginfo_t child = { 0 };
    if (pidfd >= 0)
        return poll(&of, 1, 0) > 0;
    return (kill(pid, 0) < 0 && errno == ESRCH) ||
           (waitid(P_PID, (id_t)pid, &child, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            child.si_pid == pid);
}

static bool is_gone(const member *m)
{
    const int pid = atomic_load(&m->pid);
    if (atomic_load(&m->left))
        return true;
    if (!pid)
        return false;
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    const bool ended = leat_ranks_has_ended(pid, pidfd);
    if (pidfd >= 0)
        close(pidfd);
    return ended;
}

/* A rank that will not put the piece; -1: none is known. Any rank: one that was killed is seen first by its parent, which
 * then leaves. */
static int32_t find_gone(const leat_ranks *ranks, unsigned piece)
{
    const shared *const s = ranks->own;
    for (int32_t r = 0; r < ranks->n; r++)
        if (is_gone(&s->members[r]) && !has_put(ranks, r, piece))
            return r;
    return -1;
}

static void sleep_on(atomic_uint *pieces, unsigned piece)
{
    const unsigned now = atomic_load_explicit(pieces, memory_order_acquire);
    const struct timespec look = { .tv_nsec = LOOK_NS };
    if ((int)(now - piece) < 0)
        syscall(SYS_futex, pieces, FUTEX_WAIT, now, &look, NULL, 0);
}

static void wake(atomic_uint *pieces)
{
    syscall(SYS_futex, pieces, FUTEX_WAKE, RANKS_MAX, NULL, NULL, 0);
}

/* Of a late one that another rank killed, the lowest that is left tells. */
static int say_gone(leat_ranks *ranks, int32_t gone, leat_error *err)
{
    const shared *const s = ranks->own;
    bool is_first = atomic_load(&s->members[gone].late) && ranks->rank > 0;
    for (int32_t r = 0; r < ranks->rank; r++)
        is_first &= is_gone(&s->members[r]);
    ranks->reports |= is_first;
    if (!atomic_load(&s->members[gone].late))
        return leat_fail(err, LEAT_E_IO, "rank %d of %d has ended", gone, ranks->n);
    return leat_fail(err, LEAT_E_IO,
                     "rank %d of %d has ended: late by more than the deadline of %.4g s, it was "
                     "killed",
                     gone, ranks->n, (double)ranks->deadline_ns * 1e-9);
}

/* Ends ranks for which this one has waited too long: a stopped one would never end. */
static int check_deadline(leat_ranks *ranks, unsigned piece, leat_error *err)
{
    const shared *const s = ranks->own;
    uint8_t missing[RANKS_MAX];
    for (int32_t r = 0; r < ranks->n; r++)
        missing[r] = !has_put(ranks, r, piece);
    const int rc = leat_ranks_waited(ranks, missing, err);
    for (int32_t r = 0; r < ranks->n && rc < 0; r++) {
        member *const m = &s->members[r];
        if (!missing[r] || !atomic_load(&m->pid))
            continue;
        atomic_store(&m->late, 1);
        kill(atomic_load(&m->pid), SIGKILL);
    }
    return rc;
}

static int wait_for(leat_ranks *ranks, int32_t rank, unsigned piece, leat_error *err)
{
    const shared *const s = ranks->own;
    for (int i = 0; i < s->spins; i++)
        if (has_put(ranks, rank, piece))
            return LEAT_OK;
    leat_ranks_came(ranks);
    while (!has_put(ranks, rank, piece)) {
        const int32_t gone = find_gone(ranks, piece);
        if (gone >= 0)
            return say_gone(ranks, gone, err);
        const int rc = check_deadline(ranks, piece, err);
        if (rc < 0)
            return rc;
        sleep_on(pieces_of(ranks, rank), piece);
    }
    return LEAT_OK;
}

/* A place has room for a part of what each rank gets; stride 0: of what all get. */
static int memory_pass(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                       leat_error *err)
{
    atomic_uint *const pieces = pieces_of(ranks, ranks->rank);
    const int32_t n_parts = stride ? ranks->n : 1;
    const size_t most = PIECE_BYTES / (size_t)n_parts / 64 * 64;
    for (size_t at = 0; at < bytes; at += most) {
        const size_t n = bytes - at < most ? bytes - at : most;
        const unsigned piece = atomic_load_explicit(pieces, memory_order_relaxed) + 1;
        leat_ranks_came(ranks);
        for (int32_t r = 0; r < n_parts; r++)
            memcpy(place(ranks, piece, ranks->rank) + (size_t)r * most,
                   (const char *)mine + (size_t)r * stride + at, n);
        atomic_store_explicit(pieces, piece, memory_order_release); /* pairs with has_put() */
        wake(pieces);
        for (int32_t r = 0; r < ranks->n; r++) {
            const int rc = r == ranks->rank ? LEAT_OK : wait_for(ranks, r, piece, err);
            if (rc < 0)
                return rc;
            if (r != ranks->rank)
                memcpy((char *)all + (size_t)r * bytes + at,
                       place(ranks, piece, r) + (stride ? (size_t)ranks->rank * most : 0), n);
        }
    }
    return LEAT_OK;
}

/* Who waits for this rank wakes, and sees that it left. */
static void memory_close(leat_ranks *ranks)
{
    shared *const s = ranks->own;
    if (ranks->rank >= 0) {
        member *const me = &s->members[ranks->rank];
        atomic_store(&me->left, 1);
        wake(&me->channels[0].pieces);
        wake(&me->channels[1].pieces);
    }
    munmap(s->members, s->bytes);
    free(s);
}

const leat_ranks_table leat_ranks_memory = { .pass = memory_pass, .close = memory_close };

int leat_ranks_open(int32_t n, leat_ranks **out, leat_error *err)
{
    if (!out || n < 1 || n > RANKS_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_ranks_open: out, and 1 to %d ranks",
                         RANKS_MAX);
    const size_t fronts = ((size_t)n * sizeof(member) + 4095) / 4096 * 4096;
    const size_t bytes = fronts + (size_t)n * 4 * PIECE_BYTES;
    leat_ranks *const ranks = calloc(1, sizeof *ranks);
    shared *const s = calloc(1, sizeof *s);
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *out = NULL;
    if (!ranks || !s || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, bytes);
        free(ranks);
        free(s);
        return leat_fail(err, LEAT_E_NOMEM, "%d ranks: %zu bytes", n, bytes);
    }
    *s = (shared){ bytes, n <= sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0, memory,
                   (char *)memory + fronts };
    *ranks = (leat_ranks){
        .table = &leat_ranks_memory, .rank = -1, .n = n, .here = n, .overlap = -1, .own = s
    };
    *out = ranks;
    return LEAT_OK;
}

int leat_ranks_join(leat_ranks *ranks, int32_t rank, leat_error *err)
{
    if (!ranks || rank < 0 || rank >= ranks->n || ranks->rank >= 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_ranks_join: ranks that are open, and once a number below theirs");
    const shared *const s = ranks->own;
    ranks->rank = rank;
    atomic_store(&s->members[rank].pid, getpid());
    return LEAT_OK;
}
