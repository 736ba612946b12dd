/* SPDX-License-Identifier: MIT
 *
 * test_command.c: the `leat` command as its users see it: a child process, its output, its exit
 * code and the files that it leaves. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "example.h"
#include "tfrecord.h"

#define LEAT BUILD_DIR "/leat"

static char folder[64];
static char out[1 << 20], err[1 << 16]; /* of the last run */

/* --- helpers -----------------------------------------------------------------------------------*/

static void slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

/* Runs a line of shell in the test's folder with $L the command; gives its exit code, or 256 plus
 * the signal that ended it. */
static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char line[4096], command[4096 + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    snprintf(command, sizeof command, "cd %s && L=%s && { %s\n} >.out 2>.err", folder, LEAT, line);
    const int status = system(command);
    assert_int_not_equal(status, -1);
    snprintf(command, sizeof command, "%s/.out", folder);
    slurp(command, out, sizeof out);
    snprintf(command, sizeof command, "%s/.err", folder);
    slurp(command, err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* The last run must have ended so, with nothing on standard output and this in its message. */
static void expect_failure(int code, int expected, const char *part)
{
    if (code != expected)
        fail_msg("exit code %d instead of %d; it said: %s", code, expected, err);
    expect_in(err, part);
    assert_string_equal(out, "");
}

static void expect_success(int code)
{
    if (code != 0)
        fail_msg("exit code %d; it said: %s", code, err);
}

/* Names in the test's folder that fit a pattern, hidden ones too. */
static int count_files(const char *pattern)
{
    expect_success(shell("find . -maxdepth 1 -name '%s' | wc -l", pattern));
    return atoi(out);
}

static json_t *parse_out(void)
{
    json_error_t why;
    json_t *json = json_loads(out, 0, &why);
    if (!json)
        fail_msg("no JSON: %s in:\n%s", why.text, out);
    return json;
}

static int64_t number(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_number(value))
        fail_msg("no number \"%s\"", key);
    return (int64_t)json_number_value(value);
}

/* Names of all commands, from the list that `leat help` prints. */
static int list_commands(char names[32][32])
{
    int n = 0;
    expect_success(shell("$L help"));
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
        if (!strncmp(line, "  ", 2) && line[2] >= 'a' && line[2] <= 'z' && n < 32)
            sscanf(line, " %31s", names[n++]);
    return n;
}

static int make_folder(void **state)
{
    (void)state;
    /* The models here are tiny; and a thread checker does not see how OpenMP's own threads wait. */
    setenv("OMP_NUM_THREADS", "1", 0);
    /* In memory where that is possible: what is tested here syncs a lot of files. */
    strcpy(folder, "/dev/shm/leat-command-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/leat-command-XXXXXX");
        if (!mkdtemp(folder))
            return -1;
    }
    return shell("$L synth set --n 300 --size 16 --seed 7 --split 0.2 -q && mv set/train images && "
                 "mv set/test test-images");
}

static int remove_folder(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static int clean(void **state)
{
    (void)state;
    return shell("rm -rf x* .x* y* bad");
}

/* --- help and usage ----------------------------------------------------------------------------*/

static void every_command_explains_itself(void **state)
{
    (void)state;
    char names[32][32];
    const int n = list_commands(names);
    assert_in_range(n, 10, 31);
    for (int i = 0; i < n; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "usage: leat %.31s", names[i]);
        expect_success(shell("$L %s --help", names[i]));
        expect_in(out, usage);
        assert_string_equal(err, "");
        expect_success(shell("$L help %s", names[i]));
        expect_in(out, usage);
    }
}

static void unknown_options_are_usage_errors(void **state)
{
    (void)state;
    char names[32][32];
    const int n = list_commands(names);
    for (int i = 0; i < n; i++) {
        expect_failure(shell("$L %s --no-such-option", names[i]), 2,
                       "unknown option --no-such-option");
        expect_failure(shell("$L %s -Z", names[i]), 2, "unknown option -Z");
        expect_failure(shell("$L %s --hlp", names[i]), 2, "did you mean --help?");
    }
}

static void usage_errors_exit_2_and_help(void **state)
{
    (void)state;
    static const struct {
        const char *line, *part;
    } cases[] = {
        { "", "usage: leat COMMAND" },
        { "trian", "did you mean 'train'?" },
        { "qqqqqqq", "unknown command 'qqqqqqq'" },
        { "convert", "needs images DIR" },
        { "convert images", "needs images DIR" },
        { "convert imags d -o x", "it knows: images" },
        { "convert images d", "needs -o PREFIX" },
        { "convert images a b -o x", "'b' is one argument too many" },
        { "convert images images -o", "-o needs a value: PREFIX" },
        { "convert images images -o x --shards", "--shards needs a value: N" },
        { "convert images images -o x --shards 0", "between 1 and 99999" },
        { "convert images images -o x --shards many", "--shards" },
        { "convert images images -o x --shuffle -3", "no seed" },
        { "convert images images -o x --shuffle 1x", "no seed" },
        { "convert images images -o x --shards 1000", "there are only 240 files" },
        { "convert images images -o x --skip-bda", "did you mean --skip-bad?" },
        { "synth x --classes 11", "--classes" },
        { "synth x --format gif", "--format" },
        { "ops random_crpo", "did you mean 'random_crop'?" },
        { "help sinth", "did you mean 'synth'?" },
        { "index --check --rebuild x", "exclude each other" },
        { "bench", "needs CONFIG" },
        { "train", "needs CONFIG" },
        { "compare", "needs CONFIG" },
        { "inspect", "needs FILE" },
        { "devices cpu", "'cpu' is one argument too many" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure(shell("$L %s", cases[i].line), 2, cases[i].part);
}

static void pages_are_made_from_the_tables(void **state)
{
    (void)state;
    char names[32][32];
    const int n = list_commands(names);
    for (int i = 0; i < n; i++) {
        char title[64];
        expect_success(shell("$L help --man"));
        snprintf(title, sizeof title, ".SS \"leat %.31s", names[i]);
        expect_in(out, title);
        expect_success(shell("$L help --reference"));
        snprintf(title, sizeof title, "### leat %.31s", names[i]);
        expect_in(out, title);
    }
    expect_success(shell("$L ops --json"));
    json_t *json = parse_out(), *op;
    size_t k;
    json_array_foreach(json_object_get(json, "ops"), k, op)
    {
        const char *name = json_string_value(json_object_get(op, "name"));
        char title[64];
        snprintf(title, sizeof title, "### %.40s\n", name);
        expect_success(shell("$L help --reference"));
        expect_in(out, title);
        expect_success(shell("$L help --completion"));
        expect_in(out, name);
        expect_success(shell("$L ops %s && $L help %s", name, name));
        expect_in(out, name);
    }
    json_decref(json);
    expect_success(shell("$L help --man | man -l --warnings=all - 2>warnings >/dev/null; "
                         "test ! -s warnings || ! command -v man"));
}

static void completion_is_bash_and_completes(void **state)
{
    (void)state;
    expect_success(shell("$L help --completion >completion && bash -n completion"));
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat conv); COMP_CWORD=1; _leat; "
                         "echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "convert\n");
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat convert --sh); COMP_CWORD=2; "
                         "_leat; echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "--shards --shuffle\n");
    expect_success(shell("bash -c '. ./completion; COMP_WORDS=(leat synth --format p); "
                         "COMP_CWORD=3; _leat 2>/dev/null; COMP_WORDS=(leat synth --format p); "
                         "_leat; echo ${COMPREPLY[@]}'"));
    assert_string_equal(out, "png\n");
}

static void lost_output_is_a_failure(void **state)
{
    (void)state;
    assert_int_equal(shell("$L ops >/dev/full"), 1);
    expect_in(err, "standard output");
    assert_int_equal(shell("$L ops --json=/no/such/folder/x.json"), 1);
    expect_in(err, "/no/such/folder/x.json");
    expect_success(shell("$L --version"));
    expect_in(out, "leat ");
}

/* `--json DATA` would be a way to lose data: only what ends in .json is taken for its file. */
static void json_does_not_eat_arguments(void **state)
{
    (void)state;
    expect_success(
        shell("$L convert images images -o x -q >&2 && cp x-00000-of-00001.tfrecord y && "
              "$L inspect --json x-00000-of-00001.tfrecord"));
    json_decref(parse_out());
    expect_success(shell("cmp y x-00000-of-00001.tfrecord"));
    expect_success(shell("$L inspect --json x.json x-00000-of-00001.tfrecord"));
    expect_in(out, "240 records");
    expect_success(shell("cat x.json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "records"), 240);
    json_decref(json);
}

static void devices_tell_what_is_simulated(void **state)
{
    (void)state;
    bool cpu = false, sim = false;
    expect_success(shell("$L devices --json"));
    json_t *json = parse_out(), *device;
    size_t i;
    json_array_foreach(json_object_get(json, "devices"), i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));
        const bool simulated = json_is_true(json_object_get(device, "simulated"));
        assert_int_equal(simulated, !strncmp(name, "sim", 3));
        cpu |= !strcmp(name, "cpu") && json_is_true(json_object_get(device, "available"));
        sim |= simulated;
    }
    assert_true(cpu && sim);
    json_decref(json);
}

/* --- synth -------------------------------------------------------------------------------------*/

static void synth_is_a_function_of_the_seed(void **state)
{
    (void)state;
    expect_success(shell("$L synth x1 --n 40 --size 24 --threads 1 && "
                         "$L synth x4 --n 40 --size 24 --threads 4 && diff -r x1 x4"));
    assert_int_equal(shell("$L synth x2 --n 40 --size 24 --seed 2 && diff -rq x1 x2"), 1);
    expect_success(shell("ls x1 | wc -l"));
    assert_int_equal(atoi(out), 10);
    expect_success(shell("$L synth x.png --n 10 --size 16 --format png >&2 && "
                         "$L convert images x.png -o xp --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "images"), 10);
    json_decref(json);
    assert_int_equal(count_files(".x*"), 0);
}

static void synth_splits(void **state)
{
    (void)state;
    expect_success(shell("$L synth x --n 100 --size 8 --split 0.25 --classes 3 && "
                         "find x/test -type f | wc -l"));
    expect_in(out, "25\n");
    expect_success(shell("find x/train -type f | wc -l"));
    assert_int_equal(atoi(out), 75);
}

static void synth_takes_nothing_over(void **state)
{
    (void)state;
    expect_failure(shell("mkdir x && touch x/mine && $L synth x"), 1, "exists already");
    expect_success(shell("ls x/mine && mkdir xempty && $L synth xempty --n 3 --size 8"));
    expect_failure(shell("$L synth /dev/null/x"), 1, "/dev/null");
    expect_success(
        shell("$L synth new/folder/x --n 3 --size 8 -q && ls new/folder/x && rm -r new"));
    assert_int_equal(shell("ulimit -f 1; $L synth xfull --n 9 --size 64 -q"), 1);
    expect_in(err, "cannot write: File too large");
    assert_int_equal(count_files("xfull"), 0);
    assert_int_equal(count_files(".xfull*"), 0);
}

/* --- convert -----------------------------------------------------------------------------------*/

static void bytes_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const ways[] = { "",
                                        "--shuffle 5",
                                        "--shards 7",
                                        "--shards 7 --shuffle 5",
                                        "--shards 240",
                                        "--verify --shards 3" };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_success(shell("rm -rf a b && mkdir a b && "
                             "$L convert images images -o a/x %s --threads 1 && "
                             "$L convert images images -o b/x %s --threads 4 && "
                             "cmp a/x-labels.txt b/x-labels.txt && "
                             "for f in a/*.tfrecord; do cmp $f b/${f#a/} || exit 1; done",
                             ways[i], ways[i]));
        expect_success(shell("ls -A a | grep -v -e tfrecord -e labels.txt | wc -l"));
        assert_int_equal(atoi(out), 0);
    }
    assert_int_equal(shell("$L convert images images -o a/s5 --shuffle 5 && "
                           "$L convert images images -o a/s6 --shuffle 6 && "
                           "cmp -s a/s5-00000-of-00001.tfrecord a/s6-00000-of-00001.tfrecord"),
                     1);
    expect_success(shell("rm -r a b"));
}

static void records_hold_the_files(void **state)
{
    (void)state;
    expect_success(shell("$L convert images images -o x --shards 3 && cat x-labels.txt"));
    expect_in(out, "circle\ncrescent\ncross\nframe\nhourglass\nring\nsquare\nstar\nstripes\n"
                   "triangle\n");
    expect_success(shell("$L inspect 'x-*.tfrecord' --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "records"), 240);
    assert_int_equal(json_array_size(json_object_get(json, "files")), 3);
    assert_int_equal(json_array_size(json_object_get(json, "features")), 7);
    const json_t *labels = json_object_get(json, "labels"), *label;
    size_t i;
    assert_int_equal(json_array_size(labels), 10);
    json_array_foreach(labels, i, label)
    {
        assert_int_equal(number(label, "label"), i);
        assert_int_equal(number(label, "records"), 24);
    }
    json_decref(json);
    /* In order of class and name, so the first is known; its bytes are the file's. */
    expect_success(shell("$L inspect 'x-*.tfrecord' --record 0 --json"));
    json = parse_out();
    const json_t *fields = json_object_get(json, "fields"), *field;
    json_array_foreach(fields, i, field)
    {
        const char *name = json_string_value(json_object_get(field, "name"));
        const json_t *value = json_array_get(json_object_get(field, "values"), 0);
        if (!strcmp(name, "image/height") || !strcmp(name, "image/width"))
            assert_int_equal(json_integer_value(value), 16);
        if (!strcmp(name, "image/class/label"))
            assert_int_equal(json_integer_value(value), 0);
        if (!strcmp(name, "image/class/text"))
            assert_string_equal(json_string_value(json_object_get(value, "text")), "circle");
        if (!strcmp(name, "image/filename"))
            assert_string_equal(json_string_value(json_object_get(value, "text")),
                                "circle/circle-0000000.jpg");
    }
    json_decref(json);
    assert_int_equal(shell("$L inspect 'x-*.tfrecord' --record 240"), 2);
    expect_in(err, "there are only 240");
}

/* Every record's image is the file it names, byte by byte. */
static void images_pass_untouched(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    static const leat_feature_key keys[] = { { "image/encoded", 13 }, { "image/filename", 14 } };
    char path[512];
    leat_tfrecord_reader *reader;
    const uint8_t *record, *image, *name;
    size_t size, image_size, name_size, n = 0;
    expect_success(shell("$L convert images images -o x --shuffle 3"));
    snprintf(path, sizeof path, "%s/x-00000-of-00001.tfrecord", folder);
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, 0, NULL), LEAT_FORMAT_OK);
    while (leat_tfrecord_reader_next(reader, &record, &size, NULL) == LEAT_FORMAT_OK) {
        leat_feature found[2];
        assert_int_equal(leat_example_scan(record, size, keys, 2, found, NULL), LEAT_FORMAT_OK);
        assert_int_equal(leat_feature_bytes(&found[0], 0, &image, &image_size), LEAT_FORMAT_OK);
        assert_int_equal(leat_feature_bytes(&found[1], 0, &name, &name_size), LEAT_FORMAT_OK);
        snprintf(path, sizeof path, "%s/images/%.*s", folder, (int)name_size, (const char *)name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fread(bytes, 1, sizeof bytes, file), image_size);
        assert_memory_equal(bytes, image, image_size);
        fclose(file);
        n++;
    }
    leat_tfrecord_reader_close(&reader);
    assert_int_equal(n, 240);
}

static void index_files_fit_until_data_change(void **state)
{
    (void)state;
    expect_success(shell("$L convert images images -o x --shards 2 && $L index --check "
                         "'x-*.tfrecord' && touch -d 2001-01-01 x-00001-of-00002.tfrecord"));
    assert_int_equal(shell("$L index --check 'x-*.tfrecord'"), 1);
    expect_in(err, "x-00001-of-00002.tfrecord");
    expect_in(err, "1 of 2 files failed the check");
    /* All that is wrong is named, and what is right is listed. */
    assert_int_equal(
        shell("printf x >x-zero.tfrecord; cp x-00000-of-00002.tfrecord x-none.tfrecord;"
              "$L index --check x-zero.tfrecord x-none.tfrecord 'x-*-of-*.tfrecord'"),
        1);
    expect_in(err, "x-zero.tfrecord");
    expect_in(err, "x-none.tfrecord");
    expect_in(err, "x-00001-of-00002.tfrecord");
    expect_in(err, "3 of 4 files failed the check");
    expect_in(out, "x-00000-of-00002.tfrecord: 120 records");
    expect_success(shell("rm x-zero.tfrecord x-none.tfrecord"));
    expect_success(shell("$L index 'x-*.tfrecord' && $L index --check 'x-*.tfrecord' --json"));
    expect_failure(shell("$L index 'z*.tfrecord'"), 1, "no file matches");
    expect_failure(shell("$L index zzz"), 1, "zzz: No such file");
}

static void an_index_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    expect_success(shell("$L convert images images -o x && rm x*.idx && $L index x-*.tfrecord"));
    expect_in(out, "240 records");
    expect_in(out, "index written (before: ");
    expect_success(shell("$L index x-*.tfrecord"));
    expect_in(out, "index fits\n");
    expect_success(shell("rm x*.idx && mkdir x-00000-of-00001.tfrecord.idx"));
    expect_failure(shell("$L index x-*.tfrecord"), 1, "no index was written: ");
    expect_success(shell("$L inspect x-*.tfrecord")); /* which needs none */
}

static void bad_folders_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *setup, *part;
    } cases[] = {
        { "true", "bad: cannot read the folder: No such file" },
        { "touch bad", "bad: cannot read the folder" },
        { "mkdir bad", "it is empty" },
        { "mkdir bad && cp images/circle/* bad", "only files" },
        { "mkdir -p bad/a bad/b", "2 class folders, but no image in any of them" },
        { "mkdir bad && cp -r images bad/train && cp -r test-images bad/test",
          "did you mean bad/train?" },
        { "cp -r images bad && mkdir bad/circle/more", "--recursive" },
        { "cp -r images bad && mkfifo bad/circle/pipe", "neither a file nor a folder" },
        { "cp -r images bad && ln -s nowhere bad/circle/link", "bad/circle/link" },
        { "cp -r images bad && echo text >bad/star/notes.txt",
          "bad/star/notes.txt: neither JPEG nor PNG" },
        { "cp -r images bad && : >bad/star/empty.jpg", "bad/star/empty.jpg: an empty file" },
        { "cp -r images bad && printf '\\377\\330\\377\\340' >bad/star/cut.jpg",
          "bad/star/cut.jpg: damaged JPEG" },
        { "cp -r images bad && printf '\\211PNG\\r\\n\\032\\n' >bad/star/cut.png",
          "bad/star/cut.png: damaged PNG" },
        { "cp -r images bad && cp bad/star/star-0000005.jpg bad/star/00.jpg && "
          "truncate -s -20 bad/star/00.jpg",
          NULL }, /* the header is whole: only --verify sees it */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int threads = 1; threads <= 4; threads += 3) {
            expect_success(shell("rm -rf bad && %s", cases[i].setup));
            int code = shell("$L convert images bad -o x --shards 2 --threads %d -q", threads);
            if (!cases[i].part) {
                expect_success(code);
                expect_success(shell("rm x*"));
                code = shell("$L convert images bad -o x --verify --threads %d -q", threads);
            }
            expect_failure(code, 1, cases[i].part ? cases[i].part : "bad/star/00.jpg: damaged");
            assert_int_equal(count_files("x*"), 0);
            assert_int_equal(count_files(".x*"), 0);
        }
    }
}

/* Of several bad files the first in order is the one named, whatever the threads. */
static void the_first_bad_file_is_named(void **state)
{
    (void)state;
    expect_success(shell("cp -r images bad; echo >bad/cross/zz; echo >bad/ring/00; "
                         "echo >bad/triangle/00"));
    for (int threads = 1; threads <= 8; threads *= 2) {
        expect_failure(shell("$L convert images bad -o x --shards 9 --threads %d -q", threads), 1,
                       "bad/cross/zz: neither");
        assert_int_equal(count_files("*x-*"), 0);
    }
}

static void skip_bad_lists_what_it_leaves_out(void **state)
{
    (void)state;
    expect_success(shell("cp -r images bad; echo >bad/cross/zz; echo >bad/ring/00; echo >bad/top; "
                         "$L convert images bad -o x --skip-bad --shards 2 --json -q"));
    expect_in(err, "left out: bad/cross/zz: neither JPEG nor PNG\n"
                   "left out: bad/ring/00: neither JPEG nor PNG\n"
                   "left out: 1 file directly in bad");
    json_t *json = parse_out();
    assert_int_equal(number(json, "images"), 240);
    assert_int_equal(json_array_size(json_object_get(json, "skipped")), 2);
    assert_int_equal(json_array_size(json_object_get(json, "shards")), 2);
    assert_int_equal(number(json, "outside"), 1);
    json_decref(json);
    expect_success(shell("rm -rf x* bad; mkdir -p bad/a; echo >bad/a/1"));
    expect_failure(shell("$L convert images bad -o x --skip-bad -q"), 1,
                   "no file in it is an image");
    assert_int_equal(count_files("x*"), 0);
}

static void recursive_takes_inner_folders(void **state)
{
    (void)state;
    expect_success(
        shell("mkdir -p bad/a/in bad/b && cp images/circle/* bad/a/in && "
              "cp images/ring/* bad/b && $L convert images bad -o x --recursive --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "classes"), 2);
    assert_int_equal(number(json, "images"), 48);
    json_decref(json);
}

static void unreadable_files_are_named(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root reads everything */
    expect_success(shell("cp -r images bad && chmod 0 bad/ring/*13.jpg"));
    expect_failure(shell("$L convert images bad -o x -q"), 1, "Permission denied");
    expect_success(shell("chmod 644 bad/ring/* && chmod 0 bad/ring"));
    expect_failure(shell("$L convert images bad -o x -q"), 1, "bad/ring: cannot read the folder");
    expect_success(shell("chmod 755 bad/ring"));
    assert_int_equal(count_files("x*"), 0);
}

static void sets_are_not_mixed(void **state)
{
    (void)state;
    expect_success(shell("$L convert images images -o x --shards 2 && "
                         "$L convert images images -o x --shards 2"));
    expect_failure(shell("$L convert images images -o x --shards 3"), 1,
                   "another number of shards");
    expect_success(shell("$L convert images images -o xy --shards 3"));
}

/* Two at once: one of them does it all, or both do, one after the other; never a mixed set. */
static void a_prefix_has_one_writer(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        expect_success(shell("rm -f x*; for s in images test-images; do "
                             "{ $L convert images $s -o x --shards 3 -q >x.$s.out; "
                             "echo $? >x.$s.code; } & done; wait; cat x.*.code"));
        expect_in(out, "0\n");
        if (strstr(out, "1"))
            expect_in(err, "x: another leat is writing files of this PREFIX");
        expect_success(shell("$L index --check 'x-*.tfrecord' && "
                             "$L inspect 'x-*.tfrecord' --json"));
        json_t *json = json_loads(strchr(out, '{'), 0, NULL);
        const int64_t records = number(json, "records");
        json_decref(json);
        assert_true(records == 240 || records == 60);
        expect_success(shell("cat x.%s.code", records == 240 ? "images" : "test-images"));
        assert_string_equal(out, "0\n");
        assert_int_equal(count_files(".x*"), 0);
    }
    /* A lock that somebody holds, and one that a killed process left. */
    expect_success(shell("rm -f x*; touch .x.lock && $L convert images images -o x -q && rm x-*"));
    assert_int_equal(count_files(".x*"), 0);
    expect_failure(shell("flock .x.lock $L convert images images -o ./x -q"), 1, "another leat");
    assert_int_equal(count_files("x-*"), 0);
    expect_success(shell("flock .x.lock $L convert images images -o xy -q && rm .x.lock"));
}

static void full_disks_leave_nothing(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        /* Small limits of file size stand for a full disk: write() fails half-way. */
        assert_int_equal(
            shell("ulimit -f 100; $L convert images images -o x --threads %d -q", threads), 1);
        expect_in(err, "x-00000-of-00001.tfrecord: writing: File too large");
        assert_int_equal(count_files("*x-*"), 0);
    }
    expect_success(
        shell("$L convert images images -o new/folder/x -q && ls new/folder && rm -r new"));
    expect_failure(shell("$L convert images images -o /dev/null/x -q"), 1, "/dev/null/x");
    if (geteuid() == 0 && shell("mkdir xd && mount -t tmpfs -o size=64k tmpfs xd") == 0) {
        assert_int_equal(shell("$L convert images images -o xd/x --shards 4 -q"), 1);
        expect_in(err, "No space left on device");
        expect_success(shell("ls -A xd | wc -l; umount xd"));
        assert_int_equal(atoi(out), 0);
    }
}

/* Whatever the moment it is stopped at: no file under a final name that is not complete, and after
 * a polite signal nothing at all. */
static void stopping_leaves_no_half_file(void **state)
{
    (void)state;
    static const char *const signals[] = { "KILL", "INT", "TERM" };
    for (int i = 0; i < 18; i++) {
        const char *name = signals[i % 3];
        const int code =
            shell("timeout -s %s 0.%03d $L convert images images -o x --shards 6 -q", name, i + 1);
        const int n = count_files("x-0*.tfrecord");
        if (n) {
            expect_success(shell("$L inspect 'x-0*.tfrecord' --json"));
            json_t *json = parse_out();
            assert_int_equal(number(json, "records"), 40 * n);
            json_decref(json);
        }
        if (strcmp(name, "KILL") != 0) {
            assert_int_equal(count_files(".x*"), 0);
            assert_true(n == 0 || n == 6);
        }
        assert_true(code == 0 || code == 124 || code == 137 || code > 1);
        expect_success(shell("rm -f x* .x*"));
    }
}

/* --- configs -----------------------------------------------------------------------------------*/

static void configs_that_cannot_be_are_explained(void **state)
{
    (void)state;
    static const char *const commands[] = { "bench", "train", "compare", "inspect" };
    expect_success(shell("echo 'source: {tfrecord: none.tfrecord}' >y.yaml"));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_failure(shell("$L %s none.yaml", commands[i]), 1, "none.yaml");
        assert_int_equal(shell("$L %s y.yaml --set source..tfrecord=1", commands[i]), 2);
        expect_in(err, ": --set 'source..tfrecord': a name is missing");
        assert_int_equal(shell("$L %s y.yaml", commands[i]), 1);
    }
}

/* --- pipelines ---------------------------------------------------------------------------------*/

static const char pipeline[] =
    "source: {tfrecord: \"x-*.tfrecord\"}\n"
    "pipeline:\n"
    "  - shuffle: {seed: 3}\n"
    "  - map: {ops: [decode_jpeg, {random_crop: {size: [16, 16], pad: 2}}, random_flip,\n"
    "               {normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}]}\n"
    "  - batch: {size: 16}\n"
    "  - prefetch: {batches: 2}\n"
    "eval:\n"
    "  source: {tfrecord: \"y-*.tfrecord\"}\n"
    "  pipeline:\n"
    "    - map: {ops: [decode_jpeg, {center_crop: {size: [16, 16]}},\n"
    "                  {normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}]}\n"
    "    - batch: {size: 16}\n"
    "train:\n"
    "  epochs: 2\n"
    "  model: [flatten, {dense: {units: 10}}]\n"
    "  loss: softmax_cross_entropy\n"
    "  optimizer: {adam: {learning_rate: 1.0e-3}}\n";

static void make_pipeline(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/x.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(pipeline, file);
    assert_int_equal(fclose(file), 0);
    expect_success(shell("$L convert images images -o x --shards 2 -q && "
                         "$L convert images test-images -o y -q"));
}

static double real(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_number(value))
        fail_msg("no number \"%s\"", key);
    return json_number_value(value);
}

static void expect_shares(const json_t *json)
{
    const double sum = real(json, "busy") + real(json, "input_wait") + real(json, "exposed_copy") +
                       real(json, "other");
    assert_true(sum > 0.999 && sum < 1.001);
    assert_true(real(json, "samples_per_s") > 0);
    assert_true(real(json, "step_p50_ms") <= real(json, "step_p95_ms"));
}

static void digests_do_not_depend_on_how(void **state)
{
    (void)state;
    static const char *const ways[] = { "--threads 0",
                                        "--threads 3",
                                        "--threads 2 --set engine.reader=pread",
                                        "--set pipeline.prefetch.batches=0",
                                        "--device sim",
                                        "--warmup 0" };
    char first[4096];
    make_pipeline();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 --threads 1 -q | grep ^epoch"));
    snprintf(first, sizeof first, "%.4000s", out);
    expect_in(first, "epoch 1: 15 batches from 0, 240 samples, digest ");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_success(shell("$L bench x.yaml --digest --epochs 2 -q %s | grep ^epoch", ways[i]));
        assert_string_equal(out, first);
    }
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --set pipeline.shuffle.seed=4 | "
                         "grep ^epoch"));
    assert_string_not_equal(out, first);
}

static void a_plan_says_what_and_why(void **state)
{
    (void)state;
    make_pipeline();
    expect_success(shell("$L plan x.yaml"));
    expect_in(out, "source tfrecord: 240 records in ");
    expect_in(out, "\nbatch ");
    expect_in(out, "\nmemory: ");
    expect_in(out, "\n  threads ");
    expect_success(shell("$L plan x.yaml --device sim --set pipeline.prefetch=auto --json"));
    json_t *json = parse_out();
    json_t *budget = json_object_get(json, "budget");
    int64_t sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(budget, "rows"), i, row) sum +=
        !strcmp(json_string_value(json_object_get(row, "kind")), "mapped") ? 0
                                                                           : number(row, "bytes");
    assert_int_equal(sum, number(budget, "total_bytes"));
    const long long least = (long long)number(budget, "least_bytes");
    json_decref(json);
    for (int less = 0; less < 2; less++) {
        const int code = shell("$L bench x.yaml -q --steps 3 --explain --device sim "
                               "--set pipeline.prefetch=auto --set engine.memory=%lld",
                               least - less);
        if (less) {
            expect_failure(code, 1, "it takes at least ");
        } else {
            expect_success(code);
            expect_in(out, "as engine.memory says");
            expect_in(out, "changed while running");
        }
    }
}

static void one_is_no_plural(void **state)
{
    (void)state;
    make_pipeline();
    expect_success(shell("$L bench x.yaml -q --digest --set pipeline.batch.size=240"));
    expect_in(out, ": 1 batch from 0, 240 samples,");
    expect_success(shell("$L inspect x.yaml --set pipeline.batch.size=240"));
    expect_in(out, ", 1 batch of 240");
    expect_success(shell("$L train x.yaml -q --steps 1"));
    expect_in(out, "1 step in ");
    expect_success(shell("mkdir -p bad/a && cp $(ls images/ring/* | head -n 1) bad/a && "
                         "$L convert images bad -o xa -q"));
    expect_in(out, "1 image of 1 class, ");
}

/* Without a bound a large --warmup is a command that does not end. */
static void warm_up_is_at_most_half(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int warmup, batches;
    } cases[] = {
        { "--steps 5 --warmup 1000000", 5, 5 },
        { "--steps 5 --warmup 2", 2, 5 },
        { "--steps 1", 1, 1 },
        { "--steps 40", 10, 40 },
        { "--epochs 1 --warmup 1000000", 7, 8 },
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell("$L bench x.yaml %s -q --json", cases[i].line));
        json_t *json = parse_out();
        assert_int_equal(number(json, "warmup_batches"), cases[i].warmup);
        assert_int_equal(number(json, "batches"), cases[i].batches);
        json_decref(json);
    }
    expect_success(shell("timeout 60 $L bench x.yaml --warmup 1000000000 -q"));
}

/* At once, by the signal, and not in silence. */
static void stopping_is_said(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "bench x.yaml --epochs 1000000 -q",
        "train x.yaml --epochs 1000000 -q --save x.st",
        "compare x.yaml --vary engine.threads=1,2 --rounds 20 --steps 10000 -q",
    };
    make_pipeline();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int interrupt = 0; interrupt < 2; interrupt++) {
            const int code =
                shell("env --default-signal=INT,TERM timeout --preserve-status -s %s 0.5 $L %s",
                      interrupt ? "INT" : "TERM", lines[i]);
            assert_int_equal(code, interrupt ? 130 : 143);
            expect_in(err, ": stopped\n");
        }
    assert_int_equal(count_files("x.st"), 0);
    /* nohup must keep its meaning; the command ends by itself after some 2 s. */
    expect_success(shell(
        "timeout --preserve-status -s HUP 0.5 sh -c \"trap '' HUP; exec $L bench x.yaml -q\""));
    expect_success(shell("$L help"));
    expect_in(out, "130");
    expect_success(shell("$L help --man"));
    expect_in(out, "130");
}

static void a_resumed_bench_sees_the_same_batches(void **state)
{
    (void)state;
    make_pipeline();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --json"));
    json_t *straight = parse_out();
    expect_success(shell("$L bench x.yaml --digest --epochs 2 -q --start-batch 20 --json"));
    json_t *resumed = parse_out();
    const json_t *all = json_array_get(json_object_get(straight, "epochs"), 1);
    const json_t *rest = json_array_get(json_object_get(resumed, "epochs"), 0);
    assert_int_equal(number(rest, "epoch"), 1);
    assert_int_equal(number(rest, "first_batch"), 5);
    assert_int_equal(number(rest, "batches"), 10);
    for (size_t i = 0; i < 10; i++)
        assert_true(json_equal(json_array_get(json_object_get(all, "batch_digests"), i + 5),
                               json_array_get(json_object_get(rest, "batch_digests"), i)));
    assert_int_equal(json_array_size(json_object_get(resumed, "epochs")), 1);
    json_decref(straight);
    json_decref(resumed);
    assert_int_equal(shell("$L bench x.yaml --epochs 1 --start-batch 15 -q"), 2);
    expect_in(err, "the run has 15 batches");
}

static void training_reports_and_saves(void **state)
{
    (void)state;
    make_pipeline();
    expect_success(shell("$L train x.yaml --save x.safetensors -q --json"));
    json_t *json = parse_out();
    const json_t *epochs = json_object_get(json, "epochs");
    assert_int_equal(json_array_size(epochs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *epoch = json_array_get(epochs, i);
        assert_int_equal(number(epoch, "epoch"), i);
        assert_int_equal(number(epoch, "steps"), 15);
        assert_int_equal(number(epoch, "samples"), 240);
        assert_true(real(epoch, "loss") > 0 && real(epoch, "eval_loss") > 0);
        expect_shares(epoch);
    }
    assert_int_equal(number(json, "steps"), 30);
    assert_int_equal(number(json, "parameters"), 16 * 16 * 3 * 10 + 10);
    assert_true(json_is_false(json_object_get(json, "simulated")));
    json_decref(json);
    expect_success(
        shell("$L train x.yaml --restore x.safetensors --start-epoch 1 --start-batch 5 -q"));
    expect_in(out, "epoch 2/2  loss ");
    expect_in(out, "10 steps in ");
    expect_success(shell("$L train x.yaml --steps 4 --device sim -q"));
    expect_in(out, "simulated");
    expect_failure(shell("$L train x.yaml --start-epoch 2 -q"), 2, "the run has 2 epochs");
    expect_failure(shell("$L train x.yaml --restore none -q"), 1, "none");
    expect_failure(shell("$L train x.yaml --device simm -q"), 2, "--device simm");
}

static void a_loss_that_is_not_finite_stops_the_run(void **state)
{
    (void)state;
    make_pipeline();
    assert_int_equal(shell("$L train x.yaml --save x.st --json -q "
                           "--set 'train.optimizer={sgd: {learning_rate: 1e6}}' "
                           "--set 'train.model=[flatten, {dense: {units: 64}}, {dense: {units: "
                           "64}}, {dense: {units: 10}}]'"),
                     1);
    expect_in(err, "epoch 1, steps 1 to 15: the loss is no finite number");
    expect_in(err, "learning rate");
    expect_in(err, "no weights were saved");
    json_t *json = parse_out();
    const json_t *epochs = json_object_get(json, "epochs");
    assert_int_equal(json_array_size(epochs), 1);
    assert_true(json_is_null(json_object_get(json_array_get(epochs, 0), "loss")));
    assert_true(json_is_true(json_object_get(json, "diverged")));
    assert_true(json_is_null(json_object_get(json, "saved")));
    json_decref(json);
    assert_int_equal(count_files("x.st"), 0);
}

/* Shares of a handful of steps would pass for a measurement. */
static void few_steps_are_not_measured(void **state)
{
    (void)state;
    static const char *const figures[] = { "samples_per_s", "step_p50_ms",  "step_p95_ms", "busy",
                                           "input_wait",    "exposed_copy", "other" };
    make_pipeline();
    for (int steps = 1; steps <= 15; steps++) {
        expect_success(shell("$L train x.yaml --steps %d --device sim --json -q", steps));
        json_t *json = parse_out();
        const json_t *epoch = json_array_get(json_object_get(json, "epochs"), 0);
        const int64_t measured = number(epoch, "measured_steps");
        const bool is_null = json_is_null(json_object_get(epoch, "busy"));
        if (!is_null)
            expect_shares(epoch);
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            assert_int_equal(json_is_null(json_object_get(epoch, figures[i])), is_null);
        assert_true(is_null ? measured == 0 : measured >= 5);
        assert_int_equal(is_null, steps < 9);
        json_decref(json);
    }
    expect_success(shell("$L train x.yaml --steps 4 -q"));
    expect_in(out, "(too few steps to measure)");
    assert_null(strstr(out, "samples/s  busy"));
    expect_success(shell("$L train x.yaml -q"));
    assert_null(strstr(out, "too few"));
}

/* One record of the training data is damaged. */
static void bad_records_are_listed(void **state)
{
    (void)state;
    static const char *const commands[] = { "bench x.yaml --epochs 1", "train x.yaml --epochs 1" };
    make_pipeline();
    expect_success(shell("for f in x-*1-of*.tfrecord; do printf zzzz | dd of=$f bs=1 seek=100 "
                         "conv=notrunc; done; sed -i 's/^  - batch.*/  - on_error: mask\\n&/' "
                         "x.yaml; cat x.yaml"));
    for (size_t i = 0; i < 2; i++) {
        expect_success(shell("$L %s -q --errors x.bad && test $(wc -l <x.bad) = 1", commands[i]));
        expect_in(out, "bad records: 1 masked, 0 replaced; the first:\n  batch ");
        expect_success(shell("$L %s -q --errors x.bad --json >x.json && cat x.bad", commands[i]));
        json_t *line = parse_out();
        expect_in(json_string_value(json_object_get(line, "message")), ".tfrecord, record ");
        assert_string_equal(json_string_value(json_object_get(line, "code")), "LEAT_E_DATA");
        assert_true(json_is_null(json_object_get(line, "replacement")));
        json_decref(line);
        expect_success(shell("cat x.json"));
        json_t *json = parse_out();
        assert_int_equal(number(json, "masked"), 1);
        assert_int_equal(number(json, "replaced"), 0);
        json_decref(json);
        expect_success(
            shell("$L %s -q --set pipeline.on_error.policy=replace --errors x.bad", commands[i]));
        expect_in(out, "bad records: 0 masked, 1 replaced;");
        expect_failure(shell("$L %s -q --set pipeline.on_error.max_errors=0 >x.out", commands[i]),
                       1, "more than 0 bad records in epoch 0 (on_error.max_errors)");
        expect_failure(shell("$L %s -q --set pipeline.on_error=fail >x.out", commands[i]), 1,
                       ".tfrecord, record ");
        expect_failure(shell("$L %s -q --errors none/x >x.out", commands[i]), 1,
                       "--errors none/x: ");
    }
}

/* Found before any step, whose work would be lost: there is no head of the run in the output. */
static void outputs_are_checked_before_the_work(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int code;
        const char *part;
    } cases[] = {
        { "train x.yaml --save ''", 1, "--save: \"\" is not the name of a file" },
        { "train x.yaml --save x.folder", 1, "x.folder: exists and is not a regular file" },
        { "train x.yaml --save x.folder/", 1, "is not the name of a file" },
        { "train x.yaml --save /dev/null/x", 1, "--save: /dev/null/x" },
        { "train x.yaml --save x.yaml/x", 1, "--save: x.yaml/x" },
        { "train x.yaml --save x.st --device sim", 2, "has no weights to save" },
        { "train x.yaml --restore x.folder", 1, "x.folder" },
        { "train x.yaml --restore ''", 1, "" },
        { "train x.yaml --json=x.folder", 1, "x.folder: exists and is not a regular file" },
        { "bench x.yaml --json=none/x.json", 1, "none/x.json" },
        { "compare x.yaml --vary engine.threads=1,2 --json=none/x.json", 1, "none/x.json" },
    };
    make_pipeline();
    expect_success(shell("mkdir x.folder"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure(shell("$L %s", cases[i].line), cases[i].code, cases[i].part);
    assert_int_equal(count_files("x.st"), 0);
    assert_int_equal(count_files(".x*"), 0);
    expect_success(shell("$L train x.yaml --steps 2 --save x.new/a/x.st -q && test -s x.new/a/x.st "
                         "&& $L train x.yaml --steps 2 --restore x.new/a/x.st -q"));
}

static void comparing_reports_every_arm(void **state)
{
    (void)state;
    make_pipeline();
    expect_success(shell("$L compare x.yaml --vary pipeline.prefetch.batches=0,2 --vary "
                         "engine.threads=1,2 --rounds 2 --steps 5 --device sim --json x.json -q"));
    expect_in(out, "simulated");
    expect_in(out, "pipeline.prefetch.batches=2, engine.threads=1: ");
    expect_success(shell("cat x.json"));
    json_t *json = parse_out(), *arm;
    const json_t *arms = json_object_get(json, "arms");
    size_t i;
    assert_int_equal(json_array_size(arms), 4);
    assert_int_equal(number(json, "rounds"), 2);
    json_array_foreach(arms, i, arm)
    {
        assert_true(json_is_true(json_object_get(arm, "simulated")));
        assert_int_equal(number(arm, "steps"), 5);
        expect_shares(arm);
        assert_true(json_string_length(json_object_get(arm, "sentence")) > 0);
    }
    json_decref(json);
    expect_failure(shell("$L compare x.yaml --vary nothing -q"), 2, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_explains_itself),
        cmocka_unit_test(unknown_options_are_usage_errors),
        cmocka_unit_test(usage_errors_exit_2_and_help),
        cmocka_unit_test(pages_are_made_from_the_tables),
        cmocka_unit_test(completion_is_bash_and_completes),
        cmocka_unit_test(lost_output_is_a_failure),
        cmocka_unit_test_teardown(json_does_not_eat_arguments, clean),
        cmocka_unit_test(devices_tell_what_is_simulated),
        cmocka_unit_test_teardown(synth_is_a_function_of_the_seed, clean),
        cmocka_unit_test_teardown(synth_splits, clean),
        cmocka_unit_test_teardown(synth_takes_nothing_over, clean),
        cmocka_unit_test_teardown(bytes_do_not_depend_on_threads, clean),
        cmocka_unit_test_teardown(records_hold_the_files, clean),
        cmocka_unit_test_teardown(images_pass_untouched, clean),
        cmocka_unit_test_teardown(index_files_fit_until_data_change, clean),
        cmocka_unit_test_teardown(an_index_that_cannot_be_written_is_a_failure, clean),
        cmocka_unit_test_teardown(bad_folders_are_explained, clean),
        cmocka_unit_test_teardown(the_first_bad_file_is_named, clean),
        cmocka_unit_test_teardown(skip_bad_lists_what_it_leaves_out, clean),
        cmocka_unit_test_teardown(recursive_takes_inner_folders, clean),
        cmocka_unit_test_teardown(unreadable_files_are_named, clean),
        cmocka_unit_test_teardown(sets_are_not_mixed, clean),
        cmocka_unit_test_teardown(a_prefix_has_one_writer, clean),
        cmocka_unit_test_teardown(full_disks_leave_nothing, clean),
        cmocka_unit_test_teardown(stopping_leaves_no_half_file, clean),
        cmocka_unit_test_teardown(configs_that_cannot_be_are_explained, clean),
        cmocka_unit_test_teardown(digests_do_not_depend_on_how, clean),
        cmocka_unit_test_teardown(a_plan_says_what_and_why, clean),
        cmocka_unit_test_teardown(one_is_no_plural, clean),
        cmocka_unit_test_teardown(warm_up_is_at_most_half, clean),
        cmocka_unit_test_teardown(stopping_is_said, clean),
        cmocka_unit_test_teardown(a_resumed_bench_sees_the_same_batches, clean),
        cmocka_unit_test_teardown(training_reports_and_saves, clean),
        cmocka_unit_test_teardown(a_loss_that_is_not_finite_stops_the_run, clean),
        cmocka_unit_test_teardown(few_steps_are_not_measured, clean),
        cmocka_unit_test_teardown(bad_records_are_listed, clean),
        cmocka_unit_test_teardown(outputs_are_checked_before_the_work, clean),
        cmocka_unit_test_teardown(comparing_reports_every_arm, clean),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
