/* SPDX-License-Identifier: MIT
 *
 * test_ops.c: what every op must keep, for all ops of the list: random options, shapes and seeds. */
#include "fixtures/image_bytes.h"

enum { N_TRIES = 400, CANARY = 64 };

static const leat_op *current; /* for messages */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s, line %d: %s", current->name, __LINE__, #condition);                      \
    } while (0)

/* --- random options and inputs ------------------------------------------------------------------ */

static double number_in(uint64_t *seed, double low, double high)
{
    const double most = high > 48 ? 48 : high; /* images of this test are small */
    const double share = (double)(op_next(seed) >> 11) * 0x1p-53;
    return low + (most - low) * share * share;
}

static int64_t integer_in(uint64_t *seed, double low, double high)
{
    return (int64_t)(number_in(seed, low, high) + 0.5);
}

static void draw_word(char *text, uint64_t *seed)
{
    static const char *const words[] = { "", ",", ";", "0", "-1.5", "na" };
    strcpy(text, words[op_next(seed) % (sizeof words / sizeof *words)]);
}

static void draw_option(const leat_option *row, void *options, uint64_t *seed)
{
    void *field = (char *)options + row->offset;
    const int32_t n = 1 + (int32_t)(op_next(seed) % 3);
    int32_t n_choices = 0;
    if (row->initial && op_next(seed) & 1) {
        CHECK(leat_option_set(row, options, row->initial, NULL) == LEAT_OK);
        return;
    }
    switch (row->type) {
    case LEAT_OPTION_TYPE_BOOL:
        *(int32_t *)field = op_next(seed) & 1;
        break;
    case LEAT_OPTION_TYPE_I64:
    case LEAT_OPTION_TYPE_BYTES:
        *(int64_t *)field =
            row->high > 1e6 ? (int64_t)row->high : integer_in(seed, row->low, row->high);
        break;
    case LEAT_OPTION_TYPE_F32:
        *(float *)field = (float)number_in(seed, row->low, row->high);
        break;
    case LEAT_OPTION_TYPE_F64:
        *(double *)field = number_in(seed, row->low, row->high) / 100; /* sleep */
        break;
    case LEAT_OPTION_TYPE_ENUM:
        while (row->choices[n_choices])
            n_choices++;
        *(int32_t *)field = (int32_t)(op_next(seed) % (uint64_t)n_choices);
        break;
    case LEAT_OPTION_TYPE_I64S:
        ((leat_i64s *)field)->n = n;
        for (int32_t i = 0; i < n; i++)
            ((leat_i64s *)field)->values[i] =
                row->low < 0 && op_next(seed) % 2 ? -1 : integer_in(seed, row->low, row->high);
        break;
    case LEAT_OPTION_TYPE_F32S:
        ((leat_f32s *)field)->n = n;
        for (int32_t i = 0; i < n; i++)
            ((leat_f32s *)field)->values[i] = (float)number_in(seed, row->low, row->high);
        break;
    case LEAT_OPTION_TYPE_STRING:
        draw_word(((leat_string *)field)->text, seed);
        break;
    case LEAT_OPTION_TYPE_STRINGS:
        ((leat_strings *)field)->n = n - 1;
        for (int32_t i = 0; i < n - 1; i++)
            draw_word(((leat_strings *)field)->values[i].text, seed);
        break;
    default:
        fail_msg("%s.%s: an option type that this test does not know", current->name, row->name);
    }
}

/* A file of one of the kinds that are decoded. */
static leat_view file_bytes(uint64_t *seed)
{
    static const int64_t channels[] = { 1, 3, 1, 2, 3, 4, 3, 4, 1, 3, 4, 1, 3 };
    const size_t kind = op_next(seed) % (sizeof channels / sizeof *channels);
    leat_view image = op_drawing(1 + (int64_t)(op_next(seed) % 40),
                                 1 + (int64_t)(op_next(seed) % 40), channels[kind]);
    leat_view out;
    if (kind < 2)
        out = op_jpeg(image, (op_jpeg_how){ .progressive = op_next(seed) & 1 });
    else if (kind < 6)
        out = op_png(image);
    else if (kind < 8)
        out = op_webp(image, op_next(seed) & 1 ? 80 : 0);
    else if (kind < 11)
        out = op_bmp(image, op_next(seed) & 1);
    else
        out = op_pnm(image, op_next(seed) & 1 ? 255 : 999);
    free(image.data);
    return out;
}

/* A line of small numbers, some in quotes, some missing. */
static leat_view line_bytes(uint64_t *seed)
{
    static const char *const fields[] = { "1", "-20", "3.5", "", "na", "\"7\"", " 8 " };
    char text[200] = "";
    const size_t n = 1 + op_next(seed) % 6;
    for (size_t i = 0; i < n; i++) {
        strcat(text, i ? "," : "");
        strcat(text, fields[op_next(seed) % (sizeof fields / sizeof *fields)]);
    }
    return op_bytes(text, strlen(text));
}

/* Numbers of fields hardly ever fit by chance: a line, and options with about as many. */
static void draw_line(void *options, leat_view *in, uint64_t *seed)
{
    static const char *const columns[] = { "1", "2", "3" };
    const char *const set[] = {
        "columns", columns[op_next(seed) % 3],   "first",     "0", "fields", "0",
        "fill",    op_next(seed) & 1 ? "0" : "", "delimiter", ","
    };
    free(in->data);
    *in = line_bytes(seed);
    for (size_t i = 0; i < sizeof set / sizeof *set; i += 2)
        CHECK(leat_option_set(leat_option_find(current->options, set[i]), options, set[i + 1],
                              NULL) == LEAT_OK);
}

static leat_view draw_input(uint64_t *seed)
{
    const int64_t height = 1 + (int64_t)(op_next(seed) % 60),
                  width = 1 + (int64_t)(op_next(seed) % 60);
    leat_view view;
    switch (op_next(seed) % 13) {
    case 0:
    case 1:
    case 2:
        return file_bytes(seed);
    case 3: /* a vector, of any type; and one of bytes */
    case 4:
        view = op_noise(LEAT_U8, 8, width, 1, op_next(seed));
        view.shape.rank = 1;
        view.shape.dtype = (leat_dtype)(op_next(seed) % 2 * (op_next(seed) % LEAT_N_DTYPES));
        view.shape.dims[0] = width * 8 / (int64_t)leat_dtype_bytes(view.shape.dtype);
        return view;
    case 5: /* a few labels */
        view = op_noise(LEAT_U8, 1, 1 + width % 5, 1, op_next(seed));
        view.shape.rank = 1;
        view.shape.dims[0] = 1 + width % 5;
        for (int64_t i = 0; i < view.shape.dims[0]; i++)
            ((uint8_t *)view.data)[i] = (uint8_t)(op_next(seed) % 10);
        return view;
    case 12:
        return line_bytes(seed);
    case 6: /* fits nothing */
        return op_noise(LEAT_U8, height, width, 5, op_next(seed));
    default:
        return op_noise(op_next(seed) & 1 ? LEAT_U8 : LEAT_F32, height, width,
                        1 + (int64_t)(op_next(seed) % 4), op_next(seed));
    }
}

/* --- the promises ------------------------------------------------------------------------------- */

static void check_open_shape(const void *options, const leat_shape *in, const leat_shape *out,
                             uint64_t *seed)
{
    leat_shape open_in = *in, open_out = { 0 };
    leat_error err = { 0 };
    for (int32_t i = 0; i < in->rank; i++)
        if (op_next(seed) & 1)
            open_in.dims[i] = LEAT_UNKNOWN_DIM;
    if (current->shape(options, &open_in, &open_out, &err) != LEAT_OK)
        fail_msg("%s", err.message);
    CHECK(open_out.dtype == out->dtype);
    CHECK(open_out.rank == out->rank);
    for (int32_t i = 0; i < out->rank; i++)
        CHECK(open_out.dims[i] == LEAT_UNKNOWN_DIM || open_out.dims[i] == out->dims[i]);
}

static int apply_into(const void *options, const leat_draw *draw, const leat_view *in,
                      const leat_view *out, leat_error *err)
{
    leat_scratch_reset(op_scratch);
    return current->apply(options, draw, in, out, op_scratch, err);
}

/* Returns the output, of which every byte was written and none beyond; NULL if apply failed. */
static uint8_t *check_apply(const void *options, const leat_draw *draw, const leat_view *in,
                            const leat_shape *shape)
{
    const size_t n = (size_t)leat_shape_bytes(shape), n_in = (size_t)leat_shape_bytes(&in->shape);
    uint8_t *results[2], *before = malloc(n_in + 1);
    int rc = LEAT_OK;
    memcpy(before, in->data, n_in);
    for (int i = 0; i < 2; i++) {
        leat_error err = { 0 };
        uint8_t *memory = malloc(n + 2 * CANARY);
        assert_non_null(memory);
        memset(memory, i ? 0xa5 : 0x5a, n + 2 * CANARY);
        const leat_view out = { *shape, memory + CANARY, NULL };
        rc = apply_into(options, draw, in, &out, &err);
        CHECK(rc == LEAT_OK || rc == LEAT_E_DATA);
        CHECK(rc == LEAT_OK || !strncmp(err.message, current->name, strlen(current->name)));
        for (size_t k = 0; k < CANARY; k++) {
            CHECK(memory[k] == (i ? 0xa5 : 0x5a));
            CHECK(memory[CANARY + n + k] == (i ? 0xa5 : 0x5a));
        }
        results[i] = memory;
    }
    CHECK(!memcmp(before, in->data, n_in));
    free(before);
    if (rc == LEAT_OK)
        CHECK(!memcmp(results[0] + CANARY, results[1] + CANARY, n));
    free(results[1]);
    if (rc == LEAT_OK)
        return results[0];
    free(results[0]);
    return NULL;
}

static void check_in_place(const void *options, const leat_draw *draw, const leat_view *in,
                           const leat_shape *shape, const uint8_t *expected)
{
    const leat_view out = { *shape, in->data, NULL };
    const size_t n = (size_t)leat_shape_bytes(shape);
    CHECK(leat_shape_bytes(&in->shape) == leat_shape_bytes(shape));
    CHECK(apply_into(options, draw, in, &out, NULL) == LEAT_OK);
    CHECK(!memcmp(out.data, expected, n));
}

/* Returns 1 if the op ran on this input. */
static int check_once(const void *options, const leat_view *in, uint64_t *seed)
{
    leat_shape shape = { 0 };
    leat_error err = { 0 };
    leat_draw draw = { 0 }, again = { 0 };
    leat_rng rng = leat_rng_make(*seed, 3, 1, 7), same = rng;
    int rc = current->shape(options, &in->shape, &shape, &err);
    if (rc == LEAT_OK)
        check_open_shape(options, &in->shape, &shape, seed);
    if (rc == LEAT_OK && current->measure) {
        const leat_shape announced = shape;
        rc = current->measure(options, in, &shape, op_scratch, &err);
        for (int32_t i = 0; rc == LEAT_OK && i < shape.rank; i++)
            CHECK(announced.dims[i] == LEAT_UNKNOWN_DIM || announced.dims[i] == shape.dims[i]);
        CHECK(rc == LEAT_OK || rc == LEAT_E_DATA);
    } else {
        CHECK(rc == LEAT_OK || rc == LEAT_E_CONFIG);
    }
    if (rc != LEAT_OK) {
        CHECK(err.code == rc);
        CHECK(!strncmp(err.message, current->name, strlen(current->name)));
        return 0;
    }
    CHECK(leat_shape_bytes(&shape) >= 0);
    CHECK(!(current->flags & LEAT_OP_RANDOM) || current->draw);
    if (current->draw) {
        current->draw(options, &rng, &in->shape, &draw);
        current->draw(options, &same, &in->shape, &again);
        CHECK(!memcmp(&draw, &again, sizeof draw));
    }
    uint8_t *result = check_apply(options, &draw, in, &shape);
    if (result && current->flags & LEAT_OP_IN_PLACE)
        check_in_place(options, &draw, in, &shape, result + CANARY);
    free(result);
    return result != NULL;
}

TEST(every_op_keeps_its_promises)
{
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        uint64_t seed = 11;
        int n_ran = 0;
        current = *op;
        for (int i = 0; i < N_TRIES; i++) {
            void *options = calloc(1, current->options_size);
            for (const leat_option *row = current->options; row->name; row++)
                draw_option(row, options, &seed);
            leat_view in = draw_input(&seed);
            if (op_next(&seed) & 1 && !strcmp(current->name, "parse_csv"))
                draw_line(options, &in, &seed);
            n_ran += check_once(options, &in, &seed);
            free(in.data);
            free(options);
        }
        if (n_ran < N_TRIES / 50)
            fail_msg("%s ran only %d times of %d", current->name, n_ran, N_TRIES);
    }
}

TEST(every_op_is_described)
{
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        current = *op;
        CHECK(leat_op_find(current->name) == current);
        CHECK(current->help && strlen(current->help) > 10 && strlen(current->help) < 90);
        CHECK(current->shape && current->apply && current->options && current->options_size);
        for (const leat_option *row = current->options; row->name; row++) {
            CHECK(row->help && strlen(row->help) > 10);
            CHECK(row->help[strlen(row->help) - 1] != '.');
            CHECK(row->offset < current->options_size);
            CHECK(leat_option_find(current->options, row->name) == row);
        }
    }
    assert_null(leat_op_find("no_such_op"));
}

/* Initial values are valid, and what init sets is what set reads from their text. */
TEST(initial_values_are_valid)
{
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        current = *op;
        void *by_init = calloc(1, current->options_size);
        void *by_set = calloc(1, current->options_size);
        leat_option_init(current->options, by_init);
        for (const leat_option *row = current->options; row->name; row++)
            if (row->initial) {
                leat_error err = { 0 };
                if (leat_option_set(row, by_set, row->initial, &err) != LEAT_OK)
                    fail_msg("%s.%s: %s", current->name, row->name, err.message);
            }
        CHECK(!memcmp(by_init, by_set, current->options_size));
        free(by_init);
        free(by_set);
    }
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
