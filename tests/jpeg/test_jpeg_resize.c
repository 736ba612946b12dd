/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_resize.c: the end of the JPEG path, from a box's pixels to a row of a batch: every CPU level
 * gives the bytes of plain C, and touches nothing else. */
#include "fixtures/op_test.h"

#include "base/cpu.h"
#include "ops/image/dsp.h"
#include "ops/jpeg/jpeg_impl.h"

enum { CANARY = 128 }; /* bytes before and behind a result */

static size_t draw(uint64_t *seed, size_t n)
{
    return (size_t)(op_next(seed) % n);
}

/* Exactly n bytes, so that reads beyond them are seen: noise, or now and then black or white, for the
 * largest sums. */
static uint8_t *pixels_open(size_t n, uint64_t *seed)
{
    const size_t kind = draw(seed, 6);
    uint8_t *pixels = malloc(n);
    assert_non_null(pixels);
    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint8_t)(kind == 0   ? 255
                              : kind == 1 ? 255 * draw(seed, 2)
                                          : op_next(seed) >> 40);
    return pixels;
}

/* n zeros between canaries. */
static uint8_t *room_open(size_t n)
{
    const size_t bytes = n + 2 * CANARY;
    uint8_t *room = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    assert_non_null(room);
    memset(room, 0, bytes);
    memset(room, 0xa5, CANARY);
    memset(room + CANARY + n, 0xa5, CANARY);
    return room;
}

/* --- the vertical pass ------------------------------------------------------------------------- */

/* Weights that sum to 2^bits: any, or nearly all in one, or equal ones, where halves are rounded. */
static void draw_weights(int16_t *weights, int32_t n_taps, int32_t bits, uint64_t *seed)
{
    const size_t kind = draw(seed, 4);
    const int32_t most = (1 << bits) < 32000 ? 1 << bits : 32000;
    int32_t left = 1 << bits;
    for (int32_t k = 0; k < n_taps; k++) {
        const int32_t n = n_taps - k, reach = left < most ? left : most;
        int32_t w = kind == 0   ? left - (int32_t)draw(seed, 3)
                    : kind == 1 ? left / n
                                : (int32_t)draw(seed, (size_t)reach + 1);
        const int32_t later = most * (n - 1); /* what the others can take */
        w = w < left - later ? left - later : w;
        w = w < 0 ? 0 : w > reach ? reach : w;
        weights[k] = (int16_t)w;
        left -= w;
    }
    assert_int_equal(left, 0);
    for (int32_t k = n_taps - 1; k > 0; k--) { /* in any order */
        const size_t other = draw(seed, (size_t)k + 1);
        const int16_t kept = weights[k];
        weights[k] = weights[other];
        weights[other] = kept;
    }
    weights[n_taps] = 0;
}

typedef void mix_fn(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                    const int16_t *weights, int32_t n_taps, int32_t shift);

static void check_mix(mix_fn *mix, size_t n, int32_t n_taps, int32_t bits, int32_t shift,
                      uint64_t *seed)
{
    int16_t weights[16];
    const size_t stride = n + draw(seed, 9), bytes = 2 * n;
    uint8_t *in = pixels_open((size_t)(n_taps - 1) * stride + n, seed);
    uint8_t *expected = room_open(bytes), *got = room_open(bytes);
    draw_weights(weights, n_taps, bits, seed);
    leat_dsp_level(LEAT_CPU_C)
        ->mix_rows((int16_t *)(void *)(expected + CANARY), in, stride, n, weights, n_taps, shift);
    mix((int16_t *)(void *)(got + CANARY), in, stride, n, weights, n_taps, shift);
    assert_memory_equal(got, expected, bytes + 2 * CANARY);
    free(in);
    free(expected);
    free(got);
}

TEST(vertical_passes_agree)
{
    uint64_t seed = 1;
    for (int level = 1; level <= leat_cpu_best(); level++) {
        mix_fn *mix = leat_jpeg_dsp_at(level)->mix_rows;
        mix = mix ? mix : leat_dsp_level(level)->mix_rows;
        for (int32_t n_taps = 1; n_taps <= 11; n_taps++)
            for (size_t n = 1; n <= 330; n++)
                for (int32_t bits = 14; bits <= (n_taps < 2 ? 14 : n_taps < 4 ? 15 : 16); bits++)
                    check_mix(mix, n, n_taps, bits, bits - 2 - (int32_t)draw(&seed, 6), &seed);
        for (int i = 0; i < 60000; i++) /* the usual case, and all its roundings */
            check_mix(mix, 64 + draw(&seed, 3), 2 + (int32_t)draw(&seed, 3), 14, 7, &seed);
    }
}

/* --- the whole --------------------------------------------------------------------------------- */

typedef struct task {
    int32_t height, width;
    leat_jpeg_target target;
    size_t off; /* of the result from an aligned address */
    size_t stride_bytes;
    uint8_t *pixels;
} task;

static task task_open(int32_t height, int32_t width, const leat_jpeg_target *target, uint64_t *seed)
{
    const size_t row = (size_t)width * (size_t)target->channels;
    task t = { height, width, *target, 16 * draw(seed, 2), row + draw(seed, 5), NULL };
    t.target.streams = draw(seed, 3) > 0;
    t.pixels = pixels_open((size_t)(height - 1) * t.stride_bytes + row, seed);
    return t;
}

static size_t result_bytes(const task *t)
{
    return (size_t)t->target.height * (size_t)t->target.width * (size_t)t->target.channels *
           (t->target.affine ? sizeof(float) : 1);
}

static uint8_t *result_of(const task *t, int level)
{
    const int before = leat_cpu_level();
    uint8_t *room = room_open(result_bytes(t));
    leat_cpu_use(level);
    leat_scratch_reset(op_scratch);
    assert_int_equal(leat_jpeg_resize(leat_jpeg_dsp_at(level), t->pixels, t->stride_bytes,
                                      t->height, t->width, &t->target, room + CANARY + t->off,
                                      op_scratch, NULL),
                     LEAT_OK);
    leat_cpu_use(before);
    return room;
}

/* Plain C, and the ops' own loops, one after the other. */
static void check_task(task *t)
{
    const size_t bytes = result_bytes(t) + 2 * CANARY;
    uint8_t *expected = result_of(t, LEAT_CPU_C);
    for (int level = 1; level <= leat_cpu_best(); level++) {
        uint8_t *got = result_of(t, level);
        assert_memory_equal(got, expected, bytes);
        free(got);
    }
    free(expected);
    free(t->pixels);
}

static leat_affine draw_affine(int32_t n_channels, uint64_t *seed)
{
    leat_affine affine = { .n_channels = n_channels };
    for (int32_t i = 0; i < n_channels; i++) {
        affine.scale[i] = (float)draw(seed, 1000) / 12345.f;
        affine.shift[i] = (float)draw(seed, 1000) / 333.f - 2;
    }
    leat_dsp_affine_fill(&affine);
    return affine;
}

/* Every width of the box and of the result, in turns. */
TEST(rows_agree)
{
    uint64_t seed = 2;
    for (int32_t i = 1; i <= 420; i++) {
        const int32_t channels = i % 5 ? 3 : 1;
        const leat_affine affine = draw_affine(i % 3 ? channels : 1, &seed);
        const leat_jpeg_target target = { .height = 1 + (int32_t)draw(&seed, 13),
                                          .width = 1 + (i * 7) % 130,
                                          .channels = channels,
                                          .is_mirrored = (int32_t)draw(&seed, 2),
                                          .affine = i % 4 ? &affine : NULL };
        task t = task_open(1 + (int32_t)draw(&seed, 30), i, &target, &seed);
        check_task(&t);
    }
}

/* From much larger to much smaller, near the sizes where an axis has one tap more or one bit more. */
TEST(scales_agree)
{
    enum { SIDE = 64 }; /* rows are whole cache lines */
    uint64_t seed = 3;
    for (int32_t i = 1; i <= 26; i++)
        for (int32_t off = -2; off <= 2; off++) {
            const leat_affine affine = draw_affine(3, &seed);
            const leat_jpeg_target target = { .height = SIDE,
                                              .width = SIDE,
                                              .channels = 3,
                                              .is_mirrored = off & 1,
                                              .affine = i % 4 ? &affine : NULL };
            const int32_t side = i * SIDE / 4 + off, other = 1 + (int32_t)draw(&seed, 4 * SIDE);
            task t = i % 2 ? task_open(side, other, &target, &seed)
                           : task_open(other, side, &target, &seed);
            check_task(&t);
        }
}

/* A normalisation may have more channels than a picture: its pattern then starts anew in each row. */
TEST(affines_agree)
{
    uint64_t seed = 4;
    for (int32_t n = 1; n <= LEAT_AFFINE_MAX; n++) {
        const leat_affine affine = draw_affine(n, &seed);
        const leat_jpeg_target target = {
            .height = 9, .width = 37, .channels = 3, .affine = &affine
        };
        task t = task_open(20, 50, &target, &seed);
        check_task(&t);
    }
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
