/* SPDX-License-Identifier: MIT
 *
 * test_user_op.c: ops and sources that a C program gives to a builder: what is taken, and what is refused with which
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

static int refuse_at_end(const void *options, const leat_shape *in, leat_shape *out,
                         leat_error *err)
{
    return LEAT_E_END;
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
    const leat_op mute = { .name = "mute", .shape = refuse_at_end, .apply = copy };
    assert_int_equal(build_with(&mute, "mute", 4, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "op 'mute': it failed with code "));
    assert_non_null(strstr(err.message, "and no message"));
    assert_int_equal(build_with(NULL, NULL, 0, &plan, &err), LEAT_E_DATA);
    assert_string_equal(err.message, "the source has no records");
}

/* Gives what the options say. */
typedef struct gives {
    int64_t dtype, rank;
} gives;

static const leat_option gives_options[] = { LEAT_OPTION_I64(gives, dtype, "0", -9, 99, "its type"),
                                             LEAT_OPTION_I64(gives, rank, "0", -9, 99, "its rank"),
                                             LEAT_OPTION_END };

static int give(const void *options, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const gives *const o = options;
    *out = (leat_shape){ .dtype = (leat_dtype)o->dtype, .rank = (int32_t)o->rank };
    return LEAT_OK;
}

TEST(an_op_gives_a_tensor_of_a_type_and_rank)
{
    const leat_op op = { .name = "give",
                         .options_size = sizeof(gives),
                         .options = gives_options,
                         .shape = give,
                         .apply = copy };
    static const char *const wrong[] = { "{ops: [{give: {dtype: 6}}]}",
                                         "{ops: [{give: {dtype: -1}}]}",
                                         "{ops: [{give: {rank: 7}}]}",
                                         "{ops: [{give: {rank: -1}}]}" };
    leat_plan *plan;
    leat_error err;
    assert_int_equal(build_with(&op, "{ops: [{give: {dtype: 5}}]}", 4, &plan, &err), LEAT_OK);
    leat_plan_close(&plan);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(build_with(&op, wrong[i], 4, &plan, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "op 'give' gives a tensor of type "));
    }
}

TEST(options_lie_within_their_size)
{
    leat_option rows[2] = { gives_options[1], LEAT_OPTION_END };
    leat_op op = { .name = "give", .options = rows, .shape = give, .apply = copy };
    leat_plan *plan;
    leat_error err;
    for (size_t size = 0; size < sizeof(gives); size += size < 8 ? 8 : 1) {
        op.options_size = size;
        assert_int_equal(build_with(&op, "give", 4, &plan, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "leat_builder_op: op 'give': options_size is "));
    }
    op.options_size = sizeof(gives);
    assert_int_equal(build_with(&op, "give", 4, &plan, &err), LEAT_OK);
    leat_plan_close(&plan);
    rows[0].offset = SIZE_MAX;
    assert_int_equal(build_with(&op, "give", 4, &plan, &err), LEAT_E_ARGUMENT);
    rows[0] = gives_options[1];
    rows[0].type = LEAT_OPTION_TYPE_END;
    assert_int_equal(build_with(&op, "give", 4, &plan, &err), LEAT_E_ARGUMENT);
    op.name = NULL;
    assert_int_equal(build_with(&op, NULL, 4, &plan, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "leat_builder_op: op must be given, with a name"));
}

enum { NARROW = 64 };

static int widen_shape(const void *options, const leat_shape *in, leat_shape *out, leat_error *err)
{
    *out = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 2 * in->dims[0] });
    return LEAT_OK;
}

/* From the last value backwards, so that it may write over its input. */
static int widen(const void *options, const leat_draw *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    for (int64_t i = out->shape.dims[0]; i-- > 0;)
        ((float *)out->data)[i] = ((const float *)in->data)[i / 2];
    return LEAT_OK;
}

static int add_one(const void *options, const leat_draw *plan, const leat_view *in,
                   const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    for (int64_t i = 0; i < out->shape.dims[0]; i++)
        ((float *)out->data)[i] = ((const float *)in->data)[i] + 1;
    return LEAT_OK;
}

/* An output that is larger than its input is not written over it: the memory behind is of the next op. */
TEST(an_op_in_place_may_widen)
{
    static float row[NARROW];
    const leat_op plus = { .name = "plus", .shape = same_shape, .apply = add_one };
    const leat_op wide = {
        .name = "wide", .flags = LEAT_OP_IN_PLACE, .shape = widen_shape, .apply = widen
    };
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, (int64_t[]){ NARROW }), row };
    leat_builder *builder = leat_builder_open();
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    for (int i = 0; i < NARROW; i++)
        row[i] = (float)i;
    leat_builder_rows(builder, 1, &x, 1);
    leat_builder_op(builder, &plus);
    leat_builder_op(builder, &wide);
    leat_builder_stage(builder, "map", "[plus, wide, plus, wide, plus, plus]");
    leat_builder_stage(builder, "batch", "1");
    assert_int_equal(leat_builder_plan(builder, &plan, &err), LEAT_OK);
    leat_builder_close(&builder);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_OK);
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_OK);
    const float *const got = leat_batch_tensor(batch, 0).data;
    for (int i = 0; i < 4 * NARROW; i++)
        assert_true(got[i] == row[i / 4] + 4);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

TEST(a_builder_has_one_source)
{
    static const float values[4];
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 0, NULL), values };
    for (int first = 0; first < 2; first++)
        for (int second = 0; second < 2; second++) {
            leat_builder *builder = leat_builder_open();
            leat_plan *plan;
            leat_error err;
            for (int call = 0; call < 2; call++)
                if (call ? second : first)
                    leat_builder_rows(builder, 4, &x, 1);
                else
                    leat_builder_source(builder, "npy", "{files: no.npy, name: x}");
            leat_builder_stage(builder, "batch", "2");
            assert_int_equal(leat_builder_plan(builder, &plan, &err), LEAT_E_ARGUMENT);
            assert_non_null(strstr(err.message, second ? "leat_builder_rows: the builder has"
                                                       : "leat_builder_source: the builder has"));
            leat_builder_close(&builder);
        }
}
