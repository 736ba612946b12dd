/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_dsp.c: the JPEG decoder's kernels: every CPU level gives the bytes of plain C, on values
 * that pictures have and on those that only damaged files have. */
#include "base/cpu.h"
#include "fixtures/unit.h"
#include "ops/jpeg/jpeg_impl.h"

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Blocks from empty to full, values from small to the limits of 16 bits. */
static void draw_blocks(int16_t *blocks, int n, int kind, uint32_t *state)
{
    memset(blocks, 0, (size_t)n * 64 * sizeof *blocks);
    for (int b = 0; b < n; b++) {
        const uint32_t n_values = kind % 4 == 0 ? 1 : draw(state) % 65;
        for (uint32_t i = 0; i < n_values; i++) {
            const int value = kind < 8 ? (int)(draw(state) % 401) - 200 : (int)draw(state);
            blocks[64 * b + (kind % 2 ? (int)i : (int)(draw(state) % 64))] = (int16_t)value;
        }
    }
}

TEST(same_idct)
{
    enum { N = 12, STRIDE = 8 * N + 64 };
    int16_t blocks[N * 64], quant[64];
    uint8_t expected[8 * STRIDE], got[8 * STRIDE];
    uint32_t seed = 1;
    for (int round = 0; round < 4000; round++) {
        const int n = 4 * (1 + round % 3);
        draw_blocks(blocks, n, round % 12, &seed);
        for (int i = 0; i < 64; i++)
            quant[i] = (int16_t)(round % 5 ? draw(&seed) % 256 : draw(&seed));
        memset(expected, 1, sizeof expected);
        const uint32_t peak = leat_jpeg_dsp_c.idct(blocks, n, quant, expected, STRIDE);
        for (int level = 1; level <= leat_cpu_best(); level++) {
            memset(got, 1, sizeof got);
            assert_int_equal(leat_jpeg_dsp_at(level)->idct(blocks, n, quant, got, STRIDE), peak);
            assert_memory_equal(got, expected, sizeof got);
        }
    }
}

/* All pairs of chroma, each with lumas that clamp and that do not. */
TEST(same_colours)
{
    enum { N = 256 };
    uint8_t y[N + 64], cb[N + 64], cr[N + 64], expected[3 * N + 64], got[3 * N + 64];
    for (int b = 0; b < 256; b++)
        for (int shift = 0; shift < 256; shift += 51) {
            for (int i = 0; i < N + 64; i++) {
                y[i] = (uint8_t)(i + shift);
                cb[i] = (uint8_t)b;
                cr[i] = (uint8_t)i;
            }
            const int n = N - (b + shift) % 130;
            memset(expected, 7, sizeof expected);
            leat_jpeg_dsp_c.rgb(y, cb, cr, expected, n);
            for (int level = 1; level <= leat_cpu_best(); level++) {
                memset(got, 7, sizeof got);
                leat_jpeg_dsp_at(level)->rgb(y, cb, cr, got, n);
                assert_memory_equal(got, expected, sizeof got); /* and nothing behind */
            }
        }
}

TEST(same_upsampling)
{
    enum { N = 150 };
    uint8_t near[N], far[N], expected[2 * N], got[2 * N];
    uint32_t seed = 3;
    for (int round = 0; round < 3 * N; round++) {
        const int n = 1 + round % N, kind = round / N;
        for (int i = 0; i < n; i++) {
            near[i] = (uint8_t)(round % 7 ? draw(&seed) : draw(&seed) % 2 * 255);
            far[i] = (uint8_t)draw(&seed);
        }
        for (int level = 0; level <= leat_cpu_best(); level++) {
            const leat_jpeg_dsp *dsp = leat_jpeg_dsp_at(level);
            uint8_t *out = level ? got : expected;
            memset(out, 9, sizeof got);
            if (kind == 0)
                dsp->up_h2(near, out, n);
            else if (kind == 1)
                dsp->up_h2v2(near, far, out, n);
            else
                dsp->up_v2(near, far, out, n, 1 + round % 2);
            assert_memory_equal(out, expected, sizeof got);
        }
    }
}

TEST(same_unstuffing)
{
    uint8_t src[300], expected[340], got[340];
    uint32_t seed = 5;
    for (int round = 0; round < 20000; round++) {
        const size_t n = draw(&seed) % sizeof src;
        const uint32_t common = 2 + draw(&seed) % 60;
        for (size_t i = 0; i < n; i++) {
            const int after_ff = i && src[i - 1] == 0xff;
            src[i] = (uint8_t)draw(&seed);
            if (draw(&seed) % common == 0)
                src[i] = 0xff;
            if (after_ff && draw(&seed) % 50)
                src[i] = 0;
        }
        uint8_t *exact = malloc(n ? n : 1); /* so that over-reads are seen */
        memcpy(exact, src, n);
        const uint8_t *stop, *other_stop;
        const size_t size = leat_jpeg_dsp_c.unstuff(exact, exact + n, expected, &stop);
        for (int level = 1; level <= leat_cpu_best(); level++) {
            assert_int_equal(leat_jpeg_dsp_at(level)->unstuff(exact, exact + n, got, &other_stop),
                             size);
            assert_ptr_equal(other_stop, stop);
            assert_memory_equal(got, expected, size);
        }
        free(exact);
    }
}

/* Complete and incomplete codes with symbols of all kinds. */
static void draw_table(uint8_t spec[16 + 256], uint32_t *state)
{
    uint32_t room = 1; /* codes left at this length, less the one of ones only */
    int n = 0;
    memset(spec, 0, 16 + 256);
    for (int length = 1; length <= 16; length++) {
        room = 2 * room;
        uint32_t count = draw(state) % (length < 3 ? 2 : 7);
        count = count < room ? count : room - 1;
        count = (int)count + n <= 256 ? count : 0;
        spec[length - 1] = (uint8_t)count;
        room -= count;
        for (; count; count--)
            spec[16 + n++] = (uint8_t)(draw(state) % 4 ? draw(state) % 32 : draw(state));
    }
}

TEST(same_joins)
{
    static leat_jpeg_table expected, got, expected_skip, got_skip;
    uint8_t spec[16 + 256];
    uint32_t seed = 9;
    for (int round = 0; round < 300; round++) {
        draw_table(spec, &seed);
        assert_int_equal(leat_jpeg_table_build(&expected, spec, 0, &leat_jpeg_dsp_c), 0);
        leat_jpeg_table_join(&expected_skip, &expected, &leat_jpeg_dsp_c);
        for (int level = 1; level <= leat_cpu_best(); level++) {
            assert_int_equal(leat_jpeg_table_build(&got, spec, 0, leat_jpeg_dsp_at(level)), 0);
            leat_jpeg_table_join(&got_skip, &got, leat_jpeg_dsp_at(level));
            assert_memory_equal(got.fast, expected.fast, sizeof got.fast);
            assert_memory_equal(got_skip.fast, expected_skip.fast, sizeof got.fast);
        }
    }
}

TEST(bad_tables)
{
    static leat_jpeg_table table;
    uint8_t spec[16 + 256] = { 2, 0 }; /* both codes of one bit: one is of ones only */
    assert_int_equal(leat_jpeg_table_build(&table, spec, 0, &leat_jpeg_dsp_c), -1);
    spec[0] = 3;
    assert_int_equal(leat_jpeg_table_build(&table, spec, 0, &leat_jpeg_dsp_c), -1);
    spec[0] = 1;
    spec[1] = 2;
    assert_int_equal(leat_jpeg_table_build(&table, spec, 0, &leat_jpeg_dsp_c), -1);
    spec[1] = 1;
    assert_int_equal(leat_jpeg_table_build(&table, spec, 1, &leat_jpeg_dsp_c), 0);
    spec[17] = 16; /* DC differences have 15 bits at most */
    assert_int_equal(leat_jpeg_table_build(&table, spec, 1, &leat_jpeg_dsp_c), -1);
    assert_int_equal(leat_jpeg_table_build(&table, spec, 0, &leat_jpeg_dsp_c), 0);
    memset(spec, 0, sizeof spec); /* no code at all is a table */
    assert_int_equal(leat_jpeg_table_build(&table, spec, 0, &leat_jpeg_dsp_c), 0);
}
