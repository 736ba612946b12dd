/* SPDX-License-Identifier: MIT
 *
 * test_stage_map.c: which tensor a map works on if none is named. */
#include "fixtures/engine_fixture.h"
#include "pipeline/plan/plan_impl.h"

/* Two tensors, and a map of samples and one of batches. */
static leat_plan *make_plan(const char *first, const char *second)
{
    static float labels[4 * 2], pixels[4 * 2];
    const leat_shape shape = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 2 });
    const leat_rows rows[] = { { first, shape, labels }, { second, shape, pixels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, 4, rows, 2);
    leat_builder_stage(builder, "map", "[{reshape: [2, 1]}]");
    leat_builder_stage(builder, "batch", "4");
    leat_builder_stage(builder, "map", "[{mixup: {alpha: 1, label: none}}]");
    return plan_of_builder(builder);
}

/* `image` if there is one, wherever it stands; else the first. */
TEST(a_map_works_on_the_image)
{
    static const struct {
        const char *first, *second;
        int worked_on;
    } cases[] = { { "label", "image", 1 }, { "image", "label", 0 }, { "label", "pixels", 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = make_plan(cases[i].first, cases[i].second);
        for (int t = 0; t < 2; t++)
            assert_int_equal(leat_plan_tensor(plan, t)->shape.rank,
                             t == cases[i].worked_on ? 2 : 1);
        assert_int_equal(plan->batch_ops[0].chain, cases[i].worked_on);
        leat_plan_close(&plan);
    }
}
