/* SPDX-License-Identifier: MIT
 *
 * test_train_memory.c: the memory that a trainer plans is what it takes, and a model that does not fit is refused
 * before it takes anything. */
#include <malloc.h>
#include <sys/resource.h>

#include "base/check.h" /* names the sanitizers for gcc and clang */
#include "fixtures/train_fixture.h"

enum { SIDE = 32, CHANNELS = 3, CLASSES = 10, STEPS = 2 };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static int64_t heap_bytes(void)
{
    const struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
}

/* Heap that a trainer takes, without the ring of times, which is touched a row per step. */
static void open_and_train(const char *text, int64_t rows, int64_t *taken,
                           leat_train_memory *planned)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, rows);
    const int64_t times = LEAT_TRAINER_TIMES_KEPT * (int64_t)sizeof(leat_step_times);
    float *x = random_floats(1, (size_t)rows * SIDE * SIDE * CHANNELS);
    int64_t *y = random_labels(1, (size_t)rows, CLASSES);
    const int64_t before = heap_bytes();
    fixture f;
    fixture_must_open(&f, text, &feed);
    for (int i = 0; i < STEPS; i++)
        fixture_step(&f, &feed, x, y, rows, true);
    *taken = heap_bytes() - before - times;
    assert_int_equal(leat_trainer_memory(f.trainer, planned, &f.err), LEAT_OK);
    fixture_close(&f);
    free(x);
    free(y);
}

/* The first trainer fills oneDNN's cache of compiled kernels, which stays. */
static void the_plan_is_what_is_allocated(void **state)
{
    static const char *const models[] = { "lenet", "resnet9", "resnet18" };
    static const char *const ways[] = { "optimizer: muon", "average: ema, accumulate: 2",
                                        "optimizer: adam" };
    static const int64_t rows[] = { 128, 8, 8 };
    (void)state;
    for (int m = 0; m < 3; m++) {
        char text[300];
        leat_train_memory planned;
        int64_t taken;
        snprintf(text, sizeof text,
                 "train: {model: {%s: {classes: 10}}, loss: softmax_cross_entropy, micro_shards: "
                 "4, threads: 2, %s}",
                 models[m], ways[m]);
        for (int i = 0; i < 2; i++)
            open_and_train(text, rows[m], &taken, &planned);
        if (llabs(taken - planned.total) > planned.total / 20)
            fail_msg("%s: %lld bytes planned, %lld taken", models[m], (long long)planned.total,
                     (long long)taken);
    }
}

/* The process may take 200 MB more. */
static void a_limit_of_the_process_counts(void **state)
{
    static const char small[] = "train: {model: [dense: 1000, dense: 10], loss: "
                                "softmax_cross_entropy, optimizer: sgd}";
    static const char large[] = "train: {model: [dense: 20000, dense: 10], loss: "
                                "softmax_cross_entropy, optimizer: sgd}";
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2000 }, 8);
    struct rlimit was;
    char line[128];
    long long kb = 0;
    fixture f;
    (void)state;
    FILE *file = fopen("/proc/self/status", "re");
    while (fgets(line, sizeof line, file) && sscanf(line, "VmData: %lld", &kb) != 1)
        ;
    fclose(file);
    assert_true(kb > 0);
    getrlimit(RLIMIT_DATA, &was);
    const rlim_t most = (rlim_t)kb * 1024 + 200000000;
    setrlimit(RLIMIT_DATA, &(struct rlimit){ most, was.rlim_max });
    const int rc = fixture_open(&f, large, &feed);
    assert_int_equal(rc, LEAT_E_NOMEM);
    assert_non_null(strstr(f.err.message, "RLIMIT_DATA"));
    assert_non_null(strstr(f.err.message, "make the model smaller"));
    fixture_close(&f);
    fixture_must_open(&f, small, &feed);
    setrlimit(RLIMIT_DATA, &was);
    fixture_close(&f);
}
#endif

/* Each would take terabytes, and says which part. */
static void what_cannot_fit_is_refused_before_it_is_allocated(void **state)
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
        { "[flatten, dense: 4000000, dense: 10], micro_shards: 64", 64,
          "lower train.micro_shards" },
    };
    struct rusage before, after;
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_fit_is_refused_before_it_is_allocated),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(the_plan_is_what_is_allocated),
        cmocka_unit_test(a_limit_of_the_process_counts),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
