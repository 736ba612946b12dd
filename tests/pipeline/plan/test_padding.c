/* SPDX-License-Identifier: MIT
 *
 * test_padding.c: one sample in a row that is larger, or smaller, against a plain loop. */
#include "fixtures/engine_fixture.h"

#include "pipeline/plan/padding.h"

/* Element at a place of a tensor of int32, by counting. */
static int64_t flat(const leat_shape *shape, const int64_t *at)
{
    int64_t k = 0;
    for (int32_t d = 0; d < shape->rank; d++)
        k = k * shape->dims[d] + at[d];
    return k;
}

static bool step(const leat_shape *shape, int64_t *at)
{
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (++at[d] < shape->dims[d])
            return true;
        at[d] = 0;
    }
    return false;
}

TEST(rows_of_any_rank)
{
    static int32_t in[5 * 5 * 5 * 5], row[7 * 7 * 7 * 7];
    for (uint64_t c = 0; c < 4000; c++) {
        leat_rng rng = leat_rng_make(3, c, 0, 0);
        leat_pad pad = { .on = true, .truncate = leat_rng_below(&rng, 2) };
        leat_shape from, to;
        int64_t lengths[4] = { -1, -1, -1, -1 }, at[LEAT_MAX_RANK] = { 0 };
        bool larger = false;
        leat_error err;
        const int32_t value = leat_rng_below(&rng, 2) ? 0x01020304 : -1;
        int32_t k = 0;
        from.rank = to.rank = 1 + (int32_t)leat_rng_below(&rng, 4);
        from.dtype = to.dtype = LEAT_I32;
        pad.from = from;
        for (int32_t d = 0; d < from.rank; d++) {
            from.dims[d] = leat_rng_below(&rng, 6);
            to.dims[d] = 1 + leat_rng_below(&rng, 7);
            pad.from.dims[d] = leat_rng_below(&rng, 3) ? LEAT_UNKNOWN_DIM : from.dims[d];
            larger = larger || from.dims[d] > to.dims[d];
        }
        memcpy(pad.value, &value, sizeof value);
        for (int i = 0; i < 625; i++)
            in[i] = i + 1;
        memset(row, 0x55, sizeof row);
        const int rc = leat_padding_row(&pad, &(leat_view){ .shape = from, .data = in }, &to,
                                        (uint8_t *)row, lengths, &err);
        if (larger && !pad.truncate) {
            assert_int_equal(rc, LEAT_E_DATA);
            assert_non_null(strstr(err.message, "write truncate: true"));
            continue;
        }
        assert_int_equal(rc, LEAT_OK);
        do {
            bool inside = true;
            for (int32_t d = 0; d < to.rank; d++)
                inside = inside && at[d] < from.dims[d];
            assert_int_equal(row[flat(&to, at)], inside ? in[flat(&from, at)] : value);
        } while (step(&to, at));
        assert_int_equal(row[leat_shape_elements(&to)], 0x55555555);
        for (int32_t d = 0; d < to.rank; d++)
            if (leat_padding_differs(&pad, &to, d))
                assert_int_equal(lengths[k++],
                                 from.dims[d] < to.dims[d] ? from.dims[d] : to.dims[d]);
        assert_true(k == 4 || lengths[k] == -1);
    }
}

TEST(what_is_odd_is_refused)
{
    const int64_t dims[] = { LEAT_UNKNOWN_DIM, 4 }, room[] = { 5, 4 }, odd[] = { 2, 3 };
    const leat_pad pad = { .on = true, .from = leat_shape_make(LEAT_F32, 2, dims) };
    const leat_shape to = leat_shape_make(LEAT_F32, 2, room);
    float in[20] = { 0 }, row[20];
    int64_t length;
    leat_error err;
    leat_view view = { .shape = leat_shape_make(LEAT_F32, 2, odd), .data = in };
    assert_int_equal(leat_padding_row(&pad, &view, &to, (uint8_t *)row, &length, &err),
                     LEAT_E_DATA);
    assert_string_equal(err.message, "is float32[2, 3] where rows are made of float32[?, 4]");
    view.shape = leat_shape_make(LEAT_F32, 1, odd);
    assert_int_equal(leat_padding_row(&pad, &view, &to, (uint8_t *)row, &length, &err),
                     LEAT_E_DATA);
    assert_string_equal(err.message, "is float32[2] where rows hold float32[5, 4]");
}
