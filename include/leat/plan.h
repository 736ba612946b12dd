/* SPDX-License-Identifier: MIT
 *
 * plan.h: a plan is a checked, immutable description of a pipeline: source, stages, shapes,
 * memory. It is made from a config or, stage by stage, in C. Loaders run it. */
#ifndef LEAT_PLAN_H
#define LEAT_PLAN_H

#include "leat/config.h"
#include "leat/device.h"
#include "leat/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_plan leat_plan;

/* Checks a config and opens its source (files, index; reads a few records to learn sizes).
 * section  NULL: keys `source`, `pipeline`, `engine` at the top; otherwise the name of a top-level
 *          map that has `source` and `pipeline` of its own ("eval")
 * out      owned by the caller: leat_plan_close(), after the loaders opened from it
 * returns  LEAT_OK, LEAT_E_CONFIG ("file:line:column: …"), LEAT_E_IO, LEAT_E_DATA, LEAT_E_NOMEM, LEAT_E_ARGUMENT,
 *          LEAT_E_UNSUPPORTED (an op or a stage that does not work where it stands)
 * threads  immutable: any thread, any number of loaders */
LEAT_API int leat_plan_open(const leat_config *config, const char *section, leat_plan **out,
                            leat_error *err);
/* leat_config_load() and leat_plan_open() in one. */
LEAT_API int leat_plan_load(const char *path, leat_plan **out, leat_error *err);
/* Frees; after the loaders opened from it. */
LEAT_API void leat_plan_close(leat_plan **plan);

/* One tensor of a batch. */
typedef struct leat_tensor_info {
    const char *name; /* "image", "label", …; lives as long as the plan */
    leat_shape shape; /* of one sample; no unknown dims; where it varies that of the last bucket */
    int32_t n_fused;  /* number of its first ops that run as one; 0: none */
    int32_t varies;   /* 1: leat_batch_tensor() has each batch's shape (bucket_by_length) */
    int32_t channels_first, channels_last; /* 1: its ops tell so; both 0: nothing tells */
    uint32_t mixed; /* bit i: the i-th op after batch mixes it with that of another sample */
} leat_tensor_info;

typedef struct leat_plan_info {
    uint64_t n_records; /* of the source */
    int64_t n_samples;  /* in one pass, before they are batched; -1 = endless */
    int64_t n_batches;  /* in one pass of the pipeline; -1 = endless (`repeat: forever`) */
    int64_t batch_size; /* of all ranks; after bucket_by_length the largest of its sizes */
    int32_t rank;       /* the part of every batch's rows that its loaders make, from 0 */
    int32_t ranks;      /* number of parts; see leat_batch_info */
    int64_t prefetch;   /* batches kept ready ahead of the consumer; with auto: at first */
    int32_t n_tensors;
    int32_t n_classes; /* of the source: folders, columns, or PREFIX-labels.txt; 0 = unknown */
    uint64_t seed;
    uint64_t digest; /* of source, stages (except prefetch and limits) and seed, as spelled */
} leat_plan_info;

/* Counts, sizes and digest; valid until the plan is closed. */
LEAT_API const leat_plan_info *leat_plan_get_info(const leat_plan *plan);
/* i from 0 to n_tensors - 1; NULL otherwise. */
LEAT_API const leat_tensor_info *leat_plan_tensor(const leat_plan *plan, int32_t i);
/* Index of the tensor of that name, -1 if none. */
LEAT_API int32_t leat_plan_tensor_index(const leat_plan *plan, const char *name);
/* Name of the class with label i, from the labels file of a TFRecord set, the folders of images, or the feature `label` of a CSV
 * file, or its only one, with `classes`; NULL: unknown. Valid until the plan is closed. */
LEAT_API const char *leat_plan_class(const leat_plan *plan, int32_t i);
/* Number of classes of a tensor: `label`, the only int64 one, each of CSV with `classes`, those of a TFRecord set by key; 0: unknown. */
LEAT_API int32_t leat_plan_n_classes(const leat_plan *plan, const char *tensor);
/* Name of the class of this tensor with label i, also where only some of combined sources have names; NULL: unknown. Valid
 * until the plan is closed. */
LEAT_API const char *leat_plan_tensor_class(const leat_plan *plan, const char *tensor, int32_t i);
/* When a file of the source was last written, moved or replaced, ns since 1970; asks the file system about each. 0: unknown, there are none, or one
 * is gone or was changed since the source opened it. */
LEAT_API int64_t leat_plan_changed_ns(const leat_plan *plan);
/* A digest of the sizes and times of change of these files, to compare with a later one; 0 as above. */
LEAT_API uint64_t leat_plan_stamp(const leat_plan *plan);
/* The same of at most 256 of the files, and of 16 KB of the content of each: tells one set from another. */
LEAT_API uint64_t leat_plan_fingerprint(const leat_plan *plan);
/* A digest of what decides the samples of a pass: the names (below the folder of all of them), sizes and numbers of records of
 * files, the other options of the source and the pipeline, both as spelled. Copies of the files in another folder, and another size of
 * the batches, do not change it, unless the size decides which samples come. */
LEAT_API uint64_t leat_plan_content(const leat_plan *plan);
/* Notes about the plan that are no errors, such as a cost or a limit of a stage. i from 0; one line each,
 * no full stop; the 16th counts the rest if there are more; NULL past the end. Valid until the plan is closed. */
LEAT_API const char *leat_plan_note(const leat_plan *plan, int32_t i);

/* --- the resolved plan ---------------------------------------------------------------------- */

typedef struct leat_source_info {
    const char *name; /* "tfrecord", "images", …; "rows": tensors in memory */
    uint64_t n_records;
    uint64_t n_bytes;    /* as stored; 0: unknown */
    uint64_t n_files;    /* 0: not in files */
    uint64_t mean_bytes; /* of an element, decompressed; 0: unknown */
    uint64_t most_bytes; /* largest of the sampled records, decompressed; 0: unknown */
    double sample_bytes; /* mean of a sample, as stored; 0: unknown */
} leat_source_info;

#define LEAT_WITHOUT_END UINT64_MAX

typedef struct leat_stage_info {
    char name[32];
    char options[192];    /* as written; "": none; truncated if long */
    uint64_t n_in, n_out; /* elements in one pass: samples up to batch, batches after it */
    int32_t batches;      /* 1: n_out counts batches */
} leat_stage_info;

typedef struct leat_chain_op_info {
    const char *name; /* of the op */
    leat_shape shape; /* of its output; dims may be unknown */
    int32_t fused;    /* 1: runs as one with the neighbouring fused ops */
    int32_t random;   /* 1: draws random numbers */
    int32_t device;   /* 1: runs on the device; for `device: auto` see leat_plan_on() */
} leat_chain_op_info;

/* The source of the plan. */
LEAT_API void leat_plan_source(const leat_plan *plan, leat_source_info *out);
/* i-th entry of the pipeline, from 0; NULL past the end. Valid until the plan is closed. */
LEAT_API const leat_stage_info *leat_plan_stage(const leat_plan *plan, int32_t i);
/* The plan as a loader for this device runs it: the plan itself, or, for a device that can run ops, a copy
 * in which `device: auto` has moved the last ops of each tensor there. Same batches, same stages. Use it
 * only with the functions of this header that describe a plan.
 * device   NULL: host memory
 * returns  NULL only if plan is NULL; valid until the plan is closed
 * threads  any */
LEAT_API const leat_plan *leat_plan_on(const leat_plan *plan, const leat_device *device);
/* i-th op of tensor t, from 0. Returns LEAT_OK, or LEAT_E_END past the last. */
LEAT_API int leat_plan_chain_op(const leat_plan *plan, int32_t t, int32_t i,
                                leat_chain_op_info *out);

/* The records of a batch, in row order: a function of the plan, no data are read. For rows that `on_error:
 * replace` filled with another record this is the original record.
 * batch    number in the run, from 0, over all epochs
 * out      gets the first n of them, numbers in the source; NULL if n is 0
 * returns  rows of the batch; 0 if there is no such batch */
LEAT_API int64_t leat_plan_records(const leat_plan *plan, int64_t batch, uint64_t *out, int64_t n);
/* Writes what messages call a record ("record 5 of FILE", a path); returns text. */
LEAT_API char *leat_plan_record_text(const leat_plan *plan, uint64_t record, char *text,
                                     size_t size);

/* --- stage by stage in C ------------------------------------------------------------------ */

typedef struct leat_builder leat_builder;

/* One tensor in memory, one row per record; borrowed until the plan is closed. */
typedef struct leat_rows {
    const char *name; /* 1 to 63 bytes, that of no other */
    leat_shape shape; /* of one row */
    const void *data; /* n_records rows, one after the other, aligned for their type */
} leat_rows;

/* options: the same YAML as in a config file ("{size: 128}", "128"), NULL for none. Errors of the
 * calls below are kept; leat_builder_plan() returns the first, with the call that made it. */
LEAT_API leat_builder *leat_builder_open(void); /* NULL: out of memory */
/* `source: {NAME: options}`; either this or leat_builder_rows(), once. */
LEAT_API void leat_builder_source(leat_builder *builder, const char *name, const char *options);
/* Tensors in memory as the source. The list is copied, the data are not. Their names, shapes and values, as they are when
 * the plan is made, decide leat_plan_info.digest; of a tensor larger than 1 MiB those of 64 rows, and of a
 * row larger than 64 KiB 16 blocks of 4 KiB. */
LEAT_API void leat_builder_rows(leat_builder *builder, uint64_t n_records, const leat_rows *rows,
                                int32_t n_rows);
/* Appends one stage, `- NAME: options`. */
LEAT_API void leat_builder_stage(leat_builder *builder, const char *name, const char *options);
/* Seed of all random decisions (default 0), not negative. */
LEAT_API void leat_builder_seed(leat_builder *builder, int64_t seed);
/* `engine` options: "{threads: 2}". */
LEAT_API void leat_builder_engine(leat_builder *builder, const char *options);
/* Registers a user's op, which has a name, for this plan's `map` stages. Borrowed until the plan is closed. */
LEAT_API void leat_builder_op(leat_builder *builder, const leat_op *op);
/* Checks everything and makes the plan; the builder can be closed afterwards. */
LEAT_API int leat_builder_plan(leat_builder *builder, leat_plan **out, leat_error *err);
/* Frees; plans made by it stay valid. */
LEAT_API void leat_builder_close(leat_builder **builder);

/* --- what exists, for help and reference ---------------------------------------------------- */

typedef struct leat_kind {
    const char *name;
    const char *help;
    const leat_option *options; /* ends with LEAT_OPTION_END */
} leat_kind;

/* The i-th op of a map after batch. */
LEAT_API const leat_kind *leat_batch_op_kind(size_t i);
/* i-th stage, or source, or (i = 0) the engine's options and (i = 1) the keys at the top of a config;
 * NULL past the end. Static storage. */
LEAT_API const leat_kind *leat_stage_kind(size_t i);
LEAT_API const leat_kind *leat_source_kind(size_t i);
LEAT_API const leat_kind *leat_engine_kind(size_t i);

#ifdef __cplusplus
}
#endif
#endif
