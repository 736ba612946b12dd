/* SPDX-License-Identifier: MIT
 *
 * test_exchange.c: what ranks waited for, with a planted reason: a rank that comes late, that waits for its input, or that is
 * stopped; a slow transport; none. */
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixtures/unit.h"
#include "leat/doctor.h"
#include "train/ranks/exchange.h"

enum { RANKS = 3, MS = 1000 * 1000 };

typedef struct plant {
    int steps, nap_ms; /* of all ranks, beside the exchanges */
    int late, late_ms; /* a rank that naps longer; -1: none */
    bool input;        /* … because its batch does not come */
    int slow_ms;       /* every exchange */
    int stopped;       /* a rank that is stopped for 0.7 s; -1: none */
    int torn; /* a rank stopped in an exchange once all but the next one have its bytes; -1: none */
    int after_ms; /* not 0: before any has its bytes, and the next one is late by this in the step after it */
} plant;

static int slow_ms, torn_rank, torn_after_ms;

static int slow_pass(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                     leat_error *err)
{
    const int rc = leat_ranks_memory.pass(ranks, mine, stride, all, bytes, err);
    leat_clock_nap((int64_t)slow_ms * MS);
    return rc;
}

/* Half a second: as long as the one that was stopped does not look, the one that has not its bytes waits. */
static int torn_pass(leat_ranks *ranks, const void *mine, size_t stride, void *all, size_t bytes,
                     leat_error *err)
{
    static int n_passes;
    if (torn_after_ms) {
        if (++n_passes == 9 && ranks->rank == torn_rank)
            leat_clock_nap(500 * MS);
        return leat_ranks_memory.pass(ranks, mine, stride, all, bytes, err);
    }
    const int rc = leat_ranks_memory.pass(ranks, mine, stride, all, bytes, err);
    const bool waits = ranks->rank == (torn_rank + 1) % RANKS;
    if (++n_passes != 9 || (ranks->rank != torn_rank && !waits))
        return rc;
    for (int i = 0; i < 25; i++) {
        leat_clock_nap(20 * MS);
        if (waits)
            leat_ranks_came(ranks);
    }
    return rc;
}

/* Of the steps, 4 has the ninth pass. */
static void step(leat_ranks *ranks, const plant *p, int at)
{
    char all[RANKS * 64] = { 0 };
    leat_batch_info info = { .asked_ns = leat_clock_ns() };
    const bool is_late = ranks->rank == p->late;
    if (p->after_ms && at == 5 && ranks->rank == (p->torn + 1) % RANKS)
        leat_clock_nap((int64_t)p->after_ms * MS);
    leat_clock_nap((int64_t)(p->nap_ms + (is_late ? p->late_ms : 0)) * MS);
    info.got_ns = is_late && p->input ? leat_clock_ns() : info.asked_ns;
    leat_ranks_batch(ranks, &info, at > 0);
    if (leat_ranks_agree(ranks, LEAT_OK, NULL, NULL) < 0 ||
        leat_ranks_collect(ranks, all + ranks->rank * 64, all, 64, NULL) < 0)
        _exit(1);
}

static void be_rank(leat_ranks *ranks, int rank, const plant *p, leat_ranks_time *times)
{
    leat_ranks_table slow = leat_ranks_memory;
    slow.pass = p->torn >= 0 ? torn_pass : slow_pass;
    slow_ms = p->slow_ms;
    torn_rank = p->torn;
    torn_after_ms = p->after_ms;
    if (p->slow_ms || p->torn >= 0)
        ranks->table = &slow;
    if (leat_ranks_join(ranks, rank, NULL) < 0)
        _exit(1);
    for (int i = 0; i < p->steps; i++)
        step(ranks, p, i);
    if (leat_ranks_times(ranks, times + rank * RANKS, RANKS) != RANKS)
        _exit(1);
    leat_ranks_close(&ranks);
    _exit(0);
}

static leat_verdict diagnosed(const plant *p, leat_ranks_time *out)
{
    const size_t bytes = RANKS * RANKS * sizeof *out;
    leat_ranks_time *const all =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    leat_ranks *ranks;
    leat_verdict verdict;
    pid_t children[RANKS];
    char text[300];
    int status;
    assert_ptr_not_equal(all, MAP_FAILED);
    assert_int_equal(leat_ranks_open(RANKS, &ranks, NULL), LEAT_OK);
    for (int r = 0; r < RANKS; r++)
        if ((children[r] = fork()) == 0)
            be_rank(ranks, r, p, all);
    if (p->stopped >= 0) {
        leat_clock_nap(150 * MS);
        kill(children[p->stopped], SIGSTOP);
        leat_clock_nap(700 * MS);
        kill(children[p->stopped], SIGCONT);
    }
    for (int r = 0; r < RANKS; r++)
        if (wait(&status) < 0 || status != 0)
            fail_msg("a rank ended with %d", status);
    for (int r = 0; r < RANKS; r++) { /* all ranks have the same */
        const leat_ranks_time *const t = &all[r];
        assert_true(t->input >= 0 && t->others >= 0 && t->exchange >= 0 && t->compute > -0.02);
        for (int k = 1; k < RANKS; k++)
            assert_true(all[k * RANKS + r].late > 0.9 * t->late - 0.01);
        out[r] = *t;
    }
    leat_doctor_ranks(out, RANKS, &verdict, text, sizeof text);
    print_message("%s (%s): %s\n", leat_verdict_about(verdict.kind)->name, verdict.where, text);
    leat_ranks_close(&ranks);
    munmap(all, bytes);
    return verdict;
}

/* Other programs can make a rank late for a short time, so one of twenty runs has to be as planted. */
static void expect_planted(const plant *p,
                           bool (*is)(const plant *, const leat_verdict *, const leat_ranks_time *))
{
    leat_ranks_time times[RANKS];
    leat_verdict v;
    int tries = 0;
    do {
        assert_true(tries++ < 20);
        v = diagnosed(p, times);
    } while (!is(p, &v, times));
}

static bool names_none(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    (void)p, (void)times;
    return v->kind != LEAT_VERDICT_STRAGGLER;
}

TEST(none_is_slow)
{
    const plant p = { .steps = 100, .nap_ms = 4, .late = -1, .stopped = -1, .torn = -1 };
    expect_planted(&p, names_none);
}

static bool names(const leat_verdict *v, int rank)
{
    return v->kind == LEAT_VERDICT_STRAGGLER && v->where[strlen("rank ")] == '0' + rank;
}

static bool names_the_late(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    const leat_ranks_time *const late = &times[p->late];
    return names(v, p->late) && late->late > 0.4 && times[(p->late + 1) % RANKS].others > 0.4 &&
           late->others < 0.4 && (late->input > 0.4) == p->input;
}

TEST(a_late_rank_is_named)
{
    for (int late = 0; late < RANKS; late++)
        for (int input = 0; input < 2; input++) {
            const plant p = { .steps = 15,
                              .nap_ms = 2,
                              .late = late,
                              .late_ms = 30,
                              .input = input,
                              .stopped = -1,
                              .torn = -1 };
            expect_planted(&p, names_the_late);
        }
}

static bool both_are_late(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    (void)p, (void)v;
    return times[1].late > 0.2 && times[0].late > 0.2 && times[2].late < 0.2 &&
           times[0].exchange < 0.2;
}

/* While it waited for another one: then it has waited as long as the others, but not for bytes. */
TEST(a_stopped_rank_is_late)
{
    const plant p = { .steps = 10, .late = 0, .late_ms = 100, .stopped = 1, .torn = -1 };
    expect_planted(&p, both_are_late);
}

static bool names_the_torn(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    bool right = names(v, p->torn);
    for (int r = 0; r < RANKS; r++)
        right &= r == p->torn ? times[r].late > 0.7 : times[r].late < 0.2;
    return right;
}

/* Of the others, one waits in this exchange for the rest of the bytes, and one in the next. */
TEST(a_rank_stopped_between_two_sends_is_late)
{
    for (int torn = 0; torn < RANKS; torn++) {
        const plant p = { .steps = 20, .nap_ms = 2, .late = -1, .stopped = -1, .torn = torn };
        expect_planted(&p, names_the_torn);
    }
}

static bool the_next_is_late(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    (void)v;
    return times[p->torn].late > 0.5 && times[(p->torn + 1) % RANKS].late > 0.15 &&
           times[(p->torn + 2) % RANKS].late < 0.1;
}

/* That one rank was stopped does not explain who is late in the next step. */
TEST(a_rank_late_after_the_stop_of_another_is_late)
{
    for (int torn = 0; torn < RANKS; torn++) {
        const plant p = {
            .steps = 20, .nap_ms = 2, .late = -1, .stopped = -1, .torn = torn, .after_ms = 150
        };
        expect_planted(&p, the_next_is_late);
    }
}

static bool all_exchange(const plant *p, const leat_verdict *v, const leat_ranks_time *times)
{
    bool right = v->kind == LEAT_VERDICT_COMMUNICATION_BOUND;
    (void)p;
    for (int r = 0; r < RANKS; r++)
        right &= times[r].exchange > 0.4;
    return right;
}

TEST(slow_bytes_are_communication)
{
    const plant p = {
        .steps = 30, .nap_ms = 2, .late = -1, .slow_ms = 6, .stopped = -1, .torn = -1
    };
    expect_planted(&p, all_exchange);
}

/* Also without a deadline; and nobody is late then. */
TEST(an_exchange_that_is_given_up_ends)
{
    enum { SECOND_NS = 1000 * MS };
    const int64_t now_ns = leat_clock_ns();
    atomic_int awaited = LEAT_RANKS_AWAITED;
    leat_ranks late = { .table = &leat_ranks_memory, .n = RANKS, .awaited = &awaited };
    uint8_t missing[RANKS] = { 0, 1, 1 };
    leat_error err;
    late.deadline_ns = SECOND_NS;
    late.looked_ns = now_ns;
    late.since_ns = now_ns - 5 * (int64_t)SECOND_NS;
    assert_int_equal(leat_ranks_waited(&late, missing, &err), LEAT_E_IO);
    atomic_store(&awaited, LEAT_RANKS_NOT_AWAITED);
    assert_int_equal(leat_ranks_waited(&late, missing, &err), LEAT_OK);
    assert_int_equal(missing[1] + missing[2], 2);
    late.deadline_ns = 0;
    atomic_store(&awaited, LEAT_RANKS_GIVEN_UP);
    assert_int_equal(leat_ranks_waited(&late, missing, &err), LEAT_E_IO);
    assert_int_equal(missing[1] + missing[2], 0);
}

/* Longer than 64 bits of nanoseconds count is never, as 0 is. */
TEST(a_long_deadline_never_comes)
{
    static const double never[] = { 0, -1, 9e9, 9.3e9, 1e300, (double)INFINITY, (double)NAN };
    leat_ranks ranks = { .n = RANKS };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        ranks.deadline_ns = 1;
        leat_ranks_deadline(&ranks, never[i]);
        assert_int_equal(ranks.deadline_ns, 0);
    }
    leat_ranks_deadline(&ranks, 8e9);
    assert_int_equal(ranks.deadline_ns, INT64_C(8000000000000000000));
}
