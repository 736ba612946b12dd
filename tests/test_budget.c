/* SPDX-License-Identifier: MIT
 *
 * test_budget.c: the division of memory: what is refused, what the least is, and that what runs takes
 * no more than was planned. */
#include "engine_fixture.h"

#include <jpeglib.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define N_ROWS   300
#define N_PHOTOS 24

static float *rows;
static char folder[64];

/* --- data ----------------------------------------------------------------------------------------- */

/* A JPEG file of noise; progressive ones take the most memory to decode. */
static void write_jpeg(const char *path, int w, int h, bool progressive)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "wb");
    uint8_t *row = malloc((size_t)w * 3);
    leat_rng rng = leat_rng_make(3, (uint64_t)w, (uint64_t)h, 0);
    assert_non_null(file);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, file);
    c.image_width = (JDIMENSION)w;
    c.image_height = (JDIMENSION)h;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    if (progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        for (int i = 0; i < w * 3; i++)
            row[i] = (uint8_t)(leat_rng_below(&rng, 32) + (unsigned)(i / 8 & 127));
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    fclose(file);
    free(row);
}

static int make(void **state)
{
    char path[128];
    (void)state;
    rows = make_rows(N_ROWS);
    strcpy(folder, "/tmp/leat-test-budget-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a.tfrecord", folder);
    write_records(path, 0, N_ROWS, 5000);
    snprintf(path, sizeof path, "%s/photos", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/photos/a", folder);
    mkdir(path, 0700);
    for (int i = 0; i < N_PHOTOS; i++) {
        snprintf(path, sizeof path, "%s/photos/a/%02d.jpg", folder, i);
        write_jpeg(path, 1000 + i * 40 % 300, 900 + i * 70 % 200, i % 6 == 5);
    }
    return 0;
}

static int unmake(void **state)
{
    char command[128];
    (void)state;
    free(rows);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* One kind of pipeline; memory < 0: as it comes. */
enum { ROWS, RECORDS, PHOTOS };
typedef struct recipe {
    int source; /* one of those */
    const char *batch, *prefetch, *engine;
} recipe;

static leat_plan *plan_of(const recipe *r, int64_t memory)
{
    char text[256];
    leat_plan *plan;
    leat_error err;
    leat_builder *b = leat_builder_open();
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows table = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    if (r->source == ROWS) {
        leat_builder_rows(b, N_ROWS, &table, 1);
    } else if (r->source == RECORDS) {
        snprintf(text, sizeof text, "{files: %s/a.tfrecord, features: {x: {type: float}}}", folder);
        leat_builder_source(b, "tfrecord", text);
    } else {
        snprintf(text, sizeof text, "%s/photos", folder);
        leat_builder_source(b, "images", text);
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
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
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
    char words[32];
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

    plan = plan_of(r, ample.least_bytes - 1);
    assert_int_equal(leat_loader_open(plan, options, &loader, &err), LEAT_E_CONFIG);
    snprintf(words, sizeof words, "at least %lld,", (long long)ample.least_bytes);
    assert_non_null(strstr(err.message, words));
    leat_plan_close(&plan);

    /* What lies between is used, and never exceeded. */
    int64_t depth = 0, read = 0;
    for (int i = 0; i <= 8; i++) {
        const int64_t limit = ample.least_bytes + (ample.total_bytes - ample.least_bytes) * i / 8;
        const leat_budget b = budget_of(r, limit, options);
        assert_true(b.total_bytes <= limit);
        assert_int_equal(sum_of(&b), b.total_bytes);
        assert_true(b.prefetch_most >= depth && b.read_bytes >= read);
        depth = b.prefetch_most;
        read = b.read_bytes;
    }
    assert_int_equal(depth, ample.prefetch_most);
    assert_int_equal(read, ample.read_bytes);
}

static void the_least_opens_and_one_byte_less_does_not(void **state)
{
    static const char *const batches[] = { "1", "7", "64" };
    static const char *const depths[] = { NULL, "0", "auto", "5" };
    static const char *const engines[] = { "threads: 0", "threads: 3, reader: pread", "threads: 2",
                                           "threads: 1, read_bytes: 300 KiB" };
    static const char *const devices[] = { NULL, "sim" };
    leat_error err;
    (void)state;
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

/* --- without a limit of one's own ------------------------------------------------------------------- */

static void auto_takes_a_share_of_the_machine(void **state)
{
    leat_plan *plan = plan_of(&(recipe){ ROWS, "16", "auto", "threads: auto" }, -1);
    leat_budget_facts facts = { .hold = 1 };
    leat_budget b;
    leat_error err;
    (void)state;
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

static void write_file(const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", folder, path);
    for (char *p = name + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(name, 0700);
        *p = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_machine(int64_t bytes, const char *why)
{
    leat_machine m;
    leat_machine_look(folder, &m);
    if (m.memory_bytes != bytes || !strstr(m.memory_why, why))
        fail_msg("%lld by %s", (long long)m.memory_bytes, m.memory_why);
}

static void memory_has_the_least_of_all_limits(void **state)
{
    (void)state;
    write_file("/proc/meminfo", "MemTotal:  999 kB\nMemAvailable:    900000 kB\n");
    check_machine((int64_t)900000 * 1024, "available");
    write_file("/proc/self/cgroup", "0::/a/b\n4:memory:/c\n");
    write_file("/proc/self/mountinfo", "40 31 0:28 / /cg2 rw - cgroup2 cgroup2 rw\n"
                                       "33 31 0:30 / /cg rw - cgroup cgroup rw,memory\n");
    write_file("/cg2/a/b/memory.max", "max\n");
    write_file("/cg/c/memory.limit_in_bytes", "9223372036854771712\n");
    check_machine((int64_t)900000 * 1024, "available");
    write_file("/cg2/a/memory.high", "500000000\n");
    check_machine(500000000, "/cg2/a");
    write_file("/cg/c/memory.limit_in_bytes", "400000000\n");
    check_machine(400000000, "/cg/c");
    write_file("/cg2/a/b/memory.max", "nonsense\n");
    check_machine(400000000, "/cg/c");

    struct rlimit old, low = { 300000000, RLIM_INFINITY };
    write_file("/proc/self/status", "VmSize:   100000 kB\nVmData:  1 kB\n");
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    low.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
    check_machine(300000000 - 1024, "RLIMIT_DATA");
    leat_machine m;
    leat_machine_look(folder, &m);
    assert_int_equal(m.address_bytes, 300000000 - 1024);
    assert_true(m.stack_bytes > 0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
}

static void cores_on_several_nodes_are_told(void **state)
{
    leat_machine m;
    cpu_set_t mine;
    char first[32], rest[32];
    (void)state;
    leat_machine_look(folder, &m); /* a kernel without nodes */
    assert_null(strstr(m.cores_why, "NUMA"));
    write_file("/sys/devices/system/node/node0/cpulist", "0-99999\n");
    write_file("/sys/devices/system/node/node3/cpulist", "\n"); /* memory alone */
    leat_machine_look(folder, &m);
    assert_null(strstr(m.cores_why, "NUMA"));
    if (sched_getaffinity(0, sizeof mine, &mine) || CPU_COUNT(&mine) < 2) {
        print_message("one CPU: two nodes are not tested here\n");
        return;
    }
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &mine))
        cpu++;
    snprintf(first, sizeof first, "%zu\n", cpu);
    snprintf(rest, sizeof rest, "%zu,%zu-99999\n", cpu + 1, cpu + 2);
    write_file("/sys/devices/system/node/node0/cpulist", first);
    write_file("/sys/devices/system/node/node3/cpulist", rest);
    leat_machine_look(folder, &m);
    assert_non_null(strstr(m.cores_why, "on 2 NUMA nodes"));
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
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_device_close(&options.device);
}

static void no_more_is_resident_than_was_planned(void **state)
{
    (void)state;
    check_resident(&(recipe){ ROWS, "64", "auto", "threads: 2" }, NULL);
    check_resident(&(recipe){ ROWS, "4096", "50", "threads: 2" }, NULL);
    check_resident(&(recipe){ RECORDS, "64", "4", "threads: 2" }, "sim");
    check_resident(&(recipe){ RECORDS, "256", "auto", "threads: 4, reader: pread" }, NULL);
    check_resident(&(recipe){ PHOTOS, "4", "auto", "threads: 2" }, NULL);
    check_resident(&(recipe){ PHOTOS, "4", "2", "threads: 3, fuse: false" }, NULL);
}
#endif

/* --- what changes while running ------------------------------------------------------------------------ */

/* One row in 64 takes 5 ms, the others 0.1. */
static int slow_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                      const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    (void)o;
    (void)p;
    (void)scratch;
    (void)err;
    pause_ns((int64_t)((const float *)in->data)[0] % 64 == 5 ? 5000000 : 100000);
    if (out->data != in->data)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op slow_op = { .name = "slow",
                                 .help = "sleeps, now and then for long",
                                 .options = no_options,
                                 .flags = LEAT_OP_IN_PLACE,
                                 .shape = same_shape,
                                 .apply = slow_apply };

/* Digest of the first batches of an endless run over rows some of which are slow; *n_grown: how often the
 * window was widened. Where it is wanted the run goes on until then, for half a minute at most. */
static uint64_t slow_run(const char *prefetch, bool until_grown, size_t *n_grown)
{
    enum { FIRST = 100 };
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows table = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    const leat_loader_options options = { .epochs = -1 };
    static leat_decision changes[LEAT_DECISIONS];
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    uint64_t digest = 0;
    const time_t begin = time(NULL);
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, N_ROWS, &table, 1);
    leat_builder_engine(b, "{threads: 3, digest: true, run: 1}");
    leat_builder_op(b, &slow_op);
    leat_builder_stage(b, "map", "slow");
    leat_builder_stage(b, "batch", "4");
    leat_builder_stage(b, "prefetch", prefetch);
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    leat_loader *loader = open_loader(plan, &options);
    *n_grown = 0;
    for (int i = 0; i < FIRST || (until_grown && !*n_grown && time(NULL) - begin < 30); i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        if (i < FIRST)
            digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
        const size_t n = leat_loader_decisions(loader, changes, LEAT_DECISIONS);
        *n_grown = 0;
        for (size_t k = 0; k < n && k < LEAT_DECISIONS; k++) {
            assert_true(changes[k].reason[0] && changes[k].from != changes[k].to);
            assert_true(k == 0 || changes[k].at_ns >= changes[k - 1].at_ns);
            assert_string_equal(changes[k].name, "prefetch"); /* nothing else is free here */
            assert_in_range(changes[k].to, LEAT_PREFETCH_FIRST, LEAT_PREFETCH_MOST);
            *n_grown += changes[k].to > changes[k].from;
        }
        assert_true(leat_loader_decisions(loader, NULL, 0) >= n);
    }
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return digest;
}

/* Slow rows far apart: the window grows to outlast them, and says so; batches stay what they are. */
static void the_window_grows_and_says_why(void **state)
{
    size_t n_fixed, n_auto;
    (void)state;
    const uint64_t wanted = slow_run("2", false, &n_fixed);
    assert_true(slow_run("auto", true, &n_auto) == wanted);
    assert_int_equal(n_fixed, 0);
    assert_true(n_auto > 0);
}

static void a_plan_tells_what_it_came_to(void **state)
{
    leat_plan *plan = plan_of(&(recipe){ PHOTOS, "7", "auto", "threads: 1" }, -1);
    leat_source_info source;
    leat_link_info link;
    (void)state;
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
    assert_int_equal(leat_plan_link(plan, 0, 1, &link), LEAT_OK);
    assert_string_equal(link.op, "random_resized_crop");
    assert_true(link.random);
    assert_int_equal(leat_shape_bytes(&link.shape), 64 * 64 * 3);
    assert_int_equal(leat_plan_link(plan, 0, 3, &link), LEAT_E_END);
    assert_int_equal(leat_plan_link(plan, 2, 0, &link), LEAT_E_END);
    leat_plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_opens_and_one_byte_less_does_not),
        cmocka_unit_test(auto_takes_a_share_of_the_machine),
        cmocka_unit_test(memory_has_the_least_of_all_limits),
        cmocka_unit_test(cores_on_several_nodes_are_told),
        cmocka_unit_test(the_window_grows_and_says_why),
        cmocka_unit_test(a_plan_tells_what_it_came_to),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(no_more_is_resident_than_was_planned),
#endif
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
