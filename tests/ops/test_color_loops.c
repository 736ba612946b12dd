/* SPDX-License-Identifier: MIT
 *
 * test_color_loops.c: the loops over RGB pixels give the bytes of plain C on every CPU level: for all 2^24
 * colours, for every number of pixels and place in memory, in place, and nothing else is written. Plain C
 * is checked against the formulas of color.h. */
#include "fixtures/op_test.h"

#include "base/cpu.h"
#include "ops/image/color_loops.h"

enum { SLICE = 1 << 16, N_SLICES = 256, CANARY = 64, AMOUNTS = 16 };

/* One loop with one amount. */
typedef void apply_fn(const leat_color_loops *loops, uint8_t *to, const uint8_t *from, size_t n_px,
                      int32_t amount);

static leat_color_tables tables; /* of noise */

static void do_affine(const leat_color_loops *loops, uint8_t *to, const uint8_t *from, size_t n_px,
                      int32_t amount)
{
    int32_t add[3];
    for (int64_t c = 0; c < 3; c++)
        add[c] = leat_color_contrast_add((int64_t)(amount % 7 + c) * 2730667 % (255 * 65536 + 1),
                                         amount);
    loops->affine(to, from, n_px, amount, add);
}

static void do_affine_alike(const leat_color_loops *loops, uint8_t *to, const uint8_t *from,
                            size_t n_px, int32_t amount)
{
    const int32_t add = leat_color_contrast_add(amount % 7 * 2730667LL % (255 * 65536 + 1), amount);
    loops->affine(to, from, n_px, amount, (const int32_t[]){ add, add, add });
}

static void do_map(const leat_color_loops *loops, uint8_t *to, const uint8_t *from, size_t n_px,
                   int32_t amount)
{
    loops->map(to, from, n_px, &tables);
}

static void do_gray(const leat_color_loops *loops, uint8_t *to, const uint8_t *from, size_t n_px,
                    int32_t amount)
{
    loops->gray(to, from, n_px, 3);
}

static void do_saturation(const leat_color_loops *loops, uint8_t *to, const uint8_t *from,
                          size_t n_px, int32_t amount)
{
    loops->saturation(to, from, n_px, amount);
}

static void do_hue(const leat_color_loops *loops, uint8_t *to, const uint8_t *from, size_t n_px,
                   int32_t amount)
{
    loops->hue(to, from, n_px, amount % LEAT_COLOR_TURN);
}

static const struct {
    const char *name;
    apply_fn *apply;
} loops[] = { { "affine", do_affine },
              { "affine, channels alike", do_affine_alike },
              { "map", do_map },
              { "gray", do_gray },
              { "saturation", do_saturation },
              { "hue", do_hue } };
enum { N_LOOPS = sizeof loops / sizeof *loops };

static const int32_t amounts[AMOUNTS] = { 0,      1,      32767,   32768,  32769,  65535,
                                          65536,  65537,  98304,   131071, 131072, 300001,
                                          393215, 999999, 3333333, 6553600 };

static void *room(size_t n)
{
    void *memory = malloc(n ? n : 1);
    assert_non_null(memory);
    return memory;
}

static void noise(uint8_t *to, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(op_next(seed) >> 40);
}

TEST(all_colors)
{
    uint8_t *from = room(SLICE * 3), *want = room(SLICE * 3), *got = room(SLICE * 3);
    uint64_t seed = 1;
    noise(tables.of[0], sizeof tables, &seed);
    for (uint32_t red = 0; red < N_SLICES; red++) {
        for (uint32_t i = 0; i < SLICE; i++) {
            from[3 * i] = (uint8_t)red;
            from[3 * i + 1] = (uint8_t)(i >> 8);
            from[3 * i + 2] = (uint8_t)i;
        }
        for (size_t k = 0; k < N_LOOPS; k++) {
            const int32_t amount = amounts[(red + k) % AMOUNTS];
            loops[k].apply(&leat_color_loops_c, want, from, SLICE, amount);
            for (int level = 1; level <= leat_cpu_best(); level++) {
                loops[k].apply(leat_color_loops_level(level), got, from, SLICE, amount);
                if (memcmp(got, want, SLICE * 3))
                    fail_msg("%s of %d at %s, red %u", loops[k].name, (int)amount,
                             leat_cpu_name(level), (unsigned)red);
            }
        }
    }
    free(from);
    free(want);
    free(got);
}

static void check_sums(const leat_color_loops *other, const uint8_t *from, size_t n_px)
{
    uint64_t want[3], got[3];
    leat_color_loops_c.sums(from, n_px, want);
    other->sums(from, n_px, got);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(other->sum_gray(from, n_px), leat_color_loops_c.sum_gray(from, n_px));
    uint8_t least[2][3], most[2][3];
    leat_color_loops_c.range(from, n_px, least[0], most[0]);
    other->range(from, n_px, least[1], most[1]);
    assert_memory_equal(least[0], least[1], 3);
    assert_memory_equal(most[0], most[1], 3);
}

/* Every number of pixels up to a few groups, from memory of exactly that size at an odd place. */
static void check_size(const leat_color_loops *other, size_t n_px, size_t shift, uint64_t *seed)
{
    const size_t n = 3 * n_px;
    uint8_t *memory = room(n + shift), *from = memory + shift;
    uint8_t *want = room(n + 2 * CANARY), *got = room(n + 2 * CANARY);
    noise(from, n, seed);
    check_sums(other, from, n_px);
    for (size_t k = 0; k < N_LOOPS; k++) {
        const int32_t amount = amounts[op_next(seed) % AMOUNTS];
        memset(want, 0xa5, n + 2 * CANARY);
        memset(got, 0xa5, n + 2 * CANARY);
        loops[k].apply(&leat_color_loops_c, want + CANARY, from, n_px, amount);
        loops[k].apply(other, got + CANARY, from, n_px, amount);
        assert_memory_equal(got, want, n + 2 * CANARY);
        memcpy(got + CANARY, from, n); /* in place */
        loops[k].apply(other, got + CANARY, got + CANARY, n_px, amount);
        assert_memory_equal(got, want, n + 2 * CANARY);
    }
    memset(want, 0xa5, n + 2 * CANARY);
    memset(got, 0xa5, n + 2 * CANARY);
    leat_color_loops_c.gray(want + CANARY, from, n_px, 1);
    other->gray(got + CANARY, from, n_px, 1);
    assert_memory_equal(got, want, n + 2 * CANARY);
    for (int i = 0; i < 2; i++) {
        uint8_t *const to = (i ? got : want) + CANARY;
        uint8_t *const planes[3] = { to, to + n_px, to + 2 * n_px };
        memset(i ? got : want, 0xa5, n + 2 * CANARY);
        (i ? other : &leat_color_loops_c)->split(planes, from, n_px);
    }
    assert_memory_equal(got, want, n + 2 * CANARY);
    free(memory);
    free(want);
    free(got);
}

TEST(all_sizes)
{
    uint64_t seed = 2;
    noise(tables.of[0], sizeof tables, &seed);
    for (int level = 1; level <= leat_cpu_best(); level++)
        for (size_t n_px = 0; n_px < 300; n_px++)
            check_size(leat_color_loops_level(level), n_px, op_next(&seed) % 64, &seed);
}

/* White only: the largest sums. */
TEST(white_does_not_overflow)
{
    enum { N_PX = 1 << 21 };
    uint8_t *white = room(N_PX * 3);
    memset(white, 255, N_PX * 3);
    for (int level = 0; level <= leat_cpu_best(); level++) {
        check_sums(leat_color_loops_level(level), white, N_PX);
        assert_int_equal(leat_color_loops_level(level)->sum_gray(white, N_PX), 255ull * N_PX);
    }
    free(white);
}

/* Contrast by 32 bits is contrast by 64 bits. */
TEST(affine_is_contrast)
{
    uint64_t seed = 3;
    for (int i = 0; i < 1000; i++) {
        const int64_t mean = (int64_t)(op_next(&seed) % (255 * 65536 + 1));
        const int32_t factor =
            i % 3 ? (int32_t)(op_next(&seed) % (3 * 65536)) : amounts[i / 3 % AMOUNTS];
        const int32_t sum = leat_color_contrast_add(mean, factor), add[3] = { sum, sum, sum };
        for (int32_t x = 0; x < 256; x++) {
            uint8_t to[3 * 300];
            memset(to, (int)x, sizeof to);
            leat_color_loops_c.affine(to, to, x % 2 ? 1 : 300, factor, add);
            assert_int_equal(to[0], leat_color_contrast_value(x, mean, factor));
            assert_int_equal(to[2], to[0]);
        }
    }
}

TEST(sharpen_all_sizes)
{
    uint64_t seed = 4;
    for (int level = 1; level <= leat_cpu_best(); level++)
        for (size_t n = 0; n < 300; n++) {
            const size_t step = 1 + n % 4, stride = n + 2 * step;
            uint8_t *from = room(3 * stride), *want = room(n + 2 * CANARY);
            uint8_t *got = room(n + 2 * CANARY);
            const uint8_t *const rows[3] = { from + step, from + stride + step,
                                             from + 2 * stride + step };
            const int32_t factor = amounts[op_next(&seed) % AMOUNTS];
            noise(from, 3 * stride, &seed);
            if (n % 5 == 0)
                memset(from, 255, 3 * stride);
            memset(want, 0xa5, n + 2 * CANARY);
            memset(got, 0xa5, n + 2 * CANARY);
            leat_color_loops_c.sharpen(want + CANARY, rows, n, step, factor);
            leat_color_loops_level(level)->sharpen(got + CANARY, rows, n, step, factor);
            assert_memory_equal(got, want, n + 2 * CANARY);
            free(from);
            free(want);
            free(got);
        }
}

/* The vectors' division of sums by 13. */
TEST(thirteenths_are_exact)
{
    for (uint32_t sum = 0; sum <= 13 * 255 + 6; sum++)
        assert_int_equal(sum * 5042 >> 16, sum / 13);
}
