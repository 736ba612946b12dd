/* SPDX-License-Identifier: MIT
 *
 * exchange.c: exchanges between ranks that also agree on errors. See exchange.h. */
#include "exchange.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* What a rank puts in front of its bytes. */
typedef struct front {
    int32_t rc, flag;
    int64_t bytes;
    int64_t waited_ns, input_ns; /* since the last one */
    int64_t stopped_ns;          /* since the one before that */
    int64_t counted_ns;          /* since leat_ranks_times() counts; 0: it does not yet */
} front;

static int grow(char **memory, size_t *bytes, size_t wanted, leat_error *err)
{
    if (wanted <= *bytes)
        return LEAT_OK;
    char *const larger = realloc(*memory, wanted);
    if (!larger)
        return leat_fail(err, LEAT_E_NOMEM, "ranks: %zu bytes", wanted);
    *memory = larger;
    *bytes = wanted;
    return LEAT_OK;
}

static const front *front_of(const leat_ranks *ranks, int32_t rank)
{
    const front *const mine = (const front *)ranks->given;
    return (const front *)(ranks->got + (size_t)rank * (sizeof *mine + (size_t)mine->bytes));
}

const void *leat_ranks_from(const leat_ranks *ranks, int32_t rank)
{
    return front_of(ranks, rank) + 1;
}

/* Time in which this process itself was stopped, as by Ctrl-Z, does not count. Returns the time. */
static int64_t look(leat_ranks *ranks)
{
    enum { STOPPED_NS = 500 * 1000 * 1000, ABSENT_NS = STOPPED_NS / 2 };
    const int64_t now_ns = leat_clock_ns(), away_ns = now_ns - ranks->looked_ns;
    if (away_ns > STOPPED_NS)
        ranks->since_ns = now_ns;
    if (away_ns > ABSENT_NS) /* then it was late itself */
        ranks->stopped_ns[0] += away_ns;
    ranks->looked_ns = now_ns;
    return now_ns;
}

/* The time of a simulated network, after all have come. */
static void cross_network(leat_ranks *ranks, size_t bytes)
{
    enum { SPIN_NS = 100 * 1000, NAP_NS = 50 * 1000 * 1000 };
    const double ns = ranks->ns_per_byte * (double)bytes * (ranks->n - 1);
    const int64_t end_ns = leat_clock_ns() + ranks->latency_ns + (int64_t)ns;
    for (int64_t left_ns; (left_ns = end_ns - look(ranks)) > 0;) {
        if (left_ns > SPIN_NS)
            leat_clock_nap(left_ns - SPIN_NS < NAP_NS ? left_ns - SPIN_NS : NAP_NS);
        else
            sched_yield();
    }
}

int leat_ranks_network(leat_ranks *ranks, double latency_s, double bytes_per_s, leat_error *err)
{
    if (!ranks || !(latency_s >= 0 && latency_s <= 60) || !(bytes_per_s >= 1000))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_ranks_network: ranks, a latency of 0 to 60 seconds, and 1,000 bytes "
                         "per second or more");
    ranks->latency_ns = (int64_t)(latency_s * 1e9);
    ranks->ns_per_byte = isinf(bytes_per_s) ? 0 : 1e9 / bytes_per_s;
    return LEAT_OK;
}

void leat_ranks_overlap(leat_ranks *ranks, int on)
{
    if (ranks)
        ranks->overlap = on < 0 ? -1 : on > 0;
}

/* Between processes of one machine the cores themselves move the bytes, and have other work to do. */
bool leat_ranks_overlaps(const leat_ranks *ranks)
{
    if (!ranks || ranks->n < 2)
        return false;
    bool network = ranks->latency_ns > 0 || ranks->ns_per_byte > 0;
    for (int32_t r = 1; r < ranks->n && ranks->table->host; r++)
        network |= strcmp(ranks->table->host(ranks, r), ranks->table->host(ranks, 0)) != 0;
    return ranks->overlap < 0 ? network : ranks->overlap > 0;
}

leat_ranks_wait leat_ranks_wait_begin(leat_ranks *ranks)
{
    const leat_ranks_wait wait = { leat_clock_ns(), ranks->stopped_ns[0] };
    ranks->since_ns = ranks->looked_ns = wait.from_ns;
    return wait;
}

void leat_ranks_wait_end(leat_ranks *ranks, leat_ranks_wait wait)
{
    ranks->waited_ns += look(ranks) - wait.from_ns - (ranks->stopped_ns[0] - wait.stopped_ns);
}

int leat_ranks_swap(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                    leat_error *err)
{
    if (ranks->rank < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "ranks: this process has not joined");
    const leat_ranks_wait wait = leat_ranks_wait_begin(ranks);
    if (ranks->broken == LEAT_OK)
        ranks->broken = ranks->table->pass(ranks, mine, stride, all, bytes, &ranks->error);
    if (ranks->broken == LEAT_OK && (ranks->latency_ns || ranks->ns_per_byte > 0))
        cross_network(ranks, bytes);
    leat_ranks_wait_end(ranks, wait);
    return ranks->broken < 0 ? leat_fail_as(err, &ranks->error) : LEAT_OK;
}

int leat_ranks_collect(leat_ranks *ranks, const void *mine, void *all, size_t bytes,
                       leat_error *err)
{
    char *const own = (char *)all + (size_t)(ranks->rank < 0 ? 0 : ranks->rank) * bytes;
    if (own != mine)
        memcpy(own, mine, bytes);
    return leat_ranks_swap(ranks, mine, 0, all, bytes, err);
}

/* The error of one rank becomes that of all. */
static int take_error(leat_ranks *ranks, int32_t from, leat_error *err)
{
    leat_error *const all = calloc((size_t)ranks->n, sizeof *all);
    leat_error none = { .code = LEAT_E_INTERNAL };
    const int code = front_of(ranks, from)->rc;
    if (!all) {
        /* The others notice it when this one leaves. */
        ranks->broken = leat_fail(&ranks->error, LEAT_E_NOMEM, "ranks: no memory for an error");
        return leat_fail_as(err, &ranks->error);
    }
    const int rc = leat_ranks_collect(ranks, err ? err : &none, all, sizeof *all, err);
    if (rc == LEAT_OK && err)
        *err = all[from];
    free(all);
    return rc < 0 ? rc : code;
}

/* Who came last waited least, unless a rank was stopped in an exchange: it may have given its bytes to some of the others by
 * then, and these wait in the next exchange, for it or for one that waits for it. A stop counts only if some rank waited for
 * at least half of it: a stop of an earlier step is not what they wait for now. */
static int32_t find_last(const leat_ranks *ranks)
{
    int64_t most_ns = 0, least_ns = INT64_MAX;
    int32_t last = 0;
    for (int32_t r = 0; r < ranks->n; r++)
        if (front_of(ranks, r)->waited_ns > most_ns)
            most_ns = front_of(ranks, r)->waited_ns;
    for (int32_t r = 0; r < ranks->n; r++) {
        const front *const of = front_of(ranks, r);
        const int64_t ns = of->waited_ns - (of->stopped_ns / 2 < most_ns ? of->stopped_ns : 0);
        if (ns < least_ns) {
            least_ns = ns;
            last = r;
        }
    }
    return last;
}

/* From what all have given, which is the same in all ranks. */
static void count_times(leat_ranks *ranks)
{
    const int32_t last = find_last(ranks);
    int64_t least_ns = INT64_MAX;
    double waited = 0;
    if (!ranks->counted_from_ns) { /* this exchange ends at about the same time in all ranks */
        ranks->counted_from_ns = leat_clock_ns();
        ranks->waited_ns = ranks->stopped_ns[0] = ranks->stopped_ns[1] = 0;
        return;
    }
    for (int32_t r = 0; r < ranks->n; r++)
        if (front_of(ranks, r)->waited_ns < least_ns)
            least_ns = front_of(ranks, r)->waited_ns;
    for (int32_t r = 0; r < ranks->n; r++) {
        const front *const of = front_of(ranks, r);
        const double more = (double)(of->waited_ns - least_ns) * 1e-9;
        ranks->times[r].exchange += (double)least_ns * 1e-9;
        ranks->times[r].others += more;
        ranks->times[r].input += (double)of->input_ns * 1e-9;
        ranks->times[r].compute = (double)of->counted_ns * 1e-9;
        waited += r == last ? 0 : more;
    }
    ranks->times[last].late += ranks->n > 1 ? waited / (ranks->n - 1) : 0;
}

/* n: bytes of mine; what is left of `bytes` is not defined. */
static int gather(leat_ranks *ranks, int rc, int32_t *flag, const void *mine, size_t n,
                  size_t bytes, leat_error *err)
{
    const size_t all = sizeof(front) + bytes;
    leat_error *const why = &ranks->error;
    int grown = ranks->broken;
    if (grown == LEAT_OK)
        grown = grow(&ranks->given, &ranks->given_bytes, all, why);
    if (grown == LEAT_OK)
        grown = grow(&ranks->got, &ranks->got_bytes, all * (size_t)ranks->n, why);
    if ((ranks->broken = grown) < 0)
        return leat_fail_as(err, why);
    const int64_t counted_ns =
        ranks->counted_from_ns ? leat_clock_ns() - ranks->counted_from_ns : 0;
    *(front *)ranks->given = (front){ .rc = rc,
                                      .flag = flag && *flag,
                                      .bytes = (int64_t)bytes,
                                      .waited_ns = ranks->waited_ns,
                                      .input_ns = ranks->input_ns,
                                      .stopped_ns = ranks->stopped_ns[0] + ranks->stopped_ns[1],
                                      .counted_ns = counted_ns };
    ranks->waited_ns = ranks->input_ns = 0;
    ranks->stopped_ns[1] = ranks->stopped_ns[0];
    ranks->stopped_ns[0] = 0;
    if (n)
        memcpy(ranks->given + sizeof(front), mine, n);
    const int sent = leat_ranks_collect(ranks, ranks->given, ranks->got, all, err);
    if (sent < 0)
        return sent;
    if (ranks->times)
        count_times(ranks);
    for (int32_t r = 0; r < ranks->n; r++)
        if (front_of(ranks, r)->rc < 0)
            return take_error(ranks, r, err);
    for (int32_t r = 0; flag && r < ranks->n; r++)
        *flag |= front_of(ranks, r)->flag;
    return LEAT_OK;
}

int leat_ranks_gather(leat_ranks *ranks, int rc, const void *mine, size_t bytes, leat_error *err)
{
    return ranks ? gather(ranks, rc, NULL, mine, bytes, bytes, err) : rc;
}

int leat_ranks_share(leat_ranks *ranks, int rc, void *all, int32_t n, size_t bytes, leat_error *err)
{
    int32_t first, here = leat_ranks_part(ranks, n, &first);
    const size_t most = (size_t)((n + ranks->n - 1) / ranks->n) * bytes;
    rc = gather(ranks, rc, NULL, (char *)all + (size_t)first * bytes, (size_t)here * bytes, most,
                err);
    for (int32_t r = 0; rc == LEAT_OK && r < ranks->n; r++) {
        here = leat_ranks_part_of(ranks, r, n, &first);
        memcpy((char *)all + (size_t)first * bytes, leat_ranks_from(ranks, r),
               (size_t)here * bytes);
    }
    return rc;
}

int leat_ranks_total(leat_ranks *ranks, int rc, uint64_t *counts, int32_t n, leat_error *err)
{
    if (ranks && (!counts || n < 0))
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_ranks_total: counts must be given");
    rc = leat_ranks_gather(ranks, rc, counts, (size_t)n * sizeof *counts, err);
    for (int32_t r = 0; ranks && rc == LEAT_OK && r < ranks->n; r++)
        for (int32_t i = 0; i < n; i++)
            counts[i] = (r ? counts[i] : 0) + ((const uint64_t *)leat_ranks_from(ranks, r))[i];
    return rc;
}

int leat_ranks_agree(leat_ranks *ranks, int rc, int32_t *flag, leat_error *err)
{
    return ranks ? gather(ranks, rc, flag, NULL, 0, 0, err) : rc;
}

/* "rank 2 of 4 (its machine)". Returns text. */
static const char *name_of(const leat_ranks *ranks, int32_t rank, char *text, size_t size)
{
    const char *const host = ranks->table->host ? ranks->table->host(ranks, rank) : NULL;
    snprintf(text, size, "rank %d of %d%s%s%s", rank, ranks->n, host ? " (" : "", host ? host : "",
             host ? ")" : "");
    return text;
}

/* The first line of each in which they differ. */
static void first_difference(const char **a, const char **b)
{
    const char *x = *a, *y = *b;
    for (; *x && *x == *y; x++, y++)
        if (*x == '\n') {
            *a = x + 1;
            *b = y + 1;
        }
}

int leat_ranks_same(leat_ranks *ranks, int rc, const char *text, leat_error *err)
{
    const int64_t mine = (int64_t)strlen(text ? text : "") + 1;
    int64_t most = 0;
    char name[300];
    if (!ranks || (rc = leat_ranks_gather(ranks, rc, &mine, sizeof mine, err)) < 0)
        return rc;
    for (int32_t r = 0; r < ranks->n; r++) {
        const int64_t n = *(const int64_t *)leat_ranks_from(ranks, r);
        most = n > most ? n : most;
    }
    rc =
        gather(ranks, rc, NULL, text ? text : "", (size_t)mine, ((size_t)most + 15) / 16 * 16, err);
    for (int32_t r = 1; r < ranks->n && rc == LEAT_OK; r++) {
        const char *first = leat_ranks_from(ranks, 0), *other = leat_ranks_from(ranks, r);
        if (strcmp(first, other) == 0)
            continue;
        first_difference(&first, &other);
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "%s has '%.*s' where rank 0 has '%.*s': give all ranks the same config, "
                       "data and libraries",
                       name_of(ranks, r, name, sizeof name), (int)strcspn(other, "\n"), other,
                       (int)strcspn(first, "\n"), first);
    }
    return rc;
}

int leat_ranks_is_reporter(const leat_ranks *ranks)
{
    return !ranks || ranks->rank == 0 || ranks->reports;
}

void leat_ranks_deadline(leat_ranks *ranks, double seconds)
{
    if (ranks)
        ranks->deadline_ns = seconds > 0 && seconds < 9e9 ? (int64_t)(seconds * 1e9) : 0;
}

/* Without memory there are no times, which is no reason to end a run. */
void leat_ranks_batch(leat_ranks *ranks, const leat_batch_info *info, bool begin)
{
    if (!ranks)
        return;
    ranks->input_ns += info->got_ns - info->asked_ns;
    if (begin && !ranks->times)
        ranks->times = calloc((size_t)ranks->n, sizeof *ranks->times);
}

int32_t leat_ranks_times(const leat_ranks *ranks, leat_ranks_time *out, int32_t n)
{
    if (!ranks || !ranks->times || ranks->times[0].compute <= 0 || (!out && n > 0))
        return 0;
    for (int32_t r = 0; r < n && r < ranks->n; r++) {
        const leat_ranks_time *const t = &ranks->times[r];
        const double share = t->compute > 0 ? 1 / t->compute : 0;
        out[r] = (leat_ranks_time){ .input = t->input * share,
                                    .others = t->others * share,
                                    .exchange = t->exchange * share,
                                    .late = t->late * share };
        out[r].compute = 1 - out[r].input - out[r].others - out[r].exchange;
        name_of(ranks, r, out[r].name, sizeof out[r].name);
    }
    return ranks->n;
}

void leat_ranks_came(leat_ranks *ranks)
{
    ranks->since_ns = look(ranks);
}

int leat_ranks_waited(leat_ranks *ranks, uint8_t *missing, leat_error *err)
{
    enum { ASK_NS = 100 * 1000 * 1000, AFTER_NS = 1000 * 1000 * 1000 };
    const int awaited = ranks->awaited ? atomic_load(ranks->awaited) : LEAT_RANKS_AWAITED;
    if (awaited == LEAT_RANKS_GIVEN_UP) {
        memset(missing, 0, (size_t)ranks->n);
        return leat_fail(err, LEAT_E_IO, "ranks: another exchange has failed");
    }
    if (awaited == LEAT_RANKS_NOT_AWAITED)
        leat_ranks_came(ranks);
    const int64_t waited_ns = look(ranks) - ranks->since_ns;
    const bool is_over = waited_ns >= ranks->deadline_ns;
    char late[512] = "", name[300];
    int32_t first = 0;
    if (!ranks->deadline_ns || (!is_over && waited_ns < ASK_NS))
        return LEAT_OK;
    if (ranks->table->ask)
        ranks->table->ask(ranks, is_over, missing);
    if (!is_over)
        return LEAT_OK;
    while (first < ranks->rank && missing[first])
        first++;
    const bool is_first = first == ranks->rank;
    if (waited_ns < ranks->deadline_ns + (is_first && !ranks->table->ask ? 0 : AFTER_NS))
        return LEAT_OK;
    ranks->reports = is_first && first > 0;
    ranks->is_told = !is_first;
    for (int32_t r = 0; r < ranks->n; r++)
        if (missing[r])
            snprintf(late + strlen(late), sizeof late - strlen(late), "%s%s", *late ? ", " : "",
                     name_of(ranks, r, name, sizeof name));
    return leat_fail(err, LEAT_E_IO,
                     "%s: late by more than the deadline of %.4g s: it is stopped, hangs, or its "
                     "machine is gone",
                     *late ? late : "bytes between ranks that all wait",
                     (double)ranks->deadline_ns * 1e-9);
}

void leat_ranks_close(leat_ranks **ranks)
{
    if (!ranks || !*ranks)
        return;
    (*ranks)->table->close(*ranks);
    free((*ranks)->given);
    free((*ranks)->got);
    free((*ranks)->times);
    free(*ranks);
    *ranks = NULL;
}
