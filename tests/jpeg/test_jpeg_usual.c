/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_usual.c: the usual Huffman tables are those that libjpeg-turbo writes, are found in its files, and are what
 * building them again gives. */
#include "fixtures/jpeg_fixture.h"

#include "ops/jpeg/huffman/jpeg_usual.h"

static void libjpeg_writes_them(void **state)
{
    const reference_picture p = {
        .width = 40, .height = 30, .channels = 3, .h = 2, .v = 2, .quality = 80
    };
    uint8_t *data;
    leat_jpeg jpeg;
    (void)state;
    const size_t size = reference_encode(&p, 1, &data);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (int i = 0; i < 3; i++)
        for (int kind = LEAT_JPEG_DC; kind < LEAT_JPEG_N_TABLES; kind++) {
            const leat_jpeg_component *const c = &jpeg.component[i];
            const leat_jpeg_table *const found =
                leat_jpeg_usual_find(kind, kind == LEAT_JPEG_DC ? c->dc : c->ac);
            assert_non_null(found);
            assert_ptr_equal(found, leat_jpeg_usual_find(kind, kind == LEAT_JPEG_DC
                                                                   ? leat_jpeg_usual_dc[i > 0]
                                                                   : leat_jpeg_usual_ac[i > 0]));
        }
    free(data);
}

static void they_are_what_building_gives(void **state)
{
    static leat_jpeg_table built, skip;
    (void)state;
    for (int level = 0; level < N_LEVELS; level++) {
        const leat_jpeg_dsp *const dsp = leat_jpeg_dsp_at(level);
        for (int i = 0; dsp && i < LEAT_JPEG_N_USUAL; i++) {
            const leat_jpeg_table *found =
                leat_jpeg_usual_find(LEAT_JPEG_DC, leat_jpeg_usual_dc[i]);
            assert_int_equal(leat_jpeg_table_build(&built, leat_jpeg_usual_dc[i], 1, dsp), 0);
            assert_memory_equal(found->fast, built.fast, sizeof built.fast);
            assert_memory_equal(found->limit, built.limit, sizeof built.limit);
            found = leat_jpeg_usual_find(LEAT_JPEG_AC, leat_jpeg_usual_ac[i]);
            assert_int_equal(leat_jpeg_table_build(&built, leat_jpeg_usual_ac[i], 0, dsp), 0);
            assert_memory_equal(found->fast, built.fast, sizeof built.fast);
            assert_memory_equal(found->symbols, built.symbols, 162);
            leat_jpeg_table_join(&skip, &built, dsp);
            found = leat_jpeg_usual_find(LEAT_JPEG_SKIP, leat_jpeg_usual_ac[i]);
            assert_memory_equal(found->fast, skip.fast, sizeof skip.fast);
        }
    }
}

/* A table that differs in any byte is another one; the last symbol ends an allocation, so that reads beyond show. */
static void others_are_not_found(void **state)
{
    (void)state;
    for (int i = 0; i < LEAT_JPEG_N_USUAL; i++)
        for (size_t at = 0; at < sizeof *leat_jpeg_usual_ac; at++) {
            uint8_t *spec = malloc(sizeof *leat_jpeg_usual_ac);
            memcpy(spec, leat_jpeg_usual_ac[i], sizeof *leat_jpeg_usual_ac);
            spec[at] ^= 1;
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_AC, spec));
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_SKIP, spec));
            free(spec);
        }
    for (int i = 0; i < LEAT_JPEG_N_USUAL; i++)
        for (size_t at = 0; at < sizeof *leat_jpeg_usual_dc; at++) {
            uint8_t *spec = malloc(sizeof *leat_jpeg_usual_dc);
            memcpy(spec, leat_jpeg_usual_dc[i], sizeof *leat_jpeg_usual_dc);
            spec[at] ^= 1;
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_DC, spec));
            free(spec);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libjpeg_writes_them),
        cmocka_unit_test(they_are_what_building_gives),
        cmocka_unit_test(others_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
