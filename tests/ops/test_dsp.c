/* SPDX-License-Identifier: MIT
 *
 * test_dsp.c: every level of the inner loops gives the bytes of plain C, and writes nothing else. */
#include "fixtures/op_test.h"

#include <stdbool.h>

#include "base/cpu.h"
#include "ops/image/dsp.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"

enum { CANARY = 64, N_TRIES = 300 };

/* Room for a result between canaries. */
typedef struct room {
    uint8_t *memory;
    size_t n;
} room;

static room room_open(size_t n)
{
    room r = { malloc(n + 2 * CANARY), n };
    assert_non_null(r.memory);
    memset(r.memory, 0xa5, n + 2 * CANARY);
    return r;
}

static void *at(room r)
{
    return r.memory + CANARY;
}

static void check_and_close(room expected, room got)
{
    assert_int_equal(expected.n, got.n);
    assert_memory_equal(expected.memory, got.memory, got.n + 2 * CANARY);
    free(expected.memory);
    free(got.memory);
}

static uint8_t *noise(size_t n, uint64_t *seed)
{
    uint8_t *bytes = malloc(n ? n : 1); /* exact, so that over-reads are seen */
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(op_next(seed) >> 40);
    return bytes;
}

static size_t draw(uint64_t *seed, size_t n)
{
    return (size_t)(op_next(seed) % n);
}

/* --- one loop on random data, by plain C and by another table ----------------------------------- */

typedef void check_fn(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed);

static leat_affine random_affine(uint64_t *seed)
{
    leat_affine affine = { .n_channels = 1 + (int32_t)draw(seed, LEAT_AFFINE_MAX) };
    for (int i = 0; i < affine.n_channels; i++) {
        affine.scale[i] = (float)draw(seed, 1000) / 12345.f;
        affine.shift[i] = (float)draw(seed, 1000) / 333.f - 1;
    }
    leat_dsp_affine_fill(&affine);
    return affine;
}

static void check_affine_u8(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    const leat_affine affine = random_affine(seed);
    const size_t n = draw(seed, 300);
    uint8_t *in = noise(n, seed);
    const room a = room_open(4 * n), b = room_open(4 * n);
    c->affine_u8(at(a), in, n, &affine);
    other->affine_u8(at(b), in, n, &affine);
    for (size_t i = 0; i < n; i++) {
        const size_t channel = i % (size_t)affine.n_channels;
        const float product = (float)in[i] * affine.scale[channel];
        assert_true(((float *)at(a))[i] == product + affine.shift[channel]);
    }
    check_and_close(a, b);
    free(in);
}

static void check_affine_f32(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    const leat_affine affine = random_affine(seed);
    const size_t n = draw(seed, 300);
    float *in = malloc(4 * n + 1);
    for (size_t i = 0; i < n; i++)
        in[i] = (float)draw(seed, 100000) / 777.f - 50;
    const room a = room_open(4 * n), b = room_open(4 * n);
    c->affine_f32(at(a), in, n, &affine);
    other->affine_f32(at(b), in, n, &affine);
    check_and_close(a, b);
    free(in);
}

/* Any bits: NaN, infinite and subnormal numbers too, and those near what 16 bits can hold. */
static void check_16_bits(void (*plain)(uint16_t *, const float *, size_t),
                          void (*other)(uint16_t *, const float *, size_t), uint64_t *seed)
{
    const size_t n = draw(seed, 100);
    uint32_t *bits = malloc(4 * n + 1);
    for (size_t i = 0; i < n; i++) {
        bits[i] = (uint32_t)op_next(seed);
        if (i % 2)
            bits[i] = (bits[i] & 0x80001fff) | (uint32_t)(96 + draw(seed, 50)) << 23 |
                      (uint32_t)(draw(seed, 1024) << 13);
        if (i % 5 == 0)
            bits[i] &= 0xfffff000; /* often halfway between two */
    }
    const room a = room_open(2 * n), b = room_open(2 * n);
    plain(at(a), (const float *)bits, n);
    other(at(b), (const float *)bits, n);
    check_and_close(a, b);
    free(bits);
}

static void check_f16(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    check_16_bits(c->f16_of_f32, other->f16_of_f32, seed);
}

static void check_bf16(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    check_16_bits(c->bf16_of_f32, other->bf16_of_f32, seed);
}

static void check_mirror_row(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    static const size_t pixels[] = { 1, 2, 3, 4, 8, 12, 16 };
    const size_t pixel = pixels[draw(seed, 7)], n_px = draw(seed, 200), n = n_px * pixel;
    uint8_t *in = noise(n, seed);
    const room a = room_open(n), b = room_open(n), in_place = room_open(n);
    c->mirror_row(at(a), in, n_px, pixel);
    other->mirror_row(at(b), in, n_px, pixel);
    for (size_t i = 0; i < n_px; i++)
        assert_memory_equal((uint8_t *)at(a) + i * pixel, in + (n_px - 1 - i) * pixel, pixel);
    memcpy(at(in_place), in, n);
    other->mirror_row(at(in_place), at(in_place), n_px, pixel);
    assert_memory_equal(at(in_place), at(a), n);
    free(in_place.memory);
    check_and_close(a, b);
    free(in);
}

static void check_add_u8(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    const size_t n = draw(seed, 200);
    const int32_t delta = (int32_t)draw(seed, 511) - 255;
    uint8_t *in = noise(n, seed);
    const room a = room_open(n), b = room_open(n);
    c->add_u8(at(a), in, n, delta);
    other->add_u8(at(b), in, n, delta);
    check_and_close(a, b);
    free(in);
}

/* Random axes as resize makes them. */
static leat_dsp_axis random_axis(uint64_t *seed, int64_t n_in)
{
    leat_dsp_axis axis;
    leat_scratch_reset(op_scratch);
    assert_int_equal(leat_resample_axis(&axis, n_in, 1 + (int64_t)draw(seed, 90), LEAT_U8,
                                        (int32_t)draw(seed, 4), op_scratch),
                     LEAT_OK);
    return axis;
}

static void check_mix_rows(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    const int64_t height = 1 + (int64_t)draw(seed, 60);
    const leat_dsp_axis axis = random_axis(seed, height);
    const size_t n = draw(seed, 150), stride = n + draw(seed, 9);
    const size_t most_bits = leat_taps_radius(axis.interpolation) > 1 ? 6 : 7; /* of fraction */
    const int32_t shift = axis.bits - (int32_t)draw(seed, most_bits + 1);
    /* White everywhere, now and then: the largest sums. */
    uint8_t *in = noise((size_t)height * stride, seed);
    if (draw(seed, 4) == 0)
        memset(in, 255, (size_t)height * stride);
    for (int32_t y = 0; y < axis.n_out; y++) {
        const room a = room_open(2 * n), b = room_open(2 * n);
        const uint8_t *from = in + (size_t)axis.start[y] * stride;
        const int16_t *weights = axis.weights + y * axis.stride;
        /* The last row of the memory ends with its n values, not with the stride. */
        uint8_t *exact = malloc((size_t)(axis.n_taps - 1) * stride + n + 1);
        memcpy(exact, from, (size_t)(axis.n_taps - 1) * stride + n);
        c->mix_rows(at(a), exact, stride, n, weights, axis.n_taps, shift);
        other->mix_rows(at(b), exact, stride, n, weights, axis.n_taps, shift);
        check_and_close(a, b);
        free(exact);
    }
    free(in);
}

static void check_sample_row(const leat_dsp_table *c, const leat_dsp_table *other, uint64_t *seed)
{
    const int32_t channels = 1 + (int32_t)draw(seed, 4);
    const int64_t width = 1 + (int64_t)draw(seed, 200);
    const leat_dsp_axis axis = random_axis(seed, width);
    const int32_t fraction = leat_resample_fraction_bits(&axis);
    const size_t n = (size_t)width * (size_t)channels;
    const size_t n_out = (size_t)axis.n_out * (size_t)channels;
    const int white = draw(seed, 4) == 0;
    int16_t *in = malloc((n + LEAT_DSP_ROW_SLACK) * sizeof *in);
    const int32_t overshoot = leat_taps_radius(axis.interpolation) > 1 ? 100 : 0;
    for (size_t i = 0; i < n + LEAT_DSP_ROW_SLACK; i++) {
        const int32_t value = (int32_t)draw(seed, 256 + 2 * (size_t)overshoot) - overshoot;
        const int32_t part = value < 255 + overshoot ? (int32_t)draw(seed, 1u << fraction) : 0;
        in[i] = (int16_t)(white ? 255 << fraction : value * (1 << fraction) + part);
    }
    const room a = room_open(n_out), b = room_open(n_out);
    c->sample_row(at(a), in, &axis, channels, axis.bits + fraction);
    other->sample_row(at(b), in, &axis, channels, axis.bits + fraction);
    check_and_close(a, b);
    free(in);
}

/* In the order of leat_dsp_table, which has nothing but pointers to functions. */
static check_fn *const checks[] = {
    check_affine_u8,  check_affine_f32, check_f16,      check_bf16,
    check_mirror_row, check_add_u8,     check_mix_rows, check_sample_row,
};
_Static_assert(sizeof checks / sizeof *checks == sizeof(leat_dsp_table) / sizeof(void (*)(void)),
               "each loop has a check");

TEST(levels_agree)
{
    for (int level = 0; level <= leat_cpu_best(); level++)
        for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
            uint64_t seed = i;
            for (int n = 0; n < N_TRIES; n++)
                checks[i](leat_dsp_level(LEAT_CPU_C), leat_dsp_level(level), &seed);
        }
}

TEST(level_can_be_chosen)
{
    const int before = leat_cpu_level();
    assert_in_range(before, 0, leat_cpu_best());
    assert_int_equal(leat_cpu_use(LEAT_CPU_C), LEAT_CPU_C);
    assert_int_equal(leat_cpu_level(), LEAT_CPU_C);
    assert_ptr_equal(leat_dsp(), leat_dsp_level(LEAT_CPU_C));
    assert_int_equal(leat_cpu_use(99), leat_cpu_best());
    assert_int_equal(leat_cpu_use(-3), LEAT_CPU_C);
    assert_int_equal(leat_cpu_use(before), before);
    assert_string_equal(leat_cpu_name(LEAT_CPU_C), "c");
    assert_string_equal(leat_cpu_name(LEAT_CPU_AVX2), "avx2");
    assert_string_equal(leat_cpu_name(99), "?");
}

/* The weights of every output sum to one, exactly. None is negative, or the filter is a wide one, whose
 * sums still fit (resample.h, and the bytes of jpeg_resize_avx512.c). */
static void check_weights(const leat_dsp_axis *axis)
{
    const bool is_wide = leat_taps_radius(axis->interpolation) > 1;
    for (int64_t i = 0; i < axis->n_out; i++) {
        int64_t sum = 0, size = 0;
        assert_in_range(axis->start[i], 0, axis->n_in - axis->n_taps);
        for (int32_t k = 0; k < axis->stride; k++) {
            const int16_t weight = axis->weights[i * axis->stride + k];
            assert_true(weight >= 0 || is_wide);
            assert_true(weight < 32768 - 128);
            assert_true(k < axis->n_taps || weight == 0);
            sum += weight;
            size += abs(weight);
        }
        assert_int_equal(sum, (int64_t)1 << axis->bits);
        assert_true((double)size < 1.8 * (double)sum);
    }
}

TEST(weights_sum_to_one)
{
    for (int32_t filter = LEAT_BILINEAR; filter <= LEAT_LANCZOS; filter++)
        for (int64_t n_in = 1; n_in < 3000; n_in += n_in / 7 + 1)
            for (int64_t n_out = 1; n_out < 300; n_out += n_out / 5 + 1) {
                leat_dsp_axis axis;
                leat_scratch_reset(op_scratch);
                assert_int_equal(
                    leat_resample_axis(&axis, n_in, n_out, LEAT_U8, filter, op_scratch), LEAT_OK);
                assert_in_range(axis.n_taps, 1, n_in);
                check_weights(&axis);
            }
}

/* Each weight is what the rounded running sum grows by, as if all were worked out anew each time. */
static void check_steps(const leat_taps *taps, int32_t bits)
{
    int16_t weights[2700];
    double total = 0, sum = 0;
    int32_t before = 0;
    assert_in_range(taps->n, 1, 2700);
    for (int32_t k = 0; k < taps->n; k++)
        total += leat_taps_weight(taps, k);
    leat_taps_fill_u8(taps, bits, weights);
    for (int32_t k = 0; k < taps->n; k++) {
        sum += leat_taps_weight(taps, k);
        const int32_t upto = (int32_t)(sum / total * (double)(1 << bits) + 0.5);
        assert_int_equal(weights[k], upto - before);
        before = upto;
    }
}

TEST(weights_are_steps_of_a_sum)
{
    for (int32_t filter = LEAT_BILINEAR; filter <= LEAT_LANCZOS; filter++)
        for (int64_t n_in = 1; n_in < 1200; n_in += n_in / 9 + 1)
            for (int64_t n_out = 3; n_out < 400; n_out += n_out / 2)
                for (int32_t i = 0; i < n_out; i++) {
                    const leat_taps taps = leat_taps_of(n_in, n_out, i, filter);
                    check_steps(&taps, leat_taps_bits(n_in, n_out, filter));
                }
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
