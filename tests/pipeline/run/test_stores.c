/* SPDX-License-Identifier: MIT
 *
 * test_stores.c: engine.stores: rows are the same bytes whether they are written through the CPU's caches or around
 * them, and the loader says which it does and why. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#include "base/cpu.h"
#include "bench/jpeg_reference.h"
#include "pipeline/run/engine.h"

enum { N_PHOTOS = 24, BATCH = 8 };

static int make(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < N_PHOTOS; i++) {
        const reference_picture p = { REFERENCE_OF(300 + i * 17 % 90, 260 + i * 13 % 70, 3,
                                                   1 + i % 2, 1 + i % 2, 80) };
        char name[32];
        uint8_t *bytes;
        const size_t size = reference_encode(&p, (unsigned)i, &bytes);
        snprintf(name, sizeof name, "photos/a/%02d.jpg", i);
        put_file(name, bytes, size);
        free(bytes);
    }
    return 0;
}

static leat_plan *plan_of(const char *engine, int size, const char *last)
{
    char text[256];
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "%s/photos", test_folder);
    leat_builder_source(b, "images", text);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "shuffle", NULL);
    snprintf(text, sizeof text, "[decode_jpeg, {random_resized_crop: {size: %d}}, random_flip%s]",
             size, last);
    leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "{size: %d}", BATCH);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", "2");
    return plan_of_builder(b);
}

#define NORMALIZE ", {normalize: {mean: [0.5], std: [0.25]}}"

/* The decision; NULL: there is none. */
static const char *reason_of(const leat_loader *loader)
{
    for (int32_t i = 0; i < loader->budget.n_decisions; i++)
        if (!strcmp(loader->budget.decisions[i].name, "stores"))
            return loader->budget.decisions[i].reason;
    return NULL;
}

/* A digest of all batches by the consumer, since engine.digest turns streaming off. The decision must contain `why`;
 * "" if there must be none. */
static uint64_t run(const char *engine, int size, const char *last, const char *why)
{
    leat_plan *plan = plan_of(engine, size, last);
    const leat_loader_options options = { .epochs = 2 };
    leat_loader *loader = open_loader(plan, &options);
    const char *const reason = reason_of(loader);
    if (*why ? !reason || !strstr(reason, why) : reason != NULL)
        fail_msg("%s: expected '%s', got '%s'", engine, why, reason ? reason : "(none)");
    leat_batch *batch;
    uint64_t digest = 0;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        digest = digest * 31 + batch_digest(batch);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    return digest;
}

static int streams_here(void)
{
    return leat_cpu_best() >= LEAT_CPU_AVX512;
}

TEST(both_ways_give_the_same_bytes)
{
    for (int size = 60; size <= 64; size += 4) { /* rows of 64 x 3 floats are whole cache lines */
        leat_cpu_use(LEAT_CPU_C);
        const uint64_t expected = run("{threads: 2}", size, NORMALIZE, "");
        leat_cpu_use(leat_cpu_best());
        const char *const why = streams_here() ? "set by engine.stores" : "";
        assert_int_equal(run("{threads: 2, stores: cached}", size, NORMALIZE, why), expected);
        assert_int_equal(run("{threads: 2, stores: streamed}", size, NORMALIZE, why), expected);
        assert_int_equal(run("{threads: 0, stores: streamed}", size, NORMALIZE, why), expected);
    }
}

/* Large batches are measured, or fill half of the level 3 cache; others, and those with a digest, are not. */
TEST(auto_says_why)
{
    if (!streams_here())
        skip();
    const uint64_t expected = run("{threads: 1, stores: cached}", 224, NORMALIZE, "through");
    assert_int_equal(run("{threads: 1}", 224, NORMALIZE, " the CPU's caches: "), expected);
    run("{threads: 1}", 64, NORMALIZE, "through the CPU's caches: batches are small");
    run("{threads: 1, digest: true}", 224, NORMALIZE, "the digest reads rows at once");
}

/* Without normalize rows are bytes, which no kernel streams. */
TEST(bytes_are_no_question)
{
    run("{threads: 1, stores: streamed}", 224, "", "");
}

SUITE_FIXTURE(make, remove_folder)
