/* SPDX-License-Identifier: MIT
 *
 * test_identity.c: batches are the same bytes everywhere: the digest of a whole run through every
 * augmentation is a constant in this file, for every build type, compiler, CPU level, number of threads and
 * prefetch. If it changes, users train on other data: say so in the changelog. */
#include "fixtures/engine_fixture.h"

#include "base/cpu.h"

#define N_IMAGES 300
#define SIZE     24

/* One drawn image per record, and its label. */
static uint8_t *draw(void)
{
    uint8_t *images = malloc((size_t)N_IMAGES * SIZE * SIZE * 3);
    leat_rng rng = leat_rng_make(1, 2, 3, 4);
    for (size_t i = 0; i < (size_t)N_IMAGES * SIZE * SIZE * 3; i++)
        images[i] = (uint8_t)(leat_rng_u32(&rng) >> 24);
    return images;
}

static leat_plan *plan_of(const uint8_t *images, const int64_t *labels, const char *map,
                          int threads, int prefetch)
{
    const int64_t dims[] = { SIZE, SIZE, 3 };
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_U8, 3, dims), images },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *b = leat_builder_open();
    char text[100];
    leat_builder_rows(b, N_IMAGES, rows, 2);
    leat_builder_seed(b, 42);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", threads);
    leat_builder_engine(b, text);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "map", map);
    leat_builder_stage(b, "batch", "32");
    snprintf(text, sizeof text, "%d", prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

TEST(a_run_is_a_constant)
{
    static const struct {
        const char *map;
        uint64_t digest;
    } cases[] = {
        { "[random_flip, {random_crop: {size: [20, 20], pad: 3}}]", 0x1067ef5c12098bb9 },
        { "[{random_flip: {alternate: true}}, {random_crop: {size: 24, pad: 4, mode: reflect}}]",
          0xa9fee866acd028fb },
        { "[{random_brightness: 0.3}, {random_contrast: {lower: 0.6, upper: 1.4}}]",
          0x62730f43a4b70afe },
        { "[{resize: [17, 31]}, {center_crop: [16, 16]}, {normalize: {mean: [0.4], std: [0.3]}}]",
          0x4ff4f2418468ad60 },
        { "[{cast: float32}, {reshape: [1728]}]", 0x0d6ec90424747280 },
    };
    uint8_t *images = draw();
    int64_t labels[N_IMAGES];
    for (int64_t i = 0; i < N_IMAGES; i++)
        labels[i] = i % 10;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int level = 0; level <= leat_cpu_best(); level++)
            for (int threads = 0; threads <= 8; threads += threads < 3 ? 1 : 5)
                for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
                    leat_cpu_use(level);
                    leat_plan *plan = plan_of(images, labels, cases[c].map, threads, prefetch);
                    const uint64_t digest = digest_and_close(plan, 2, NULL);
                    if (digest != cases[c].digest)
                        fail_msg("%s at %s with %d threads, prefetch %d: 0x%016llx", cases[c].map,
                                 leat_cpu_name(level), threads, prefetch,
                                 (unsigned long long)digest);
                }
    leat_cpu_use(leat_cpu_best());
    free(images);
}

/* A shuffled run of four epochs: each record is mirrored in exactly every second one. */
TEST(an_alternating_flip_takes_turns)
{
    enum { EPOCHS = 4 };
    uint8_t *images = calloc(N_IMAGES, SIZE * SIZE * 3);
    int64_t labels[N_IMAGES];
    for (int64_t i = 0; i < N_IMAGES; i++) {
        labels[i] = i;
        images[i * SIZE * SIZE * 3] = 1; /* upper left, or upper right once mirrored */
    }
    for (int threads = 0; threads <= 2; threads++) {
        int mirrored[EPOCHS][N_IMAGES] = { { 0 } }, n_first = 0;
        const leat_loader_options options = { .epochs = EPOCHS };
        leat_plan *plan = plan_of(images, labels, "[{random_flip: {alternate: true}}]", threads, 2);
        leat_loader *loader = open_loader(plan, &options);
        leat_batch *batch;
        while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
            const leat_batch_info *info = leat_batch_get_info(batch);
            const uint8_t *image = leat_batch_tensor(batch, 0).data;
            const int64_t *label = leat_batch_tensor(batch, 1).data;
            for (int64_t j = 0; j < info->rows; j++)
                mirrored[info->epoch][label[j]] += 1 + !image[j * SIZE * SIZE * 3];
            leat_batch_release(batch);
        }
        for (int i = 0; i < N_IMAGES; i++) {
            n_first += mirrored[0][i] == 2;
            for (int e = 1; e < EPOCHS; e++)
                assert_int_equal(mirrored[e][i], 3 - mirrored[e - 1][i]);
        }
        assert_in_range(n_first, N_IMAGES / 3, 2 * N_IMAGES / 3);
        close_loader_and_plan(&loader, &plan);
    }
    free(images);
}
