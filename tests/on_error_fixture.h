/* SPDX-License-Identifier: MIT
 *
 * on_error_fixture.h: what the tests of `on_error` share: an op that refuses some records, and plans. */
#ifndef ON_ERROR_FIXTURE_H
#define ON_ERROR_FIXTURE_H

#include "engine_fixture.h"
#include "pipeline/build/stage.h"
#include "pipeline/order/order_replace.h"

#define N         300
#define SIZE      16
#define N_BATCHES 19 /* of one epoch */

/* --- an op that refuses some records ------------------------------------------------------------ */

typedef struct bad_options {
    int64_t every;
    int32_t code;
} bad_options;

static const char *const codes[] = { "data", "io", "nomem", NULL };

static const leat_option bad_table[] = {
    LEAT_OPTION_I64(bad_options, every, "7", 1, 1e9, "record r is bad where r % every is 3"),
    LEAT_OPTION_ENUM(bad_options, code, "data", codes, "how it fails"), LEAT_OPTION_END
};

static inline bool is_bad(int64_t record, int64_t every)
{
    return record % every == 3 % every;
}

static inline int bad_apply(const void *opts, const leat_plan64 *p, const leat_view *in,
                            const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    static const int of_code[] = { LEAT_E_DATA, LEAT_E_IO, LEAT_E_NOMEM };
    const bad_options *const o = opts;
    const int64_t id = (int64_t) * (const float *)in->data;
    (void)p;
    (void)scratch;
    memset(out->data, 0x55, (size_t)leat_shape_bytes(&in->shape)); /* a half-done row */
    if (is_bad(id, o->every))
        return leat_fail(err, of_code[o->code], "planted failure at %lld", (long long)id);
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op bad_op = { .name = "bad",
                                .help = "fails on some records",
                                .options_size = sizeof(bad_options),
                                .options = bad_table,
                                .shape = same_shape,
                                .apply = bad_apply };

/* --- plans --------------------------------------------------------------------------------------- */

typedef struct setup {
    const char *on_error; /* options, or NULL */
    const char *bad;      /* options, or NULL: no record is bad */
    const char *more;     /* NAME: one more stage before batch, or NULL */
    const char *more_options;
    const char *after; /* options of a repeat after batch, or NULL */
    int threads, prefetch;
    int rank, ranks; /* 0: one */
} setup;

static inline int try_plan(const setup *s, const float *rows, leat_plan **plan, leat_error *err)
{
    leat_builder *b = leat_builder_open();
    char text[200];
    const int64_t dims[] = { ROW_FLOATS };
    static int64_t ids[1000];
    for (int64_t i = 0; i < 1000 && !ids[999]; i++)
        ids[i] = i + 1;
    const leat_rows tensors[] = { { "x", leat_shape_make(LEAT_F32, 1, dims), rows },
                                  { "id", leat_shape_make(LEAT_I64, 0, NULL), ids } };
    leat_builder_rows(b, N, tensors, 2);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &bad_op);
    leat_builder_seed(b, 5);
    snprintf(text, sizeof text, "{threads: %d, digest: true, rank: %d, ranks: %d}", s->threads,
             s->rank, s->ranks ? s->ranks : 1);
    leat_builder_engine(b, text);
    leat_builder_stage(b, "shuffle", NULL);
    if (s->more)
        leat_builder_stage(b, s->more, s->more_options);
    if (s->on_error)
        leat_builder_stage(b, "on_error", s->on_error);
    if (s->bad) {
        snprintf(text, sizeof text, "[bad: %s]", s->bad);
        leat_builder_stage(b, "map", text);
    }
    leat_builder_stage(b, "map", "[jitter]");
    snprintf(text, sizeof text, "%d", SIZE);
    leat_builder_stage(b, "batch", text);
    if (s->after)
        leat_builder_stage(b, "repeat", s->after);
    snprintf(text, sizeof text, "%d", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

static inline leat_plan *plan_of(const setup *s, const float *rows)
{
    leat_plan *plan = NULL;
    leat_error err;
    check(try_plan(s, rows, &plan, &err), &err);
    return plan;
}

static inline int64_t record_of(const leat_batch *batch, int64_t row)
{
    return (int64_t) * ((const float *)leat_batch_tensor(batch, 0).data + row * ROW_FLOATS);
}

#endif
