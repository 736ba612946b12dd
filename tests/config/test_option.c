/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "config/nearest.h"
#include "config/number.h"
#include "config/option_impl.h"
#include "fixtures/unit.h"
#include "leat/op.h"

typedef struct all_options {
    int64_t size;
    int32_t flag;
    float p;
    double rate;
    int64_t memory, threads;
    leat_string name;
    int32_t device;
    leat_i64s dims;
    leat_f32s mean;
    leat_strings columns;
    const void *ops;
    int64_t any;
} all_options;

static const char *const devices[] = { "cpu", "gpu", "auto", NULL };
static const char *const automatic[] = { "auto", "all", NULL };

static const leat_option table[] = {
    LEAT_OPTION_I64(all_options, size, NULL, 1, 4096, "rows"),
    LEAT_OPTION_BOOL(all_options, flag, "true", "a flag"),
    LEAT_OPTION_F32(all_options, p, "0.5", 0, 1, "probability"),
    LEAT_OPTION_F64(all_options, rate, "1e-3", 0, INFINITY, "rate"),
    LEAT_OPTION_BYTES_OR(all_options, memory, "2 GiB", 0, 0x1p40, automatic, "memory"),
    LEAT_OPTION_I64_OR(all_options, threads, "auto", 0, 1024, automatic, "threads"),
    LEAT_OPTION_STRING(all_options, name, "image", "name"),
    LEAT_OPTION_ENUM(all_options, device, "cpu", devices, "device"),
    LEAT_OPTION_I64S(all_options, dims, "[32, 32]", 1, 65536, "dims"),
    LEAT_OPTION_F32S(all_options, mean, "0.5", -1e30, 1e30, "mean"),
    LEAT_OPTION_STRINGS(all_options, columns, "[]", "columns"),
    LEAT_OPTION_NODE(all_options, ops, "", "ops"),
    LEAT_OPTION_I64(all_options, any, "0", -INFINITY, INFINITY, "any"),
    LEAT_OPTION_END
};

static int set(all_options *o, const char *name, const char *text, leat_error *err)
{
    const leat_option *row = leat_option_find(table, name);
    assert_non_null(row);
    return leat_option_set(row, o, text, err);
}

TEST(initial_values)
{
    all_options o;
    memset(&o, 0xff, sizeof o);
    leat_option_init(table, &o);
    assert_int_equal(o.size, 0); /* required */
    assert_int_equal(o.flag, 1);
    assert_float_equal(o.p, 0.5f, 0);
    assert_true(o.rate == 1e-3);
    assert_int_equal(o.memory, (int64_t)2 << 30);
    assert_int_equal(o.threads, LEAT_OPTION_CHOICE(0));
    assert_string_equal(o.name.text, "image");
    assert_int_equal(o.device, 0);
    assert_int_equal(o.dims.n, 2);
    assert_int_equal(o.dims.values[1], 32);
    assert_int_equal(o.dims.values[2], 0);
    assert_int_equal(o.mean.n, 1);
    assert_int_equal(o.columns.n, 0);
    assert_null(o.ops);
}

TEST(good_values)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        { "size", "1" },
        { "size", "4096" },
        { "size", "+7" },
        { "flag", "on" },
        { "flag", "No" },
        { "p", "0" },
        { "p", "1" },
        { "p", ".25" },
        { "p", "1e-3" },
        { "p", "1." },
        { "rate", "inf" },
        { "rate", ".inf" },
        { "rate", "Infinity" },
        { "rate", "1E+3" },
        { "rate", "00.5" },
        { "any", "-0" },
        { "memory", "0" },
        { "memory", "64 KiB" },
        { "memory", "64kib" },
        { "memory", "1.5 GiB" },
        { "memory", "auto" },
        { "memory", "100 MB" },
        { "memory", "1 TiB" },
        { "threads", "all" },
        { "threads", "0" },
        { "name", "" },
        { "device", "auto" },
        { "dims", "7" },
        { "dims", "[1,2,3,4,5,6,7,8]" },
        { "dims", "[]" },
        { "dims", "[ 1 ]" },
        { "mean", "[0.1, -2]" },
        { "columns", "a" },
        { "columns", "['a, b', \"c\", d e]" },
        { "any", "-9223372036854775808" },
        { "any", "9223372036854775807" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        all_options o = { .size = 0 };
        leat_error err = { .code = 0 };
        if (set(&o, cases[i].name, cases[i].text, &err))
            fail_msg("%s = '%s': %s", cases[i].name, cases[i].text, err.message);
    }
}

TEST(values_arrive)
{
    all_options o;
    leat_option_init(table, &o);
    assert_int_equal(set(&o, "flag", "OFF", NULL), LEAT_OK);
    assert_int_equal(o.flag, 0);
    assert_int_equal(set(&o, "memory", "1.5KiB", NULL), LEAT_OK);
    assert_int_equal(o.memory, 1536);
    assert_int_equal(set(&o, "memory", "100 MB", NULL), LEAT_OK);
    assert_int_equal(o.memory, 100000000);
    assert_int_equal(set(&o, "memory", "all", NULL), LEAT_OK);
    assert_int_equal(o.memory, LEAT_OPTION_CHOICE(1));
    assert_int_equal(set(&o, "any", "-9223372036854775808", NULL), LEAT_OK);
    assert_true(o.any == INT64_MIN);
    assert_int_equal(set(&o, "any", "9223372036854775807", NULL), LEAT_OK);
    assert_true(o.any == INT64_MAX);
    assert_int_equal(set(&o, "columns", "['a, b', \"c'\", d e ,'']", NULL), LEAT_OK);
    assert_int_equal(o.columns.n, 4);
    assert_string_equal(o.columns.values[0].text, "a, b");
    assert_string_equal(o.columns.values[1].text, "c'");
    assert_string_equal(o.columns.values[2].text, "d e");
    assert_string_equal(o.columns.values[3].text, "");
    assert_int_equal(set(&o, "columns", "z", NULL), LEAT_OK);
    assert_int_equal(o.columns.n, 1);
    assert_string_equal(o.columns.values[1].text, ""); /* nothing of the longer list is left */
    assert_int_equal(set(&o, "device", "gpu", NULL), LEAT_OK);
    assert_int_equal(o.device, 1);
}

static void print(const leat_option *row, const all_options *o, char *text, size_t size)
{
    FILE *const to = fmemopen(text, size, "w");
    leat_option_print(to, row, o);
    assert_int_equal(fclose(to), 0);
}

/* What is printed gives the same value again, with no more digits than that needs. */
TEST(values_are_printed_as_they_are_written)
{
    static const char *const values[][2] = {
        { "size", "17" },        { "flag", "false" },         { "p", "0.3" },
        { "p", "0.33333334" },   { "rate", "0.1" },           { "rate", "0.30000000000000004" },
        { "rate", "1e-30" },     { "rate", "inf" },           { "memory", "4096" },
        { "memory", "all" },     { "threads", "auto" },       { "threads", "8" },
        { "name", "a name" },    { "device", "gpu" },         { "dims", "[]" },
        { "dims", "[1, 2, 3]" }, { "mean", "[0.1, -2e+20]" }, { "columns", "[a, b]" },
        { "any", "-1" },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const leat_option *const row = leat_option_find(table, values[i][0]);
        char text[256] = "";
        all_options o;
        leat_option_init(table, &o);
        assert_int_equal(leat_option_set(row, &o, values[i][1], NULL), LEAT_OK);
        print(row, &o, text, sizeof text);
        assert_string_equal(text, values[i][1]);
    }
}

TEST(bad_values)
{
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        { "size", "0", "size must be between 1 and 4096, got 0" },
        { "size", "4097", "size must be between 1 and 4096, got 4097" },
        { "size", "99999999999999999999", "size must be between 1 and 4096, got 9999" },
        { "size", "", "size must be a whole number between 1 and 4096; got ''" },
        { "size", "12x", "a whole number" },
        { "size", "1.0", "a whole number" },
        { "size", " 1", "a whole number" },
        { "size", "1 ", "a whole number" },
        { "size", "1_000", "a whole number" },
        { "size", "0x10", "a whole number" },
        { "size", "-", "a whole number" },
        { "size", "010", "a whole number between 1 and 4096; got '010', did you mean '10'?" },
        { "any", "-07", "a whole number" },
        { "p", "01", "p must be a number between 0 and 1; got '01', did you mean '1'?" },
        { "memory", "0100", "a size" },
        { "memory", "010 MiB", "a size" },
        { "size", "[1]", "a whole number" },
        { "any", "9223372036854775808", "any must be" },
        { "any", "-9223372036854775809", "any must be" },
        { "flag", "1", "flag must be true or false; got '1'" },
        { "flag", "tru", "true or false" },
        { "p", "1.01", "p must be between 0 and 1, got 1.01" },
        { "p", "-0.1", "between 0 and 1" },
        { "p", "nan", "p must be a number between 0 and 1; got 'nan'" },
        { "p", "inf", "between 0 and 1" },
        { "p", "0.5f", "a number" },
        { "p", ".", "a number" },
        { "p", "1e", "a number" },
        { "p", "0x1p-1", "a number" },
        { "p", "1e-60", "does not fit a 32-bit float" },
        { "p", "1e-400", "does not fit a 32-bit float" },
        { "rate", "-1", "rate must be at least 0, got -1" },
        { "rate", "1e999", "rate must be at least 0, got 1e999" },
        { "memory", "64 XB", "memory must be a size (4096, 64 KiB, 2 GiB) between 0 and 1 TiB" },
        { "memory", "-1", "a size" },
        { "memory", "0.3 KiB", "a size" },
        { "memory", "2 TiB", "memory must be between 0 and 1 TiB, or one of auto, all, got 2 TiB" },
        { "memory", "99999999999 TiB", "between 0 and 1 TiB" },
        { "memory", "64 ", "a size" },
        { "memory", "1.", "a size" },
        { "threads", "atuo", "or one of auto, all; got 'atuo', did you mean 'auto'?" },
        { "threads", "-1", "threads must be between 0 and 1024" },
        { "device", "gpuu",
          "device must be one of cpu, gpu, auto; got 'gpuu', did you mean 'gpu'?" },
        { "device", "", "one of cpu, gpu, auto" },
        { "dims", "[1, 0]", "dims[1] must be between 1 and 65536, got 0" },
        { "dims", "[1,2,3,4,5,6,7,8,9]", "dims takes at most 8 values" },
        { "dims", "[1", "dims must be a list such as [1, 2]" },
        { "dims", "[1]2", "a list" },
        { "dims", "[] ", "dims must be a whole number" },
        { "dims", "[1,]", "dims[1] must be a whole number" },
        { "columns", "['a]", "a list" },
        { "ops", "x", "ops must be a part of a config file" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        all_options o;
        leat_error err = { .code = 0 };
        leat_option_init(table, &o);
        const int rc = set(&o, cases[i].name, cases[i].text, &err);
        if (rc != LEAT_E_CONFIG || !strstr(err.message, cases[i].message))
            fail_msg("%s = '%s': %d '%s', not '%s'", cases[i].name, cases[i].text, rc, err.message,
                     cases[i].message);
    }
}

/* What is no number without its zeros is not offered. */
TEST(zeros_before_no_number)
{
    static const char *const texts[] = { "0x10", "0.5", "0 2", "00" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        all_options o;
        leat_error err;
        leat_option_init(table, &o);
        assert_int_equal(set(&o, "size", texts[i], &err), LEAT_E_CONFIG);
        assert_null(strstr(err.message, "did you mean"));
    }
}

TEST(failed_set_keeps_scalars)
{
    all_options o;
    leat_option_init(table, &o);
    assert_int_equal(set(&o, "p", "2", NULL), LEAT_E_CONFIG);
    assert_float_equal(o.p, 0.5f, 0);
    assert_int_equal(set(&o, "memory", "x", NULL), LEAT_E_CONFIG);
    assert_int_equal(o.memory, (int64_t)2 << 30);
}

TEST(long_strings)
{
    all_options o;
    char text[LEAT_OPTION_STRING_MAX + 1];
    leat_error err;
    memset(text, 'a', sizeof text);
    text[LEAT_OPTION_STRING_MAX - 1] = 0;
    leat_option_init(table, &o);
    assert_int_equal(set(&o, "name", text, &err), LEAT_OK);
    assert_string_equal(o.name.text, text);
    text[LEAT_OPTION_STRING_MAX - 1] = 'a';
    text[LEAT_OPTION_STRING_MAX] = 0;
    assert_int_equal(set(&o, "name", text, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message, "name must be at most 255 bytes long, got 256");
}

TEST(type_texts)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        { "size", "int64" },
        { "p", "float" },
        { "rate", "float" },
        { "memory", "bytes or auto, all" },
        { "threads", "int64 or auto, all" },
        { "name", "string" },
        { "device", "one of: cpu, gpu, auto" },
        { "dims", "list of int64" },
        { "mean", "list of float" },
        { "columns", "list of string" },
        { "flag", "bool" },
        { "ops", "list or mapping" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        assert_string_equal(
            leat_option_type_text(leat_option_find(table, cases[i].name), text, sizeof text),
            cases[i].text);
    }
    assert_null(leat_option_find(table, "sise"));
}

TEST(byte_texts)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { 1000, "1000" },
        { 1024, "1 KiB" },
        { 1536, "1536" },
        { 65536, "64 KiB" },
        { (int64_t)3 << 30, "3 GiB" },
        { (int64_t)5 << 40, "5 TiB" },
        { INT64_MAX, "9223372036854775807" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        int64_t back;
        assert_string_equal(leat_number_bytes_text(cases[i].bytes, text, sizeof text),
                            cases[i].text);
        assert_int_equal(leat_number_bytes(text, &back), LEAT_NUMBER_OK);
        assert_true(back == cases[i].bytes);
    }
}

TEST(nearest_words)
{
    static const char *const words[] = { "size", "normalize",     "random_crop", "random_flip",
                                         "pad",  "learning_rate", "cpu" };
    static const struct {
        const char *word, *near;
    } cases[] = {
        { "sise", "size" },
        { "SIZE", "size" },
        { "isze", "size" },
        { "normalise", "normalize" },
        { "randomcrop", "random_crop" },
        { "random_flop", "random_flip" },
        { "norm", "normalize" },
        { "lerning_rate", "learning_rate" },
        { "gpu", "cpu" },
        { "xyz", NULL },
        { "", NULL },
        { "x", NULL },
        { "batch", NULL },
        { "pd", "pad" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = leat_nearest(cases[i].word, words, sizeof words / sizeof *words);
        if (!cases[i].near != !near || (near && strcmp(near, cases[i].near)))
            fail_msg("'%s': '%s'", cases[i].word, near ? near : "(none)");
    }
    char long_word[2000];
    memset(long_word, 'a', sizeof long_word);
    long_word[sizeof long_word - 1] = 0;
    assert_null(leat_nearest(long_word, words, 7));
    assert_null(leat_nearest("size", words, 0));
}

TEST(words_are_cut)
{
    leat_words words = { .length = 0 };
    for (int i = 0; i < 200; i++)
        leat_nearest_add_word(&words, "word");
    assert_non_null(strstr(words.text, "word, …"));
    assert_true(strlen(words.text) < sizeof words.text);
    leat_words once = { .length = 0 };
    leat_nearest_add_word_once(&once, "dense");
    leat_nearest_add_word_once(&once, "den");
    leat_nearest_add_word_once(&once, "dense");
    leat_nearest_add_word_once(&once, "den");
    assert_string_equal(once.text, "dense, den");
}

/* Every initial value of every built-in op is one its own row accepts. */
TEST(initial_values_are_legal)
{
    static char options[1 << 17];
    size_t n = 0;
    for (const leat_op *const *op = leat_ops(); *op; op++)
        for (const leat_option *row = (*op)->options; row->name; row++, n++) {
            leat_error err;
            if (row->initial && row->type != LEAT_OPTION_TYPE_NODE &&
                leat_option_set(row, options, row->initial, &err))
                fail_msg("%s.%s: %s", (*op)->name, row->name, err.message);
        }
    assert_true(n > 0);
}
