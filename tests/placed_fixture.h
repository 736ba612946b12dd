/* SPDX-License-Identifier: MIT
 *
 * placed_fixture.h: what tests of `device: auto` over the fake GPU share: a plan whose ops may run on
 * either side, costs to plant, and the bytes of its batches. */
#ifndef PLACED_FIXTURE_H
#define PLACED_FIXTURE_H

#include "cuda_fixture.h"
#include "placed.h"

enum { RECORDS = 43, SIDE = 9, PIXELS = SIDE * SIDE * 3, IMAGE_OPS = 4 };

typedef struct placed_wish {
    const char *engine;
    const char *prefetch; /* NULL: 2 */
    const char *on_error; /* NULL: not written; else record 17 fails, on the CPU */
    const char *file;     /* NULL: records are in memory; else x floats of write_records() */
} placed_wish;

static inline void add_memory(leat_builder *b, const placed_wish *wish)
{
    static uint8_t pixels[RECORDS * PIXELS];
    static float y[RECORDS];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), pixels },
        { "y", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 1 }), y },
    };
    for (int i = 0; i < RECORDS * PIXELS; i++)
        pixels[i] = (uint8_t)(i * 7919 >> 3);
    for (int i = 0; i < RECORDS; i++)
        y[i] = (float)i;
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_stage(b, "shuffle", "{seed: 3}");
    if (wish->on_error) {
        leat_builder_op(b, &fail_op);
        leat_builder_stage(b, "map", "{tensor: y, ops: [fail_at: {record: 17}]}");
        leat_builder_stage(b, "on_error", wish->on_error);
    }
    leat_builder_stage(b, "map",
                       "[random_crop: {size: [8, 7], pad: 2}, random_flip, random_contrast, "
                       "normalize: {mean: 0.5}]");
    leat_builder_stage(b, "map", "{tensor: y, ops: [scale: {factor: 3}]}");
}

static inline void add_file(leat_builder *b, const placed_wish *wish)
{
    char text[400];
    snprintf(text, sizeof text, "{files: %s, features: {x: {type: float, shape: [%d]}}}",
             wish->file, ROW_FLOATS);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_stage(b, "shuffle", "{seed: 3}");
    leat_builder_stage(b, "map", "[scale: {factor: 3}, scale: {factor: 0.5}]");
}

static inline leat_plan *placed_plan(const placed_wish *wish)
{
    leat_builder *b = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    leat_builder_engine(b, wish->engine);
    if (wish->file)
        add_file(b, wish);
    else
        add_memory(b, wish);
    leat_builder_stage(b, "batch", "{size: 8, drop_remainder: false}");
    leat_builder_stage(b, "prefetch", wish->prefetch ? wish->prefetch : "2");
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
}

/* All bytes of a batch, wherever they are. */
static inline int add_bytes(leat_batch *batch, int32_t n_tensors, leat_device *device,
                            leat_stream *stream, uint64_t *digest)
{
    static uint8_t bytes[1 << 16];
    int rc = device ? leat_batch_wait_on(batch, stream) : LEAT_OK;
    for (int32_t i = 0; i < n_tensors && rc >= 0; i++) {
        const leat_view view = leat_batch_tensor(batch, i);
        const size_t n = (size_t)leat_shape_bytes(&view.shape);
        assert_in_range(n, 1, sizeof bytes);
        if (device)
            rc = device->table->copy_to_host(stream, bytes, view.data, n);
        else
            memcpy(bytes, view.data, n);
        if (rc >= 0 && device)
            rc = device->table->stream_sync(stream, NULL);
        *digest = leat_digest_chain(*digest, leat_digest_row(bytes, n, (uint64_t)i));
    }
    return rc;
}

#endif
