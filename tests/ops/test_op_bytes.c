/* SPDX-License-Identifier: MIT
 *
 * test_op_bytes.c: ops on uint8 images give the same bytes with every compiler, build type and CPU
 * level: the hash of their results on generated images is a constant in this file. If it changes, users
 * train on other data: say so in the changelog. */
#include "fixtures/op_test.h"

#include <stdbool.h>

#include <xxhash.h>

#include "base/cpu.h"

enum { N_IMAGES = 150 };

static const struct {
    const char *op, *option, *value;
    uint64_t hash;
} cases[] = {
    { "random_rotation", "degrees", "180", 0xf599004cd2f13392 },
    { "random_erasing", "p", "0.9", 0x353e4e605a93ea9d },
    { "pad", "pixels", "[3, 4, 5, 6]", 0xb9da265ffa2da11f },
    { "random_saturation", "upper", "2", 0xddf52a57ff63db15 },
    { "random_hue", "max_delta", "0.5", 0xb8aed6a5908c9c05 },
    { "color_jitter", "hue", "0.3", 0xef89e59b2db6a254 },
    { "color_jitter", "contrast", "0.9", 0x7b69e5e0cf06ca9c },
    { "grayscale", "channels", "1", 0xea3e49431ede0d64 },
    { "rand_augment", "ops", "5", 0x62df9ba91aefe805 },
    { "rand_augment", "interpolation", "bilinear", 0xf33d4b88fb4e02c5 },
    { "trivial_augment", "bins", "31", 0x03047119759d8f36 },
    { "resize", "interpolation", "nearest", 0x020be8a9589329c1 },
    { "resize", "interpolation", "bicubic", 0xc81cc7f320f3fb7b },
    { "resize", "interpolation", "lanczos", 0x23e1b82884a8f767 },
    { "normalize", "dtype", "float16", 0x33192257d4d53fb6 },
    { "normalize", "dtype", "bfloat16", 0xbf78952b073f3eb4 },
    { "normalize", "layout", "channels_first", 0x57dbaf66faec468b },
    { "layout", "to", "channels_first", 0x63c3c7db9bad85fd },
    { "scale", "factor", "0.0078125", 0x5dbfeb2fbf07e399 },
};

static uint64_t hash_of(const char *op, const void *options)
{
    XXH3_state_t *hash = XXH3_createState();
    assert_non_null(hash);
    XXH3_64bits_reset(hash);
    for (uint64_t i = 0; i < N_IMAGES; i++) {
        leat_view in = op_drawing(9 + (int64_t)(i % 23), 40 - (int64_t)(i % 31), 3);
        op_result r = op_run_ok(op, options, in, i);
        XXH3_64bits_update(hash, r.out.data, (size_t)leat_shape_bytes(&r.out.shape));
        free(r.out.data);
        free(in.data);
    }
    const uint64_t digest = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return digest;
}

TEST(bytes_are_constants)
{
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int level = 0; level <= leat_cpu_best(); level++) {
            const bool is_resize = !strcmp(cases[i].op, "resize");
            void *options = op_options(leat_op_find(cases[i].op), cases[i].option, cases[i].value,
                                       is_resize ? "size" : NULL, "[15, 21]", NULL);
            leat_cpu_use(level);
            const uint64_t hash = hash_of(cases[i].op, options);
            if (hash != cases[i].hash)
                print_error("%s, %s %s, at %s: 0x%016llx\n", cases[i].op, cases[i].option,
                            cases[i].value, leat_cpu_name(level), (unsigned long long)hash);
            n_wrong += hash != cases[i].hash;
            free(options);
        }
    leat_cpu_use(leat_cpu_best());
    assert_int_equal(n_wrong, 0);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
