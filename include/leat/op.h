/* SPDX-License-Identifier: MIT
 *
 * op.h: an op is a pure function on one sample's tensor, in three parts:
 *   shape   at open: the output's type and shape, so that all memory is known (or 'unknown' dims)
 *   plan    all its random decisions, drawn on the host into 64 bytes
 *   apply   executes the plan; touches only its destination
 * The same plan can be executed by another device. Ops know no batch, thread or device. */
#ifndef LEAT_OP_H
#define LEAT_OP_H

#include <string.h>

#include "leat/error.h"
#include "leat/option.h"
#include "leat/rng.h"
#include "leat/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The decisions of `plan`. Holds no pointers: devices get a copy of the bytes. */
typedef struct leat_plan64 {
    uint64_t words[8];
} leat_plan64;

/* Copy a struct of decisions into a plan and back. A struct of more than 64 bytes does not compile. */
#define LEAT_PLAN_PUT(plan, drawn) LEAT_PLAN_COPY((plan), &(drawn), sizeof(drawn))
#define LEAT_PLAN_GET(plan, drawn) LEAT_PLAN_COPY(&(drawn), (plan), sizeof(drawn))
#define LEAT_PLAN_COPY(to, from, bytes)                                                            \
    ((void)sizeof(char[(bytes) <= sizeof(leat_plan64) ? 1 : -1]), (void)memcpy(to, from, bytes))

/* Memory of one worker for one op call; see leat_scratch_* below. */
typedef struct leat_scratch leat_scratch;

/* What the options of an op come to for a kernel that does its work on another device. */
typedef struct leat_op_constants {
    float values[16];
    int32_t words[4];
} leat_op_constants;

enum {
    LEAT_OP_IN_PLACE = 1, /* apply works with out->data == in->data (same bytes in and out) */
    LEAT_OP_RANDOM = 2,   /* plan draws random numbers */
    LEAT_OP_KERNEL = 4    /* the CUDA plugin has a kernel that gives what apply gives */
};

typedef struct leat_op {
    const char *name; /* as written in configs */
    const char *help; /* one line */
    size_t options_size;
    const leat_option *options; /* ends with LEAT_OPTION_END; its first row is the bare value */
    unsigned flags;

    /* Output type and shape from the input's; dims may be LEAT_UNKNOWN_DIM on both sides at open
     * and are all known on the calls per sample. Also checks options against each other.
     * Returns LEAT_OK, or LEAT_E_CONFIG with what is expected. Any thread. */
    int (*shape)(const void *options, const leat_shape *in, leat_shape *out, leat_error *err);

    /* Output shape where the bytes of `in` decide it (decoders); NULL: `shape` decides.
     * Returns LEAT_OK or LEAT_E_DATA. Called right before `apply` by the same worker. */
    int (*measure)(const void *options, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err);

    /* Draws all random decisions; NULL: nothing to decide. `in` has no unknown dims. The number of
     * draws may depend on options and shape only. Any thread. */
    void (*plan)(const void *options, leat_rng *rng, const leat_shape *in, leat_plan64 *out);

    /* Writes out->data (out->shape as announced). `in` is read-only unless out->data == in->data.
     * Returns LEAT_OK or LEAT_E_DATA / LEAT_E_NOMEM. Any thread; one scratch per thread. */
    int (*apply)(const void *options, const leat_plan64 *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err);

    /* With LEAT_OP_KERNEL: what the kernel must know of the options, for inputs of this shape (no
     * unknown dims); NULL: nothing. *out comes zeroed. */
    void (*constants)(const void *options, const leat_shape *in, leat_op_constants *out);
} leat_op;

/* `bytes` of uninitialised memory, 64-byte aligned, valid until `apply` (or `measure`) returns.
 * NULL when the limit is reached: return LEAT_E_NOMEM. Allocates nothing once warm. */
LEAT_API void *leat_scratch_take(leat_scratch *scratch, size_t bytes);

/* State that one worker keeps for one key (say, a decompressor): zeroed `bytes` at first use, then
 * the same memory on every call with that key. `fini` (may be NULL) runs when the worker ends.
 * NULL when out of memory. Test with a field of your own whether it is set up yet. */
LEAT_API void *leat_scratch_keep(leat_scratch *scratch, const void *key, size_t bytes,
                                 void (*fini)(void *state));

/* A scratch for calling ops outside a loader (tests, examples, own tools). `limit_bytes` is
 * address space; memory is committed by touch. */
LEAT_API int leat_scratch_open(leat_scratch **out, size_t limit_bytes, leat_error *err);
/* Runs the `fini` of all that is kept, then frees. */
LEAT_API void leat_scratch_close(leat_scratch **scratch);
/* Forgets everything taken (not what is kept). */
LEAT_API void leat_scratch_reset(leat_scratch *scratch);

/* The built-in ops, in the order of src/ops/op_list.h; NULL-terminated. Static storage. */
LEAT_API const leat_op *const *leat_ops(void);
/* The built-in op of that name, or NULL. */
LEAT_API const leat_op *leat_op_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
