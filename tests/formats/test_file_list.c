/* SPDX-License-Identifier: MIT
 *
 * test_file_list.c: lists of files: which entries, labels and classes they give, and what is refused, and where. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>

#include "fixtures/own_folder.h"

#include "formats/file_list.h"

static const leat_file_list_options plain = {
    .root = "", .delimiter = "auto", .file = "", .suffix = "", .class_from = ""
};

/* "name=label name=label | class class", or the message. */
static const char *read_list(const char *name, const char *bytes, size_t n,
                             const leat_file_list_options *o)
{
    static char text[2000];
    leat_file_list list;
    leat_format_error why = { 0 };
    size_t used = 0;
    const int rc = leat_file_list_parse(&list, name, (const uint8_t *)bytes, n, o, &why);
    *text = 0;
    if (rc < 0)
        snprintf(text, sizeof text, "%s", why.text);
    for (size_t i = 0; rc >= 0 && i < list.n; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 list.entries[i].name);
        for (size_t k = 0; k < list.labels.n_columns; k++) {
            const size_t at = i * list.labels.n_columns + k;
            used += list.labels.floats ? (size_t)snprintf(text + used, sizeof text - used, "=%g",
                                                          (double)list.labels.floats[at])
                                       : (size_t)snprintf(text + used, sizeof text - used, "=%lld",
                                                          (long long)list.labels.ints[at]);
        }
    }
    for (size_t i = 0; rc >= 0 && i < list.labels.n_classes; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : " | ",
                                 list.labels.classes[i]);
    leat_file_list_close(&list);
    return text;
}

typedef struct row {
    const char *name, *bytes, *want;
    leat_file_list_options o;
} row;

#define PLAIN .root = "", .delimiter = "auto", .suffix = ""
#define O     PLAIN, .file = "", .class_from = ""

static const char *label_b[] = { "b" }, *labels_12[] = { "1", "c" };
static const char *label_2[] = { "2" };
static const char *label_1[] = { "1" }, *labels_21[] = { "2", "1" };

static const row rows[] = {
    /* class names are numbered in byte order, not in the order of the list */
    { "l.csv",
      "x.jpg,dog\ny.jpg,Cat\nz.jpg,cat\n",
      "x.jpg=2 y.jpg=0 z.jpg=1 | Cat cat dog",
      { O } },
    { "l.csv", "\xef\xbb\xbfx.jpg,1\r\n\r\ny.jpg,-7", "x.jpg=1 y.jpg=-7", { O } },
    { "l.csv", "x.jpg,1\ny.jpg,2\n", "x.jpg=0 y.jpg=1 | 1 2", { O, .type = LEAT_LIST_CLASS } },
    { "l.csv", "x.jpg,1\ny.jpg,2.5\n", "x.jpg=1 y.jpg=2.5", { O, .type = LEAT_LIST_FLOAT32 } },
    { "l.tsv", "a b.jpg\tone, two\n", "a b.jpg=0 | one, two", { O } },
    { "l.csv", "\"a,\"\"b\"\".jpg\",\"c\"\n", "a,\"b\".jpg=0 | c", { O } },
    /* blanks are part of a field in quotes, and around a number */
    { "l.csv",
      "x.jpg,\"a \"\ny.jpg, a\t\n\" z.jpg\",\"\ta\"\n",
      "x.jpg=2 y.jpg=1  z.jpg=0 | \ta a a ",
      { O } },
    { "l.csv", "x.jpg,\" 1\"\ny.jpg,\"-2\t\"\n", "x.jpg=1 y.jpg=-2", { O } },
    { "l.csv",
      "x.jpg,\" 1\"\ny.jpg,\"2.5 \"\n",
      "x.jpg=1 y.jpg=2.5",
      { O, .type = LEAT_LIST_FLOAT32 } },
    { "l.csv", "id,label\nx.jpg,a\n", "x.jpg=0 | a", { O } },
    { "l.csv", "id.x,a\nx.jpg,a\n", "id.x=0 x.jpg=0 | a", { O } },
    { "l.csv", "id,a\nx.jpg,a\n", "id=0 x.jpg=0 | a", { O, .header = LEAT_LIST_HEADER_NO } },
    { "l.csv",
      "a,b,c\nx,0,1\ny,1,1\n",
      "x.jpg=0=1 y.jpg=1=1",
      { .root = "",
        .delimiter = "auto",
        .suffix = ".jpg",
        .file = "a",
        .class_from = "",
        .labels = labels_12,
        .n_labels = 2 } },
    { "l.csv",
      "b,a\n7,x\n",
      "x=7",
      { PLAIN, .file = "a", .class_from = "", .labels = label_b, .n_labels = 1 } },
    /* a number in the first line is a value there, and no name of a column */
    { "l.csv", "x.jpg,0\ny.jpg,1\n", "x.jpg=0 y.jpg=1", { O } },
    { "l.csv", "x.jpg,1\ny.jpg,2\n", "x.jpg=1 y.jpg=2", { O, .labels = label_1, .n_labels = 1 } },
    { "l.csv",
      "x.jpg,1,0\ny.jpg,0,1\n",
      "x.jpg=0=1 y.jpg=1=0",
      { O, .labels = labels_21, .n_labels = 2 } },
    { "l.csv",
      "id,1\nx.jpg,7\n",
      "x.jpg=7",
      { O, .labels = label_1, .n_labels = 1, .header = LEAT_LIST_HEADER_YES } },
    { "l.csv",
      "id,0,1\nx,7,8\n",
      "l.csv:1: label '1' is the number of column '0', from 0, and the name of another one: write "
      "header: true if it is the name",
      { O, .labels = label_1, .n_labels = 1 } },
    { "l.csv",
      "id,0,1\nx.jpg,7,8\n",
      "x.jpg=8",
      { O, .labels = label_1, .n_labels = 1, .header = LEAT_LIST_HEADER_YES } },
    { "l.csv",
      "id,0,1\nx.jpg,7,8\n",
      "x.jpg=8",
      { PLAIN, .file = "id", .class_from = "", .labels = label_1, .n_labels = 1 } },
    { "l.csv",
      "a,b,b\nx,0,1\n",
      "l.csv:1: 2 columns have the name 'b': give the number of one, from 0",
      { PLAIN, .file = "a", .class_from = "", .labels = label_b, .n_labels = 1 } },
    /* the same rule for the column of the paths */
    { "l.csv", "7,x.jpg\n8,y.jpg\n", "x.jpg=7 y.jpg=8", { PLAIN, .file = "1", .class_from = "" } },
    { "l.csv",
      "1,2\nx.jpg,7\n",
      "x.jpg=7",
      { PLAIN, .file = "1", .class_from = "", .labels = label_2, .n_labels = 1,
        .header = LEAT_LIST_HEADER_YES } },
    { "l.csv",
      "1,id,b\nx.jpg,y.jpg,7\n",
      "x.jpg=7",
      { PLAIN, .file = "1", .class_from = "", .labels = label_b, .n_labels = 1 } },
    { "l.csv",
      "1,id,2\nx.jpg,y.jpg,7\n",
      "l.csv:1: file '1' is the number of column 'id', from 0, and the name of another one: write "
      "header: true if it is the name",
      { PLAIN, .file = "1", .class_from = "", .labels = label_2, .n_labels = 1 } },
    { "l.csv",
      "id,1,1\nx.jpg,7,8\n",
      "l.csv:1: 2 columns have the name '1', and where the first line has names a number is a "
      "name, "
      "too: rename one of them",
      { O, .labels = label_1, .n_labels = 1, .header = LEAT_LIST_HEADER_YES } },
    { "l.csv", "x.jpg\ny.jpg\n", "x.jpg y.jpg", { O } },
    { "l.txt", "a \"b.jpg\n/c,d.jpg\r\n../e\n\n", "a \"b.jpg /c,d.jpg ../e", { O } },
    { "l.txt",
      "x.jpg 3\n",
      "x.jpg=3",
      { .root = "", .delimiter = " ", .file = "", .suffix = "", .class_from = "" } },
    { "l.txt",
      "v/n01_cat.JPEG\nn2_dog.JPEG\n",
      "v/n01_cat.JPEG=0 n2_dog.JPEG=1 | cat dog",
      { PLAIN, .file = "", .class_from = "n\\d+_(.+)\\.JPEG" } },
    { "l.txt",
      "a_1\n?\nb_2\n",
      "a_1=0 b_2=1 | a b",
      { PLAIN, .file = "", .class_from = "^([\\w]+)_\\d$", .skip = 1 } },

    { "l.txt",
      "a_1\n?\n",
      "l.txt:2: '?' has no class: class_from '^(\\w+)_' does not match it, or its first "
      "group is empty there; skip_bad leaves out such names",
      { PLAIN, .file = "", .class_from = "^(\\w+)_" } },
    { "l.txt",
      "x_1\n",
      "l.txt:1: 'x_1' has no class: class_from '(y*)' does not match it, or its first group is "
      "empty "
      "there; skip_bad leaves out such names",
      { PLAIN, .file = "", .class_from = "(y*)" } },
    { "l.txt", /* characters are bytes in every locale */
      "a\xff_1\n",
      "a\xff_1=0 | a\xff",
      { PLAIN, .file = "", .class_from = "^(.+)_1$" } },
    { "l.txt",
      "0123456789abcdef_b\n",
      "0123456789abcdef_b=0 | b",
      { PLAIN, .file = "", .class_from = "^[[:xdigit:]{]{16}_(b{1,255})$" } },
    { "l.txt", /* the bracket of a POSIX class ends no brackets */
      "a1?_3\n",
      "a1?_3=0 | a1?",
      { PLAIN, .file = "", .class_from = "^([[:alpha:]\\d[=+=]?+]+)_\\d$" } },
    { "l.csv",
      "x.jpg,1\ny.jpg,cat\n",
      "l.csv:2: the label 'cat' is no whole number of 64 bits (label_type: class takes all labels "
      "as names, "
      "float32 as numbers)",
      { O } },
    { "l.csv",
      "x.jpg,a\n\"y\nz.jpg\",b\nw.jpg\n",
      "l.csv:4: 1 fields, but the first line has 2",
      { O } },
    { "l.csv", "x.jpg,\n", "l.csv:1: the label is empty", { O } },
    { "l.csv", "x.jpg,a\n,a\n", "l.csv:2: the path is empty", { O } },
    { "l.csv", "x.jpg,\"a\n", "l.csv:1: a quote in column 1 that RFC 4180 does not allow", { O } },
    { "l.csv",
      "x.jpg,a,1\n",
      "l.csv:1: there are 3 columns: give the one with the label as `label`; the first line has: "
      "x.jpg, a, 1",
      { O } },
    { "l.csv",
      "x.jpg,1,0.5\n",
      "l.csv:1: the label '0.5' would be the name of a class, and several label columns have none: "
      "they have whole numbers, such as 0 and 1, or numbers with label_type: float32",
      { O, .labels = labels_21, .n_labels = 2 } },
    { "l.csv",
      "x.jpg,0x10\n",
      "l.csv:1: the label '0x10' is no number",
      { O, .type = LEAT_LIST_FLOAT32 } },
    { "l.csv",
      "x.jpg,nan\n",
      "l.csv:1: the label 'nan' is no number",
      { O, .type = LEAT_LIST_FLOAT32 } },
    { "l.csv",
      "x.jpg,99999999999999999999\n",
      "l.csv:1: the label '99999999999999999999' is no whole number of 64 bits (label_type: class "
      "takes all "
      "labels as names, float32 as numbers)",
      { O, .type = LEAT_LIST_INT64 } },
    { "l.csv", /* of which no class is made */
      "x.jpg,9223372036854775808\n",
      "l.csv:1: the label '9223372036854775808' is no whole number of 64 bits (label_type: class "
      "takes all "
      "labels as names, float32 as numbers)",
      { O } },
    { "l.csv", /* as pandas writes whole numbers between which one is missing */
      "path,y\nx.jpg,0.0\ny.jpg,10.0\nz.jpg,2\n",
      "l.csv:2: the label '0.0' is no whole number, and all labels are numbers: as names of "
      "classes "
      "they would be in byte order, 10.0 before 2.0; label_type: class (--label-type of leat "
      "convert) takes them so, label_type: float32 takes them as numbers; numbers of classes are "
      "written without a point",
      { O } },
    { "l.txt",
      "1.5/a\n2/b\n",
      "l.txt:1: the label '1.5' is no whole number, and all labels are numbers: as names of "
      "classes "
      "they would be in byte order, 10.0 before 2.0; label_type: class (--label-type of leat "
      "convert) takes them so, label_type: float32 takes them as numbers; numbers of classes are "
      "written without a point",
      { PLAIN, .file = "", .class_from = "^([^/]*)/" } },
    { "l.csv",
      "x.jpg,0.0\ny.jpg,10.0\nz.jpg,2.0\n",
      "x.jpg=0 y.jpg=1 z.jpg=2 | 0.0 10.0 2.0",
      { O, .type = LEAT_LIST_CLASS } },
    { "l.csv", "x.jpg,0.0\ny.jpg,10.0\n", "x.jpg=0 y.jpg=10", { O, .type = LEAT_LIST_FLOAT32 } },
    { "l.csv", "x.jpg,1.5\ny.jpg,1.5b\n", "x.jpg=0 y.jpg=1 | 1.5 1.5b", { O } },
    { "l.csv", "x.jpg,\"a\nb\"\n", "l.csv:1: the class has a line break in its name", { O } },
    { "l.csv", "\r\n\n", "l.csv: lists no file", { O } },
};

TEST(lists_give_what_is_in_them)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(
            read_list(rows[i].name, rows[i].bytes, strlen(rows[i].bytes), &rows[i].o),
            rows[i].want);
    assert_non_null(
        strstr(read_list("l.csv", "x.jpg,a\ny\0.jpg,b\n", 17, &plain), "l.csv:2: a NUL byte"));
}

TEST(patterns_without_one_meaning_are_refused)
{
    static const struct {
        const char *pattern, *part;
    } cases[] = {
        { "abc", "has no group" },
        { "(a", "Unmatched" },
        { "(.+?)_", "character 3" },
        { "(?:a)(b)", "character 1" },
        { "([\\D])", "character 3" },
        { "(a)\\", "a backslash at the end" },
        { "(a)\\1", "character 4" },
        { "([]", "Unmatched" },
        { "(((a{1,99}){1,99}){1,99})", "character 12: too many repetitions" },
    };
    leat_file_list_options o = plain;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o.class_from = cases[i].pattern;
        const char *const why = read_list("l.txt", "a\n", 2, &o);
        if (!strstr(why, cases[i].part))
            fail_msg("%s: %s", cases[i].pattern, why);
    }
}

/* A million rows: the second half repeats the first. */
TEST(long_lists_take_bounded_time)
{
    enum { ROWS = 1000000 };
    char *text = NULL;
    size_t n = 0;
    leat_file_list list;
    leat_format_error why = { 0 };
    FILE *const to = open_memstream(&text, &n);
    for (int i = 0; i < ROWS; i++)
        fprintf(to, "f/%d.jpg,class%d\n", i % (ROWS / 2), i % 1000);
    fclose(to);
    assert_int_equal(leat_file_list_parse(&list, "l.csv", (const uint8_t *)text, n, &plain, &why),
                     0);
    assert_int_equal(list.n, ROWS);
    assert_int_equal(list.labels.n_classes, 1000);
    assert_int_equal(list.n_repeated, ROWS / 2);
    assert_string_equal(list.first_repeated, "line 500001: f/0.jpg");
    leat_file_list_close(&list);
    free(text);
}

/* The program's own: a folder `closed` may not be read, and looks at `root` are counted and may fail. */
static int n_looks, look_that_fails;

int scandir(const char *path, struct dirent ***out, int (*is)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    int (*call)(const char *, struct dirent ***, int (*)(const struct dirent *),
                int (*)(const struct dirent **, const struct dirent **));
    void *const found = dlsym(RTLD_NEXT, "scandir");
    memcpy(&call, &found, sizeof found);
    if (!strstr(path, "/closed"))
        return call(path, out, is, compare);
    errno = EACCES;
    return -1;
}

int stat(const char *restrict path, struct stat *restrict out)
{
    if (!strcmp(path, "root") && ++n_looks == look_that_fails) {
        errno = ENOENT;
        return -1;
    }
    return fstatat(AT_FDCWD, path, out, 0);
}

TEST(a_class_that_may_not_be_read_is_not_left_out)
{
    leat_file_list list;
    leat_format_error why = { 0 };
    leat_file_list_options o = plain;
    o.class_from = "([a-z]+)/[^/]+$";
    o.skip = 1;
    put_text("r/cat/1.jpg", "1");
    put_text("r/closed/2.jpg", "2");
    assert_int_equal(leat_file_list_open(&list, in_folder("r"), &o, &why), LEAT_FORMAT_IO);
    leat_file_list_close(&list);
    assert_non_null(strstr(why.text, "r/closed: cannot read the folder: Permission denied"));
}

/* Two answers that differ would give names that start elsewhere. */
TEST(a_folder_is_looked_at_once_to_tell_what_it_is)
{
    leat_file_list_options o = plain;
    o.class_from = "([a-z]+)/[^/]+$";
    put_text("once/root/cat/1.jpg", "1");
    assert_int_equal(chdir(in_folder("once")), 0);
    for (look_that_fails = 1; look_that_fails < 9; look_that_fails++) {
        leat_file_list list;
        leat_format_error why = { 0 };
        n_looks = 0;
        const int rc = leat_file_list_open(&list, "root", &o, &why);
        assert_true(n_looks > 0);
        if (rc == LEAT_FORMAT_OK) {
            assert_string_equal(list.root, "root");
            assert_string_equal(list.entries[0].name, "cat/1.jpg");
        }
        leat_file_list_close(&list);
    }
    look_that_fails = 0;
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* as Python does */
    unit_around_all(make_folder, remove_folder);
    return unit_run();
}
