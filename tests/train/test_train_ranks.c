/* SPDX-License-Identifier: MIT
 *
 * test_train_ranks.c: processes that train together have the weights, losses and evaluation of one process, bit for bit, for any
 * number of ranks and threads; an error of one ends all, with its name. */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/train_fixture.h"
#include "train/ranks/exchange.h"

enum { BATCH = 48, SHARDS = 12, STEPS = 7, FLOATS_MAX = 1 << 16, RANKS_MAX = 12 };

/* What a rank ended with. In memory shared with the test. */
typedef struct outcome {
    int rc;
    char message[300];
    int64_t n;
    float weights[FLOATS_MAX];
    leat_metrics train, eval;
} outcome;

typedef struct job {
    const char *model; /* of `train`, with loss and optimizer */
    int dims;
    int64_t shape[3];
    int shards, threads;
    int bad_row,
        bad_rank; /* of step 2: a label that is no class; rank that fails outside of a step; -1: none */
} job;

static int64_t rows_of_step(int step)
{
    return step == 2 ? 41 : step == 4 ? 5 : BATCH; /* short ones; with 5, ranks have none */
}

/* Rows of a step that count: some at random; none of the first half; none at all. */
static void draw_valid(int step, uint8_t *valid)
{
    leat_rng rng = leat_rng_make(7, (uint64_t)step, 0, 5);
    for (int i = 0; i < BATCH; i++)
        valid[i] = step == 1 ? leat_rng_below(&rng, 3) > 0 : step == 3 ? i >= BATCH / 2 : step != 5;
}

static leat_net_rows rows_of(const leat_trainer_feed *feed, float *x, int64_t *y, uint8_t *valid,
                             int64_t n)
{
    const int64_t rank = feed->ranks ? feed->ranks->rank : 0,
                  all = feed->ranks ? feed->ranks->n : 1;
    const int64_t first = n * rank / all, rows = n * (rank + 1) / all - first;
    leat_net_rows out = { .x = batch_view(&feed->input, rows,
                                          x + first * leat_shape_elements(&feed->input)),
                          .y = batch_view(&feed->target, rows, y + first),
                          .valid = valid + first,
                          .rows = rows,
                          .all_rows = n,
                          .first_row = first };
    for (int64_t i = 0; i < rows; i++)
        out.n_valid += out.valid[i];
    return out;
}

static int train(fixture *f, const leat_trainer_feed *feed, const job *j)
{
    const size_t n = (size_t)leat_shape_elements(&feed->input);
    uint8_t valid[BATCH];
    int rc = LEAT_OK;
    for (int step = 0; step < STEPS && rc == LEAT_OK; step++) {
        float *x = random_floats(100 + (uint64_t)step, BATCH * n);
        int64_t *y = random_labels(200 + (uint64_t)step, BATCH, 4);
        draw_valid(step, valid);
        if (step == 2 && j->bad_row >= 0)
            y[j->bad_row] = 99;
        const leat_net_rows rows = rows_of(feed, x, y, valid, rows_of_step(step));
        if (feed->ranks && step == 2 && feed->ranks->rank == j->bad_rank)
            rc = leat_fail(&f->err, LEAT_E_DATA, "photos/7.jpg is damaged");
        rc = leat_ranks_agree(feed->ranks, rc, NULL, &f->err);
        if (rc == LEAT_OK)
            rc = leat_trainer_step_rows(f->trainer, &rows, true, &f->err);
        free(x);
        free(y);
    }
    return rc;
}

/* Every rank has all rows. */
static int evaluate(fixture *f, const leat_trainer_feed *feed)
{
    const size_t n = (size_t)leat_shape_elements(&feed->input);
    int rc = LEAT_OK;
    for (int i = 0; i < 2 && rc == LEAT_OK; i++) {
        const int64_t count = i ? 3 : 37;
        float *x = random_floats(300 + (uint64_t)i, BATCH * n);
        int64_t *y = random_labels(400 + (uint64_t)i, BATCH, 4);
        const leat_net_rows rows = { .x = batch_view(&feed->input, count, x),
                                     .y = batch_view(&feed->target, count, y),
                                     .rows = count,
                                     .n_valid = count };
        rc = leat_trainer_step_rows(f->trainer, &rows, false, &f->err);
        free(x);
        free(y);
    }
    return rc;
}

static void read_weights(leat_trainer *trainer, outcome *out)
{
    const leat_model *const model = &trainer->model;
    for (int32_t i = 0; i < model->n_params; i++) {
        float *const values = read_param(trainer, model->params[i].layer, model->params[i].index);
        if (out->n + (int64_t)model->params[i].n <= FLOATS_MAX)
            memcpy(out->weights + out->n, values, model->params[i].n * sizeof *values);
        out->n += (int64_t)model->params[i].n;
        free(values);
    }
}

/* One rank, or (ranks NULL) a process alone. */
static void run(const job *j, leat_ranks *ranks, outcome *out)
{
    fixture f;
    char text[1024];
    leat_trainer_feed feed = feed_of(LEAT_F32, j->dims, j->shape, BATCH);
    feed.ranks = ranks;
    snprintf(text, sizeof text, "train: {micro_shards: %d, threads: %d, %s}", j->shards, j->threads,
             j->model);
    out->rc = fixture_open(&f, text, &feed);
    if (out->rc == LEAT_OK)
        out->rc = train(&f, &feed, j);
    if (out->rc == LEAT_OK)
        out->rc = leat_trainer_metrics(f.trainer, &out->train, &f.err);
    if (out->rc == LEAT_OK)
        out->rc = evaluate(&f, &feed);
    if (out->rc == LEAT_OK)
        out->rc = leat_trainer_metrics(f.trainer, &out->eval, &f.err);
    if (out->rc == LEAT_OK)
        read_weights(f.trainer, out);
    snprintf(out->message, sizeof out->message, "%.299s", f.err.message);
    fixture_close(&f);
}

/* n 0: one process without ranks. dies: a rank that ends at once; -1: none. */
static outcome *run_ranks(const job *j, int n, int dies)
{
    leat_ranks *ranks = NULL;
    leat_error err;
    const int processes = n ? n : 1;
    outcome *const all = mmap(NULL, sizeof *all * RANKS_MAX, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    if (n)
        assert_int_equal(leat_ranks_open(n, &ranks, &err), LEAT_OK);
    for (int r = 0; r < processes; r++)
        if (fork() == 0) {
            if (n && leat_ranks_join(ranks, r, &err) < 0)
                _exit(1);
            if (r == dies)
                _exit(0);
            run(j, ranks, &all[r]);
            leat_ranks_close(&ranks);
            _exit(0);
        }
    for (int r = 0, status; r < processes; r++)
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("a rank of %d ended with %d", n, status);
    leat_ranks_close(&ranks);
    return all;
}

static void same_bits(const outcome *a, const outcome *b, const char *text)
{
    if (a->rc < 0 || b->rc < 0)
        fail_msg("%s: %d %s; %d %s", text, a->rc, a->message, b->rc, b->message);
    if (a->n != b->n || a->n > FLOATS_MAX || memcmp(a->weights, b->weights, (size_t)a->n * 4) != 0)
        fail_msg("%s: other weights", text);
    if (memcmp(&a->train.loss, &b->train.loss, sizeof a->train.loss) != 0 ||
        a->train.samples != b->train.samples || a->train.accuracy != b->train.accuracy)
        fail_msg("%s: other losses: %.17g %.17g", text, a->train.loss, b->train.loss);
    if (memcmp(&a->eval.loss, &b->eval.loss, sizeof a->eval.loss) != 0 ||
        a->eval.samples != b->eval.samples || a->eval.accuracy != b->eval.accuracy)
        fail_msg("%s: other evaluation: %.17g %.17g", text, a->eval.loss, b->eval.loss);
}

static const job jobs[] = {
    { "model: [dense: 32, relu, dense: 4], loss: softmax_cross_entropy, optimizer: {adam: {}}",
      1,
      { 20 },
      SHARDS,
      1,
      -1,
      -1 },
    { "model: [dense: 32, batch_norm, relu, dropout: 0.3, dense: 16, batch_norm, relu, dense: 4], "
      "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}, "
      "clip: 0.5, accumulate: 2, average: {ema: {decay: 0.9}}",
      1,
      { 20 },
      SHARDS,
      1,
      -1,
      -1 },
    { "model: [conv2d: {filters: 8, kernel: 3, padding: same, bias: false, init: whiten, name: "
      "first}, batch_norm: {name: in}, relu: {name: a}, "
      "conv2d: {filters: 8, kernel: 3, padding: same, bias: false}, batch_norm, relu, "
      "conv2d: {filters: 8, kernel: 3, padding: same, bias: false}, batch_norm: {name: b}, "
      "add: {from: [a, b]}, relu, conv2d: {filters: 16, kernel: 3, stride: 2, padding: same}, "
      "batch_norm, relu, global_avg_pool, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {lars: {}}, clip: 1",
      3,
      { 8, 8, 3 },
      SHARDS,
      1,
      -1,
      -1 },
};

static void equal_for_any_ranks(void **state)
{
    static const int counts[] = { 1, 2, 3, 4, 6, 12 };
    (void)state;
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
        outcome *const alone = run_ranks(&jobs[k], 0, -1);
        assert_true(alone->rc < 0 || (alone->n > 0 && isfinite(alone->eval.loss)));
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int threads = 1; threads <= 2; threads++) {
                job j = jobs[k];
                j.threads = threads;
                outcome *const all = run_ranks(&j, counts[i], -1);
                for (int r = 0; r < counts[i]; r++) {
                    char text[80];
                    snprintf(text, sizeof text, "model %zu, rank %d of %d, %d threads", k, r,
                             counts[i], threads);
                    same_bits(alone, &all[r], text);
                }
                munmap(all, sizeof *all * RANKS_MAX);
            }
        munmap(alone, sizeof *alone * RANKS_MAX);
    }
}

/* All ranks have the error of one, and none waits for ever. */
static void all_fail(const job *j, int n, int dies, int code, const char *word)
{
    outcome *const all = run_ranks(j, n, dies);
    for (int r = 0; r < n; r++)
        if (r != dies && (all[r].rc != code || !strstr(all[r].message, word)))
            fail_msg("rank %d of %d: %d, %s; wanted %s", r, n, all[r].rc, all[r].message, word);
    munmap(all, sizeof *all * RANKS_MAX);
}

static void errors_are_of_all(void **state)
{
    (void)state;
    job j = jobs[1];
    j.bad_rank = 2;
    all_fail(&j, 4, -1, LEAT_E_DATA, "photos/7.jpg is damaged");
    j.bad_rank = -1;
    j.bad_row = 40;
    all_fail(&j, 3, -1, LEAT_E_DATA, "row 40 of the batch has label 99");
    j.bad_row = -1;
    all_fail(&j, 3, 1, LEAT_E_IO, "rank 1 of 3 has ended");
    all_fail(&j, 5, -1, LEAT_E_CONFIG, "take one of 1, 2, 3, 4, 6, 12 ranks");
}

/* A function of the batch alone. */
static void auto_has_many_divisors(void **state)
{
    static const int rows[][2] = { { 1, 1 },     { 63, 1 },   { 64, 2 },   { 127, 2 },
                                   { 128, 4 },   { 191, 4 },  { 192, 6 },  { 383, 6 },
                                   { 384, 12 },  { 767, 12 }, { 768, 24 }, { 1535, 24 },
                                   { 1536, 48 }, { 9999, 48 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2 }, rows[i][0]);
        fixture_must_open(&f, "train: {model: [dense: 2], loss: softmax_cross_entropy}", &feed);
        assert_int_equal(f.trainer->model.shards, rows[i][1]);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_for_any_ranks),
        cmocka_unit_test(errors_are_of_all),
        cmocka_unit_test(auto_has_many_divisors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
