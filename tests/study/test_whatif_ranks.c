/* SPDX-License-Identifier: MIT
 *
 * test_whatif_ranks.c: processes that train together on a simulated network, against what leat_whatif_ranks() says of them. On
 * few cores their computing cannot run at the same time, so the work of a row is planted: it sleeps, and needs no core.
 * LEAT_NETWORKS=1 or more trains on so many networks and compares; without it only the prediction is made. */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fixtures/record_file.h"
#include "leat/whatif.h"

enum { N_RECORDS = 256, BATCH = 64, MOST_RANKS = 8, TRIES = 3 };

typedef struct network {
    double latency_s, bytes_per_s;
} network;

static leat_config *make_config(const char *engine, double sleep_ms)
{
    return record_file_config(
        "pipeline: [shuffle, {map: {tensor: x, ops: [{sleep: %g}]}}, {batch: %d}, "
        "prefetch]\nengine: {%s}\n"
        "train:\n  micro_batches: 8\n  threads: 1\n"
        "  model: [{dense: 256}, relu, {dense: %d}]\n",
        sleep_ms, BATCH, engine, N_RECORDS);
}

static void *share(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void join_children(int n)
{
    for (int status, i = 0; i < n; i++)
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("a process ended with %d", status);
}

/* Trains as rank `rank`; samples per second of all, once it runs evenly. */
static double train(leat_config *config, leat_ranks *ranks, int rank, int n)
{
    const int settle = 8 * n, steps = 5 * n;
    const leat_loader_options options = { .epochs = -1 };
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    char text[64];
    int64_t from_ns = 0;
    snprintf(text, sizeof text, "engine.rank=%d", rank);
    check(leat_config_set(config, text, &err), &err);
    snprintf(text, sizeof text, "engine.ranks=%d", n);
    check(leat_config_set(config, text, &err), &err);
    check(leat_plan_open(config, NULL, &plan, &err), &err);
    check(leat_trainer_open_device(config, &device, &err), &err);
    check(leat_trainer_open_ranks(config, plan, device, ranks, &trainer, &err), &err);
    check(leat_loader_open(plan, &options, &loader, &err), &err);
    for (int i = 0; i < settle + steps; i++) {
        int32_t stops = 0;
        if (i == settle)
            from_ns = leat_clock_ns();
        check(leat_ranks_agree(ranks, LEAT_OK, &stops, &err), &err);
        check(leat_ranks_agree(ranks, leat_loader_next(loader, &batch, &err), NULL, &err), &err);
        check(leat_trainer_step(trainer, batch, &err), &err);
    }
    const double s = (double)(leat_clock_ns() - from_ns) * 1e-9;
    leat_trainer_close(&trainer);
    leat_device_close(&device);
    close_loader_and_plan(&loader, &plan);
    return BATCH * steps / s;
}

static double measure(leat_config *config, int n, const network *on)
{
    double *const rate = share(sizeof *rate);
    leat_ranks *ranks;
    leat_error err;
    check(leat_ranks_open(n, &ranks, &err), &err);
    check(leat_ranks_network(ranks, on->latency_s, on->bytes_per_s, &err), &err);
    for (int r = 0; r < n; r++)
        if (fork() == 0) {
            check(leat_ranks_join(ranks, r, &err), &err);
            const double mine = train(config, ranks, r, n);
            if (r == 0)
                *rate = mine;
            leat_ranks_close(&ranks);
            _exit(0);
        }
    join_children(n);
    leat_ranks_close(&ranks);
    const double out = *rate;
    munmap(rate, sizeof *rate);
    return out;
}

static int predict(leat_config *config, const network *on, int32_t n_ranks,
                   leat_whatif_ranks_result *out)
{
    static const int32_t ranks[] = { 2, 4, MOST_RANKS };
    const leat_whatif_ranks_options options = { .ranks = ranks,
                                                .n_ranks = (size_t)n_ranks,
                                                .latency_s = on->latency_s,
                                                .bytes_per_s = on->bytes_per_s,
                                                .rounds = 3 };
    leat_error err;
    const int rc = leat_whatif_ranks(config, &options, out, &err);
    if (rc < 0)
        leat_error_print(&err, stderr);
    return rc;
}

/* In a process of its own: no threads begin in the one that forks ranks. */
static void compare(leat_config *config, const network *on)
{
    leat_whatif_ranks_result *const result = share(sizeof *result);
    double off[MOST_RANKS + 1], worst = 1;
    for (int try = 0; try < TRIES && worst > 0.15; try++) {
        worst = 0;
        if (fork() == 0)
            _exit(predict(config, on, 3, result) < 0);
        join_children(1);
        for (int32_t i = 0; i < result->n_rows; i++) {
            const leat_whatif_ranks_row *const row = &result->rows[i];
            const double rate = measure(config, row->ranks, on);
            off[i] = row->rate.value / rate - 1;
            worst = fmax(worst, fabs(off[i]));
            printf("%4.0f us %6.1f MB/s %d ranks: %7.0f samples/s, predicted %7.0f (%+.1f %%), "
                   "of ideal %3.0f %%; compute %.2f input %.2f communication %.2f\n",
                   on->latency_s * 1e6, on->bytes_per_s * 1e-6, row->ranks, rate, row->rate.value,
                   100 * off[i], 100 * row->speedup / row->ranks, row->compute, row->input,
                   row->communication);
            assert_true(fabs(row->compute + row->input + row->communication - 1) < 0.01);
        }
    }
    fflush(stdout);
    assert_int_equal(result->n_rows, 4);
    if (worst > 0.15 && result->cores_taken > 0.5)
        printf("not judged: other processes used %.1f of %d CPUs\n", result->cores_taken,
               result->cores);
    else
        assert_true(worst <= 0.15);
    munmap(result, sizeof *result);
}

/* What holds for any times. */
static void predict_only(leat_config *config, const network *on)
{
    leat_whatif_ranks_result *const result = share(sizeof *result);
    if (fork() == 0)
        _exit(predict(config, on, 1, result) < 0);
    join_children(1);
    assert_int_equal(result->n_rows, 2);
    for (int32_t i = 0; i < result->n_rows; i++) {
        const leat_whatif_ranks_row *const row = &result->rows[i];
        assert_int_equal(row->ranks, 1 << i);
        assert_true(fabs(row->compute + row->input + row->communication - 1) < 0.01);
        assert_true(isfinite(row->rate.value) && row->rate.value > 0);
        assert_true(i == 0 ? row->communication == 0 : row->communication > 0);
    }
    munmap(result, sizeof *result);
}

static void compare_all(leat_config *config)
{
    static const network networks[] = { { 1e-3, 31.25e6 }, { 0.2e-3, 312.5e6 }, { 2e-3, 12.5e6 } };
    const uint64_t n = number_from("LEAT_NETWORKS", 0);
    for (uint64_t i = 0; i < n && i < sizeof networks / sizeof *networks; i++)
        compare(config, &networks[i]);
    if (n == 0)
        predict_only(config, &networks[0]);
    leat_config_close(&config);
}

/* Nothing is prepared in advance: the sleep stands for the work of a step. */
TEST(planted_work_scales_as_predicted)
{
    leat_config *config = make_config("threads: 0", number_from("LEAT_NETWORKS", 0) ? 4 : 0.5);
    compare_all(config);
}

/* Two workers sleep while the step waits for the network. */
TEST(input_goes_on_while_ranks_communicate)
{
    leat_config *config = make_config("threads: 2", number_from("LEAT_NETWORKS", 0) ? 4 : 0.5);
    compare_all(config);
}

/* As in other measurements, no step changes weights. */
TEST(a_rate_that_diverges_is_measured)
{
    const network on = { 1e-5, 1e9 };
    leat_config *config = make_config("threads: 0", 0);
    leat_error err;
    check(leat_config_set(config, "train.model=[{dense: 64}, {dense: 256}]", &err), &err);
    check(leat_config_set(config, "train.optimizer={sgd: {learning_rate: 1.0e+6}}", &err), &err);
    predict_only(config, &on);
    leat_config_close(&config);
}

TEST(what_cannot_be_is_refused)
{
    static const int32_t none[] = { 2, 0 }, three[] = { 3 };
    static const struct {
        leat_whatif_ranks_options options;
        int code;
        const char *says;
    } cases[] = {
        { { .ranks = none, .n_ranks = 2 }, LEAT_E_ARGUMENT, "0 ranks" },
        { { .ranks = none, .n_ranks = LEAT_WHATIF_RANKS + 1 }, LEAT_E_ARGUMENT, "at most 16" },
        { { .rounds = 2 }, LEAT_E_ARGUMENT, "rounds" },
        { { .latency_s = -1 }, LEAT_E_ARGUMENT, "a latency of 0 to 60 seconds" },
        { { .ranks = three, .n_ranks = 1 }, LEAT_E_CONFIG, "take one of 1, 2, 4, 8 ranks" },
    };
    static leat_whatif_ranks_result result;
    leat_config *config = make_config("threads: 0", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error err = { 0 };
        assert_int_equal(leat_whatif_ranks(config, &cases[i].options, &result, &err),
                         cases[i].code);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    assert_int_equal(leat_config_set(config, "pipeline[0]+=cache", NULL), LEAT_OK);
    assert_int_equal(leat_whatif_ranks(config, NULL, &result, NULL), LEAT_E_UNSUPPORTED);
    assert_int_equal(leat_whatif_ranks(NULL, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_whatif_ranks(config, NULL, NULL, NULL), LEAT_E_ARGUMENT);
    leat_config_close(&config);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
