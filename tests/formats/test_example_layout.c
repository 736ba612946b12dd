/* SPDX-License-Identifier: MIT
 *
 * test_example_layout.c: messages that are built alike are found by layout, and only those. */
#include "fixtures/example_oracle.h"
#include "fixtures/format_test.h"
#include "fixtures/random_example.h"

/* Messages that are built alike are found by layout; most single bytes that change are in values. */
static void layouts_find_what_the_scan_finds(void **state)
{
    wire *example = malloc(sizeof *example);
    size_t n_same = 0;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        make_random_example(example);
        n_same += oracle_layout(example->bytes, example->size);
    }
    assert_true(n_same > 1000);
    free(example);
}

/* Values may differ, also in what nobody asked for; sizes and names may not. */
static void a_layout_is_for_messages_of_one_kind(void **state)
{
    const leat_feature_key keys[] = { { "x", 1 }, { "id", 2 } };
    const float x[] = { 1, 2, 3 }, y[] = { -1, 7, 5e9f };
    const struct {
        const float *x;
        int64_t id, other;
        const char *name;
        bool same;
    } cases[] = { { x, 5, 9, "x", true },    { y, 127, 100, "x", true }, { y, 0, 0, "x", true },
                  { x, 128, 9, "x", false }, { x, 5, 128, "x", false },  { x, 5, 9, "z", false } };
    leat_example_builder *builder = leat_example_builder_open();
    leat_example_layout layout = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *bytes;
        size_t size;
        leat_feature found[2];
        float values[3];
        int64_t id;
        leat_example_builder_clear(builder);
        leat_example_add_floats(builder, cases[i].name, cases[i].x, 3, NULL);
        leat_example_add_int64s(builder, "other", &cases[i].other, 1, NULL);
        leat_example_add_int64s(builder, "id", &cases[i].id, 1, NULL);
        assert_int_equal(leat_example_builder_pack(builder, &bytes, &size, NULL), 0);
        if (i == 0)
            leat_example_layout_make(bytes, size, keys, 2, &layout);
        assert_int_equal(leat_example_layout_match(&layout, bytes, size, found), cases[i].same);
        if (!cases[i].same)
            continue;
        assert_int_equal(leat_feature_floats(&found[0], values, 3, NULL), 0);
        assert_memory_equal(values, cases[i].x, sizeof values);
        assert_int_equal(leat_feature_int64s(&found[1], &id, 1, NULL), 0);
        assert_int_equal(id, cases[i].id);
    }
    leat_example_builder_close(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_find_what_the_scan_finds),
        cmocka_unit_test(a_layout_is_for_messages_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
