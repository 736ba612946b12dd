/* SPDX-License-Identifier: MIT
 *
 * test_source_faults.c: while sources of arrays and CSV are opened and read, every allocation fails once.
 * Each failure is an error without a crash or a leak (sanitizer builds see leaks), and the next try works. */
#include "fixtures/engine_fixture.h"
#include "fixtures/failing_malloc.h"

#define GOLDEN SOURCE_DIR "/tests/golden/arrays/"

static const char *const sources[] = {
    "npy: [" GOLDEN "le_f4.npy, " GOLDEN "be_f8.npy]",
    "npy: {files: " GOLDEN "stored.npz, features: {image: pixels, label: label}}",
    "npy: {files: " GOLDEN "deflated.npz, features: {image: pixels, label: label}}",
    "idx: {images: " GOLDEN "images-idx3-ubyte.gz, labels: " GOLDEN "labels-idx1-ubyte}",
    "cifar: " GOLDEN "cifar10.bin",
    "csv: {files: [" GOLDEN "table.csv, " GOLDEN "table_crlf.csv], na: NA, features: {x: [width, "
    "height], label: {columns: kind, classes: [ant, bee, 'cat, big']}}}",
};

/* Opens all, takes two batches, closes all. */
static int go(const char *source, leat_error *err)
{
    char text[1500];
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_batch *batch;
    snprintf(text, sizeof text,
             "source: {%s}\nengine: {threads: 0, reader: pread}\npipeline: [shuffle, {batch: 2}]\n",
             source);
    int rc = open_text(text, &plan, err);
    if (rc >= 0)
        rc = leat_loader_open(plan, NULL, &loader, err);
    for (int i = 0; i < 2 && rc >= 0; i++)
        if ((rc = leat_loader_next(loader, &batch, err)) >= 0)
            leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
    return rc;
}

TEST(every_allocation_may_fail)
{
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        int hit = 1, n_failed = 0;
        for (long n = 0; hit; n++) {
            leat_error err = { 0 };
            failing_malloc_at(n);
            const int rc = go(sources[s], &err);
            hit = failing_malloc_hit();
            if (rc < 0 && (!hit || !err.message[0] || (rc != LEAT_E_NOMEM && rc != LEAT_E_IO)))
                fail_msg("%s, allocation %ld: %s: %s", sources[s], n, leat_code_name(rc),
                         err.message);
            n_failed += rc < 0;
        }
        assert_true(n_failed > 10);
    }
}
