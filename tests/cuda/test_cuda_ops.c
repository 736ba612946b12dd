/* SPDX-License-Identifier: MIT
 *
 * The arithmetic and the indexing of the kernels, run thread by thread on a fake GPU, against the C
 * that defines every op. */
#include "fixtures/cuda_fixture.h"
#include "gpu/gpu_cases.h"

FAKE_GPU

TEST(kernels_give_what_apply_gives)
{
    gpu_run run = { .seed = 11, .effort = 84 };
    leat_error err;
    fake->reset(1);
    check(leat_device_open("cuda:0", &run.device, &err), &err);
    const gpu_verdict verdict = gpu_case_ops(&run);
    printf("%s\n", run.text);
    assert_int_equal(verdict, GPU_PASSED);
    assert_non_null(strstr(run.text, " 0 rows differ"));
    leat_device_close(&run.device);
    check_fake(fake);
}

/* An op says that it has a kernel exactly if it has one. */
TEST(flags_and_list_agree)
{
    leat_device *device;
    leat_error err;
    check(leat_device_open("cuda:0", &device, &err), &err);
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        const leat_shape image = { LEAT_U8, 3, { 4, 4, 3 } };
        const leat_device_op one = { .name = (*op)->name, .in = image, .out = image };
        const leat_device_chain chain = { .ops = &one, .n_ops = 1, .draws = 64, .to = 128 };
        const leat_device_ops_spec spec = { &chain, 1, 1, 256, 1, NULL };
        leat_device_ops *ops = NULL;
        const int rc = device->table->ops_open(device, &spec, &ops, &err);
        assert_int_equal(rc, (*op)->flags & LEAT_OP_KERNEL ? LEAT_OK : LEAT_E_UNSUPPORTED);
        device->table->ops_close(ops);
    }
    leat_device_close(&device);
    check_fake(fake);
}
