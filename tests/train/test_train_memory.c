/* SPDX-License-Identifier: MIT
 *
 * test_train_memory.c: the memory that a trainer plans is what it takes, and a model that does not fit is refused
 * before it takes anything. */
#include <malloc.h>
#include <sys/resource.h>

#include "base/check.h" /* names the sanitizers for gcc and clang */
#include "fixtures/own_folder.h"
#include "fixtures/train_fixture.h"

enum { SIDE = 32, CHANNELS = 3, CLASSES = 10, STEPS = 2 };

/* Each would take terabytes, and says which part. */
TEST(what_cannot_fit_is_refused_before_it_is_allocated)
{
    static const struct {
        const char *model;
        int64_t rows;
        const char *words;
    } cases[] = {
        { "[conv2d: {filters: 512, kernel: 3, padding: same}, batch_norm, relu, flatten, dense: "
          "10]",
          4000000, "lower pipeline.batch.size" },
        { "[flatten, dense: 16000000, dense: 16000]", 4, "make the model smaller" },
        { "[flatten, dense: 4000000, dense: 10], micro_batches: 64", 64,
          "lower train.micro_batches" },
        { "[flatten, dense: 16000000, {dense: {units: 16000, device: cpu}}], device: sim", 4,
          "layers from '2.dense' on: training needs" },
        /* the first part alone would fit */
        { "[flatten, dense: 30000, {dense: {units: 4000000, device: cpu}}]", 4,
          "layers from '2.dense' on: training needs" },
    };
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_trainer_feed feed =
            feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, cases[i].rows);
        char text[300];
        fixture f;
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, optimizer: sgd, model: %s}", cases[i].model);
        assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_NOMEM);
        if (!strstr(f.err.message, cases[i].words) ||
            !strstr(f.err.message, "of memory with batches of"))
            fail_msg("%s", f.err.message);
        assert_null(f.trainer);
        fixture_close(&f);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 100000); /* KiB */
}

/* Outputs are those of a trainer that trains, bit for bit. */
TEST(a_trainer_for_evaluation_does_not_train)
{
    static const char text[] = "train: {model: {resnet9: {classes: 10}}, loss: "
                               "softmax_cross_entropy, optimizer: adam, micro_batches: 3}";
    enum { ROWS = 10 };
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, 8);
    float *const x = random_floats(1, ROWS * SIDE * SIDE * CHANNELS);
    int64_t *const y = random_labels(1, ROWS, CLASSES);
    float outputs[2][ROWS * CLASSES];
    for (int evaluates = 0; evaluates < 2; evaluates++) {
        fixture f;
        feed.evaluates = evaluates;
        fixture_must_open(&f, text, &feed);
        fixture_logits(&f, &feed, x, ROWS, outputs[evaluates]);
        const leat_view xs = batch_view(&feed.input, 8, x), ys = batch_view(&feed.target, 8, y);
        assert_int_equal(leat_trainer_step_views(f.trainer, &xs, &ys, 8, true, &f.err),
                         evaluates ? LEAT_E_ARGUMENT : LEAT_OK);
        fixture_close(&f);
    }
    assert_memory_equal(outputs[0], outputs[1], sizeof *outputs);
    free(x);
    free(y);
}

/* Only the CPU leaves out what training takes. */
TEST(a_device_takes_the_memory_of_training)
{
    static const char *const devices[] = { "cpu", "sim" };
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, 8);
    for (int d = 0; d < 2; d++) {
        leat_train_memory memory[2];
        char text[200];
        snprintf(text, sizeof text,
                 "train: {device: %s, model: {resnet9: {classes: 10}}, loss: "
                 "softmax_cross_entropy, optimizer: adam, average: ema}",
                 devices[d]);
        for (int evaluates = 0; evaluates < 2; evaluates++) {
            fixture f;
            feed.evaluates = evaluates;
            fixture_must_open(&f, text, &feed);
            assert_int_equal(leat_trainer_memory(f.trainer, &memory[evaluates], &f.err), LEAT_OK);
            fixture_close(&f);
        }
        const leat_train_memory *const trains = &memory[0], *const evaluates = &memory[1];
        assert_true(trains->states == 2 * trains->weights && trains->average == trains->weights);
        assert_int_equal(evaluates->states, d ? trains->states : 0);
        assert_int_equal(evaluates->average, d ? trains->average : 0);
        assert_int_equal(evaluates->gradients, d ? trains->gradients : 0);
        assert_true(d ? evaluates->total == trains->total : evaluates->total < trains->total);
    }
}

/* A part of a model to which the parts before leave nothing. */
TEST(that_nothing_is_left_is_told)
{
    static const leat_train_memory memory = {
        .total = 1000, .limit = 1, .limit_reason = "of 7 MB less 8 MB for other layers"
    };
    const leat_model model = { .batch_size = 3 };
    leat_error err = { 0 };
    assert_int_equal(leat_model_fits(&model, &memory, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "batches of 3, but nothing is left (of 7 MB less 8 MB "));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static int64_t heap_bytes(void)
{
    const struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
}

/* Heap that a trainer takes, without the ring of times, which is touched a row per step. */
static void open_and_step(const char *text, int64_t rows, bool trains, int64_t *taken,
                          leat_train_memory *planned)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, rows);
    feed.evaluates = !trains;
    const int64_t times = LEAT_TRAINER_TIMES_KEPT * (int64_t)sizeof(leat_step_times);
    float *x = random_floats(1, (size_t)rows * SIDE * SIDE * CHANNELS);
    int64_t *y = random_labels(1, (size_t)rows, CLASSES);
    const int64_t before = heap_bytes();
    fixture f;
    fixture_must_open(&f, text, &feed);
    for (int i = 0; i < STEPS; i++)
        fixture_step(&f, &feed, x, y, rows, trains);
    *taken = heap_bytes() - before - times;
    assert_int_equal(leat_trainer_memory(f.trainer, planned, &f.err), LEAT_OK);
    fixture_close(&f);
    free(x);
    free(y);
}

/* The first trainer fills oneDNN's cache of compiled kernels, which stays. */
TEST(the_plan_is_what_is_allocated)
{
    static const struct {
        const char *model, *how;
        int64_t rows;
    } cases[] = {
        { "{lenet: {classes: 10}}", "optimizer: muon", 128 },
        { "{resnet9: {classes: 10}}", "average: ema, accumulate: 2", 8 },
        { "{resnet18: {classes: 10}}", "optimizer: adam", 8 },
        { "[conv2d: {filters: 32, kernel: 3}, relu, conv2d: {filters: 48, kernel: 3, device: cpu}, "
          "batch_norm: {device: cpu}, flatten, dense: 64, {dense: {units: 10, device: cpu}}]",
          "optimizer: adam", 64 },
    };
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        char text[400];
        leat_train_memory planned;
        int64_t taken, trained = 0;
        snprintf(
            text, sizeof text,
            "train: {model: %s, loss: softmax_cross_entropy, micro_batches: 4, threads: 2, %s}",
            cases[m].model, cases[m].how);
        for (int trains = 1; trains >= 0; trains--) {
            for (int i = 0; i < 2; i++)
                open_and_step(text, cases[m].rows, trains, &taken, &planned);
            if (llabs(taken - planned.total) > planned.total / 20)
                fail_msg("%s: %lld bytes planned, %lld taken", cases[m].model,
                         (long long)planned.total, (long long)taken);
            trained = trains ? planned.total : trained;
        }
        assert_int_equal(planned.states + planned.gradients, 0);
        assert_true(planned.total < trained / 2);
    }
}

/* Lets the process take so much more; returns the limit before. */
static struct rlimit limit_process(rlim_t bytes)
{
    struct rlimit was;
    char line[128];
    long long kb = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (fgets(line, sizeof line, file) && sscanf(line, "VmData: %lld", &kb) != 1)
        ;
    fclose(file);
    assert_true(kb > 0);
    getrlimit(RLIMIT_DATA, &was);
    const rlim_t most = (rlim_t)kb * 1024 + bytes;
    setrlimit(RLIMIT_DATA, &(struct rlimit){ most, was.rlim_max });
    return was;
}

static int open_dense(fixture *f, const char *layers)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2000 }, 8);
    char text[300];
    snprintf(text, sizeof text, "train: {model: [%s], loss: softmax_cross_entropy, optimizer: sgd}",
             layers);
    return fixture_open(f, text, &feed);
}

TEST(a_limit_of_the_process_counts)
{
    const struct rlimit was = limit_process(200000000);
    fixture f;
    const int rc = open_dense(&f, "dense: 20000, dense: 10");
    assert_int_equal(rc, LEAT_E_NOMEM);
    assert_non_null(strstr(f.err.message, "RLIMIT_DATA"));
    assert_non_null(strstr(f.err.message, "make the model smaller"));
    fixture_close(&f);
    assert_int_equal(open_dense(&f, "dense: 1000, dense: 10"), LEAT_OK);
    setrlimit(RLIMIT_DATA, &was);
    fixture_close(&f);
}

/* Each of two parts fits, but not both. */
TEST(parts_of_a_model_must_fit_together)
{
    const struct rlimit was = limit_process(200000000);
    fixture f;
    const int rc = open_dense(&f, "dense: 5000, {dense: {units: 2000, device: cpu, name: second}}");
    assert_int_equal(rc, LEAT_E_NOMEM);
    assert_non_null(strstr(f.err.message, "layers from 'second' on: training needs"));
    assert_non_null(strstr(f.err.message, "RLIMIT_DATA"));
    assert_non_null(strstr(f.err.message, " for other layers"));
    fixture_close(&f);
    assert_int_equal(open_dense(&f, "dense: 5000, {dense: {units: 10, device: cpu}}"), LEAT_OK);
    fixture_close(&f);
    assert_int_equal(open_dense(&f, "dense: 500, {dense: {units: 20000, device: cpu}}"), LEAT_OK);
    setrlimit(RLIMIT_DATA, &was);
    fixture_close(&f);
}
/* 40 MB of weights and as much in each of two states go to files and come back, where 10 MB are free. */
TEST_WITH(weights_are_not_copied_for_files, make_folder, remove_folder)
{
    static const char text[] = "train: {model: [dense: 5000, dense: 10], average: ema, loss: "
                               "softmax_cross_entropy, optimizer: {sgd: {momentum: 0.9}}}";
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2000 }, 8);
    const leat_loader_state place = fixture_state(1);
    const char *const weights = in_folder("w.safetensors"), *const all = in_folder("c.safetensors");
    float *x = random_floats(1, 8 * 2000);
    int64_t *y = random_labels(1, 8, 10);
    leat_checkpoint_found found;
    fixture a, b;
    fixture_must_open(&a, text, &feed);
    fixture_must_open(&b, text, &feed);
    for (int i = 0; i < STEPS; i++)
        fixture_step(&a, &feed, x, y, 8, true);
    fixture_step(&b, &feed, x, y, 8, true);
    const struct rlimit was = limit_process(10000000);
    const int saved = leat_trainer_save(a.trainer, weights, &a.err);
    const int written = leat_checkpoint_write(a.trainer, &place, all, &a.err);
    const int restored = leat_trainer_restore(b.trainer, weights, &b.err);
    const int resumed = leat_checkpoint_resume(b.trainer, all, &found, &b.err);
    setrlimit(RLIMIT_DATA, &was);
    assert_int_equal(saved, LEAT_OK);
    assert_int_equal(written, LEAT_OK);
    assert_int_equal(restored, LEAT_OK);
    assert_int_equal(resumed, LEAT_OK);
    assert_true(fixture_same_weights(&a, &b));
    fixture_close(&a);
    fixture_close(&b);
    free(x);
    free(y);
}
#endif
