/* SPDX-License-Identifier: MIT
 *
 * test_config_copy.c: a copy has all values and is one's own. */
#include "config_fixture.h"
#include "failing_malloc.h"

static void assert_same(const leat_node *a, const leat_node *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->quoted, b->quoted);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->key_line, b->key_line);
    assert_int_equal(a->key_column, b->key_column);
    assert_ptr_not_equal(a, b);
    assert_string_equal(a->file, b->file);
    assert_string_equal(a->key ? a->key : "none", b->key ? b->key : "none");
    assert_string_equal(a->text ? a->text : "none", b->text ? b->text : "none");
    const leat_node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        assert_same(x, y);
    assert_true(!x && !y);
}

static void a_copy_is_the_same_and_its_own(void **state)
{
    (void)state;
    leat_config *config, *copy;
    char text[64];
    assert_int_equal(leat_config_parse(config_sample, "sample.yaml", &config, NULL), LEAT_OK);
    assert_int_equal(leat_config_set(config, "pipeline.batch.drop_remainder=true", NULL), LEAT_OK);
    assert_int_equal(leat_config_copy(config, &copy, NULL), LEAT_OK);
    assert_same(leat_config_root(config), leat_config_root(copy));
    assert_int_equal(leat_config_set(copy, "pipeline.prefetch.batches=7", NULL), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline.prefetch.batches", text, sizeof text, NULL),
                     LEAT_OK);
    assert_string_equal(text, "2");
    leat_config_close(&config); /* the copy needs nothing of it */
    assert_int_equal(leat_config_get(copy, "pipeline.prefetch.batches", text, sizeof text, NULL),
                     LEAT_OK);
    assert_string_equal(text, "7");
    assert_string_equal(leat_node_find(leat_config_root(copy), "source")->file, "sample.yaml");
    leat_config_close(&copy);
}

static void without_memory_there_is_no_copy(void **state)
{
    (void)state;
    leat_config *config, *copy = NULL;
    leat_error err;
    int rc = LEAT_OK;
    long n = 0;
    assert_int_equal(leat_config_parse(config_sample, "sample.yaml", &config, NULL), LEAT_OK);
    for (; failing_malloc_at(n), rc = leat_config_copy(config, &copy, &err), failing_malloc_hit();
         n++) {
        assert_int_equal(rc, LEAT_E_NOMEM);
        assert_null(copy);
    }
    assert_true(n >= 2);
    assert_int_equal(rc, LEAT_OK);
    leat_config_close(&copy);
    leat_config_close(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_the_same_and_its_own),
        cmocka_unit_test(without_memory_there_is_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
