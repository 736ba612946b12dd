/* SPDX-License-Identifier: MIT
 *
 * plan_impl.h: a plan as the engine sees it. [const after leat_plan_open] */
#ifndef LEAT_PLAN_IMPL_H
#define LEAT_PLAN_IMPL_H

#include "device/device_table.h"
#include "ops/batch_op.h"
#include "ops/fused.h"
#include "padding.h"
#include "pipeline/cache/cache.h"
#include "pipeline/order/bucket.h"
#include "pipeline/order/order.h"
#include "pipeline/source/source.h"

#define LEAT_MAX_CHAIN      32 /* ops on one tensor */
#define LEAT_MAX_BATCH_OPS  4
#define LEAT_MAX_NOTES      16
#define LEAT_PREFETCH_FIRST 2 /* minimum and first value of `prefetch: auto` */

/* Properties of the data, found by probe.c: sizes of records, and scratch that a sample needs. */
typedef struct leat_probe {
    uint64_t mean_bytes;    /* of a record as stored; 0: unknown */
    uint64_t most_bytes;    /* the largest of n_sizes records */
    uint64_t n_sizes;       /* records whose size was looked up */
    uint64_t scratch_bytes; /* largest scratch of a sample, with all ops computed one by one */
    uint64_t usual_bytes; /* smallest scratch of a sample that was tried: large ones may be rare */
    uint64_t most_record; /* the record that took scratch_bytes */
    uint64_t n_tried;     /* records run through all ops; 0: scratch_bytes is from the shapes */
} leat_probe;

/* Runtime options: they never change the content of a batch. */
typedef struct leat_engine_options {
    int64_t memory;     /* budget in bytes; -1 = auto */
    int64_t threads;    /* -1 = auto */
    int32_t reader;     /* LEAT_READER_* */
    int32_t io;         /* LEAT_IO_* */
    int32_t verify;     /* LEAT_VERIFY_* */
    int64_t read_bytes; /* memory of reads in flight; 0 = auto */
    int64_t run;        /* rows per task; 0 = auto */
    int32_t digest;
    int32_t timing;
    int32_t fuse;
    int32_t jpeg_index; /* LEAT_JPEG_INDEX_* */
    int32_t stores;
    int64_t spans; /* of a trace, per thread */
    int64_t rank, ranks;
} leat_engine_options;

/* What to do with a record that cannot be read, parsed, decoded or computed. */
typedef enum leat_on_error {
    LEAT_ON_ERROR_FAIL,
    LEAT_ON_ERROR_MASK,
    LEAT_ON_ERROR_REPLACE
} leat_on_error;

#define LEAT_ERRORS_AUTO LEAT_OPTION_CHOICE(0)
#define LEAT_ERRORS_ANY  LEAT_OPTION_CHOICE(1)

enum { LEAT_JPEG_INDEX_AUTO, LEAT_JPEG_INDEX_OFF, LEAT_JPEG_INDEX_REQUIRE };
enum { LEAT_STORES_AUTO, LEAT_STORES_CACHED, LEAT_STORES_STREAMED };
enum { LEAT_IO_BUFFERED, LEAT_IO_DIRECT };
enum { LEAT_VERIFY_ONCE, LEAT_VERIFY_ALWAYS };
enum { LEAT_READER_AUTO, LEAT_READER_IO_URING, LEAT_READER_PREAD };

/* The option `device` of a map. */
enum { LEAT_ASKED_AUTO, LEAT_ASKED_CPU, LEAT_ASKED_GPU };

/* One op of a map, with its options as parsed. */
typedef struct leat_chain_op {
    const leat_op *op;
    void *options;   /* owned */
    uint32_t stream; /* of its random numbers: op name and occurrence */
    int32_t asked;
} leat_chain_op;

/* A tensor of the batch: a feature of the record and the ops on it, in order. */
typedef struct leat_chain {
    int32_t feature, n_ops;
    leat_chain_op ops[LEAT_MAX_CHAIN];
    const leat_fused *fused; /* computes n_fused ops from fused_from on in one step; NULL: none */
    int32_t fused_from, n_fused;
    int32_t cache_at; /* ops before it run once per record; a cache stores their output; 0: none */
    leat_shape cache_shape; /* shape there; dims may be unknown */
    int32_t unbatch_at; /* ops before it run once per record, later ops on each of its samples */
    leat_shape shape;   /* of one row; no unknown dims */
    int32_t axes;       /* where the channels of one row are: LEAT_AXES_..., see axes.h */
    size_t row_bytes;
    size_t offset; /* of row 0 in a slot, or in a device buffer if ops run on the device */
    /* What workers write: the same unless ops run on the device. */
    int32_t n_host; /* ops that workers compute */
    leat_shape host_shape;
    size_t host_bytes, host_offset; /* of a row; of row 0 in a slot */
    size_t draws_offset;            /* of row 0's draws for the device's ops, in a slot */
    /* The device's first op is decode_jpeg: workers write files, after all other copied bytes. The
     * device has no draws and no kernel for that op. */
    bool decodes_on_device;
    leat_device_files files;
    leat_shape files_shape; /* of a row after the next op */
    uint32_t files_share;   /* the device decodes this many of 2^16 rows, the CPU the others */
    leat_pad pad;
} leat_chain;

/* One row of a tensor. */
static inline leat_shape leat_shape_part(const leat_shape *shape)
{
    return leat_shape_make(shape->dtype, shape->rank - 1, shape->dims + 1);
}

/* The shape of a chain's rows in a batch of that bucket (0 without buckets), and their bytes. */
static inline leat_shape leat_chain_shape(const leat_chain *chain, const leat_order *order,
                                          uint32_t bucket)
{
    leat_shape shape = chain->shape;
    if (chain->pad.by_bucket)
        shape.dims[0] = order->buckets->list[bucket].max_length;
    return shape;
}
static inline size_t leat_chain_row_bytes(const leat_chain *chain, const leat_order *order,
                                          uint32_t bucket)
{
    if (!chain->pad.by_bucket)
        return chain->row_bytes;
    return chain->row_bytes / (size_t)chain->shape.dims[0] *
           (size_t)order->buckets->list[bucket].max_length;
}

/* Bytes of a row as the workers write it. Rows are padded on the host. */
static inline size_t leat_chain_host_bytes(const leat_chain *chain, const leat_order *order,
                                           uint32_t bucket)
{
    return chain->pad.by_bucket ? leat_chain_row_bytes(chain, order, bucket) : chain->host_bytes;
}

/* plan.c: the input shape of op n of a chain; for n after the last op, the output shape. Dimensions are those
 * known at open. */
leat_shape leat_plan_shape_before(const leat_plan *plan, const leat_chain *chain, int32_t n);

/* The first op that has a kernel on the device. */
static inline int32_t leat_chain_first_kernel(const leat_chain *chain)
{
    return chain->n_host + chain->decodes_on_device;
}

/* Sizes of a padded row in a slot: pad.n_lengths of them. */
static inline int64_t *leat_chain_lengths(const leat_chain *chain, uint8_t *slot, uint64_t row)
{
    return (int64_t *)(void *)(slot + chain->pad.lengths_at) + row * (uint64_t)chain->pad.n_lengths;
}

/* fuse.c: writes ops `from` to `to` - 1 of a chain in the form for fused ops; returns their number. */
int leat_fuse_ops(const leat_chain *chain, int32_t from, int32_t to,
                  leat_fused_op out[LEAT_FUSED_MAX]);
/* Call it when all ops of the chain are known: finds ops that can be computed in one step. */
void leat_fuse_chain(leat_chain *chain);

#define LEAT_MAX_STAGE_INFOS 64

/* One op of a map after batch. */
typedef struct leat_plan_batch_op {
    const leat_batch_op *op;
    void *options; /* owned */
    uint32_t stream;
    int32_t chain, label; /* tensors that are mixed; label -1: none */
} leat_plan_batch_op;

struct leat_plan {
    leat_plan_info info;
    uint64_t content;    /* leat_plan_content() */
    leat_source *source; /* owned */
    leat_order order;
    leat_cache *cache;    /* owned; NULL: none. Its content changes, see cache.h */
    bool is_cache_random; /* an op before it draws random numbers */
    uint64_t seed;
    int64_t prefetch; /* batches; if auto: the initial number */
    bool has_prefetch, prefetch_auto;
    leat_probe probe;
    int32_t n_stages;
    leat_stage_info stages[LEAT_MAX_STAGE_INFOS];
    leat_engine_options engine;
    bool unbatches; /* into order.samples_per_record samples */
    int32_t n_chains;
    leat_chain chains[LEAT_MAX_FEATURES];
    /* Tensor i is chain i; then come the lengths of padded chains, whose chain is lengths_of[i]. */
    int32_t n_tensors;
    leat_tensor_info tensors[2 * LEAT_MAX_FEATURES];
    int32_t lengths_of[2 * LEAT_MAX_FEATURES];
    char lengths_names[2 * LEAT_MAX_FEATURES][LEAT_FEATURE_NAME];
    int32_t n_batch_ops;
    leat_plan_batch_op batch_ops[LEAT_MAX_BATCH_OPS];
    leat_on_error on_error;
    int64_t max_errors;  /* in leat_order_epoch_batches() batches; INT64_MAX: no limit */
    size_t valid_offset; /* of a byte per row in a slot, where rows can be masked */
    size_t slot_bytes;
    size_t copy_bytes;      /* part of a slot that is copied to a device */
    size_t buffer_bytes;    /* of a batch on a device: a slot and the outputs of the device's ops */
    bool on_device;         /* some chain has ops for the device */
    bool decodes_on_device; /* some chain has files that the device decodes, see leat_chain */
    bool caches_on_device;  /* `cache: device`: rows at the cache stay on the device */
    size_t rows_bytes;      /* part of a slot that workers write, at its start */
    size_t index_offset;    /* of the word of row 0 in a slot, if rows are cached on the device */
    bool pageable;          /* slots are not pinned */
    /* Owned: a copy with the ops that `auto` moves to a GPU; NULL: none move. */
    struct leat_plan *gpu;
    const struct leat_plan *whole; /* in such a copy: the original plan, else NULL */
    int32_t n_notes;
    char **notes;        /* all of them. Owned, but by no copy of the plan; see leat_note_add() */
    char more_notes[40]; /* the last of LEAT_MAX_NOTES that are shown, if there are more */
};

/* The original plan; `plan` may be its GPU copy. Stages have the same numbers in all copies. */
static inline const leat_plan *leat_plan_whole(const leat_plan *plan)
{
    return plan->whole ? plan->whole : plan;
}

/* The error code of an op. A user's op may return anything, but LEAT_E_END and the like mean something to the engine. */
static inline int leat_plan_op_code(int rc, int otherwise)
{
    return rc <= LEAT_E_NOMEM && rc >= LEAT_E_INTERNAL ? rc : otherwise;
}

/* Adds something that the user of the plan should know but that is no error: "shuffle: ...". A note
 * that exists already is not added again. Without memory it is left out. */
void leat_note_add(leat_plan *plan, const char *format, ...) LEAT_PRINTF(2, 3);
/* Frees all notes. */
void leat_note_clear(leat_plan *plan);
/* gpu_placement.c: makes plan->gpu. Everything else of the plan is settled. */
int leat_gpu_placement_make(leat_plan *plan, leat_error *err);
/* plan_layout.c: lays out a slot. Shapes and placement of ops must be final. May be called
 * again, on a copy of a plan that has more ops on a device. batch: node for messages; NULL: none */
int leat_plan_layout_make(leat_plan *plan, const leat_node *batch, leat_error *err);

extern const leat_option leat_engine_option_table[]; /* engine_options.c */

#endif
