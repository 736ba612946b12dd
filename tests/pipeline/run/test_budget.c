/* SPDX-License-Identifier: MIT
 *
 * test_budget.c: how memory is divided: what is refused, how much a plan needs at least, and that a run
 * uses no more than planned. */
#include "fixtures/array_files.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "fixtures/sanitized.h"

#include "bench/jpeg_reference.h"
#include "pipeline/run/engine.h"

#define N_ROWS   300
#define N_PHOTOS 24

static float *rows;

/* --- data ----------------------------------------------------------------------------------------- */

/* Photos of noise; progressive ones take the most memory to decode. */
static void write_photo(int i)
{
    const reference_picture p = { REFERENCE_OF(1000 + i * 40 % 300, 900 + i * 70 % 200, 3, 2, 2,
                                               75),
                                  .is_progressive = i % 6 == 5 };
    char name[32];
    uint8_t *bytes;
    const size_t size = reference_encode(&p, (unsigned)i * 4 + 3, &bytes);
    snprintf(name, sizeof name, "photos/a/%02d.jpg", i);
    put_file(name, bytes, size);
    free(bytes);
}

/* Arrays of two tensors; of one, the values stay in memory if there is room. */
static void write_arrays(void)
{
    enum { N = 40000 };
    static int64_t labels[N];
    static uint8_t pixels[N];
    const array_of arrays[] = { { "label", "<i8", ",", N, sizeof *labels, labels },
                                { "pixel", "|u1", ", 1", N, 1, pixels } };
    put_npz("arrays.npz", arrays, 2);
}

static int make(void **state)
{
    rows = make_rows(N_ROWS);
    if (make_folder(state) < 0)
        return -1;
    write_arrays();
    write_records(in_folder("a.tfrecord"), 0, N_ROWS, 5000);
    write_records(in_folder("many.tfrecord"), 0, 20 * N_ROWS, 5000);
    for (int i = 0; i < N_PHOTOS; i++)
        write_photo(i);
    return 0;
}

static int unmake(void **state)
{
    free(rows);
    return remove_folder(state);
}

/* One kind of pipeline; memory < 0: as it comes. */
enum { ROWS, RECORDS, MANY_RECORDS, PHOTOS, ARRAYS };
typedef struct recipe {
    int source; /* one of those */
    const char *batch, *prefetch, *engine;
} recipe;

static leat_plan *plan_of(const recipe *r, int64_t memory)
{
    char text[256];
    leat_builder *b = r->source == ROWS ? build_rows(N_ROWS, rows) : leat_builder_open();
    if (r->source == RECORDS || r->source == MANY_RECORDS) {
        snprintf(text, sizeof text, "{files: %s/%s.tfrecord, features: {x: {type: float}}}",
                 test_folder, r->source == RECORDS ? "a" : "many");
        leat_builder_source(b, "tfrecord", text);
    } else if (r->source == PHOTOS) {
        snprintf(text, sizeof text, "%s/photos", test_folder);
        leat_builder_source(b, "images", text);
    } else if (r->source == ARRAYS) {
        snprintf(text, sizeof text, "%s/arrays.npz", test_folder);
        leat_builder_source(b, "npy", text);
    }
    if (memory >= 0)
        snprintf(text, sizeof text, "{digest: true, memory: %lld, %s}", (long long)memory,
                 r->engine);
    else
        snprintf(text, sizeof text, "{digest: true, %s}", r->engine);
    leat_builder_engine(b, text);
    leat_builder_stage(b, "shuffle", NULL);
    if (r->source == PHOTOS)
        leat_builder_stage(b, "map",
                           "[decode_jpeg, {random_resized_crop: {size: [64, 64]}}, random_flip]");
    leat_builder_stage(b, "batch", r->batch);
    if (r->prefetch)
        leat_builder_stage(b, "prefetch", r->prefetch);
    return plan_of_builder(b);
}

/* --- the least ------------------------------------------------------------------------------------ */

static leat_budget budget_of(const recipe *r, int64_t memory, const leat_loader_options *options)
{
    leat_plan *plan = plan_of(r, memory);
    leat_budget budget;
    leat_error err;
    check(leat_plan_budget(plan, options, &budget, &err), &err);
    leat_plan_close(&plan);
    return budget;
}

static int64_t sum_of(const leat_budget *b)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < b->n_rows; i++)
        sum += b->rows[i].kind == LEAT_MEMORY_MAPPED ? 0 : b->rows[i].bytes;
    return sum;
}

/* The least works and gives the same batches; one byte less is refused, and the message says it. */
static void check_least(const recipe *r, const leat_loader_options *options)
{
    leat_loader *loader;
    leat_error err;
    char words[48];
    int64_t n_all, n;
    const leat_budget ample = budget_of(r, (int64_t)1 << 40, options);
    leat_plan *plan = plan_of(r, (int64_t)1 << 40);
    const uint64_t wanted = run_digest(plan, options, &n_all);
    leat_plan_close(&plan);
    assert_int_equal(sum_of(&ample), ample.total_bytes);

    plan = plan_of(r, ample.least_bytes);
    loader = open_loader(plan, options);
    assert_int_equal(leat_loader_budget(loader)->total_bytes, ample.least_bytes);
    leat_loader_close(&loader);
    assert_true(run_digest(plan, options, &n) == wanted);
    assert_int_equal(n, n_all);
    leat_plan_close(&plan);

    /* The message reads the rows of the least. */
    leat_budget refused;
    plan = plan_of(r, ample.least_bytes - 1);
    assert_int_equal(leat_plan_budget(plan, options, &refused, &err), LEAT_E_CONFIG);
    assert_int_equal(sum_of(&refused), refused.least_bytes);
    assert_int_equal(leat_loader_open(plan, options, &loader, &err), LEAT_E_CONFIG);
    snprintf(words, sizeof words, "raise engine.memory to %lld or more",
             (long long)ample.least_bytes);
    assert_non_null(strstr(err.message, words));
    leat_plan_close(&plan);

    /* What lies between is used, and never exceeded. */
    int64_t depth = 0, read = 0, kept = 0;
    const int64_t more = ample.total_bytes - ample.least_bytes;
    assert_true(more >= 0);
    for (int i = 0; i <= 8; i++) {
        const int64_t limit = ample.least_bytes + more * i / 8;
        const leat_budget b = budget_of(r, limit, options);
        assert_true(b.total_bytes <= limit);
        assert_int_equal(sum_of(&b), b.total_bytes);
        assert_true(b.prefetch_most >= depth && (b.kept_bytes || b.read_bytes >= read));
        depth = b.prefetch_most;
        read = b.kept_bytes ? read : b.read_bytes;
        kept = b.kept_bytes;
    }
    assert_true(depth == ample.prefetch_most || kept < ample.kept_bytes);
    assert_true(read == ample.read_bytes || ample.kept_bytes);
}

TEST(the_least_opens_and_one_byte_less_does_not)
{
    static const char *const batches[] = { "1", "7", "64" };
    static const char *const depths[] = { NULL, "0", "auto", "5" };
    static const char *const engines[] = { "threads: 0", "threads: 3, reader: pread", "threads: 2",
                                           "threads: 1, read_bytes: 300 KiB" };
    static const char *const devices[] = { NULL, "sim" };
    leat_error err;
    for (int source = ROWS; source <= RECORDS; source++)
        for (size_t b = 0; b < 3; b++)
            for (size_t d = 0; d < 4; d++)
                for (size_t e = 0; e < 4; e++)
                    for (size_t k = 0; k < 2; k++) {
                        leat_loader_options options = { .hold = 1 + (int32_t)(b + d) % 3 };
                        if ((b + d + e + k + (size_t)source) % 3)
                            continue; /* a third of them, with every value of each */
                        if (devices[k])
                            check(leat_device_open(devices[k], &options.device, &err), &err);
                        check_least(&(recipe){ source, batches[b], depths[d], engines[e] },
                                    &options);
                        leat_device_close(&options.device);
                    }
}

/* Files that are larger than all the rest are no part of the least, nor of the message about it. */
TEST(the_least_is_without_large_files)
{
    const recipe r = { MANY_RECORDS, "1", "0", "threads: 0" };
    const leat_loader_options options = { .hold = 1 };
    assert_int_equal(budget_of(&r, (int64_t)1 << 40, &options).kept_bytes > 4 << 20, 1);
    check_least(&r, &options);
}

/* Whoever follows the message once has a loader. */
static void check_advice(const recipe *r, int64_t memory, const leat_loader_options *options)
{
    static const char advice[] = "raise engine.memory to ";
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    leat_plan *plan = plan_of(r, memory);
    const int rc = leat_loader_open(plan, options, &loader, &err);
    if (rc == LEAT_OK)
        leat_loader_close(&loader);
    leat_plan_close(&plan);
    if (rc == LEAT_OK)
        return;
    assert_int_equal(rc, LEAT_E_CONFIG);
    const char *const at = strstr(err.message, advice);
    assert_non_null(at);
    plan = plan_of(r, strtoll(at + strlen(advice), NULL, 10));
    loader = open_loader(plan, options);
    check(leat_loader_next(loader, &batch, &err), &err);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(the_advice_is_enough)
{
#ifdef SANITIZED
    enum { PHOTOS_EACH = 12 };
#else
    enum { PHOTOS_EACH = 3 };
#endif
    static const char *const batches[] = { "1", "16", "3000" };
    static const char *const depths[] = { NULL, "0", "auto", "5" };
    static const char *const engines[] = { "threads: 0", "threads: 3, reader: pread", "threads: 2",
                                           "threads: 8, read_bytes: 300 KiB" };
    static const char *const devices[] = { NULL, "sim" };
    leat_error err;
    for (int source = ROWS; source <= ARRAYS; source++)
        for (size_t i = 0; i < 12; i++) {
            const recipe r = { source, batches[i % 3], depths[i % 4], engines[(i / 3 + i) % 4] };
            leat_loader_options options = { .hold = 1 + (int32_t)i % 3 };
            if (devices[i / 2 % 2])
                check(leat_device_open(devices[i / 2 % 2], &options.device, &err), &err);
            for (int64_t memory = 4096 << i % 2; memory < 32 << 20; memory *= 4)
                if (source != PHOTOS || i % PHOTOS_EACH == 1) /* they are slow */
                    check_advice(&r, memory, &options);
            leat_device_close(&options.device);
        }
}

/* --- without a limit of one's own ------------------------------------------------------------------- */

TEST(auto_takes_a_share_of_the_machine)
{
    leat_plan *plan = plan_of(&(recipe){ ROWS, "16", "auto", "threads: auto" }, -1);
    leat_budget_facts facts = { .hold = 1 };
    leat_budget b;
    leat_error err;
    facts.machine = (leat_machine){ .cores = 5,
                                    .cores_why = "because",
                                    .memory_bytes = (int64_t)1 << 34,
                                    .memory_why = "the test",
                                    .address_bytes = INT64_MAX };
    check(leat_budget_make(plan, &facts, &b, &err), &err);
    assert_int_equal(b.threads, 5);
    assert_int_equal(b.limit_bytes, (int64_t)1 << 32);
    assert_int_equal(b.prefetch_most, LEAT_PREFETCH_MOST);
    assert_non_null(strstr(b.limit_reason, "the test"));
    assert_true(b.limit_is_auto);
    assert_string_equal(b.decisions[0].name, "threads");
    assert_string_equal(b.decisions[0].reason, "because");

    facts.machine.memory_bytes = b.least_bytes * 2; /* a quarter of it is too little */
    check(leat_budget_make(plan, &facts, &b, &err), &err);
    assert_int_equal(b.limit_bytes, b.least_bytes);
    assert_int_equal(b.total_bytes, b.least_bytes);
    facts.machine.memory_bytes = b.least_bytes - 1;
    assert_int_equal(leat_budget_make(plan, &facts, &b, &err), LEAT_E_CONFIG);

    facts.machine.memory_bytes = (int64_t)1 << 34;
    facts.machine.address_bytes = (int64_t)2 << 30;
    check(leat_budget_make(plan, &facts, &b, &err), &err);
    assert_true(b.scratch_reserve * 6 + b.total_bytes <= facts.machine.address_bytes);
    /* Half of it, however little there is, but what a sample needs. */
    for (int64_t bytes = (int64_t)1 << 32; bytes >= 4096; bytes /= 2) {
        facts.machine.address_bytes = bytes;
        facts.machine.stack_bytes = 8 << 20;
        check(leat_budget_make(plan, &facts, &b, &err), &err);
        const int64_t left = bytes - b.total_bytes - b.threads * facts.machine.stack_bytes;
        assert_true(b.scratch_reserve >= b.scratch_bytes);
        if (b.scratch_reserve > b.scratch_bytes)
            assert_in_range(b.scratch_reserve * 2 * (b.threads + 1), left - 65536, left);
    }
    leat_plan_close(&plan);
}

/* prefetch: auto plans for a sample of 512 times the mean: many small batches, few large ones. */
TEST(auto_prefetch_depends_on_the_batch)
{
    static const struct {
        const char *batch, *threads;
        int64_t most;
    } cases[] = { { "1", "1", 64 },    { "16", "2", 64 },
                  { "128", "1", 4 },   { "128", "2", 8 },
                  { "128", "16", 64 }, { "200", "1", 3 },
                  { "128", "0", 4 },   { "1000", "1", LEAT_PREFETCH_FIRST } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char engine[32];
        leat_budget_facts facts = { .hold = 1,
                                    .machine = { .cores = 2,
                                                 .cores_why = "",
                                                 .memory_bytes = (int64_t)1 << 34,
                                                 .memory_why = "",
                                                 .address_bytes = INT64_MAX } };
        leat_budget b;
        leat_error err;
        snprintf(engine, sizeof engine, "threads: %s", cases[i].threads);
        leat_plan *plan = plan_of(&(recipe){ ROWS, cases[i].batch, "auto", engine }, -1);
        check(leat_budget_make(plan, &facts, &b, &err), &err);
        assert_int_equal(b.prefetch, LEAT_PREFETCH_FIRST);
        assert_int_equal(b.prefetch_most, cases[i].most);
        leat_plan_close(&plan);
    }
}

/* --- what is really taken ---------------------------------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static int64_t resident(void)
{
    char line[256];
    long long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lld", &kb) == 1)
            break;
    fclose(file);
    return kb * 1024;
}

/* Runs a loader whose window fills up; the growth of the process stays within the plan. */
static void check_resident(const recipe *r, const char *device)
{
    leat_loader_options options = { .epochs = -1 };
    leat_error err;
    leat_batch *batch;
    leat_loader_stats_info stats;
    if (device)
        check(leat_device_open(device, &options.device, &err), &err);
    leat_plan *plan = plan_of(r, -1);
    const int64_t before = resident();
    leat_loader *loader = open_loader(plan, &options);
    int64_t most = 0;
    for (int i = 0; i < 40; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        if (i % 10 == 9)
            pause_ns(30000000); /* lets the window fill */
        const int64_t now = resident() - before;
        most = now > most ? now : most;
    }
    leat_loader_stats(loader, &stats);
    const leat_budget *const b = leat_loader_budget(loader);
    if ((double)most > 1.05 * (double)b->total_bytes)
        fail_msg("%lld bytes where %lld are planned", (long long)most, (long long)b->total_bytes);
    if (stats.memory_peak > b->total_bytes)
        fail_msg("%lld bytes counted where %lld are planned", (long long)stats.memory_peak,
                 (long long)b->total_bytes);
    printf("    source %d, %s: %lld KiB planned, %lld counted, %lld resident\n", r->source,
           r->engine, (long long)b->total_bytes >> 10, (long long)stats.memory_peak >> 10,
           (long long)most >> 10);
    close_loader_and_plan(&loader, &plan);
    leat_device_close(&options.device);
}

TEST(no_more_is_resident_than_was_planned)
{
    check_resident(&(recipe){ ROWS, "64", "auto", "threads: 2" }, NULL);
    check_resident(&(recipe){ ROWS, "4096", "50", "threads: 2" }, NULL);
    check_resident(&(recipe){ RECORDS, "64", "4", "threads: 2" }, "sim");
    check_resident(&(recipe){ RECORDS, "256", "auto", "threads: 4, reader: pread" }, NULL);
    check_resident(&(recipe){ PHOTOS, "4", "auto", "threads: 2" }, NULL);
    check_resident(&(recipe){ PHOTOS, "4", "2", "threads: 3, fuse: false" }, NULL);
}
#endif

TEST(a_plan_tells_what_it_came_to)
{
    leat_plan *plan = plan_of(&(recipe){ PHOTOS, "7", "auto", "threads: 1" }, -1);
    leat_source_info source;
    leat_chain_op_info op;
    leat_plan_source(plan, &source);
    assert_string_equal(source.name, "images");
    assert_int_equal(source.n_records, N_PHOTOS);
    assert_int_equal(source.n_files, N_PHOTOS);
    assert_true(source.mean_bytes > 1000);
    assert_string_equal(leat_plan_stage(plan, 0)->name, "shuffle");
    assert_int_equal(leat_plan_stage(plan, 2)->n_in, N_PHOTOS);
    assert_int_equal(leat_plan_stage(plan, 2)->n_out, (N_PHOTOS + 6) / 7);
    assert_true(!leat_plan_stage(plan, 1)->batches && leat_plan_stage(plan, 2)->batches);
    assert_null(leat_plan_stage(plan, 4));
    assert_null(leat_plan_stage(plan, -1));
    assert_int_equal(leat_plan_chain_op(plan, 0, 1, &op), LEAT_OK);
    assert_string_equal(op.name, "random_resized_crop");
    assert_true(op.random);
    assert_int_equal(leat_shape_bytes(&op.shape), 64 * 64 * 3);
    assert_int_equal(leat_plan_chain_op(plan, 0, 3, &op), LEAT_E_END);
    assert_int_equal(leat_plan_chain_op(plan, 2, 0, &op), LEAT_E_END);
    leat_plan_close(&plan);
}

SUITE_FIXTURE(make, unmake)
