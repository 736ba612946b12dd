/* SPDX-License-Identifier: MIT
 *
 * test_close_anytime.c: a loader may be closed at any moment: before the first batch, with batches held
 * or uploaded, with reads in flight, with ops that sleep, are stuck or fail. It never hangs (a
 * watchdog ends the program), held batches stay valid until their release, and no thread, file or lock
 * is left. The runs are random; LEAT_TEST_RUNS and LEAT_TEST_SEED set their number and seed. */
#include "fixtures/cache_fixture.h"
#include "fixtures/gate.h"

#include <dirent.h>
#include <pthread.h>

#include "pipeline/read/reader.h"

#define N_RUNS   250
#define HOLD     3
#define WATCHDOG 120 /* seconds that a run may take on a machine that is busy */

/* --- ops that misbehave -------------------------------------------------------------------------- */

/* Sleeps up to 400 µs, by the row. */
static int sleepy_apply(const void *o, const leat_draw *p, const leat_view *in,
                        const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    pause_ns((long)*(const float *)in->data * 7919 % 400 * 1000);
    copy_sample(in, out);
    return LEAT_OK;
}

static const leat_op sleepy_op = { .name = "sleepy",
                                   .help = "sleeps",
                                   .options = no_options,
                                   .flags = LEAT_OP_IN_PLACE,
                                   .shape = same_shape,
                                   .apply = sleepy_apply };

/* Returns a code for record 40, and says nothing. */
static int mute_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                      leat_scratch *scratch, leat_error *err)
{
    copy_sample(in, out);
    return (int64_t) * (const float *)in->data == 40 ? -(int)((const fixture_options *)o)->record
                                                     : LEAT_OK;
}

static const leat_op mute_op = { .name = "mute",
                                 .help = "fails without a word",
                                 .options_size = sizeof(fixture_options),
                                 .options = fail_options,
                                 .shape = same_shape,
                                 .apply = mute_apply };

/* --- what is left of a run ----------------------------------------------------------------------- */

static int count_files(void)
{
    int n = 0;
    DIR *const dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Threads of loaders, by their names: the system's and the sanitizers' own are not ours. */
static int count_threads(void)
{
    int n = 0;
    DIR *const dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *const file = fopen(path, "re");
        if (file && fgets(name, sizeof name, file))
            n += !strncmp(name, "leat", 4);
        if (file)
            fclose(file);
    }
    closedir(dir);
    return n;
}

/* A thread that was joined, or a ring's file, may be listed a moment longer. */
static void assert_comes_down_to(int (*count)(void), int want, const char *what)
{
    for (int i = 0; i < 2000 && count() > want; i++)
        pause_ns(1000000);
    if (count() > want)
        fail_msg("%d %s are left, %d before", count(), what, want);
}

/* --- one run ------------------------------------------------------------------------------------- */

typedef struct scene {
    char engine[200], cache[100];
    const char *ops;
    int prefetch;
    bool has_cache, on_sim, is_stuck;
    int64_t n_next; /* batches before the end */
    int32_t hold;
    long pause_ns; /* then */
    bool release_first;
} scene;

static scene draw(leat_rng *rng)
{
    static const char *const ops[] = { "[sleepy]",        "[jitter]",
                                       "[{fail_at: 77}]", "[sleepy, {fail_at: 20}]",
                                       "[{mute: 1}]",     "[gate]" };
    static const char *const readers[] = { "io_uring", "pread", "auto" };
    scene s = { .prefetch = (int)leat_rng_below(rng, 5),
                .n_next = (int64_t)leat_rng_below(rng, 9),
                .hold = 1 + (int32_t)leat_rng_below(rng, HOLD),
                .on_sim = leat_rng_below(rng, 3) == 0,
                .has_cache = leat_rng_below(rng, 2),
                .release_first = leat_rng_below(rng, 4) == 0 };
    const uint32_t op = leat_rng_below(rng, sizeof ops / sizeof *ops);
    s.ops = ops[op];
    s.is_stuck = !strcmp(s.ops, "[gate]");
    if (leat_rng_below(rng, 2))
        s.pause_ns = (long)leat_rng_below(rng, 1500) * 1000;
    if (s.is_stuck) /* nobody gets a batch while the gate is closed */
        s.n_next = 0;
    snprintf(s.engine, sizeof s.engine, "{threads: %u, reader: %s, digest: true%s}",
             leat_rng_below(rng, 5), readers[leat_rng_below(rng, 3)],
             leat_rng_below(rng, 3) ? "" : ", read_bytes: 4 KiB");
    if (leat_rng_below(rng, 2))
        snprintf(s.cache, sizeof s.cache, "%s.%u", cache_path, op);
    else
        snprintf(s.cache, sizeof s.cache, "memory");
    leat_reader_fault = (leat_reader_faults){
        .refuse_ring = !strstr(s.engine, "io_uring") && leat_rng_below(rng, 4) == 0,
        .short_every = leat_rng_below(rng, 3) ? 0 : 1 + leat_rng_below(rng, 4),
        .error_every = leat_rng_below(rng, 3) ? 0 : 1 + leat_rng_below(rng, 4),
    };
    return s;
}

static leat_plan *plan_of_scene(const scene *s)
{
    char text[300];
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "{files: '%s', features: {x: {}, id: {shape: []}}}", data_path);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_op(b, &gate_op);
    leat_builder_op(b, &sleepy_op);
    leat_builder_op(b, &mute_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    leat_builder_engine(b, s->engine);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "map", s->ops);
    if (s->has_cache)
        leat_builder_stage(b, "cache", s->cache);
    leat_builder_stage(b, "batch", "16");
    snprintf(text, sizeof text, "%d", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

/* A batch that is held, and what was in it. */
typedef struct holding {
    leat_batch *batch;
    uint64_t digest;
} holding;

static uint64_t look(leat_batch *batch)
{
    const leat_view x = leat_batch_tensor(batch, 0);
    return leat_digest_row(x.data, (size_t)leat_shape_bytes(&x.shape), 0);
}

static void let_go(holding *h, bool on_host)
{
    if (!h->batch)
        return;
    if (on_host)
        assert_true(look(h->batch) == h->digest);
    leat_batch_release(h->batch);
    h->batch = NULL;
}

static void *open_gate_later(void *arg)
{
    pause_ns(*(const long *)arg);
    gate_set(true);
    return NULL;
}

static void run(const scene *s)
{
    const int n_files = count_files();
    const leat_loader_options base = { .epochs = -1, .hold = s->hold };
    leat_loader_options options = base;
    leat_device *device = NULL;
    holding held[HOLD] = { { NULL, 0 } };
    leat_error err;
    pthread_t opener;
    const long delay = 300000 + s->pause_ns;
    gate_set(!s->is_stuck);
    if (s->on_sim)
        check(leat_device_open("sim", &device, &err), &err);
    options.device = device;
    leat_plan *plan = plan_of_scene(s);
    leat_loader *loader = open_loader(plan, &options);
    if (!strstr(s->engine, "threads: 0"))
        assert_true(count_threads() > 0);
    for (int64_t i = 0; i < s->n_next; i++) {
        holding *const h = &held[i % s->hold];
        let_go(h, !device);
        const int rc = leat_loader_next(loader, &h->batch, &err);
        if (rc < 0) { /* an op that fails, whatever it returned */
            assert_int_equal(rc, LEAT_E_DATA);
            assert_non_null(strstr(err.message, "record"));
            break;
        }
        h->digest = device ? 0 : look(h->batch);
    }
    if (s->pause_ns)
        pause_ns(s->pause_ns);
    if (s->is_stuck)
        assert_int_equal(pthread_create(&opener, NULL, open_gate_later, (void *)(uintptr_t)&delay),
                         0);
    for (int i = 0; i < s->hold && s->release_first; i++)
        let_go(&held[i], !device);
    leat_loader_close(&loader);
    for (int i = s->hold; i-- > 0;)
        let_go(&held[i], !device);
    if (s->is_stuck)
        pthread_join(opener, NULL);
    leat_plan_close(&plan);
    leat_device_close(&device);
    assert_int_equal(gate_count(), 0);
    assert_comes_down_to(count_threads, 0, "threads");
    assert_comes_down_to(count_files, n_files, "open files");
}

TEST(a_loader_closes_at_any_moment)
{
    const uint64_t n_runs = number_from("LEAT_TEST_RUNS", N_RUNS);
    const uint64_t seed = number_from("LEAT_TEST_SEED", 1);
    for (uint64_t n = 0; n < n_runs; n++) {
        leat_rng rng = leat_rng_make(seed, n, 0, 11);
        const scene s = draw(&rng);
        alarm(WATCHDOG);
        run(&s);
    }
    alarm(0);
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* Whatever an op returns, and says nothing: an error with its name and record, and never one of the
 * loader's own answers, such as the end. */
TEST(a_mute_op_is_an_error)
{
    for (int code = 1; code <= 14; code++) {
        char ops[32];
        snprintf(ops, sizeof ops, "[{mute: %d}]", code);
        const scene s = { .engine = "{threads: 1}", .ops = ops };
        leat_plan *plan = plan_of_scene(&s);
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        int rc;
        memset(&err, 'x', sizeof err);
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
            leat_batch_release(batch);
        if (rc == LEAT_E_END || rc == LEAT_E_AGAIN || rc == LEAT_E_BUSY || rc < LEAT_E_INTERNAL ||
            !strstr(err.message, "mute: it failed with code") || !strstr(err.message, "record 40"))
            fail_msg("-%d: %s: %s", code, leat_code_name(rc), err.message);
        close_loader_and_plan(&loader, &plan);
    }
}

SUITE_FIXTURE(make_data, remove_folder)
