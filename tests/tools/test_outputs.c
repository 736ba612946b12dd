/* SPDX-License-Identifier: MIT
 *
 * test_outputs.c: what holds for every option of every command that names an output: missing folders are made, a link
 * of another user is refused, an own link stays one, and after any failed call the old file is whole and the error
 * names the file and the reason. A new option is one row. */
#include <errno.h>

#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"

enum {
    SLOW = 1,     /* measures for long: it is stopped when it has begun */
    FOLDER = 2,   /* the output is a folder */
    FRESH = 4,    /* an existing file is refused */
    APPENDED = 8, /* a list that is written during the run */
    PREFIX = 16,  /* of several names; test_convert_killed.c has their faults */
    MANIFEST = 32 /* the name ends with -manifest.json */
};

#define WEIGHTS "--section train --weights w.st"

/* %s: the output. */
static const struct {
    const char *command, *option, *line;
    unsigned flags;
} rows[] = {
    { "convert", "--output", "convert images test-images -q -o %s", PREFIX },
    { "convert", "--json", "convert images test-images -q -o c/c --json=%s", 0 },
    { "synth", "--json", "synth drawn --n 3 --size 16 -q --json=%s", 0 },
    { "index", "--manifest", "index x-00000-of-00002.tfrecord --manifest %s-manifest.json",
      PREFIX | MANIFEST },
    { "index", "--json", "index x-00000-of-00002.tfrecord --json=%s", 0 },
    { "inspect", "--json", "inspect x-00000-of-00002.tfrecord --json=%s", 0 },
    { "repair", "--output", "repair x-00000-of-00002.tfrecord -q -o %s", FRESH },
    { "repair", "--json", "repair x-00000-of-00002.tfrecord -q -o fixed --json=%s", 0 },
    { "plan", "--json", "plan x.yaml --json=%s", 0 },
    { "bench", "--errors", "bench x.yaml --steps 2 -q --errors %s", APPENDED },
    { "bench", "--trace", "bench x.yaml --steps 2 -q --trace %s", 0 },
    { "bench", "--json", "bench x.yaml --steps 2 -q --json=%s", 0 },
    { "train", "--save", "train x.yaml --steps 2 -q --save %s", 0 },
    { "train", "--checkpoint", "train x.yaml --steps 2 -q --checkpoint %s", FOLDER },
    { "train", "--log", "train x.yaml --steps 2 -q --log %s", FOLDER },
    { "train", "--errors", "train x.yaml --steps 2 -q --errors %s", APPENDED },
    { "train", "--trace", "train x.yaml --steps 2 -q --trace %s", 0 },
    { "train", "--json", "train x.yaml --steps 2 -q --json=%s", 0 },
    { "eval", "--sheet", "eval x.yaml " WEIGHTS " -q --sheet %s", 0 },
    { "eval", "--json", "eval x.yaml " WEIGHTS " -q --json=%s", 0 },
    { "predict", "--json", "predict x.yaml " WEIGHTS " --json=%s images/*/*0.jpg", 0 },
    { "export", "--onnx", "export x.yaml --weights w.st --onnx %s", 0 },
    { "export", "--json", "export x.yaml --weights w.st --onnx o.onnx --json=%s", 0 },
    { "plot", "--output", "plot log -o %s", 0 },
    { "plot", "--json", "plot log -o p.svg --json=%s", 0 },
    { "report", "--output", "report bench.json -o %s", 0 },
    { "report", "--svg", "report bench.json --svg %s", FOLDER },
    { "report", "--json", "report bench.json -o r.html --json=%s", 0 },
    { "compare", "--json", "compare x.yaml -q --json=%s", SLOW },
    { "doctor", "--json", "doctor x.yaml -q --json=%s", SLOW },
    { "watch", "--json", "watch --json=%s -- sleep 30", SLOW },
    { "whatif", "--json", "whatif x.yaml -q --json=%s", SLOW },
    { "experiment", "--results", "experiment mlp-1000x100-b10 --data data -q --results %s",
      SLOW | FOLDER },
    { "experiment", "--data", "experiment mlp-1000x100-b10 -q --data %s", SLOW | FOLDER },
    { "experiment", "--json", "experiment mlp-1000x100-b10 --data data -q --json=%s", SLOW },
    { "tune", "--write", "tune x.yaml -q --write %s", SLOW },
    { "tune", "--json", "tune x.yaml -q --json=%s", SLOW },
    { "ops", "--json", "ops --json=%s", 0 },
    { "devices", "--json", "devices --json=%s", 0 },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Options that name a file to read. */
static const char inputs[] = " --weights --labels --restore --resume ";

static int make_job(void **state)
{
    if (make_images(state) < 0)
        return -1;
    make_pipeline();
    expect_success(shell("$L train x.yaml --steps 4 -q --save w.st --log log && "
                         "$L bench x.yaml --steps 4 -q --json=bench.json"));
    return 0;
}

static char *line_of(size_t i, const char *output)
{
    static char line[512];
    const char *const at = strstr(rows[i].line, "%s");
    snprintf(line, sizeof line, "%.*s%s%s", (int)(at - rows[i].line), rows[i].line, output, at + 2);
    return line;
}

/* Removes what a row leaves, besides its output. */
static void clear(const char *output)
{
    expect_success(shell("rm -rf %s drawn c .c.part fixed* data o.onnx p.svg r.html", output));
}

TEST(the_table_has_every_option)
{
    char command[32], option[64];
    int used, n_found = 0;
    expect_success(shell("for c in $($L help | grep -oE '^  [a-z]+( |$)'); do $L help $c | "
                         "grep -oE '^  (-., )?--[a-z-]+(\\[=| )(FILE|DIR|PATH)\\]?( |$)' | "
                         "grep -oE -e '--[a-z-]+' | sed \"s/^/$c /\"; done"));
    for (const char *at = out; sscanf(at, "%31s %62s%n", command, option, &used) == 2; at += used) {
        bool found = false;
        strcat(option, " ");
        if (strstr(inputs, option))
            continue;
        option[strlen(option) - 1] = 0;
        for (size_t i = 0; i < N_ROWS; i++)
            found |= !strcmp(rows[i].command, command) && !strcmp(rows[i].option, option);
        if (!found)
            fail_msg("no row for: leat %s %s", command, option);
        n_found++;
    }
    assert_int_equal(n_found, N_ROWS);
}

TEST(missing_folders_are_made)
{
    static char said[sizeof err];
    for (size_t i = 0; i < N_ROWS; i++) {
        clear("d");
        if (rows[i].flags &
            SLOW) { /* it checks its outputs before it measures, or fails without CUDA */
            shell("$L %s & p=$!; for n in $(seq 300); do test -d d/e && break; sleep 0.1; done; "
                  "kill $p; wait $p",
                  line_of(i, "d/e/f"));
            strcpy(said, err);
            if (shell("test -d d/e") != 0)
                fail_msg("leat %s makes no folder: %s", line_of(i, "d/e/f"), said);
            continue;
        }
        expect_success(shell("$L %s", line_of(i, "d/e/f")));
        expect_success(shell("test %s d/e/f%s", rows[i].flags & FOLDER ? "-d" : "-e",
                             rows[i].flags & MANIFEST ? "-manifest.json"
                             : rows[i].flags & PREFIX ? "-00000-of-00001.tfrecord"
                                                      : ""));
    }
}

/* A folder without a name would be the root. */
TEST(an_empty_name_is_refused)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].flags & MANIFEST)
            continue; /* it is no empty one then */
        expect_failure(shell("$L %s", line_of(i, "''")), 2, ": the name is empty: give a ");
        expect_success(shell("test ! -e /f"));
    }
}

/* Before anything is written: also of folders that are not there yet, and through a link that leads nowhere yet. */
TEST(files_of_a_folder_are_no_outputs)
{
    static const char *const options[] = { "--save", "--errors", "--json", "--trace" };
    static const char *const kept[][3] = { { "--log", "lg/", "lg/log.jsonl" },
                                           { "--log", "./lg", "lg//batch.png" },
                                           { "--log", "lg", "lg.link" },
                                           { "--checkpoint", "c/d", "c/d/.lock" },
                                           { "--checkpoint", "c/d/", "c/d/best.safetensors" },
                                           { "--checkpoint", "c",
                                             "c/step-000000002.safetensors" } };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
            expect_failure(shell("ln -sfn lg/log.jsonl lg.link; $L train x.yaml --steps 2 -q "
                                 "%s %s %s=%s",
                                 kept[k][0], kept[k][1], options[i], kept[k][2]),
                           2, " is a file that --");
            expect_in(err, options[i]);
            expect_in(err, kept[k][0]);
            expect_success(shell("test ! -e lg && test ! -e c && rm lg.link"));
        }
    expect_failure(shell("mkdir lg && touch lg/log.jsonl && ln lg/log.jsonl l.json && $L train "
                         "x.yaml --steps 2 -q --log lg --json l.json"),
                   2, "--json: l.json is a file that --log keeps in its folder");
    expect_success(shell("rm -r lg l.json"));
}

/* The run would fill the cache, and the output replace it. */
TEST(files_that_the_config_names_are_no_outputs)
{
    static const char *const sections[] = { "", "eval.", "whiten." };
    static const char *const kept[][2] = { { "--log lg", "lg/log.jsonl" },
                                           { "--log lg", "lg/batch.png" },
                                           { "--checkpoint c", "./c/best.safetensors" },
                                           { "--set train.checkpoint.dir=c", "c/.lock" } };
    int n = 0;
    clear("d");
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].flags & FOLDER || !strstr(rows[i].line, "x.yaml"))
            continue;
        n++;
        for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
            const char *const add =
                k < 2 ? "pipeline.batch+={cache: {file: d/f}}" : "pipeline=[cache: d/f, batch: 2]";
            expect_failure(shell("$L %s --set '%s%s'", line_of(i, "./d/f"), sections[k], add), 2,
                           rows[i].option);
            expect_in(err, ": ./d/f is the file of ");
            expect_in(err, sections[k]);
            expect_success(shell("test ! -e d/f"));
        }
    }
    assert_int_equal(n, 18);
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        expect_failure(shell("$L train x.yaml --steps 2 -q %s --set "
                             "'pipeline.batch+={cache: {file: %s}}'",
                             kept[k][0], kept[k][1]),
                       2, "pipeline.cache: ");
        expect_in(err, " in its folder: give the cache another file");
        expect_failure(shell("$L train x.yaml --steps 2 -q %s --json=%s", kept[k][0], kept[k][1]),
                       2, " in its folder: choose another name");
    }
    expect_success(shell("test ! -e lg && test ! -e c && $L train x.yaml --steps 2 -q --json=j "
                         "--set 'pipeline.batch+={cache: {file: f}}' && test -s f && test -s j"));
    expect_success(shell("rm f j"));
}

TEST(links_of_others_are_refused)
{
    if (shell("ln -s none f && chown -h 54321 f") != 0) {
        print_message("skipped: only root can make a link of another user\n");
        skip();
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].flags & (FOLDER | FRESH | PREFIX))
            continue;
        clear("f");
        expect_success(shell("touch victim; ln -s victim f; chown -h 54321 f"));
        if (shell("$L %s", line_of(i, "f")) != 1)
            fail_msg("leat %s: %s", line_of(i, "f"), err);
        if (strcmp(rows[i].option, "--output") != 0)
            expect_in(err, rows[i].option);
        expect_in(err, "f: is a symbolic link of another user (uid 54321)");
        expect_success(shell("test ! -s victim && test -L f"));
    }
    /* In folders, at names that can be guessed. */
    clear("f");
    expect_success(shell("mkdir f; ln -s ../victim f/log.jsonl; chown -h 54321 f/log.jsonl"));
    assert_int_equal(shell("$L train x.yaml --steps 2 -q --log f"), 1);
    expect_in(err, "--log: f/log.jsonl: is a symbolic link of another user");
    expect_success(shell("test ! -s victim; rm f/*; ln -s ../victim f/rows-1000x100.npy.part"));
    shell("$L experiment mlp-1000x100-b10 --data f -q & p=$!; for n in $(seq 300); do "
          "ls f/*.npy && break; sleep 0.1; done; kill $p; wait $p");
    expect_success(shell("test ! -s victim && ls f/*.npy"));
}

/* A file of a data set's name that no experiment wrote. */
TEST(an_experiment_replaces_no_other_data)
{
    static const char *const names[] = { "rows-1000x100.npy", "rows-1000x100-labels.npy" };
    for (size_t i = 0; i < 2; i++) {
        clear("f");
        expect_success(shell("mkdir -p data; echo mine > data/%s", names[i]));
        assert_int_not_equal(shell("$L experiment mlp-1000x100-b10 --quick --data data -q"), 0);
        expect_in(err, names[i]);
        expect_in(err, "choose another folder for --data");
        expect_success(shell("echo mine | cmp - data/%s && test $(ls data | wc -l) = 1", names[i]));
    }
}

TEST(own_links_stay_links)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].flags & (FOLDER | FRESH | PREFIX | SLOW))
            continue;
        clear("f g t");
        expect_success(shell("mkdir t; ln -s g f; ln -s t/file g"));
        expect_success(shell("$L %s", line_of(i, "f")));
        expect_success(shell("test -L f && test -L g && test -f t/file"));
    }
}

/* --- failing calls -------------------------------------------------------------------------------- */

static void put_old_file(size_t i)
{
    clear("f old copy");
    if (!(rows[i].flags & FRESH))
        expect_success(shell("$L %s && ln f old && cp f copy", line_of(i, "f")));
    clear("none");
}

/* After an error: the old file, or what the message says. After success: another, whole file. */
static void expect_old_or_new(size_t i, int code, bool is_written)
{
    const bool is_old =
        shell(rows[i].flags & FRESH ? "test ! -e f" : "test f -ef old && cmp -s f copy") == 0;
    expect_success(shell("test -z \"$(find . -name '*.tmp')\""));
    if (code == 0) {
        if (is_old)
            fail_msg("leat %s: success, but the old file is there", line_of(i, "f"));
    } else if (code != 1 || is_old == is_written) {
        fail_msg("leat %s: exit code %d, %s file", line_of(i, "f"), code, is_old ? "old" : "new");
    }
}

/* Fails each of these calls once. Returns how many failures were an error of the command. */
static int fail_each(size_t i, const char *calls)
{
    static char said[sizeof err];
    int n_told = 0;
    for (int call = 1;; call++) {
        const int error = call % 2 ? ENOSPC : EIO;
        put_old_file(i);
        char command[600];
        snprintf(command, sizeof command, "$L %s", line_of(i, "f"));
        const int code = disturb(command, calls, call, error);
        strcpy(said, err);
        if (!strstr(said, "fault: ")) {
            expect_success(code);
            return n_told;
        }
        assert_true(call < 60);
        const bool is_written = strstr(said, " f: written, but") != NULL;
        expect_old_or_new(i, code, is_written);
        if (code == 0)
            continue;
        n_told++;
        expect_in(said, strerror(error));
        expect_in(said, strstr(said, " o.onnx: ") || strstr(said, " p.svg: ") ||
                                strstr(said, " r.html: ") || strstr(said, " fixed: ")
                            ? ": "
                            : "f: ");
    }
}

TEST(a_failed_call_keeps_the_old_file)
{
    static const char *const calls[] = { "write", "fsync", "rename", "close" };
    for (size_t i = 0; i < N_ROWS; i++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            if (rows[i].flags & (SLOW | FOLDER | APPENDED | PREFIX) ||
                (!strcmp(rows[i].command, "convert") || !strcmp(rows[i].command, "synth")))
                continue; /* their other files have tests of their own */
            /* A trace can be made again, so it is not synced. */
            const bool syncs = strcmp(rows[i].option, "--trace") != 0;
            if (fail_each(i, calls[c]) == 0 && (syncs || strcmp(calls[c], "fsync") != 0))
                fail_msg("leat %s: no failure of %s was told", line_of(i, "f"), calls[c]);
        }
}

/* It is said, and the next one is written, at the latest at the end of the run. */
TEST(a_failed_call_costs_one_checkpoint)
{
    static const char *const calls[] = { "write", "fsync", "rename", "close" };
    int n_told = 0;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bool is_hit = true;
        for (int call = 1; is_hit; call++) {
            const int error = call % 2 ? ENOSPC : EIO;
            clear("f");
            expect_success(disturb("$L train x.yaml -q --steps 2 --checkpoint f --set "
                                   "train.checkpoint.every_steps=1",
                                   calls[c], call, error));
            is_hit = strstr(err, "fault: ");
            if (strstr(err, "cannot write a checkpoint, the run goes on: f/step-")) {
                n_told++;
                expect_in(err, strerror(error));
            }
            expect_success(shell("test -s f/step-000000002.safetensors && "
                                 "test -z \"$(find f -name '.*.tmp')\""));
            expect_success(shell("$L train x.yaml -q --steps 1 --checkpoint f --resume"));
        }
    }
    assert_true(n_told >= 8);
}

SUITE_FIXTURE(make_job, command_remove_folder)
