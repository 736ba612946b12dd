/* SPDX-License-Identifier: MIT
 *
 * test_engine_random.c: random plans, readers, faults, thread counts and windows: every run gives the
 * batches of the simplest run (no thread, pread, no prefetch), and none hangs (a watchdog ends the
 * program). LEAT_TEST_SECONDS sets how long it goes on (default 4), LEAT_TEST_SEED where it starts. */
#include "engine_fixture.h"

#include <unistd.h>

#include "clock.h"
#include "reader.h"

#define N_RECORDS 500

static char path[] = "/tmp/leat-test-random-XXXXXX.tfrecord";

static int make_file(void **state)
{
    (void)state;
    const int fd = mkstemps(path, 9);
    if (fd < 0)
        return -1;
    close(fd);
    write_records(path, 0, N_RECORDS, 2000);
    return 0;
}

static int remove_file(void **state)
{
    char side[sizeof path + 8];
    (void)state;
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    return remove(path);
}

/* What decides the content. */
typedef struct content {
    char stages[600];
    int64_t epochs, first;
} content;

static const char *pick(leat_rng *rng, const char *const *texts, uint32_t n)
{
    return texts[leat_rng_below(rng, n)];
}

static void random_content(leat_rng *rng, content *out)
{
    static const char *const before[] = { "",
                                          "  - shuffle\n",
                                          "  - shuffle: {seed: 5}\n",
                                          "  - take: 77\n",
                                          "  - skip: 130\n",
                                          "  - shard: {count: 3, index: 1}\n",
                                          "  - repeat: 2\n" };
    static const char *const maps[] = { "", "  - map: [stall]\n", "  - map: [jitter]\n",
                                        "  - map: [jitter, stall, jitter]\n",
                                        "  - map: [{reshape: {shape: [4, 6]}}]\n" };
    static const char *const after[] = { "", "  - take: 9\n", "  - repeat: 2\n", "  - shuffle\n",
                                         "  - skip: 1\n" };
    const uint32_t size = 1 + leat_rng_below(rng, leat_rng_below(rng, 2) ? 8 : 90);
    snprintf(out->stages, sizeof out->stages, "%s%s%s  - batch: {size: %u, drop_remainder: %s}\n%s",
             pick(rng, before, 7), pick(rng, before, 7), pick(rng, maps, 5), size,
             leat_rng_below(rng, 2) ? "true" : "false", pick(rng, after, 5));
    out->epochs = 1 + leat_rng_below(rng, 2);
    out->first = leat_rng_below(rng, 4);
}

static int plan_of(const content *what, const char *engine, uint32_t prefetch, leat_plan **out,
                   leat_error *err)
{
    char text[200];
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "{files: '%s', features: {x: {}, id: {}}}", path);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_engine(b, engine);
    leat_builder_op(b, &stall_op);
    leat_builder_op(b, &jitter_op);
    char stages[600], *rest = stages;
    snprintf(stages, sizeof stages, "%s", what->stages);
    for (char *line;
         (line = strsep(&rest, "\n")) && *line;) { /* "  - name: options" or "  - name" */
        char *const name = line + 4, *const colon = strchr(name, ':');
        if (colon)
            *colon = 0;
        leat_builder_stage(b, name, colon ? colon + 1 : NULL);
    }
    snprintf(text, sizeof text, "%u", prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, out, err);
    leat_builder_close(&b);
    return rc;
}

/* Chain of all digests; the consumer holds up to `hold` batches and sometimes dawdles. */
static uint64_t drive(const leat_plan *plan, const content *what, leat_device *device, int32_t hold,
                      leat_rng *rng)
{
    const leat_loader_options options = {
        .device = device, .epochs = what->epochs, .first_batch = what->first, .hold = hold
    };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *held[4] = { 0 };
    leat_error err;
    uint64_t digest = 0;
    int rc;
    for (int32_t n = 0;; n = (n + 1) % hold) {
        if (held[n])
            leat_batch_release(held[n]);
        held[n] = NULL;
        rc = leat_loader_next(loader, &held[n], &err);
        if (rc < 0)
            break;
        digest = leat_digest_chain(digest, leat_batch_get_info(held[n])->digest);
        if (leat_rng_below(rng, 40) == 0)
            pause_ns(leat_rng_below(rng, 300) * 1000L);
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    if (leat_rng_below(rng, 2)) { /* either order is legal */
        for (int32_t n = 0; n < hold; n++)
            if (held[n])
                leat_batch_release(held[n]);
        leat_loader_close(&loader);
    } else {
        leat_loader_close(&loader);
        for (int32_t n = 0; n < hold; n++)
            if (held[n])
                leat_batch_release(held[n]);
    }
    return digest;
}

static void any_way_of_running_gives_the_same_batches(void **state)
{
    static const char *const readers[] = { "pread", "auto", "auto" };
    const char *const seconds = getenv("LEAT_TEST_SECONDS"), *seed = getenv("LEAT_TEST_SEED");
    const int64_t limit = leat_clock_ns() + (seconds ? atol(seconds) : 4) * 1000000000ll;
    uint64_t n = 0, n_runs = 0;
    (void)state;
    for (; leat_clock_ns() < limit; n++) {
        leat_rng rng = leat_rng_make(seed ? (uint64_t)atoll(seed) : 1, n, 0, 9);
        content what;
        leat_plan *plan;
        leat_error err;
        alarm(60);
        random_content(&rng, &what);
        int rc = plan_of(&what, "{threads: 0, reader: pread, digest: true}", 0, &plan, &err);
        if (rc == LEAT_E_CONFIG) /* it gives no batch */
            continue;
        check(rc, &err);
        const uint64_t want = drive(plan, &what, NULL, 1, &rng);
        leat_plan_close(&plan);
        for (int k = 0; k < 3; k++, n_runs++) {
            char engine[200];
            leat_device *device = NULL;
            const uint32_t threads = leat_rng_below(&rng, 9), prefetch = leat_rng_below(&rng, 5);
            snprintf(engine, sizeof engine,
                     "{threads: %u, reader: %s, digest: true, read_bytes: %u, run: %u}", threads,
                     pick(&rng, readers, 3), leat_rng_below(&rng, 3) * 12000,
                     leat_rng_below(&rng, 2) * (1 + leat_rng_below(&rng, 70)));
            leat_reader_fault = (leat_reader_faults){
                .refuse_registration = leat_rng_below(&rng, 3) == 0,
                .short_every = leat_rng_below(&rng, 3) ? 0 : 1 + leat_rng_below(&rng, 5),
                .error_every = leat_rng_below(&rng, 3) ? 0 : 1 + leat_rng_below(&rng, 5),
            };
            if (leat_rng_below(&rng, 3) == 0)
                check(leat_device_open("sim", &device, &err), &err);
            check(plan_of(&what, engine, prefetch, &plan, &err), &err);
            const uint64_t got =
                drive(plan, &what, device, 1 + (int32_t)leat_rng_below(&rng, 4), &rng);
            if (got != want)
                fail_msg("plan %llu differs with engine %s, prefetch %u, %s:\n%s",
                         (unsigned long long)n, engine, prefetch, device ? "sim" : "cpu",
                         what.stages);
            leat_plan_close(&plan);
            leat_device_close(&device);
        }
    }
    alarm(0);
    leat_reader_fault = (leat_reader_faults){ 0 };
    printf("%llu plans, %llu runs\n", (unsigned long long)n, (unsigned long long)n_runs);
    assert_true(n_runs >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_way_of_running_gives_the_same_batches),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
