/* SPDX-License-Identifier: MIT
 *
 * op.h: an op is a pure function on one sample's tensor. Its main parts:
 *   shape   at open: type and shape of the output, so that memory can be sized in advance
 *   draw    draws all random decisions on the host, into 64 bytes
 *   apply   executes what was drawn; writes only its output
 * Another device can execute the same draw. An op does not know batches, threads or devices. */
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

/* The decisions of `draw`. Holds no pointers: devices get a copy of the bytes. */
typedef struct leat_draw {
    uint64_t words[8];
} leat_draw;

/* Copy a struct of decisions into a draw and back. A struct of more than 64 bytes does not compile. */
#define LEAT_DRAW_PUT(draw, drawn) LEAT_DRAW_COPY((draw), &(drawn), sizeof(drawn))
#define LEAT_DRAW_GET(draw, drawn) LEAT_DRAW_COPY(&(drawn), (draw), sizeof(drawn))
#define LEAT_DRAW_COPY(to, from, bytes)                                                            \
    ((void)sizeof(char[(bytes) <= sizeof(leat_draw) ? 1 : -1]), (void)memcpy(to, from, bytes))

/* Working memory of one worker; see leat_scratch_* below. */
typedef struct leat_scratch leat_scratch;

/* Constants that a kernel on another device needs, computed from an op's options. */
typedef struct leat_op_constants {
    float values[16];
    int32_t words[4];
} leat_op_constants;

enum {
    LEAT_OP_IN_PLACE = 1, /* apply allows out->data == in->data, where out is no larger than in */
    LEAT_OP_RANDOM = 2,   /* draw takes random numbers */
    LEAT_OP_KERNEL = 4,   /* the CUDA plugin has a kernel with the same results */
    LEAT_OP_COPY = 8,     /* the output is the input's bytes, of any input with as many bytes */
    LEAT_OP_DECODE = 16, /* reads the bytes of a file or an array; reports call its time decoding */
    LEAT_OP_IMAGE = 32   /* gives and, if no decoder, reads an image [height, width, channels] */
};

typedef struct leat_op {
    const char *name; /* as written in configs */
    const char *help; /* one line */
    size_t options_size;
    const leat_option *options; /* ends with LEAT_OPTION_END; its first row is the bare value */
    unsigned flags;

    /* Computes type and shape of the output, and checks options against each other. At open, dims of
     * either side may be LEAT_UNKNOWN_DIM. Per sample, all dims are known.
     * Returns LEAT_OK, or LEAT_E_CONFIG with what is expected. Any thread. */
    int (*shape)(const void *options, const leat_shape *in, leat_shape *out, leat_error *err);

    /* Reads the output shape from the bytes of `in` (decoders). NULL: `shape` is enough.
     * Returns LEAT_OK or LEAT_E_DATA. The same worker calls it right before `apply`. */
    int (*measure)(const void *options, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err);

    /* Draws all random decisions. NULL: the op is not random. `in` has no unknown dims. The number of
     * draws may depend only on options and shape. Any thread. */
    void (*draw)(const void *options, leat_rng *rng, const leat_shape *in, leat_draw *out);

    /* Writes out->data; `shape` or `measure` gave out->shape. `in` is read-only unless both share data.
     * Returns LEAT_OK or LEAT_E_DATA / LEAT_E_NOMEM. Any thread; one scratch per thread. */
    int (*apply)(const void *options, const leat_draw *draw, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err);

    /* With LEAT_OP_KERNEL: computes the kernel's constants for inputs of this shape (no unknown
     * dims). NULL: the kernel needs none. *out comes zeroed. */
    void (*constants)(const void *options, const leat_shape *in, leat_op_constants *out);
} leat_op;

/* Gives `bytes` of uninitialised memory, 64-byte aligned, valid until `apply` (or `measure`) returns.
 * NULL at the limit: return LEAT_E_NOMEM. After the first samples it allocates nothing. */
LEAT_API void *leat_scratch_take(leat_scratch *scratch, size_t bytes);

/* State of one worker for one key, for example a decompressor. The first call gives zeroed `bytes`,
 * later calls with that key give the same memory. `fini` (may be NULL) runs when the worker ends.
 * NULL when out of memory. Use a field of your own to see whether the state is set up. */
LEAT_API void *leat_scratch_keep(leat_scratch *scratch, const void *key, size_t bytes,
                                 void (*fini)(void *state));

/* Opens a scratch for calling ops outside a loader (tests, examples, tools). `limit_bytes` reserves
 * address space; pages take memory when first written. */
LEAT_API int leat_scratch_open(leat_scratch **out, size_t limit_bytes, leat_error *err);
/* Runs all `fini`, then frees. Takes NULL. */
LEAT_API void leat_scratch_close(leat_scratch **scratch);
/* Gives back everything from leat_scratch_take(); state of leat_scratch_keep() stays. */
LEAT_API void leat_scratch_reset(leat_scratch *scratch);

/* The built-in ops, in the order of src/ops/op_list.h; NULL-terminated. Static storage. */
LEAT_API const leat_op *const *leat_ops(void);
/* The built-in op of that name, or NULL. */
LEAT_API const leat_op *leat_op_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
