/* SPDX-License-Identifier: MIT
 *
 * test_doctor_observed.c: verdicts of loops that are not leat's, from made-up runs; CPU time of descendants. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixtures/unit.h"
#include "leat/observe.h"
#include "study/other_processes.h"

enum { ROUNDS = 6, STEPS = 20, ROWS = 64 };
#define MS 1e6

/* A loop by its parts, ms per step: the whole, its wait, the loader and the step alone, and the CPU time of each. */
struct loop {
    double whole, wait, loader, step, loader_cpu, step_cpu, others;
    int32_t on_host, overlaps, workers, cpus;
};

struct clock {
    leat_usage now;
};

static leat_observed_run run_of(struct clock *c, const struct loop *l, double ms, double cpu,
                                double wait, int round)
{
    const double noise = 1 + 0.01 * (round % 3 - 1), wall = ms * noise * STEPS * MS;
    leat_observed_run run = { .wall_ns = (int64_t)wall,
                              .wait_ns = (int64_t)(wait * noise * STEPS * MS),
                              .steps = STEPS,
                              .rows = STEPS * ROWS,
                              .from = c->now };
    c->now.at_ns += (int64_t)wall;
    c->now.own_ns += (int64_t)(cpu * STEPS * MS);
    c->now.all_ns += (int64_t)(wall * l->cpus);
    c->now.busy_ns += (int64_t)(cpu * STEPS * MS + wall * l->others);
    run.to = c->now;
    return run;
}

static leat_observed observe(const struct loop *l, leat_observed_round rounds[ROUNDS])
{
    struct clock c = { .now = { .n_cpus = l->cpus } };
    for (int i = 0; i < ROUNDS; i++) {
        rounds[i].loader = run_of(&c, l, l->loader, l->loader_cpu, 0, i);
        rounds[i].whole = run_of(&c, l, l->whole, l->loader_cpu + l->step_cpu, l->wait, i);
        rounds[i].step = run_of(&c, l, l->step, l->step_cpu, 0, i);
    }
    return (leat_observed){ l->on_host, l->overlaps, l->workers, ROUNDS, rounds };
}

TEST(a_loop_has_its_verdict)
{
    static leat_doctor_result r;
    leat_observed_round rounds[ROUNDS];
    leat_error err;
    char label[LEAT_VERDICT_LABEL];
    const struct {
        struct loop loop;
        leat_verdict_kind kind;
        const char *label;
        double predicted;
    } cases[] = {
        /* nothing overlaps */
        { { 30, 18, 18, 12, 18, 20, 0, 1, 0, 0, 4 },
          LEAT_VERDICT_INPUT_BOUND,
          "not-overlapped",
          30 },
        /* nor is the loader what takes the time: the step does, on batches that are new */
        { { 30, 0.3, 0.3, 20, 0.3, 20, 0, 1, 0, 0, 4 }, LEAT_VERDICT_COMPUTE_BOUND, "", 20.3 },
        { { 30, 0.3, 0.3, 20, 0.3, 20, 0, 1, 1, 1, 4 }, LEAT_VERDICT_COMPUTE_BOUND, "", 20 },
        /* two workers that sleep */
        { { 40, 28, 40, 12, 2, 12, 0, 1, 1, 2, 4 },
          LEAT_VERDICT_INPUT_BOUND,
          "loader: latency-bound",
          40 },
        /* one worker that computes, and idle cores */
        { { 40, 28, 40, 12, 39, 12, 0, 1, 1, 1, 4 },
          LEAT_VERDICT_INPUT_BOUND,
          "loader: serial",
          40 },
        /* four workers on four cores, and a GPU */
        { { 10, 8, 10, 2, 39, 2, 0, 0, 1, 4, 4 },
          LEAT_VERDICT_INPUT_BOUND,
          "loader: cpu-saturated",
          10 },
        { { 50, 0.1, 10, 50, 9, 95, 0, 1, 1, 1, 4 }, LEAT_VERDICT_COMPUTE_BOUND, "", 50 },
        /* a loader of which nothing is known */
        { { 40, 28, 40, 12, 2, 12, 0, 1, 1, -1, 4 }, LEAT_VERDICT_INPUT_BOUND, "", 40 },
        /* workers and step need the same two cores */
        { { 42, 20, 32, 15, 63, 15, 0, 1, 1, 2, 2 }, LEAT_VERDICT_SHARED_CORES, "cores-full", 39 },
        /* another program, and nothing that explains the step */
        { { 90, 45, 30, 40, 20, 40, 1.5, 0, 1, 2, 4 },
          LEAT_VERDICT_ENVIRONMENT,
          "busy-neighbour",
          40 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_observed o = observe(&cases[i].loop, rounds);
        assert_int_equal(leat_doctor_observed(&o, &r, &err), LEAT_OK);
        leat_verdict_label(&r.verdict, label);
        if (r.verdict.kind != cases[i].kind || strcmp(label, cases[i].label) != 0)
            fail_msg("case %zu: %s (%s), not %s (%s)", i, leat_verdict_about(r.verdict.kind)->name,
                     label, leat_verdict_about(cases[i].kind)->name, cases[i].label);
        double sum = 0;
        for (int s = 0; s < LEAT_N_SHARES; s++)
            sum += r.shares[s];
        assert_true(sum > 0.999 && sum < 1.001);
        assert_true(r.measured_step_ms > 0.98 * cases[i].loop.whole &&
                    r.measured_step_ms < 1.02 * cases[i].loop.whole);
        if (!(r.predicted_step_ms > 0.9 * cases[i].predicted &&
              r.predicted_step_ms < 1.1 * cases[i].predicted))
            fail_msg("case %zu: %g ms predicted, not %g", i, r.predicted_step_ms,
                     cases[i].predicted);
        assert_true(r.n_suggestions == 0 && r.batch == ROWS && r.cores == cases[i].loop.cpus);
    }
}

TEST(more_workers_are_predicted)
{
    leat_observed_round rounds[ROUNDS];
    const struct {
        struct loop loop;
        int32_t workers;
        double ms;
    } cases[] = {
        { { 30, 18, 18, 12, 4, 12, 0, 1, 0, 0, 4 }, 1, 18 },   /* now it alternates */
        { { 30, 18, 18, 12, 4, 12, 0, 1, 0, 0, 4 }, 2, 12 },   /* the step */
        { { 40, 28, 40, 12, 2, 12, 0, 1, 1, 2, 4 }, 4, 20 },   /* twice as many */
        { { 80, 70, 80, 2, 79, 2, 0, 0, 1, 1, 4 }, 32, 20.3 }, /* four cores; the step needs some */
        { { 30, 3, 3, 12, 3, 12, 0, 1, 0, 0, 4 }, 2, 27 }, /* the step takes longer in the loop */
        { { 30, 3, 9, 12, 9, 12, 0, 1, 0, 0, 4 }, 2, 27 }, /* so long it waits for batches */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_observed o = observe(&cases[i].loop, rounds);
        const double ms = leat_observed_predict(&o, cases[i].workers) / MS;
        if (!(ms > 0.95 * cases[i].ms && ms < 1.05 * cases[i].ms))
            fail_msg("case %zu: %g ms, not %g", i, ms, cases[i].ms);
    }
    const leat_observed four = observe(&cases[3].loop, rounds);
    for (int i = 0; i < ROUNDS; i++) { /* as much work for batches that do not count */
        leat_observed_run *const run = &rounds[i].loader;
        run->to.own_ns += run->to.own_ns - run->from.own_ns;
        run->all_rows = 2 * run->rows;
    }
    const double same = leat_observed_predict(&four, 32) / MS;
    assert_true(same > 0.95 * cases[3].ms && same < 1.05 * cases[3].ms);
    const leat_observed o = observe(&cases[0].loop, rounds);
    assert_true(leat_observed_predict(&o, 0) == 0 && leat_observed_predict(NULL, 1) == 0);
    assert_true(leat_usage_others(&rounds[0].whole.from, &rounds[5].step.to) == 0);
    assert_true(leat_usage_others(NULL, NULL) == 0);
}

TEST(empty_runs_are_refused)
{
    static leat_doctor_result r;
    leat_observed_round rounds[ROUNDS];
    leat_error err;
    const struct loop l = { 30, 18, 18, 12, 18, 20, 0, 1, 0, 0, 4 };
    leat_observed o = observe(&l, rounds);
    rounds[2].step.steps = 0;
    assert_int_equal(leat_doctor_observed(&o, &r, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "round 2"));
    o.n_rounds = 0;
    assert_int_equal(leat_doctor_observed(&o, &r, &err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_doctor_observed(NULL, &r, &err), LEAT_E_ARGUMENT);
}

/* Of CPU time: it counts for the process whatever else runs. */
static void burn(double ms)
{
    const int64_t end = leat_clock_cpu_ns() + (int64_t)(ms * MS);
    while (leat_clock_cpu_ns() < end)
        continue;
}

/* A child, and a child of a child, count while they live and after they were waited for. */
TEST(descendants_count)
{
    int ready[2], go[2];
    char byte;
    leat_usage before, living, after;
    assert_true(pipe(ready) == 0 && pipe(go) == 0);
    leat_usage_now(&before);
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        burn(grandchild ? 150 : 300);
        if (write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        if (grandchild)
            waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    assert_true(child > 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    leat_usage_now(&living);
    assert_int_equal(write(go[1], "xx", 2), 2);
    assert_int_equal(waitpid(child, NULL, 0), child);
    leat_usage_now(&after);
    assert_true(living.own_ns - before.own_ns >= (int64_t)(400 * MS)); /* of 450: ticks */
    assert_true(after.own_ns >= living.own_ns - (int64_t)(20 * MS));   /* ticks */
    assert_true(after.at_ns > living.at_ns && after.n_cpus >= 1);
    assert_true(leat_other_processes_descendants_ns("/nowhere") == 0);
}
