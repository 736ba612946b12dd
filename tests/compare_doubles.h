/* SPDX-License-Identifier: MIT
 *
 * compare_doubles.h: compare.c over doubles of plan, loader and trainer, whose steps take times that a
 * test has set, so that every figure of a comparison is known. Include in one file of a test. */
#ifndef COMPARE_DOUBLES_H
#define COMPARE_DOUBLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Before the headers, so that they declare the doubles. */
#define leat_plan_open           double_plan_open
#define leat_plan_close          double_plan_close
#define leat_plan_get_info       double_plan_get_info
#define leat_loader_open         double_loader_open
#define leat_loader_next         double_loader_next
#define leat_loader_close        double_loader_close
#define leat_trainer_open        double_trainer_open
#define leat_trainer_open_device double_trainer_open_device
#define leat_trainer_close       double_trainer_close
#define leat_trainer_step        double_trainer_step
#define leat_trainer_times       double_trainer_times
#define leat_trainer_repeat      double_trainer_repeat
#define leat_plan_tensor         double_plan_tensor
#define leat_batch_get_info      double_batch_get_info
#define leat_batch_release       double_batch_release
#define leat_arm_init            double_arm_init
#define leat_arm_open            double_arm_open
#define leat_arm_close           double_arm_close
#define leat_arm_warm_up         double_arm_warm_up
#define leat_arm_run             double_arm_run
#define leat_arm_run_loader      double_arm_run_loader
#define leat_arm_run_step        double_arm_run_step
#define leat_compare             compare_doubles
#include "study/arm.c"
#include "study/compare.c"

enum { MAX_RUNS = 1000, US = 1000 };

static struct {
    /* Set by a test. */
    int64_t input_ns, copy_ns, compute_ns; /* per batch */
    int64_t slow_first;                    /* this many steps of a new trainer take ten times */
    int64_t slow_in_run;                   /* the same for a new loader */
    int64_t drift_ns;                      /* every run of all arms makes steps longer by this */
    bool never_steady;                     /* every step is longer than the one before */
    int fail_at;                           /* the call that fails; -1: none */
    bool lose_a_time, end_at_once;
    /* What happened. */
    int n_calls, n_open, n_runs; /* runs: of loader and step together */
    int n_loader_runs, n_step_runs;
    int64_t run_of[MAX_RUNS];    /* prefetch of the arm that ran */
    int64_t steps_in[MAX_RUNS];  /* steps of that run */
    int64_t first_batch, epochs; /* asked for by the last loader */
    int64_t now_ns;
} world;

struct leat_plan {
    leat_plan_info info;
};
struct leat_batch {
    leat_loader *loader;
    leat_batch_info info;
};
struct leat_loader {
    const leat_plan *plan;
    int64_t n_given; /* to steps */
    bool alone;      /* some were given back without one */
    leat_batch batch;
};
struct leat_trainer {
    const leat_plan *plan;
    int64_t n_steps;
    leat_step_times *times;
    size_t n_times, room;
};

static inline int setup_world(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.fail_at = -1;
    world.compute_ns = 100 * US;
    world.now_ns = 1;
    return 0;
}

static inline int may_fail(const char *what, leat_error *err)
{
    return world.n_calls++ == world.fail_at ? leat_fail(err, LEAT_E_IO, "%s broke", what) : LEAT_OK;
}

int double_plan_open(const leat_config *config, const char *section, leat_plan **out,
                     leat_error *err)
{
    char text[32];
    *out = NULL;
    assert_null(section);
    if (may_fail("plan", err) ||
        leat_config_get(config, "pipeline.prefetch.batches", text, sizeof text, err))
        return LEAT_E_IO;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "plan");
    (*out)->info.prefetch = atoi(text);
    world.n_open++;
    return LEAT_OK;
}

void double_plan_close(leat_plan **plan)
{
    world.n_open -= *plan != NULL;
    free(*plan);
    *plan = NULL;
}

const leat_plan_info *double_plan_get_info(const leat_plan *plan)
{
    return &plan->info;
}

int double_trainer_open_device(const leat_config *config, leat_device **out, leat_error *err)
{
    char name[64] = "cpu";
    *out = NULL;
    leat_config_get(config, "train.device", name, sizeof name, NULL);
    return may_fail("device", err) ? LEAT_E_IO : leat_device_open(name, out, err);
}

int double_trainer_open(const leat_config *config, const leat_plan *plan, leat_device *device,
                        leat_trainer **out, leat_error *err)
{
    *out = NULL;
    assert_true(config && plan && device);
    if (may_fail("trainer", err))
        return LEAT_E_IO;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "trainer");
    (*out)->plan = plan;
    world.n_open++;
    return LEAT_OK;
}

void double_trainer_close(leat_trainer **trainer)
{
    world.n_open -= *trainer != NULL;
    if (*trainer)
        free((*trainer)->times);
    free(*trainer);
    *trainer = NULL;
}

int double_loader_open(const leat_plan *plan, const leat_loader_options *options, leat_loader **out,
                       leat_error *err)
{
    *out = NULL;
    if (may_fail("loader", err))
        return LEAT_E_IO;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "loader");
    assert_non_null(options->device);
    (*out)->plan = plan;
    (*out)->batch.loader = *out;
    world.first_batch = options->first_batch;
    world.epochs = options->epochs;
    world.n_open++;
    return LEAT_OK;
}

void double_loader_close(leat_loader **loader)
{
    world.n_open -= *loader != NULL;
    free(*loader);
    *loader = NULL;
}

int double_loader_next(leat_loader *loader, leat_batch **out, leat_error *err)
{
    *out = NULL;
    if (may_fail("next", err))
        return LEAT_E_IO;
    if (world.end_at_once)
        return LEAT_E_END;
    *out = &loader->batch;
    loader->batch.info = (leat_batch_info){ .rows = 32,
                                            .got_ns = world.now_ns,
                                            .copy_start_ns = world.now_ns,
                                            .copy_end_ns = world.now_ns + world.copy_ns };
    return LEAT_OK;
}

const leat_tensor_info *double_plan_tensor(const leat_plan *plan, int32_t i)
{
    (void)plan;
    (void)i;
    return NULL;
}

const leat_batch_info *double_batch_get_info(leat_batch *batch)
{
    return &batch->info;
}

/* Without a step: the loader is alone, and takes its time for the next batch. */
void double_batch_release(leat_batch *batch)
{
    const int64_t ns = world.input_ns + world.copy_ns;
    world.now_ns += ns ? ns : US;
    world.n_loader_runs += !batch->loader->alone;
    batch->loader->alone = true;
}

static inline int add_times(leat_trainer *trainer, leat_step_times times)
{
    if (trainer->n_times == trainer->room) {
        leat_step_times *larger =
            realloc(trainer->times, (2 * trainer->room + 64) * sizeof *larger);
        if (!larger)
            return LEAT_E_NOMEM;
        trainer->times = larger;
        trainer->room = 2 * trainer->room + 64;
    }
    trainer->times[trainer->n_times++] = times;
    trainer->n_steps++;
    return LEAT_OK;
}

/* Without prefetch input and copy come before the step; with it they cost nothing. */
int double_trainer_step(leat_trainer *trainer, leat_batch *batch, leat_error *err)
{
    leat_loader *loader = batch->loader;
    const bool covered = trainer->plan->info.prefetch > 0;
    if (may_fail("step", err))
        return LEAT_E_IO;
    if (!loader->n_given)
        world.run_of[world.n_runs++ % MAX_RUNS] = trainer->plan->info.prefetch;
    const bool slow = trainer->n_steps < world.slow_first || loader->n_given < world.slow_in_run;
    const int64_t compute_ns = world.compute_ns * (slow ? 10 : 1) + world.n_runs * world.drift_ns +
                               (world.never_steady ? trainer->n_steps * world.compute_ns : 0);
    leat_step_times t = { .asked_ns = world.now_ns, .rows = 32, .busy_ns = compute_ns };
    t.ready_ns = t.asked_ns + (covered ? 0 : world.input_ns);
    t.copy_start_ns = t.ready_ns;
    t.copy_end_ns = t.copy_start_ns + (covered ? 0 : world.copy_ns);
    t.compute_start_ns = t.copy_end_ns;
    t.compute_end_ns = world.now_ns = t.compute_start_ns + compute_ns;
    world.steps_in[(world.n_runs - 1) % MAX_RUNS] = ++loader->n_given;
    return add_times(trainer, t) < 0 ? leat_fail(err, LEAT_E_NOMEM, "times") : LEAT_OK;
}

int double_trainer_repeat(leat_trainer *trainer, leat_batch *batch, int64_t n, leat_error *err)
{
    (void)batch;
    if (may_fail("step", err))
        return LEAT_E_IO;
    world.n_step_runs++;
    for (int64_t i = 0; i < n; i++) {
        leat_step_times t = { .compute_start_ns = world.now_ns, .rows = 32 };
        t.compute_end_ns = world.now_ns += t.busy_ns = world.compute_ns;
        if (add_times(trainer, t) < 0)
            return leat_fail(err, LEAT_E_NOMEM, "times");
    }
    return LEAT_OK;
}

size_t double_trainer_times(leat_trainer *trainer, leat_step_times *out, size_t n)
{
    size_t got = trainer->n_times < n ? trainer->n_times : n;
    memcpy(out, trainer->times, got * sizeof *out);
    assert_int_equal(got, trainer->n_times); /* compare takes all that it made */
    trainer->n_times = 0;
    return world.lose_a_time && got ? got - 1 : got;
}

#endif
