/* SPDX-License-Identifier: MIT
 *
 * test_open_faults.c: while a plan and a loader are opened, every allocation fails once. Each failure is an
 * error without a crash or a leak (sanitizer builds see leaks), and the next try works. */
#include "fixtures/engine_fixture.h"

#include <unistd.h>

#include "fixtures/failing_malloc.h"

static char path[] = "/tmp/leat-test-faults-XXXXXX.tfrecord";
static char kept[sizeof path + 8]; /* the file of a cache */

static int make_file(void **state)
{
    const int fd = mkstemps(path, 9);
    if (fd < 0)
        return -1;
    close(fd);
    write_records(path, 0, 30, 50);
    snprintf(kept, sizeof kept, "%s.cache", path);
    return 0;
}

static int remove_file(void **state)
{
    char side[sizeof path + 8];
    remove(kept);
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    return remove(path);
}

#define FILE_WITH(features) "{tfrecord: {files: '%1$s', features: {" features "}}"
#define PLAIN               FILE_WITH("x: {}, id: {shape: []}")
#define FILTERED            PLAIN ", pipeline: [{filter: {feature: id, equals: [3, 4], invert: true}}]}"

/* %1$s: the file */
static const char *const sources[] = {
    PLAIN "}",
    "{mix: {weights: [2, 1], sources: [" PLAIN ", pipeline: [shuffle]}, {interleave: [" FILTERED
    ", " PLAIN ", pipeline: [{repeat: 2}]}]}]}}",
    "{zip: [" FILTERED ", {concat: [" FILE_WITH("y: {key: x}") "}]}]}",
};

static uint64_t plan_digest; /* of the last plan that was opened */

/* Opens all, takes two batches, closes all. */
static int go(const char *source, const char *engine, const char *device_name, const char *cache,
              leat_error *err)
{
    char text[2000], from[1600];
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_device *device = NULL;
    leat_batch *batch;
    snprintf(from, sizeof from, source, path);
    snprintf(
        text, sizeof text,
        "source: %s\n"
        "engine: %s\n"
        "pipeline: [shuffle, {map: [reshape: {shape: [2, 12]}]}, {cache: '%s'}, {on_error: mask},\n"
        "           {batch: 8}, {prefetch: 2}]\n",
        from, engine, cache);
    int rc = leat_config_parse(text, "faults.yaml", &config, err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, &plan, err);
    if (rc >= 0)
        plan_digest = leat_plan_get_info(plan)->digest;
    if (rc >= 0)
        rc = leat_device_open(device_name, &device, err);
    const leat_loader_options options = { .device = device };
    if (rc >= 0)
        rc = leat_loader_open(plan, &options, &loader, err);
    for (int i = 0; i < 2 && rc >= 0; i++) {
        rc = leat_loader_next(loader, &batch, err);
        if (rc >= 0)
            leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    leat_device_close(&device);
    leat_plan_close(&plan);
    leat_config_close(&config);
    return rc;
}

TEST(every_allocation_may_fail)
{
    static const char *const engines[] = { "{threads: 0, reader: pread}", "{threads: 2}" };
    static const char *const devices[] = { "cpu", "sim" };
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++)
        for (size_t k = 0; k < 4; k++) {
            const char *const source = sources[s], *const engine = engines[k / 2];
            const char *const device = devices[k % 2];
            const char *const cache = k / 2 == k % 2 ? kept : "memory";
            unlink(kept);
            leat_error err = { 0 };
            check(go(source, engine, device, cache, &err), &err);
            const uint64_t digest = plan_digest;
            int rc, hit, n_failed = 0;
            for (long n = 0;; n++) {
                failing_malloc_at(n);
                rc = go(source, engine, device, cache, &err);
                hit = failing_malloc_hit();
                if (!hit)
                    break;
                if (plan_digest != digest)
                    fail_msg("allocation %ld: the plan has another digest", n);
                /* Some allocations can be done without (a note, a side file); what is reported is
                 * never another error than the true one. */
                if (rc < 0 && rc != LEAT_E_NOMEM && rc != LEAT_E_IO)
                    fail_msg("allocation %ld: %s: %s", n, leat_code_name(rc), err.message);
                if (rc < 0) {
                    assert_true(err.message[0]);
                    n_failed++;
                }
            }
            check(rc, &err);
            assert_true(n_failed > 10);
        }
}

SUITE_FIXTURE(make_file, remove_file)
