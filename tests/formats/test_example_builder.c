/* SPDX-License-Identifier: MIT
 *
 * test_example_builder.c: what is built is what protobuf-c's reader reads; what cannot be built is refused. */
#include "fixtures/example_oracle.h"
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"

static int build(leat_example_builder *builder, const uint8_t **out, size_t *size,
                 leat_format_error *err)
{
    static const int64_t labels[] = { 3, -1, INT64_MAX, INT64_MIN };
    static const float weights[] = { 0.5f, -1e30f };
    static const leat_example_value texts[] = { { "one", 3 }, { "", 0 }, { "three", 5 } };
    leat_example_builder_clear(builder);
    int rc = leat_example_add_bytes(builder, "image/encoded", "\xff\xd8\0x", 4, err);
    rc = rc < 0 ? rc : leat_example_add_int64s(builder, "labels", labels, 4, err);
    rc = rc < 0 ? rc : leat_example_add_floats(builder, "weights", weights, 2, err);
    rc = rc < 0 ? rc : leat_example_add_bytes_list(builder, "texts", texts, 3, err);
    rc = rc < 0 ? rc : leat_example_add_bytes_list(builder, "no texts", NULL, 0, err);
    rc = rc < 0 ? rc : leat_example_add_int64s(builder, "no labels", NULL, 0, err);
    rc = rc < 0 ? rc : leat_example_add_floats(builder, "no weights", NULL, 0, err);
    return rc < 0 ? rc : leat_example_builder_pack(builder, out, size, err);
}

TEST(built_is_what_was_added)
{
    leat_example_builder *builder = leat_example_builder_open();
    const uint8_t *bytes, *first;
    size_t size, first_size;
    assert_int_equal(build(builder, &bytes, &size, NULL), LEAT_FORMAT_OK);
    first_size = size;
    first = copy_of(bytes, size);
    assert_int_equal(oracle_check(bytes, size), 1);
    Leat__Example *read = leat__example__unpack(NULL, size, bytes);
    assert_non_null(read);
    assert_int_equal(read->features->n_feature, 7);
    Leat__FeatureEntry **f = read->features->feature;
    assert_string_equal(f[0]->key, "image/encoded");
    assert_int_equal(f[0]->value->bytes_list->value[0].len, 4);
    assert_string_equal(f[1]->key, "labels");
    assert_true(f[1]->value->int64_list->value[3] == INT64_MIN);
    assert_true(f[2]->value->float_list->value[1] == -1e30f);
    assert_int_equal(f[3]->value->bytes_list->n_value, 3);
    assert_memory_equal(f[3]->value->bytes_list->value[2].data, "three", 5);
    assert_int_equal(f[4]->value->kind_case, LEAT_FEATURE_BYTES);
    assert_int_equal(f[5]->value->kind_case, LEAT_FEATURE_INT64);
    assert_int_equal(f[6]->value->kind_case, LEAT_FEATURE_FLOAT);
    leat__example__free_unpacked(read, NULL);
    assert_int_equal(build(builder, &bytes, &size, NULL), LEAT_FORMAT_OK);
    assert_int_equal(size, first_size);
    assert_memory_equal(bytes, first, size);
    leat_example_builder_clear(builder);
    assert_int_equal(leat_example_builder_pack(builder, &bytes, &size, NULL), LEAT_FORMAT_OK);
    assert_int_equal(oracle_check(bytes, size), 1);
    free((void *)(uintptr_t)first);
    leat_example_builder_close(&builder);
    leat_example_builder_close(&builder);
}

TEST(builder_refuses)
{
    leat_example_builder *builder = leat_example_builder_open();
    leat_format_error err;
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(leat_example_add_bytes(builder, "a", "x", 1, &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_example_add_floats(builder, "a", NULL, 0, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "\"a\" was added twice"));
    leat_example_builder_clear(builder);
    assert_int_equal(leat_example_add_bytes(builder, "a", "x", (size_t)3 << 30, &err),
                     LEAT_FORMAT_OK); /* never read: it is too large to be packed */
    assert_int_equal(leat_example_builder_pack(builder, &bytes, &size, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "2 GiB"));
    leat_example_builder_close(&builder);
}

static int build_once(void)
{
    const uint8_t *bytes;
    size_t size;
    leat_example_builder *builder = leat_example_builder_open();
    const int rc = builder ? build(builder, &bytes, &size, NULL) : LEAT_FORMAT_NOMEM;
    leat_example_builder_close(&builder);
    return rc;
}

TEST(memory_runs_out)
{
    int rc;
    long n;
    for (n = 0; failing_malloc_at(n), rc = build_once(), failing_malloc_hit(); n++)
        assert_int_equal(rc, LEAT_FORMAT_NOMEM);
    assert_int_equal(rc, LEAT_FORMAT_OK);
    assert_int_equal(n, 1 + 7 * 3 + 1 + 1); /* builder, features, three texts, the message */
}
