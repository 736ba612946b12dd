/* SPDX-License-Identifier: MIT
 *
 * plan_impl.h: a plan as the engine sees it. [const after leat_plan_open] */
#ifndef LEAT_PLAN_IMPL_H
#define LEAT_PLAN_IMPL_H

#include "bucket.h"
#include "cache.h"
#include "look.h"
#include "ops/fused.h"
#include "order.h"
#include "padding.h"
#include "source.h"

#define LEAT_MAX_CHAIN 32 /* ops on one tensor */
#define LEAT_MAX_NOTES 16
#define LEAT_NOTE_SIZE 256

/* Runtime options: they never change what is in a batch. */
typedef struct leat_engine_options {
    int64_t memory;     /* bytes of all that is planned; -1 = auto */
    int64_t threads;    /* -1 = auto */
    int32_t reader;     /* leat_reader_choice */
    int32_t io;         /* leat_io_choice */
    int64_t read_bytes; /* memory of reads in flight; 0 = auto */
    int64_t run;        /* rows per task; 0 = auto */
    int32_t digest;
    int32_t timing;
    int32_t fuse;
    int32_t jpeg_index; /* leat_jpeg_index_choice */
    int64_t spans;      /* of a trace, per thread */
    int64_t rank, ranks;
} leat_engine_options;

enum { LEAT_JPEG_INDEX_AUTO, LEAT_JPEG_INDEX_OFF, LEAT_JPEG_INDEX_REQUIRE };
enum { LEAT_IO_BUFFERED, LEAT_IO_DIRECT };
enum { LEAT_READER_AUTO, LEAT_READER_IO_URING, LEAT_READER_PREAD };

/* One op of a map, with its options as parsed. */
typedef struct leat_link {
    const leat_op *op;
    void *options;   /* owned */
    uint32_t stream; /* of its random numbers: op name and occurrence */
} leat_link;

/* A tensor of the batch: a feature of the record, sent through a chain of ops. */
typedef struct leat_chain {
    int32_t feature;
    int32_t n_links;
    leat_link links[LEAT_MAX_CHAIN];
    const leat_fused *fused; /* does n_fused links from fused_from on in one go; NULL: none */
    int32_t fused_from, n_fused;
    int32_t
        cut; /* links before it run once per record, as the cache keeps what they give; 0 without */
    leat_shape cut_shape; /* there; dims may be unknown */
    leat_shape shape;     /* of one row; no unknown dims */
    size_t row_bytes;
    size_t offset; /* of row 0 in a slot; in a device's buffer if the device has links to do */
    /* What workers write: the same unless the device has links to do. */
    int32_t n_host; /* links that workers do */
    leat_shape host_shape;
    size_t host_bytes, host_offset; /* of a row; of row 0 in a slot */
    size_t plans_offset;            /* of row 0's plans for the device's links, in a slot */
    leat_pad pad;
} leat_chain;

/* The shape of a chain's rows in a batch of that bucket (0 without buckets), and their bytes. */
static inline leat_shape leat_chain_shape(const leat_chain *chain, const leat_order *order,
                                          uint32_t bucket)
{
    leat_shape shape = chain->shape;
    if (chain->pad.by_bucket)
        shape.dims[0] = order->buckets->list[bucket].room;
    return shape;
}
static inline size_t leat_chain_row_bytes(const leat_chain *chain, const leat_order *order,
                                          uint32_t bucket)
{
    if (!chain->pad.by_bucket)
        return chain->row_bytes;
    return chain->row_bytes / (size_t)chain->shape.dims[0] *
           (size_t)order->buckets->list[bucket].room;
}

/* The same as workers write them. Padded rows are finished on the host. */
static inline size_t leat_chain_host_bytes(const leat_chain *chain, const leat_order *order,
                                           uint32_t bucket)
{
    return chain->pad.by_bucket ? leat_chain_row_bytes(chain, order, bucket) : chain->host_bytes;
}

/* Sizes of a padded row in a slot: pad.n_lengths of them. */
static inline int64_t *leat_chain_lengths(const leat_chain *chain, uint8_t *slot, uint64_t row)
{
    return (int64_t *)(void *)(slot + chain->pad.lengths_at) + row * (uint64_t)chain->pad.n_lengths;
}

/* Links `from` to `to` - 1 of a chain as a fused run takes them; returns their number. */
int leat_plan_fused_links(const leat_chain *chain, int32_t from, int32_t to,
                          leat_fused_link out[LEAT_FUSED_MAX]);

#define LEAT_MAX_STAGE_INFOS 64

struct leat_plan {
    leat_plan_info info;
    leat_source *source; /* owned */
    leat_order order;
    leat_cache *cache;    /* owned; NULL: none. What is in it changes, under its own rules */
    bool is_cache_random; /* an op before it draws random numbers */
    uint64_t seed;
    int64_t prefetch; /* batches; where it is auto: to begin with */
    bool has_prefetch, prefetch_auto;
    leat_look look;
    int32_t n_stages;
    leat_stage_info stages[LEAT_MAX_STAGE_INFOS];
    leat_engine_options engine;
    int32_t n_chains;
    leat_chain chains[LEAT_MAX_FEATURES];
    /* Tensor i is chain i; behind them come the lengths of padded chains, lengths_of[i] their chain. */
    int32_t n_tensors;
    leat_tensor_info tensors[2 * LEAT_MAX_FEATURES];
    int32_t lengths_of[2 * LEAT_MAX_FEATURES];
    char lengths_names[2 * LEAT_MAX_FEATURES][LEAT_FEATURE_NAME];
    size_t slot_bytes;
    size_t buffer_bytes; /* of a batch on a device: a slot, and what the device's links put out */
    bool on_device;      /* some chain has links for the device */
    bool pageable;       /* slots are not pinned */
    int32_t n_notes;
    char notes[LEAT_MAX_NOTES][LEAT_NOTE_SIZE];
};

extern const leat_option leat_engine_option_table[];

#endif
