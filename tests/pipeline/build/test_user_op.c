/* SPDX-License-Identifier: MIT
 *
 * test_user_op.c: ops that a C program adds to a pipeline: what is taken, and what is refused with which
 * words. */
#include "fixtures/unit.h"
#include "leat/leat.h"

static int same_shape(const void *options, const leat_shape *in, leat_shape *out, leat_error *err)
{
    *out = *in;
    return LEAT_OK;
}

static int copy(const void *options, const leat_draw *plan, const leat_view *in,
                const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static int refuse_all(const void *options, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_fail(err, LEAT_E_CONFIG, "wants something else");
}

static int build_with(const leat_op *op, const char *map, uint64_t n, leat_plan **plan,
                      leat_error *err)
{
    static const float rows[4];
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 0, NULL), rows };
    leat_builder *builder = leat_builder_open();
    assert_non_null(builder);
    leat_builder_rows(builder, n, &x, 1);
    if (op)
        leat_builder_op(builder, op);
    if (map)
        leat_builder_stage(builder, "map", map);
    leat_builder_stage(builder, "batch", "2");
    const int rc = leat_builder_plan(builder, plan, err);
    leat_builder_close(&builder);
    return rc;
}

TEST(ops_of_the_user)
{
    const leat_op bare = { .name = "same", .shape = same_shape, .apply = copy };
    const leat_op no_apply = { .name = "same", .shape = same_shape };
    const leat_op no_shape = { .name = "same", .apply = copy };
    const leat_op refusing = { .name = "never", .shape = refuse_all, .apply = copy };
    leat_plan *plan;
    leat_error err = { 0 };
    assert_int_equal(build_with(&bare, "same", 4, &plan, &err), LEAT_OK);
    leat_plan_close(&plan);
    assert_int_equal(build_with(&bare, "{ops: [{same: {size: 1}}]}", 4, &plan, &err),
                     LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "op 'same' takes no options"));
    assert_int_equal(build_with(&bare, "sam", 4, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "there is no op 'sam'; did you mean 'same'?"));
    assert_int_equal(build_with(&no_apply, "same", 4, &plan, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "op 'same' has no apply function"));
    assert_int_equal(build_with(&no_shape, "same", 4, &plan, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "op 'same' has no shape function"));
    assert_int_equal(build_with(&refusing, "never", 4, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "op 'never': wants something else"));
    assert_int_equal(build_with(NULL, NULL, 0, &plan, &err), LEAT_E_DATA);
    assert_string_equal(err.message, "the source has no records");
}
