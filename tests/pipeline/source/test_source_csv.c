/* SPDX-License-Identifier: MIT
 *
 * test_source_csv.c: the source csv: files that Python's csv module wrote (tests/golden/make_arrays.py),
 * columns by name, number and range, missing values, classes, and what is said about other files. */
#include <math.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#define GOLDEN SOURCE_DIR "/tests/golden/arrays/"
enum { ROWS = 7 };

static int open_csv(const char *path, const char *options, const char *rest, leat_plan **plan,
                    leat_error *err)
{
    char text[3000];
    snprintf(text, sizeof text, "source: {csv: {files: '%s', %s}}\n%s\n", path, options, rest);
    return open_text(text, plan, err);
}

#define ALL     "pipeline: [{batch: 7}]"
#define CLASSES "classes: [ant, bee, 'cat, big']"

/* A plan, its loader and its first batch. */
typedef struct first {
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *batch;
} first;

static first open_first(const char *path, const char *options, const char *rest)
{
    first f = { 0 };
    leat_error err;
    check(open_csv(path, options, rest, &f.plan, &err), &err);
    f.loader = open_loader(f.plan, NULL);
    check(leat_loader_next(f.loader, &f.batch, &err), &err);
    return f;
}

static void close_first(first *f)
{
    leat_batch_release(f->batch);
    leat_loader_close(&f->loader);
    leat_plan_close(&f->plan);
}

static leat_view tensor(const first *f, const char *name)
{
    return leat_batch_tensor(f->batch, leat_plan_tensor_index(f->plan, name));
}

TEST(columns_become_tensors)
{
    static const char *const ways[][2] = {
        { "table.csv",
          "na: [NA], features: {x: [width, height], count: {columns: count, default: -1, type: "
          "int64}, id: {columns: id, type: uint8}, label: {columns: kind, " CLASSES "}}" },
        { "table_crlf.csv",
          "na: [NA], features: {x: [0, 1], count: {columns: 4, default: -1, type: int64}, id: "
          "{columns: 5, type: uint8}, label: {columns: 3, " CLASSES "}}" },
        { "table.csv",
          "na: [NA], features: {x: width..height, count: {columns: count, default: -1, type: "
          "int64}, id: {columns: id..5, type: uint8}, label: {columns: kind, " CLASSES "}}" },
        { "table.tsv",
          "na: [NA], delimiter: \"\\t\", header: false, features: {x: 0..1, count: {columns: 4, "
          "default: -1, type: int64}, id: {columns: 5, type: uint8}, label: {columns: 3, " CLASSES
          "}}" },
        { "table.tsv", "na: [NA], delimiter: \"\\t\", columns: [a, b, c, d, e, f], features: {x: "
                       "[a, b], count: {columns: e, default: -1, type: int64}, id: {columns: f, "
                       "type: uint8}, label: {columns: d, " CLASSES "}}" },
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char path[300], text[100];
        snprintf(path, sizeof path, GOLDEN "%s", ways[w][0]);
        first f = open_first(path, ways[w][1], ALL);
        const leat_view x = tensor(&f, "x"), count = tensor(&f, "count"), id = tensor(&f, "id"),
                        label = tensor(&f, "label");
        assert_int_equal(leat_plan_get_info(f.plan)->n_records, ROWS);
        assert_int_equal(leat_plan_get_info(f.plan)->n_classes, 3);
        assert_string_equal(leat_shape_text(&x.shape, text, sizeof text), "float32[7, 2]");
        assert_string_equal(leat_shape_text(&id.shape, text, sizeof text), "uint8[7]");
        for (int i = 0; i < ROWS; i++) {
            assert_true(((const float *)x.data)[2 * i] == (float)i + 0.5f);
            assert_true(((const float *)x.data)[2 * i + 1] == (float)(-3 * i));
            assert_int_equal(((const int64_t *)count.data)[i], i == 2 || i == 3 ? -1 : i * 10);
            assert_int_equal(((const uint8_t *)id.data)[i], i);
            assert_int_equal(((const int64_t *)label.data)[i], i % 3);
        }
        close_first(&f);
    }
}

/* Whatever else has classes, before it or after it: those of the source are the label's. */
TEST(a_label_gives_the_source_its_classes)
{
    static const struct {
        const char *features, *named;
        int n;
    } cases[] = {
        { "label: {columns: a, classes: [ant, bee]}, kind: {columns: b, classes: [x, y, z]}", "bee",
          2 },
        { "kind: {columns: b, classes: [x, y, z]}, label: {columns: a, classes: [ant, bee]}, more: "
          "{columns: b, classes: [z, y, x]}",
          "bee", 2 },
        { "kind: {columns: b, classes: [x, y, z]}", "y", 3 },
        { "kind: {columns: b, classes: [x, y, z]}, more: {columns: a, classes: [ant, bee]}", NULL,
          3 },
    };
    put_text("n.csv", "a,b\nant,x\nbee,y\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[300];
        snprintf(options, sizeof options, "features: {%s}", cases[i].features);
        first f = open_first(in_folder("n.csv"), options, "pipeline: [{batch: 2}]");
        const char *const name = leat_plan_class(f.plan, 1);
        assert_int_equal(leat_plan_get_info(f.plan)->n_classes, cases[i].n);
        if (cases[i].named)
            assert_string_equal(name, cases[i].named);
        else
            assert_null(name);
        assert_int_equal(leat_plan_n_classes(f.plan, cases[i].n == 2 ? "label" : "kind"),
                         cases[i].n);
        close_first(&f);
    }
}

/* One column of numbers, written in several ways. */
static void check_numbers(const char *text, const char *options, const int64_t *want, int n)
{
    put_text("n.csv", text);
    first f = open_first(in_folder("n.csv"), options, "pipeline: [{batch: 100}]");
    const leat_view view = leat_batch_tensor(f.batch, 0);
    assert_int_equal(leat_plan_get_info(f.plan)->n_records, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(((const int64_t *)view.data)[i], want[i]);
    close_first(&f);
}

#define ONE "features: {n: {columns: n, type: int64}}"

TEST(lines_are_records)
{
    check_numbers("n\n1\n2\n", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("n\n1\n2", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("n\n010\n-002", ONE, (const int64_t[]){ 10, -2 }, 2);
    check_numbers("\n\nn\r\n\r\n 1 \r\n\n\n\"2\"\r\n\r\n", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("\xef\xbb\xbfn,m\n1,\"\n\n\"\n2,\"\"\"\n\"", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("\"n\",m\n1,x\n2,y\n", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("3\n4\n", "header: false, features: {n: {columns: 0, type: int64}}",
                  (const int64_t[]){ 3, 4 }, 2);
    check_numbers("a,n\n,\"-9223372036854775808\"\n", ONE, (const int64_t[]){ INT64_MIN }, 1);
}

/* What an array can hold, a line can hold. */
TEST(floats_may_be_no_numbers)
{
    put_text("n.csv", "n\nnan\nNaN\n-nan\n-\ninf\nInfinity\n-inf\n");
    first f = open_first(in_folder("n.csv"), "na: '-', features: {n: {columns: n, default: nan}}",
                         "pipeline: [{batch: 100}]");
    const float *const x = leat_batch_tensor(f.batch, 0).data;
    for (int i = 0; i < 7; i++)
        assert_true(i < 4 ? isnan(x[i]) : isinf(x[i]) && (x[i] < 0) == (i == 6));
    close_first(&f);
}

/* In quotes a default is a field, and no number of YAML. */
TEST(a_default_in_quotes_may_begin_with_a_zero)
{
    put_text("z.csv", "n\n-\n");
    first f = open_first(in_folder("z.csv"),
                         "na: '-', features: {n: {columns: n, type: int64, default: '010'}, x: "
                         "{columns: n, default: \"-07\"}}",
                         "pipeline: [{batch: 1}]");
    assert_int_equal(*(const int64_t *)tensor(&f, "n").data, 10);
    assert_true(*(const float *)tensor(&f, "x").data == -7);
    close_first(&f);
}

/* Records longer than a piece of the scan, and quotes across its border. */
TEST(large_records_are_found)
{
    enum { LONG = 300000, N = 5 };
    char *const text = malloc((LONG + 40) * N), *at = text;
    int64_t want[N];
    assert_non_null(text);
    at += sprintf(at, "note,n\n");
    for (int i = 0; i < N; i++) {
        *at++ = '"';
        for (int k = 0; k < LONG; k++)
            *at++ = k % 7 ? 'x' : '\n';
        at += sprintf(at, "\"\"\",%d\n", i);
        want[i] = i;
    }
    check_numbers(text, ONE, want, N);
    free(text);
}

static uint64_t digest_of(const char *path, const char *options, const char *engine)
{
    char rest[300];
    int64_t n_batches;
    leat_plan *plan;
    leat_error err;
    snprintf(rest, sizeof rest, "engine: %s\nseed: 5\npipeline: [shuffle, {repeat: 2}, {batch: 3}]",
             engine);
    check(open_csv(path, options, rest, &plan, &err), &err);
    const uint64_t digest = digest_and_close(plan, 0, &n_batches);
    assert_int_equal(n_batches, 5);
    return digest;
}

TEST(engine_and_line_ends_do_not_matter)
{
    static const char options[] = "features: {x: [width, height, id]}";
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}" };
    const uint64_t want = digest_of(GOLDEN "table.csv", options, engines[0]);
    assert_int_equal(digest_of(GOLDEN "table.csv", options, engines[1]), want);
    assert_int_equal(digest_of(GOLDEN "table_crlf.csv", options, engines[1]), want);
}

/* The message of the first bad record, or of opening. */
static void bytes_fail_with(const char *text, size_t n, const char *options, int code,
                            const char *message)
{
    leat_plan *plan;
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_error err = { 0 };
    put_file("bad.csv", text, n);
    int rc = open_csv(in_folder("bad.csv"), options, "pipeline: [{batch: 7}]", &plan, &err);
    if (rc >= 0) {
        loader = open_loader(plan, NULL);
        rc = leat_loader_next(loader, &batch, &err);
    }
    if (rc != code || !strstr(err.message, message))
        fail_msg("%s: %s: %s\nexpected: %s", options, leat_code_name(rc), err.message, message);
    close_loader_and_plan(&loader, &plan);
}

static void fails_with(const char *text, const char *options, int code, const char *message)
{
    bytes_fail_with(text, strlen(text), options, code, message);
}

TEST(a_zero_byte_ends_no_field)
{
    static const char number[] = "a,b\n1,2\n2\0junk,2\n", name[] = "a,b\ncat,1\ncat\0x,2\n",
                      unread[] = "a,b\n1,2\n1,\"\0\"\n", header[] = "a,b\0c\n1,2\n";
    bytes_fail_with(number, sizeof number - 1, "features: {x: a}", LEAT_E_DATA,
                    "bad.csv, line 3 (record 1, byte 8): column 0 has a zero byte");
    bytes_fail_with(name, sizeof name - 1, "features: {x: {columns: a, classes: [cat]}}",
                    LEAT_E_DATA, "bad.csv, line 3 (record 1, byte 10): column 0 has a zero byte");
    bytes_fail_with(unread, sizeof unread - 1, "features: {x: a}", LEAT_E_DATA,
                    "bad.csv, line 3 (record 1, byte 8): column 1 has a zero byte");
    bytes_fail_with(header, sizeof header - 1, "features: {x: b}", LEAT_E_DATA,
                    "bad.csv: the first line: column 1 has a zero byte");
    bytes_fail_with(header, sizeof header - 1, "features: {x: a}", LEAT_E_DATA,
                    "bad.csv: the first line: column 1 has a zero byte");
}

TEST(a_name_of_two_columns_is_refused)
{
    fails_with("a,a,b\n1,2,3\n", "features: {x: a}", LEAT_E_CONFIG, "test.yaml:1:");
    fails_with("a,a,b\n1,2,3\n", "features: {x: a}", LEAT_E_CONFIG,
               "columns 0 and 1 are both named 'a': rename one, or give its number");
    fails_with("a,b,c,b\n1,2,3,4\n", "features: {x: a..b}", LEAT_E_CONFIG,
               "columns 1 and 3 are both named 'b'");
    fails_with("1,2\n", "columns: [a, a], features: {x: a}", LEAT_E_CONFIG,
               "columns 0 and 1 are both named 'a'");
    check_numbers("n,a,a\n1,2,3\n", ONE, (const int64_t[]){ 1 }, 1);
    check_numbers("n,n,a\n1,2,3\n", "features: {n: {columns: 1, type: int64}}",
                  (const int64_t[]){ 2 }, 1);
}

/* Once, and not to a double before. */
TEST(floats_are_rounded_once)
{
    put_text("n.csv", "n\n16777217.0000000001\n0.000442084958194755\n8388609.4999999999\n");
    first f = open_first(in_folder("n.csv"), "features: {n: n}", "pipeline: [{batch: 3}]");
    const float *const x = leat_batch_tensor(f.batch, 0).data;
    assert_true(x[0] == 16777218.0f);
    assert_true(x[1] == strtof("0.000442084958194755", NULL));
    assert_true(x[2] == 8388609.0f);
    close_first(&f);
}

/* Blanks are part of a name in quotes, and around a number. */
TEST(quotes_keep_blanks)
{
    static const char names[] = "features: {n: {columns: n, classes: [a, 'a ', \" \", \"\\ta\"]}}";
    check_numbers("n\n\"a \"\na \n\" \"\n\"\ta\"\n\"a\"\n", names,
                  (const int64_t[]){ 1, 0, 2, 3, 0 }, 5);
    check_numbers("n\n\" 1\"\n\"2\t \"\n", ONE, (const int64_t[]){ 1, 2 }, 2);
    check_numbers("n\n\" NA\"\n\" \"\n",
                  "na: NA, features: {n: {columns: n, type: int64, default: 7}}",
                  (const int64_t[]){ 7, 7 }, 2);
    check_numbers("\"n \"\n1\n", "features: {n: {columns: 'n ', type: int64}}",
                  (const int64_t[]){ 1 }, 1);
    fails_with("n\na\n\"a \"\n", "features: {n: {columns: n, classes: [a]}}", LEAT_E_DATA,
               "is no name of its `classes`: 'a '");
}

/* Blanks around a field are left out first; what is still too long is not missing. */
TEST(many_blanks_are_no_missing_value)
{
    char text[1000];
    snprintf(text, sizeof text, "n,m\n%300s,1\n2%300s,2\n%300s,3\n", "1", "", "");
    check_numbers(text, "features: {n: {columns: n, type: int64, default: -1}}",
                  (const int64_t[]){ 1, 2, -1 }, 3);
    snprintf(text, sizeof text, "n,m\n\"%300s\",1\n", "1");
    fails_with(text, "features: {n: {columns: n, default: 7}}", LEAT_E_DATA,
               "column 0 (feature 'n') is no float32: ''…");
}

/* Notes of a plan about the header of this file. */
static int count_notes(const char *text, const char *options)
{
    leat_plan *plan;
    const char *note;
    leat_error err;
    int n = 0;
    put_text("n.csv", text);
    check(open_csv(in_folder("n.csv"), options, ALL, &plan, &err), &err);
    for (int i = 0; (note = leat_plan_note(plan, i)); i++)
        n += strstr(note, "n.csv is taken as a header, but holds only numbers") != NULL;
    leat_plan_close(&plan);
    return n;
}

TEST(a_header_of_numbers_is_noted)
{
    static const char rows[] = "5,\" 2.5\"\n1,-3\n";
    assert_int_equal(count_notes(rows, "features: {x: 0..1}"), 1);
    assert_int_equal(count_notes("5,2", "header: false, features: {x: 0}"), 0);
    assert_int_equal(count_notes(rows, "header: true, features: {x: 0}"), 0);
    assert_int_equal(count_notes(rows, "columns: [a, b], features: {x: 0}"), 0);
    assert_int_equal(count_notes(rows, "features: {x: 0, y: '5'}"), 1);
    assert_int_equal(count_notes("1,0\n3,4\n", "features: {x: {columns: [0, 1]}}"),
                     1); /* swapped */
    assert_int_equal(count_notes("0,1\n1,-3\n", "features: {x: 0..1}"), 1);
    assert_int_equal(count_notes("0,1\n1,-3\n", "header: true, features: {x: 0..1}"), 0);
    assert_int_equal(count_notes("0,1\n1,-3\n", "header: false, features: {x: 0..1}"), 0);
    assert_int_equal(count_notes("5,a\n1,-3\n", "features: {x: 0..1}"), 0);
    assert_int_equal(count_notes("5,\n1,-3\n", "features: {x: 0..1}"), 0);
}

/* Of files with one column an empty line may be meant as a missing value. */
TEST(empty_lines_are_noted)
{
    static const struct {
        const char *text, *options, *note;
    } cases[] = {
        { "\ny\n1\n\n3\n\r\n\n\"\"\n\n", "",
          "csv: an empty line is no record, and 3 lie between records, the first in n.csv: " },
        { "y\n\n1\n", "",
          "csv: an empty line is no record, and 1 lies between records, the first in n.csv: where "
          "a value is missing, write \"\" or a word of `na`" },
        { "\n1\n2\n", "header: false, ", "csv: an empty line is no record, and 1 lies between" },
        { "y\n1\n \n2\n\n\n", "", NULL },
        { "\n\ny\r\n1\r\n2\r\n\r\n", "", NULL },
        { "y,z\n1,2\n\n3,4\n", "", NULL },
    };
    assert_int_equal(chdir(test_folder), 0); /* so that names are short */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[100];
        leat_plan *plan;
        leat_error err;
        put_text("n.csv", cases[i].text);
        snprintf(options, sizeof options, "%sfeatures: {y: {columns: 0, default: -1}}",
                 cases[i].options);
        check(open_csv("n.csv", options, "pipeline: [{batch: 1}]", &plan, &err), &err);
        const char *const note = leat_plan_note(plan, 0);
        if (cases[i].note ? !note || strncmp(note, cases[i].note, strlen(cases[i].note)) != 0
                          : note != NULL)
            fail_msg("case %zu: %s", i, note ? note : "no note");
        leat_plan_close(&plan);
    }
}

TEST(errors_say_what_and_where)
{
    static const char one[] = "features: {x: a}";
    fails_with("a,b\n1,2\nx,2\n", one, LEAT_E_DATA,
               "bad.csv, line 3 (record 1, byte 8): column 0 (feature 'x') is no float32: 'x'");
    fails_with("1,2\nx,2", "header: false, features: {x: 0}", LEAT_E_DATA,
               "bad.csv, line 2 (record 1, byte 4): ");
    fails_with("a,b\n\n1,2\nx,2\n", one, LEAT_E_DATA, "bad.csv, record 1 (byte 9): ");
    fails_with("a,b\n\"1\",\"\n\"\nx,2\n", one, LEAT_E_DATA, "bad.csv, record 1 (byte 12): ");
    fails_with("a,b\n1,2\n,2\n", one, LEAT_E_DATA, "is empty: give the feature a `default`");
    fails_with("a,b\n1,2\nNA,2\n", "na: NA, features: {x: a}", LEAT_E_DATA,
               "is the missing value NA: give the feature a `default`");
    fails_with("a,b\n1,2\n-999,2\n", "na: ['-999'], features: {x: a}", LEAT_E_DATA,
               "is the missing value -999: give the feature a `default`");
    fails_with("a,b\n1,2\nnan,2\n", "na: nan, features: {x: a}", LEAT_E_DATA,
               "is the missing value nan: give the feature a `default`");
    fails_with("a,b\nNA,2\n", "na: NA, features: {n: {columns: a, classes: [EU, NA]}}",
               LEAT_E_CONFIG, "class 1 is 'NA', which `na` lists as a missing value");
    fails_with("a,b\n1,2\n1\n", one, LEAT_E_DATA, "1 fields where 2 are expected");
    fails_with("a,b\n1,2\n1,2,3\n", one, LEAT_E_DATA, "3 fields where 2 are expected");
    fails_with("a,b\n1,2\n1,2\"\n", one, LEAT_E_DATA,
               "column 1 has a quote that RFC 4180 does not");
    fails_with("a,b\n1,2\n1,\"2", one, LEAT_E_DATA, "column 1 has a quote that RFC 4180 does not");
    fails_with("a,b\nant,2\nwasp,2\n", "features: {x: {columns: a, classes: [ant]}}", LEAT_E_DATA,
               "is no name of its `classes`: 'wasp'");
    fails_with("a,b\r1,2\r", one, LEAT_E_DATA,
               "bad.csv: this is text whose lines end with CR alone");
    fails_with("\xff\xfe"
               "a",
               one, LEAT_E_DATA, "bad.csv: this is text in UTF-16");
    fails_with("\x1f\x8b\x08", one, LEAT_E_DATA, "bad.csv: this is a gzip file: unpack it");
    fails_with("a,b\n1,2\n1e39,2\n", one, LEAT_E_DATA, "is too large for float32: '1e39'");
    fails_with("a,b\n1,2\n3,\"4\n5,6\n", one, LEAT_E_DATA,
               "bad.csv: a quote in the record at byte 8 is not closed, so the last 9 bytes would");
    fails_with("a,b\nant,2\n", "features: {x: {columns: a, classes: [ant], type: float32}}",
               LEAT_E_CONFIG, "feature 'x': the labels of `classes` are int64: leave `type` out");
    check_numbers("a,b\nant,2\n", "features: {n: {columns: a, classes: [ant], type: int64}}",
                  (const int64_t[]){ 0 }, 1);
    fails_with("a,b\n1,2\n", "columns: [a, b], header: true, features: {x: a}", LEAT_E_CONFIG,
               "`columns` is for files without a header line");
    check_numbers("1,2\n",
                  "columns: [a, b], header: false, features: {n: {columns: b, type: int64}}",
                  (const int64_t[]){ 2 }, 1);
    fails_with("a,b\nant,2\n", "features: {x: {columns: a, classes: [ant, bee, ant]}}",
               LEAT_E_CONFIG, "feature 'x': classes 0 and 2 are both 'ant'");
    fails_with("a\n256\n", "features: {x: {columns: a, type: uint8}}", LEAT_E_DATA,
               "is no uint8: '256'");
    fails_with("a\n1.5\n", "features: {x: {columns: a, type: int64}}", LEAT_E_DATA,
               "is no int64: '1.5'");
    fails_with("a,b\n1,2\n", "features: {x: c}", LEAT_E_CONFIG,
               "test.yaml:1:"); /* and the columns that there are */
    fails_with("a,b\n1,2\n", "features: {x: c}", LEAT_E_CONFIG,
               "there is no column 'c'; there are 2, in the first line: a,b");
    fails_with("a,b\n1,2\n", "features: {x: b..a}", LEAT_E_CONFIG, "it ends before it begins");
    fails_with("a,b\n1,2\n", "features: {x: 2}", LEAT_E_CONFIG, "there is no column '2'");
    fails_with("a,b\n1,2\n", "features: {x: []}", LEAT_E_CONFIG, "feature 'x' has no columns");
    fails_with("a,b\n1,2\n", "features: [a]", LEAT_E_CONFIG, "features is a mapping");
    fails_with("a,b\n1,2\n", "features: {x: {columns: a, default: y}}", LEAT_E_CONFIG,
               "default is no float32: 'y'");
    fails_with("a,b\n1,2\n", "features: {x: {columns: a, default: 010}}", LEAT_E_CONFIG,
               "default '010' begins with a zero");
    fails_with("a,b\n1,2\n", "features: {x: {columns: a, type: int64, default: -07}}",
               LEAT_E_CONFIG, "default '-07' begins with a zero");
    fails_with("a,b\n1,2\n", "delimiter: ', ', features: {x: a}", LEAT_E_CONFIG,
               "delimiter is one byte");
    fails_with("a\tb\n1\t2\n", "delimiter: tab, features: {x: a}", LEAT_E_CONFIG,
               "such as \"\\t\" (a tab)");
    fails_with("a,b\n", one, LEAT_E_DATA, "no record in 1 file");
    fails_with("", one, LEAT_E_DATA, "no record in 1 file");
}

TEST(files_have_the_same_columns)
{
    leat_plan *plan;
    leat_error err;
    put_text("many-0.csv", "a,b\n1,2\n");
    put_text("many-1.csv", "");
    put_text("many-2.csv", "a,b\n3,4\n5,6\n");
    first f = open_first(in_folder("many-*.csv"), "features: {x: [b]}", ALL);
    const leat_view x = leat_batch_tensor(f.batch, 0);
    assert_int_equal(x.shape.dims[0], 3);
    for (int i = 0; i < 3; i++)
        assert_true(((const float *)x.data)[i] == (float)(2 * i + 2));
    close_first(&f);
    put_text("many-3.csv", "a,b,c\n1,2,3\n");
    assert_int_equal(open_csv(in_folder("many-*.csv"), "features: {x: [b]}", ALL, &plan, &err),
                     LEAT_E_DATA);
    assert_non_null(strstr(err.message, "many-3.csv has 3 columns"));
}

TEST(names_have_the_same_order)
{
    static const char *const equal[] = { "\xef\xbb\xbf\"a\",b\r\n3,4\r\n", "\n a ,\tb \n3,4\n",
                                         "a,b\n" };
    static const struct {
        const char *text, *message;
    } others[] = {
        { "b,a\n2,1\n", "order-2.csv: column 0 is named 'b', in " },
        { "b,a\n", "order-2.csv: column 0 is named 'b', in " },
        { "a,B\n1,2\n", "order-2.csv: column 1 is named 'B', in " },
        { "3,4\n", "order-2.csv: column 0 is named '3', in " },
    };
    put_text("order-0.csv", "");
    put_text("order-1.csv", "a,b\n1,2\n");
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        put_text("order-2.csv", equal[i]);
        first f = open_first(in_folder("order-*.csv"), "features: {x: [b]}", ALL);
        assert_true(*(const float *)tensor(&f, "x").data == 2);
        close_first(&f);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        leat_plan *plan;
        leat_error err;
        put_text("order-2.csv", others[i].text);
        assert_int_equal(open_csv(in_folder("order-*.csv"), "features: {x: [b]}", ALL, &plan, &err),
                         LEAT_E_DATA);
        if (!strstr(err.message, others[i].message) || !strstr(err.message, "order-1.csv it is '"))
            fail_msg("%zu: %s", i, err.message);
    }
    /* Without names, the first line is a record. */
    put_text("order-2.csv", "3,4\n");
    put_text("order-1.csv", "1,2\n");
    first f = open_first(in_folder("order-*.csv"), "header: false, features: {x: 1}", ALL);
    assert_true(((const float *)tensor(&f, "x").data)[1] == 4);
    close_first(&f);
}

/* Every prefix either opens, with records that are whole or bad, or says what is wrong. */
TEST(prefixes_are_read_or_refused)
{
    size_t size;
    uint8_t *const bytes = read_whole(GOLDEN "table.csv", &size);
    for (size_t n = 0; n < size; n++) {
        leat_plan *plan;
        leat_error err = { 0 };
        put_file("cut.csv", bytes, n);
        const int rc =
            open_csv(in_folder("cut.csv"),
                     "features: {x: [width, height], label: {columns: kind, " CLASSES "}}",
                     "pipeline: [{on_error: {policy: mask, max_errors: unlimited}}, {batch: 7}]",
                     &plan, &err);
        if (rc < 0 && (!strstr(err.message, "cut.csv") && !strstr(err.message, "test.yaml:1:")))
            fail_msg("%zu bytes: %s: %s", n, leat_code_name(rc), err.message);
        if (rc >= 0) {
            leat_loader *loader = open_loader(plan, NULL);
            leat_batch *batch;
            check(leat_loader_next(loader, &batch, &err), &err);
            assert_true(leat_batch_get_info(batch)->n_masked <= 1);
            leat_batch_release(batch);
            leat_loader_close(&loader);
        }
        leat_plan_close(&plan);
    }
    free(bytes);
}

SUITE_FIXTURE(make_folder, remove_folder)
