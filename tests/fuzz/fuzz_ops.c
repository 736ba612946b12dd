/* SPDX-License-Identifier: MIT
 *
 * fuzz_ops.c: bytes choose an op, its options, an input shape and pixels. Whatever shape() accepts
 * must run, and write inside its destination.
 *
 *     a line     the op's name, so that seeds stay theirs when the list changes; another word: some op
 *     then       two bytes per option value, for each row of the table
 *     then       type, rank, two bytes per dim
 *     the rest   pixels, repeated as needed; for decoders all of it is the input */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "leat/op.h"

enum { MOST_BYTES = 1 << 20 };

extern const leat_op *fuzz_ops_done;
const leat_op *fuzz_ops_done; /* the op that ran without an error; for test_fuzz_seeds */

typedef struct reader {
    const uint8_t *at;
    size_t left;
} reader;

static uint32_t next_byte(reader *r)
{
    if (!r->left)
        return 0;
    r->left--;
    return *r->at++;
}

static uint32_t next_u16(reader *r)
{
    const uint32_t high = next_byte(r);
    return high << 8 | next_byte(r);
}

/* Whole numbers near the low end are the likely ones, of floats those near 0; 0xffff is the upper limit. */
static double next_number(reader *r, const leat_option *row)
{
    const uint32_t x = next_u16(r);
    const bool is_float = row->type == LEAT_OPTION_TYPE_F32 || row->type == LEAT_OPTION_TYPE_F32S;
    const double low = is_float && row->low < -128 ? -128 : row->low;
    const double value = low + (is_float ? x / 256.0 : (double)x);
    return x == 0xffff || value > row->high ? row->high : value;
}

/* Up to three bytes. */
static void read_word(reader *r, char *text)
{
    const uint32_t n = next_byte(r) % 4;
    for (uint32_t i = 0; i < n; i++)
        text[i] = (char)next_byte(r);
}

static void read_option(reader *r, const leat_option *row, void *options)
{
    void *field = (char *)options + row->offset;
    int32_t n_choices = 0;
    switch (row->type) {
    case LEAT_OPTION_TYPE_BOOL:
        *(int32_t *)field = (int32_t)(next_u16(r) & 1);
        break;
    case LEAT_OPTION_TYPE_I64:
        *(int64_t *)field = (int64_t)next_number(r, row);
        if (*(int64_t *)field > MOST_BYTES) /* max_pixels */
            *(int64_t *)field = MOST_BYTES;
        break;
    case LEAT_OPTION_TYPE_F32:
        *(float *)field = (float)next_number(r, row);
        break;
    case LEAT_OPTION_TYPE_ENUM:
        while (row->choices[n_choices])
            n_choices++;
        *(int32_t *)field = (int32_t)(next_u16(r) % (uint32_t)n_choices);
        break;
    case LEAT_OPTION_TYPE_I64S:
        ((leat_i64s *)field)->n = (int32_t)(next_byte(r) % (LEAT_OPTION_LIST_MAX + 1));
        for (int32_t i = 0; i < ((leat_i64s *)field)->n; i++)
            ((leat_i64s *)field)->values[i] = (int64_t)next_number(r, row);
        break;
    case LEAT_OPTION_TYPE_F32S:
        ((leat_f32s *)field)->n = (int32_t)(next_byte(r) % (LEAT_OPTION_LIST_MAX + 1));
        for (int32_t i = 0; i < ((leat_f32s *)field)->n; i++)
            ((leat_f32s *)field)->values[i] = (float)next_number(r, row);
        break;
    case LEAT_OPTION_TYPE_STRING:
        read_word(r, ((leat_string *)field)->text);
        break;
    case LEAT_OPTION_TYPE_STRINGS:
        ((leat_strings *)field)->n = (int32_t)(next_byte(r) % 3);
        for (int32_t i = 0; i < ((leat_strings *)field)->n; i++)
            read_word(r, ((leat_strings *)field)->values[i].text);
        break;
    default: /* the pause of `sleep` stays 0 */
        break;
    }
}

static leat_view read_input(reader *r, const leat_op *op)
{
    leat_view in = { .shape = { (leat_dtype)(next_byte(r) % LEAT_N_DTYPES), 0, { 0 } } };
    in.shape.rank = (int32_t)(next_byte(r) % (LEAT_MAX_RANK + 1));
    for (int32_t i = 0; i < in.shape.rank; i++)
        in.shape.dims[i] = next_u16(r);
    if (op->measure)
        in.shape = (leat_shape){ LEAT_U8, 1, { (int64_t)r->left } };
    const int64_t n = leat_shape_bytes(&in.shape);
    if (n < 0 || n > MOST_BYTES)
        return in;
    in.data = malloc((size_t)n + 1);
    for (int64_t i = 0; in.data && i < n; i++)
        ((uint8_t *)in.data)[i] = r->left ? r->at[(size_t)i % r->left] : (uint8_t)i;
    return in;
}

/* A shape with an unknown dim must be accepted wherever a known one is. */
static void check_open(const leat_op *op, const void *options, const leat_shape *in)
{
    for (int32_t i = 0; i < in->rank; i++) {
        leat_shape open = *in, out;
        open.dims[i] = LEAT_UNKNOWN_DIM;
        if (op->shape(options, &open, &out, NULL) != LEAT_OK)
            abort();
    }
}

static void run(const leat_op *op, const void *options, const leat_view *in, leat_scratch *scratch)
{
    leat_view out = { 0 };
    leat_draw draw = { 0 };
    leat_rng rng = leat_rng_make(1, 2, 3, 4);
    leat_error err;
    if (op->shape(options, &in->shape, &out.shape, &err) != LEAT_OK)
        return;
    check_open(op, options, &in->shape);
    if (op->measure && op->measure(options, in, &out.shape, scratch, &err) != LEAT_OK)
        return;
    const int64_t n = leat_shape_bytes(&out.shape);
    if (n < 0 || n > 4 * MOST_BYTES)
        return;
    if (op->draw)
        op->draw(options, &rng, &in->shape, &draw);
    out.data = malloc((size_t)n);
    leat_scratch_reset(scratch);
    if ((out.data || !n) && op->apply(options, &draw, in, &out, scratch, &err) == LEAT_OK)
        fuzz_ops_done = op;
    free(out.data);
}

static const leat_op *read_op(reader *r)
{
    char name[32] = "";
    uint32_t n_ops = 0, sum = 0;
    for (size_t n = 0; n + 1 < sizeof name && r->left && *r->at != '\n'; n++) {
        name[n] = (char)next_byte(r);
        sum += (uint8_t)name[n];
    }
    next_byte(r);
    while (leat_ops()[n_ops])
        n_ops++;
    const leat_op *const op = leat_op_find(name);
    return op ? op : leat_ops()[sum % n_ops];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static leat_scratch *scratch;
    reader r = { data, size };
    const leat_op *op = read_op(&r);
    if (!scratch && leat_scratch_open(&scratch, (size_t)1 << 28, NULL) != LEAT_OK)
        return 0;
    void *options = calloc(1, op->options_size);
    for (const leat_option *row = op->options; options && row->name; row++)
        read_option(&r, row, options);
    leat_view in = read_input(&r, op);
    if (in.data && options)
        run(op, options, &in, scratch);
    free(in.data);
    free(options);
    return 0;
}
