/* SPDX-License-Identifier: MIT
 *
 * fuzz_feature.c: `features` of a TFRecord source as a config gives them (types, shapes, defaults), for an example that
 * has some of them, and for one that has none. Every refusal has a message, and the views have the shapes that the
 * plan was told. */
#include <stdint.h>
#include <string.h>

#include "base/scratch.h"
#include "config/node.h"
#include "formats/example.h"
#include "fuzz_target.h"
#include "pipeline/source/tfrecord_features.h"

enum { TEXT_BYTES = 1024, SCRATCH_BYTES = 1 << 16 };

static leat_scratch *scratch;
static const uint8_t *example;
static size_t example_size;

/* An example with a list of each kind. */
static void make_example(void)
{
    static const int64_t integers[] = { 1, -2, 3, -4, 5, -6 };
    static const float floats[] = { 0.5f, 1.5f };
    leat_format_error err;
    leat_example_builder *builder = leat_example_builder_open();
    const uint8_t *bytes;
    EXPECT(builder);
    EXPECT(leat_example_add_int64s(builder, "i", integers, 6, &err) == 0);
    EXPECT(leat_example_add_floats(builder, "f", floats, 2, &err) == 0);
    EXPECT(leat_example_add_bytes(builder, "b", "word", 4, &err) == 0);
    EXPECT(leat_example_builder_pack(builder, &bytes, &example_size, &err) == 0);
    uint8_t *const copy = malloc(example_size);
    EXPECT(copy);
    memcpy(copy, bytes, example_size);
    example = copy;
    leat_example_builder_close(&builder);
    EXPECT(leat_scratch_open(&scratch, SCRATCH_BYTES, NULL) == LEAT_OK);
}

/* Reads an example by the features that were chosen. */
static void read_example(const leat_tfrecord_features *f, const uint8_t *bytes, size_t size)
{
    leat_feature found[LEAT_MAX_FEATURES];
    leat_view views[LEAT_MAX_FEATURES];
    leat_error err = { 0 };
    const size_t n = (size_t)f->base->n_features;
    leat_scratch_reset(scratch);
    memset(found, 0, sizeof found);
    EXPECT(leat_example_scan(bytes, size, f->keys, n, found, NULL) == 0);
    const int rc = leat_tfrecord_features_view(f, found, scratch, views, &err);
    EXPECT(rc == LEAT_OK || (err.code == rc && err.message[0]));
    for (size_t i = 0; rc == LEAT_OK && i < n; i++) {
        const leat_shape *const told = &f->base->features[i].shape;
        EXPECT(views[i].shape.rank == told->rank && views[i].shape.dtype == told->dtype);
        for (int32_t d = 0; d < told->rank; d++)
            EXPECT(told->dims[d] == LEAT_UNKNOWN_DIM || told->dims[d] == views[i].shape.dims[d]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static leat_tfrecord_features f;
    static leat_source base;
    char text[TEXT_BYTES];
    leat_config *config;
    leat_error err = { 0 };
    if (size >= sizeof text)
        return 0;
    if (!example)
        make_example();
    memcpy(text, data, size);
    text[size] = 0;
    if (leat_config_parse(text, "features", &config, &err) < 0)
        return 0;
    const leat_tfrecord_example by = { example, example_size, "a record" };
    memset(&f, 0, sizeof f);
    memset(&base, 0, sizeof base);
    const leat_node *const root = leat_config_root(config);
    const int rc = leat_tfrecord_features_open(&f, &base, root, &by, root, &err);
    EXPECT(rc == LEAT_OK || (err.code == rc && err.message[0]));
    if (rc == LEAT_OK) {
        read_example(&f, example, example_size);
        read_example(&f, (const uint8_t *)"", 0);
    }
    leat_config_close(&config);
    return 0;
}
