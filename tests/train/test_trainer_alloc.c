/* SPDX-License-Identifier: MIT
 *
 * Opening a trainer with every allocation failing once: each time "out of memory", nothing lost
 * (the address sanitizer tells), and the next try works. */
#include "fixtures/train_fixture.h"

#include "fixtures/failing_malloc.h"

TEST(every_failed_allocation_is_reported)
{
    static const char text[] =
        "train: {device: sim, model: [conv2d: {filters: 4}, batch_norm, relu, max_pool: 2, "
        "dropout: 0.5, flatten, dense: 3], loss: softmax_cross_entropy, optimizer: adam}";
    const leat_trainer_feed feed = { .input = leat_shape_make(LEAT_F32, 3, (int64_t[]){ 8, 8, 3 }),
                                     .target = leat_shape_make(LEAT_I64, 0, NULL),
                                     .batch_size = 4 };
    fixture f = { 0 };
    long n = 0;
    assert_int_equal(leat_config_parse(text, "test.yaml", &f.config, &f.err), LEAT_OK);
    assert_int_equal(leat_trainer_open_device(f.config, &f.device, &f.err), LEAT_OK);
    for (;; n++) {
        failing_malloc_at(n);
        const int rc = leat_trainer_open_feed(f.config, &feed, f.device, &f.trainer, &f.err);
        if (!failing_malloc_hit())
            break;
        assert_int_equal(rc, LEAT_E_NOMEM);
        assert_int_equal(f.err.code, LEAT_E_NOMEM);
        assert_null(f.trainer);
    }
    assert_non_null(f.trainer);
    assert_true(n > 10);
    fixture_close(&f);
}
