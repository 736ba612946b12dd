/* SPDX-License-Identifier: MIT
 *
 * test_convert_part.c: a conversion in parts gives the files of one in a single process, in any order of the parts and
 * after a kill at any change of a name; the old set is whole until then. */
#include "fixtures/disturb.h"

#include <errno.h>

enum { N_SHARDS = 9, MOST_CALLS = 200 };

#define OPTIONS "--shards 9 --shuffle 5 --threads 2 -q"

static const char calls[] = "rename unlink mkdir rmdir linkat";

/* Shards under the final names that are those of a set. */
static int shards_like(const char *set)
{
    expect_success(shell("LC_ALL=C md5sum -c %s.sums 2>&1 | grep -c ': OK' || true", set));
    return atoi(out);
}

/* Old and new files have the same names of classes. */
static void expect_set(const char *kind)
{
    assert_int_equal(shards_like(kind), N_SHARDS);
    expect_success(shell("cmp x-labels.txt new-labels.txt && $L inspect 'x-*.tfrecord' && "
                         "sed s/%s-/x-/ %s-manifest.json | cmp - x-manifest.json",
                         kind, kind));
    assert_int_equal(count_files(".x.part") + count_files("x.incomplete"), 0);
}

static void expect_new_set(void)
{
    expect_set("new");
    assert_int_equal(count_files(".x.part*"), 0);
    expect_success(shell("$L index --check x-manifest.json"));
}

static void put_old_set(void)
{
    expect_success(shell("rm -rf x-* x.* .x.*; cp -p kept/* ."));
}

/* --- the files ----------------------------------------------------------------------------------- */

TEST(the_files_are_those_of_one_process)
{
    static const int numbers[] = { 1, 3, 8, 9 };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const int of = numbers[k];
        put_old_set();
        for (int i = 0; i < of; i++) { /* 5 has no divisor in common with them */
            expect_success(shell("$L convert images images -o x " OPTIONS " --part %d/%d --json=j",
                                 i * 5 % of + 1, of));
            assert_int_equal(shards_like("old"), N_SHARDS);
            expect_success(shell("$L inspect 'x-*.tfrecord'"));
        }
        expect_success(shell("cat j"));
        json_t *const json = parse_out();
        assert_int_equal(number(json, "parts"), of);
        const int64_t part = number(json, "part");
        const size_t n = json_array_size(json_object_get(json, "shards"));
        assert_int_equal(n, N_SHARDS / of + (part - 1 < N_SHARDS % of));
        json_decref(json);
        expect_success(shell("$L convert finish -o x"));
        expect_new_set();
        expect_failure(shell("$L convert finish -o x"), 2, "no complete files wait");
        expect_new_set();
    }
}

TEST(at_the_same_time)
{
    put_old_set();
    expect_success(shell("for i in 1 2 3 4; do $L convert images images -o x " OPTIONS
                         " --part $i/4 & done; wait; $L convert finish -o x"));
    expect_new_set();
}

/* A list of numbers has no label map, and an old one goes. */
TEST(without_classes)
{
    put_old_set();
    expect_success(
        shell("ls images/*/* | sed 's/$/,7/' >list.csv; for i in 1 2; do $L convert images "
              "list.csv --root . -o x " OPTIONS " --part $i/2; done; "
              "$L convert finish -o x; ! test -e x-labels.txt; rm list.csv"));
    assert_int_equal(count_files("x-*.tfrecord"), N_SHARDS);
}

/* --- what is refused ----------------------------------------------------------------------------- */

TEST(parts_that_do_not_fit)
{
    put_old_set();
    expect_success(shell("$L convert images images -o x " OPTIONS " --part 2/3"));
    expect_failure(shell("$L convert finish -o x"), 1, "missing or not complete: 1/3, 3/3;");
    expect_success(shell("for i in 1 3; do $L convert images images -o x " OPTIONS
                         " --part $i/3; done; rm -r .x.part-3-of-3"));
    static const char *const others[] = { "images -o x --shards 9 --shuffle 6",
                                          "images -o x --shards 9",
                                          "images -o x --shards 10 --shuffle 5",
                                          "images -o x --shards 9 --shuffle 5 --jpeg restart",
                                          "more -o x --shards 9 --shuffle 5" };
    expect_success(shell("cp -r images more; cp more/circle/* more/square/ 2>/dev/null; true"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put_old_set();
        expect_success(
            shell("for i in 1 2; do $L convert images images -o x " OPTIONS " --part $i/3; done"));
        if (strstr(others[i], "10"))
            expect_failure(shell("$L convert images %s -q --part 3/3", others[i]), 1,
                           "another number of shards");
        expect_success(shell("%s; $L convert images %s -q --part 3/3",
                             strstr(others[i], "10") ? "rm x-*" : ":", others[i]));
        expect_failure(shell("$L convert finish -o x"), 1, "x: part 3/3 was made from other files");
    }
    put_old_set();
    expect_success(shell("for i in 1 2 3; do $L convert images images -o x " OPTIONS
                         " --part $i/3; done; rm .x.part-2-of-3/manifest"));
    expect_failure(shell("$L convert finish -o x"), 1, "as in a part that an older leat has");
    assert_int_equal(shards_like("old"), N_SHARDS);
    expect_success(shell("$L convert images images -o x " OPTIONS " --part 1/2"));
    expect_failure(shell("$L convert finish -o x"), 1, "there are parts of 2 and of 3");
    put_old_set(); /* only --verify leaves out what is damaged behind its header */
    expect_success(shell("for i in 1 2; do $L convert images images -o x " OPTIONS
                         " --skip-bad --verify --part $i/3; done; $L convert images images -o "
                         "x " OPTIONS " --skip-bad --part 3/3"));
    expect_failure(shell("$L convert finish -o x"), 1, "x: part 3/3 was made from other files");
    put_old_set();
    expect_success(shell("rm -r more"));
}

TEST(a_part_that_is_being_written)
{
    put_old_set();
    expect_success(
        shell("for i in 1 2; do $L convert images images -o x " OPTIONS " --part $i/2; done"));
    expect_failure(shell("flock .x.part-2-of-2/lock $L convert finish -o x"), 1,
                   "another leat is writing files of this PREFIX");
    expect_failure(
        shell("flock .x.part-2-of-2/lock $L convert images images -o x " OPTIONS " --part 2/2"), 1,
        "another leat is writing files of this PREFIX");
    assert_int_equal(shards_like("old"), N_SHARDS);
    expect_success(shell("$L convert finish -o x"));
    expect_new_set();
}

TEST(words_that_are_no_part)
{
    static const char *const words[] = { "0/3",          "4/3",  "3",     "1/0", "1/",   "/2",
                                         "1/2/3",        "-1/2", "1/513", "a/b", "1/2 ", "",
                                         "99999999999/2" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        expect_failure(shell("$L convert images images -o z --shards 9 --part '%s'", words[i]), 2,
                       "is no part; write 1/8");
    expect_failure(shell("$L convert images images -o z --part 1/3"), 2, "at least --shards 3");
    expect_failure(shell("$L convert finish -o z --part 1/3"), 2, "finish takes");
    assert_int_equal(count_files(".z*"), 0);
}

/* --- of TFRecord files --------------------------------------------------------------------------- */

/* Each file becomes a shard, or shards have records of several files, or a file those of several shards. */
TEST(parts_of_tfrecord_files)
{
    static const char *const shards[] = { "", "--shards 4", "--shards 13", "--shards 9" };
    static const int numbers[] = { 1, 3, 4 };
    for (size_t k = 0; k < sizeof shards / sizeof *shards * 3; k++) {
        const char *const how = shards[k / 3];
        const int of = numbers[k % 3];
        expect_success(shell("rm -rf one-* two-*; echo old >two-labels.txt; sed s/new-/two-/ "
                             "new-manifest.json >two-manifest.json; $L convert tfrecord "
                             "'new-*.tfrecord' -o one %s -q",
                             how));
        for (int i = 0; i < of; i++)
            expect_success(shell("$L convert tfrecord 'new-*.tfrecord' -o two %s -q --part %d/%d",
                                 how, i * 5 % of + 1, of));
        assert_int_equal(count_files("two-*"), 2);
        expect_success(shell("$L convert finish -o two"));
        expect_in(out, "40 records in ");
        expect_success(shell("for f in one-*.tfrecord; do cmp $f two-${f#one-} || exit 1; done; "
                             "sed s/one-/two-/ one-manifest.json | cmp - two-manifest.json && "
                             "$L index --check two-manifest.json"));
        assert_int_equal(count_files("one-*"), count_files("two-*")); /* the old labels are gone */
        assert_int_equal(count_files(".two.part*"), 0);
    }
}

#define CSV(files) "csv '{files: " files ", features: {x: a, y: {columns: b, classes: [u, v]}}}'"
#define HOW        "--shards 9 --shuffle 3 -q"

/* Of a shuffled source, with shards that begin and end within a batch; killed at each change of a name, and run again. A bad
 * value in a record of another part does not stop one. */
TEST(parts_of_a_source)
{
    static const int numbers[] = { 1, 3, 8 };
    expect_success(
        shell("(echo a,b; for i in $(seq 400); do echo $i,$([ $((i %% 3)) = 0 ] && echo u || echo "
              "v); done) >a.csv; sed s/^7,/seven,/ a.csv >b.csv; $L convert " CSV(
                  "a.csv") " -o one " HOW));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const int of = numbers[k];
        char part[200];
        expect_success(shell("rm -rf two-* .two.*"));
        for (int i = 0; i < of; i++) {
            snprintf(part, sizeof part, "$L convert " CSV("a.csv") " -o two " HOW " --part %d/%d",
                     i * 5 % of + 1, of);
            for (int call = 1; disturb(part, calls, call, 0) != 0; call += 1 + (call + i) % 3)
                assert_true(call < MOST_CALLS);
        }
        assert_int_equal(count_files("two-*"), 0);
        expect_success(shell("$L convert finish -o two"));
        expect_in(out, "400 records in 9 files");
        expect_success(shell("for f in one-*.tfrecord one-labels.txt; do cmp $f two-${f#one-} || "
                             "exit 1; done; sed s/one-/two-/ one-manifest.json | cmp - "
                             "two-manifest.json && $L index --check two-manifest.json"));
        assert_int_equal(count_files("one-*"), count_files("two-*"));
    }
    int n_bad = 0;
    for (int i = 1; i <= 9; i++)
        n_bad += shell("$L convert " CSV("b.csv") " -o three " HOW " --part %d/9", i) != 0;
    assert_in_range(n_bad, 1, 3); /* its own part, and those whose batch it shares */
    expect_success(
        shell("$L convert " CSV("a.csv") " -o four --shards 9 -q --part 1/2; $L convert " CSV(
            "a.csv") " -o four " HOW " --part 2/2"));
    expect_failure(shell("$L convert finish -o four"), 1, "was made from other files");
    expect_success(shell("rm -rf one-* two-* .three.* .four.* ?.csv"));
}

/* Its report says no config, as the files have no names; and how many records it is to write. */
TEST(the_report_of_a_part)
{
    expect_success(shell("(echo a; seq 100) >a.csv; $L convert csv '{files: a.csv, features: {x: "
                         "a}}' -o r --shards 3 --part 2/2 --progress on"));
    expect_in(out, "33 records, ");
    expect_in(out, "part 2 of 2;");
    assert_null(strstr(out, "to read them"));
    expect_in(err, "convert: 33 of 33 records");
    expect_success(shell("$L convert csv '{files: a.csv, features: {x: a}}' -o r --shards 3 --part "
                         "1/2 --json"));
    json_t *const json = parse_out();
    assert_int_equal(number(json, "records"), 67);
    assert_true(number(json, "part") == 1 && number(json, "parts") == 2);
    json_decref(json);
    expect_success(shell("rm -rf .r.part* a.csv"));
}

/* Parts that were made of different data. */
TEST(parts_that_have_not_all_records)
{
    expect_success(shell("(echo a; seq 100) >a.csv; for i in 1 2; do $L convert csv '{files: "
                         "a.csv, features: {x: a}}' -o r --shards 3 -q --part $i/2; done; "
                         "sed -i 's/records 33 of/records 32 of/' .r.part-2-of-2/about"));
    expect_failure(shell("$L convert finish -o r"), 1,
                   "the parts have 99 records, and there should be 100");
    expect_success(shell("rm -rf .r.part* a.csv"));
}

/* Parts before and behind a change of an input have records of two states, some lost and some twice. */
TEST(an_input_changes_between_parts)
{
    static const struct {
        const char *arguments, *change;
        bool is_refused;
    } cases[] = {
        { "csv '{files: c.csv, features: {x: a}}'", "sed -i s/100/666/ c.csv", true },
        { "csv '{files: c.csv, features: {x: a}}'", "cp c.csv d && mv d c.csv", false },
        { "npy a.npy", "printf x | dd bs=1 seek=207 conv=notrunc of=a.npy 2>/dev/null", true },
        { "idx '{images: i.idx, labels: " SOURCE_DIR "/tests/golden/arrays/labels-idx1-ubyte}'",
          "printf x | dd bs=1 seek=20 conv=notrunc of=i.idx 2>/dev/null", true },
        { "tfrecord a.tfrecord b.tfrecord",
          "printf x | dd bs=1 seek=300 conv=notrunc of=a.tfrecord 2>/dev/null", true },
        { "tfrecord a.tfrecord b.tfrecord", "touch a.tfrecord", false },
        { "images some", "printf x >>some/circle/circle-0000004.jpg", true },
        { "images some", "touch some/circle/circle-0000004.jpg", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const shards = strchr("cni", *cases[i].arguments) ? "--shards 2" : "";
        expect_success(
            shell("(echo a; seq 100 199) >c.csv; cp " SOURCE_DIR
                  "/tests/golden/arrays/be_f8.npy a.npy; cp " SOURCE_DIR
                  "/tests/golden/arrays/images-idx3-ubyte i.idx; cp new-00000-of-00009.tfrecord "
                  "a.tfrecord; cp "
                  "new-00001-of-00009.tfrecord b.tfrecord; $L synth some --n 6 --size 8 --classes "
                  "2 -q; $L convert %s -o w %s -q --part 1/2",
                  cases[i].arguments, shards));
        expect_success(shell("%s; $L convert %s -o w %s -q --part 2/2", cases[i].change,
                             cases[i].arguments, shards));
        if (cases[i].is_refused)
            expect_failure(shell("$L convert finish -o w"), 1,
                           "w: part 2/2 was made from other files or after they changed");
        else
            expect_success(shell("$L convert finish -o w"));
        assert_int_equal(count_files("w-*.tfrecord"), cases[i].is_refused ? 0 : 2);
        expect_success(shell("rm -rf w-* .w.* some [abci].*"));
    }
}

/* It is read, too. */
TEST(a_manifest_is_an_input)
{
    static const char *const arguments[] = {
        "tfrecord mix-manifest.json",
        "tfrecord mix-manifest.json --shards 4 --part 1/2",
        "config mix.yaml",
        "config mix.yaml --shards 4 --part 1/2",
    };
    expect_success(shell("cp new-manifest.json mix-manifest.json && echo 'source: {tfrecord: "
                         "{files: mix-manifest.json, features: {image/class/label: {}}}}' "
                         ">mix.yaml"));
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        expect_failure(shell("$L convert %s -o mix -q", arguments[i]), 2,
                       "mix-manifest.json is an input and would be overwritten");
        expect_success(shell("cmp new-manifest.json mix-manifest.json && $L convert %s -o other "
                             "-q && rm -rf other-* .other.*",
                             arguments[i]));
    }
    expect_success(shell("rm mix*"));
}

/* Files that have no records of a part are not read: damage in them is told to another part. */
TEST(a_part_reads_what_it_writes)
{
    expect_success(shell("for f in new-*.tfrecord; do cp $f in-${f#new-}; done; printf XXXX | dd "
                         "bs=1 seek=100 conv=notrunc of=in-00003-of-00009.tfrecord 2>/dev/null"));
    expect_success(shell("$L convert tfrecord 'in-0*.tfrecord' -o in-out -q --part 1/2"));
    expect_failure(shell("$L convert tfrecord 'in-0*.tfrecord' -o in-out -q --part 2/2"), 1,
                   "in-00003-of-00009.tfrecord");
    expect_success(
        shell("$L convert tfrecord 'in-0*.tfrecord' -o in-out -q --shards 3 --part 3/3"));
    expect_failure(shell("$L convert tfrecord 'in-0*.tfrecord' -o in-out -q --shards 3 --part 2/3"),
                   1, "in-00003-of-00009.tfrecord");
    expect_success(
        shell("rm -r .in-out.part-*-of-3; cp new-00003-of-00009.tfrecord "
              "in-00003-of-00009.tfrecord; $L convert "
              "tfrecord 'in-0*.tfrecord' -o in-out -q --part 2/2; cp in-00000-of-00009.tfrecord "
              "in-0more.tfrecord; $L convert tfrecord 'in-0*.tfrecord' -o in-out -q --part 1/2"));
    expect_failure(shell("$L convert finish -o in-out"), 1, "was made from other files");
    expect_failure(shell("$L convert tfrecord 'in-0*.tfrecord' -o in-out --part 1/11"), 2,
                   "--part 1/11 of 10 shards");
    expect_failure(shell("$L convert csv a.csv -o in-out --jpeg restart"), 2, "csv takes --shards");
    expect_success(shell("rm -rf in-* .in-*"));
}

/* A record is added to the last file between counting and writing: shards would have wrong numbers, or none. */
TEST(a_tfrecord_file_grows)
{
    expect_success(shell("for f in new-*.tfrecord; do cp $f in-${f#new-}; done"));
    expect_failure(
        shell(
            "(for i in $(seq 1000); do ls .in-out.part/in-out-00000* >/dev/null 2>&1 && break; "
            "sleep 0.02; done; cat new-00000-of-00009.tfrecord >>in-00008-of-00009.tfrecord; "
            "touch grown) & "
            "ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT
            " LEAT_FAULT_CALLS=' open ' LEAT_FAULT_AT=6 LEAT_FAULT_UNTIL=grown $L convert tfrecord "
            "'in-0*.tfrecord' -o in-out -q --shards 4"),
        1, "in-00008-of-00009.tfrecord has changed since its records were counted");
    assert_int_equal(count_files("in-out-*"), 0);
    expect_success(shell("rm -rf in-* .in-* grown"));
}

/* As many shards as files are not the files. */
TEST(parts_of_tfrecord_files_that_do_not_fit)
{
    expect_success(
        shell("cp new-00000-of-00009.tfrecord a.tfrecord; cat new-0000[1-8]-of-00009.tfrecord "
              ">b.tfrecord; $L convert tfrecord [ab].tfrecord -o ab -q --part 1/2 && $L convert "
              "tfrecord [ab].tfrecord -o ab -q --shards 2 --part 2/2"));
    expect_failure(shell("$L convert finish -o ab"), 1, "ab: part 2/2 was made from other files");
    expect_success(shell("$L convert tfrecord [ab].tfrecord -o ab -q --part 2/2 && $L convert "
                         "finish -o ab"));
    expect_in(out, "40 records in 2 files");
    expect_success(shell("rm -f [ab].tfrecord* ab-*"));
}

/* An input is written in place when all of it has been read: some records may have been of one state and some of the other.
 * The conversion waits before it syncs its shard. A file that was left out may change. */
TEST(an_input_is_written_to_behind_the_last_read)
{
#define WRITE(file) "printf x | dd bs=1 seek=300 conv=notrunc of=" file " 2>/dev/null; "
    static const struct {
        const char *arguments, *change;
        int sync;         /* the call of fsync() that is the shard's */
        const char *says; /* NULL: the set is written */
    } cases[] = {
        { "npy im/a.npy", WRITE("im/a.npy"), 3,
          "command line: a file of the source was changed while it was read: convert again" },
        { "config im/c.yaml", WRITE("im/c.csv"), 3,
          "im/c.yaml: a file of the source was changed while it was read: convert again" },
        { "tfrecord im/t.tfrecord", WRITE("im/t.tfrecord"), 3,
          "im/t.tfrecord was changed or replaced while it was read: convert again" },
        { "images im/i", WRITE("im/i/circle/circle-0000004.jpg"), 5,
          "im/i/circle/circle-0000004.jpg has changed since it was read: convert again" },
        { "images im/i --part 1/1", WRITE("im/i/circle/circle-0000004.jpg"), 5,
          "im/i/circle/circle-0000004.jpg has changed since it was read: convert again" },
        { "images im/left --skip-bad", WRITE("im/left/a/log.txt") WRITE("im/left/a/cut.jpg"), 5,
          NULL },
        { "images im/i", "rm im/i/circle/circle-0000004.jpg; ", 5,
          "im/i/circle/circle-0000004.jpg was read and is gone now: convert again" },
    };
    expect_success(shell("$L synth im/i --n 6 --size 8 --classes 2 -q && "
                         "cp " SOURCE_DIR "/tests/golden/arrays/be_f8.npy im/a.npy && "
                         "cp new-00000-of-00009.tfrecord im/t.tfrecord && "
                         "seq 100 >im/c.csv && echo 'source: {csv: {files: im/c.csv, header: "
                         "false, features: {x: 0}}}' "
                         ">im/c.yaml && mkdir -p im/left/a && cp im/i/circle/*.jpg im/left/a && "
                         "echo log >im/left/a/log.txt && "
                         "head -c 20 im/i/circle/circle-0000004.jpg >im/left/a/cut.jpg && "
                         "find im -type f -exec touch -d '1 hour ago' {} +"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int rc = shell(
            "(for i in $(seq 1000); do [ -e go.waits ] && break; sleep 0.02; done; %stouch go) & "
            "ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT
            " LEAT_FAULT_CALLS=' fsync ' LEAT_FAULT_AT=%d LEAT_FAULT_UNTIL=go $L convert %s "
            "-o w -q",
            cases[i].change, cases[i].sync, cases[i].arguments);
        if (cases[i].says)
            expect_failure(rc, 1, cases[i].says);
        else
            expect_success(rc);
        assert_int_equal(count_files("w-*") > 0, !cases[i].says);
        assert_int_equal(count_files(".w.part*"), 0);
        expect_success(shell("rm go go.waits && rm -f w-*"));
    }
    expect_success(shell("$L convert npy im/a.npy -o w -q && rm -r im w-*"));
}

TEST(a_signal_comes_behind_the_last_read)
{
    static const char *const arguments[] = {
        "npy " SOURCE_DIR "/tests/golden/arrays/be_f8.npy",
        "npy " SOURCE_DIR "/tests/golden/arrays/be_f8.npy --part 1/1",
        "tfrecord new-00000-of-00009.tfrecord",
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        expect_failure(
            shell("ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT
                  " LEAT_FAULT_CALLS=' fsync ' LEAT_FAULT_AT=3 LEAT_FAULT_SIGNAL=2 $L convert %s "
                  "-o w -q",
                  arguments[i]),
            130, "stopped by a signal; nothing was left behind");
        assert_int_equal(count_files("w-*") + count_files(".w.part*"), 0);
    }
}

#define REPLACE_BY(cp) "for f in in-*.tfrecord; do " cp " $f moved && mv moved $f; done; touch go"
#define REPLACE        REPLACE_BY("cp")

/* The files are renamed by their own conversion after they were listed: some may be of an older set. The folder is made
 * behind the list, and files in it wait for what is done to the set. */
TEST(a_set_of_tfrecord_files_is_replaced_meanwhile)
{
    static const struct {
        const char *change, *says;
    } cases[] = {
        { "touch in.incomplete go", "this set is incomplete" },
        { REPLACE_BY("cp -p"), NULL }, /* some file systems give a file another inode, too */
        { REPLACE, "in-00000-of-00009.tfrecord or another file was changed or replaced while" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_success(shell("for f in new-*.tfrecord; do cp $f in-${f#new-}; done"));
        const int rc =
            shell("(for i in $(seq 1000); do [ -d .out.part ] && break; sleep 0.02; done; %s) & "
                  "ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS "
                  "LD_PRELOAD=" FAULT_AT " LEAT_FAULT_CALLS=' open ' LEAT_FAULT_AT=0 "
                  "LEAT_FAULT_UNTIL=go $L convert tfrecord 'in-*.tfrecord' -o out -q --shards 4",
                  cases[i].change);
        if (cases[i].says)
            expect_failure(rc, 1, cases[i].says);
        else
            expect_success(rc);
        assert_int_equal(count_files("out-*.tfrecord"), cases[i].says ? 0 : 4);
        assert_int_equal(count_files(".out.part"), 0);
        expect_success(shell("rm -f in* out-* go"));
    }
}

/* The same while a loader opens it, which the first index tells that it writes; it waits before it writes the second. */
TEST(a_set_is_replaced_while_it_is_opened)
{
    expect_success(shell("for f in new-*.tfrecord; do cp $f in-${f#new-}; done; echo 'source: "
                         "{tfrecord: in-*.tfrecord}\npipeline: [{map: [decode_image, resize: 8]}, "
                         "{batch: 8}]' >in.yaml"));
    expect_failure(
        shell("(for i in $(seq 1000); do [ -e in-00000-of-00009.tfrecord.idx ] && break; sleep "
              "0.02; done; " REPLACE ") & ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS "
              "LD_PRELOAD=" FAULT_AT " LEAT_FAULT_CALLS=' rename ' LEAT_FAULT_AT=2 "
              "LEAT_FAULT_UNTIL=go $L plan in.yaml"),
        1, "in-00000-of-00009.tfrecord was replaced while its set was opened");
    expect_success(shell("$L plan in.yaml && rm in* go"));
}

/* --- kills and failures --------------------------------------------------------------------------- */

/* Wherever a part is killed, it is run again, and nothing else is lost. */
TEST(a_part_is_killed)
{
    static const char part[] = "$L convert images images -o x " OPTIONS " --part 1/3";
    int code = -1, n_missing = 0;
    for (int call = 1; code != 0; call++) {
        assert_true(call < MOST_CALLS);
        put_old_set();
        expect_success(
            shell("for i in 2 3; do $L convert images images -o x " OPTIONS " --part $i/3; done"));
        if (call % 2) /* over a complete one of an earlier run */
            expect_success(shell("%s", part));
        code = disturb(part, calls, call, 0);
        assert_true(code == 0 || code == 128 + 9);
        assert_int_equal(shards_like("old"), N_SHARDS);
        if (shell("$L convert finish -o x") != 0) {
            expect_in(err, "missing or not complete: 1/3;");
            n_missing++;
            assert_int_equal(shards_like("old"), N_SHARDS);
            expect_success(shell("%s && $L convert finish -o x", part));
        }
        expect_new_set();
    }
    assert_true(n_missing >= 4);
}

/* Wherever `finish` is killed, or a call of it fails, there is no mixture, and it goes on. */
static int finish_is_disturbed(int error)
{
    int code = -1, n_refused = 0;
    bool hit = true;
    for (int call = 1; hit; call++) {
        assert_true(call < MOST_CALLS);
        put_old_set();
        expect_success(shell("cp -rp saved/.x.part* ."));
        code = disturb("$L convert finish -o x", calls, call, error);
        hit = error ? strstr(err, "fault: ") != NULL : code != 0;
        const int n_old = shards_like("old"), n_new = shards_like("new");
        assert_true(n_old == 0 || n_new == 0);
        if (n_old < N_SHARDS && n_new < N_SHARDS && n_old + n_new) {
            expect_failure(shell("$L inspect 'x-*.tfrecord'"), 1, "this set is incomplete");
            n_refused++;
        }
        if (shell("$L convert finish -o x") !=
            0) /* a folder that could not be removed may be left */
            expect_in(err, error ? "complete" : "no complete files wait");
        assert_int_equal(shards_like("new"), N_SHARDS);
        expect_success(shell("$L inspect 'x-*.tfrecord'; rm -rf .x.*"));
    }
    return n_refused;
}

TEST(finish_is_killed)
{
    static const int errors[] = { 0, EIO };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const int n_refused = finish_is_disturbed(errors[i]);
        assert_true(errors[i] || n_refused >= N_SHARDS);
    }
}

#define FINISH "$L convert finish -o x"

/* As after `finish` was killed at a change of a name. */
static int kill_finish(int call)
{
    put_old_set();
    expect_success(shell("cp -rp saved/.x.part* ."));
    return disturb(FINISH, " rename unlink ", call, 0);
}

/* Runs a part in between: of the same data, of other data, or one that is killed before its end. */
static int run_part(int part, int kind)
{
    char line[160];
    snprintf(line, sizeof line,
             "$L convert images images -o x --shards 9 --shuffle %d -q --part %d/3",
             kind == 1 ? 6 : 5, part);
    return kind == 2 ? disturb(line, " linkat rename ", 3, 0) : shell("%s", line);
}

/* `finish` was killed, and a part is run again before it goes on. Files that wait for their names are not touched. */
TEST(a_part_is_run_before_finish_goes_on)
{
    int code = -1, n_refused = 0;
    for (int call = 1; code != 0; call++)
        for (int part = 1; part <= 3 && (code = kill_finish(call)) != 0; part++) {
            assert_true(call < MOST_CALLS);
            const bool waits = shell("test -e .x.part/parts -a ! -e .x.part/unfinished") == 0;
            const int ran = run_part(part, (call + part) % 3);
            if (waits)
                expect_failure(ran, 1, "`leat convert finish -o x` gives them their names");
            n_refused += waits;
            if (shell(FINISH) != 0)
                assert_true(strstr(err, "no complete files wait") || strstr(err, "other files") ||
                            strstr(err, "missing or not complete"));
            expect_set(waits || shards_like("new") ? "new" : "old");
        }
    assert_true(n_refused >= 3 * N_SHARDS);
}

/* Other hands have touched a part after `finish` was killed: it names nothing more until that part is there again. */
TEST(a_part_is_lost_before_finish_goes_on)
{
    static const char *const losses[] = { "rm -r .x.part-2-of-3",
                                          "rm .x.part-2-of-3/about",
                                          "touch .x.part-2-of-3/unfinished",
                                          "sed -i 's/digest /digest 1/' .x.part-2-of-3/about",
                                          "rm .x.part-2-of-3/x-00007*",
                                          "echo 3 >.x.part/parts" };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        const bool all = strstr(losses[i], "echo") != NULL;
        assert_int_not_equal(kill_finish(20),
                             0); /* the old files are moved, and few new ones have names */
        expect_success(shell("test -e x.incomplete -a -e .x.part-2-of-3/x-00007*; %s", losses[i]));
        for (int again = 0; again < 2; again++)
            expect_failure(shell(FINISH), 1, all ? "run all parts again" : "x: part 2/3 was lost");
        if (!all) {
            assert_int_equal(run_part(2, 1), 0); /* of other data */
            expect_failure(shell(FINISH), 1, "x: part 2/3 was lost");
            expect_failure(shell("$L convert images images -o x " OPTIONS " --part 1/3"), 1,
                           "then run this again");
        }
        expect_success(shell("ls .x.part/old | wc -l"));
        assert_int_equal(atoi(out), N_SHARDS + 2); /* nothing is lost */
        expect_failure(shell("$L inspect 'x-*.tfrecord'"), 1, "this set is incomplete");
        expect_success(shell("%s; do $L convert images images -o x " OPTIONS
                             " --part $i/3; done; " FINISH,
                             all ? "rm -r .x.part; for i in 1 3 2" : "for i in 2"));
        expect_set("new");
    }
    assert_int_not_equal(kill_finish(20), 0);
    expect_failure(shell("flock .x.part-2-of-3/lock " FINISH), 1, "another leat is writing files");
    expect_failure(shell("$L convert images images -o x " OPTIONS " --part 1/2"), 1,
                   "files of an earlier conversion wait in .x.part");
    expect_success(shell(FINISH));
    expect_set("new");
}

#define SHARD        ".x.part-2-of-3/x-00007-of-00009.tfrecord"
#define NAMED        "x-00003-of-00009.tfrecord" /* of part 1, when `finish` is killed */
#define CHANGE(file) "printf '\\377' | dd bs=1 seek=40 conv=notrunc of=" file " 2>/dev/null"

/* Nothing more gets its name until that part is run again. */
static void expect_damage(const char *damage, const char *says, int part, bool is_killed)
{
    char again[32];
    snprintf(again, sizeof again, "with --part %d/3", part);
    expect_success(shell("%s", damage));
    for (int i = 0; i < 2; i++) {
        expect_failure(shell(FINISH), 1, says);
        expect_in(err, again);
        if (is_killed)
            expect_success(shell("[ $(ls .x.part/old | wc -l) = %d ]", N_SHARDS + 2));
        else
            expect_set("old");
    }
    assert_int_equal(run_part(part, 0), 0);
    expect_success(shell(FINISH));
    expect_set("new");
}

/* By a copy that was stopped, a full disk, a wrong copy; before `finish`, and before it goes on after a kill. */
TEST(a_shard_is_damaged)
{
    static const struct {
        const char *damage, *says;
    } cases[] = {
        { "truncate -s 0 " SHARD, SHARD ": 0 bytes, but the manifest says " },
        { "truncate -s $(($(od -An -tu8 -N8 " SHARD ") + 16)) " SHARD, /* after a record */
          " bytes, but the manifest says " },
        { CHANGE(SHARD), SHARD ": its bytes are other ones than those of the manifest" },
        { "cp saved/.x.part-1-of-3/x-00006-* " SHARD, SHARD ": " },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_old_set();
        expect_success(shell("cp -rp saved/.x.part* ."));
        expect_damage(cases[i].damage, cases[i].says, 2, false);
        assert_int_not_equal(kill_finish(20), 0);
        expect_damage(cases[i].damage, cases[i].says, 2, true);
    }
    assert_int_not_equal(kill_finish(20), 0);
    expect_success(shell("test -e " NAMED));
    expect_damage(CHANGE(NAMED), NAMED ": its bytes are other ones", 1, true);
}

/* While the shards are read, which may take long, a signal stops it. */
TEST(finish_is_stopped_by_a_signal)
{
    put_old_set();
    expect_success(shell("cp -rp saved/.x.part* ."));
    expect_failure(shell("ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT
                         " LEAT_FAULT_CALLS=' flock ' LEAT_FAULT_AT=2 LEAT_FAULT_SIGNAL=2 " FINISH),
                   130, "stopped by a signal; all parts are left as they are");
    expect_set("old");
    expect_success(shell(FINISH));
    expect_new_set();
}

static int make_sets(void **state)
{
    if (command_make_folder(state) < 0)
        return -1;
    return shell("$L synth images --n 40 --size 8 --classes 3 -q && "
                 "$L convert images images -o new " OPTIONS " && "
                 "$L convert images images -o old --shards 9 --shuffle 1 -q && "
                 "for i in 1 2 3; do $L convert images images -o x " OPTIONS
                 " --part $i/3; done && mkdir saved kept && mv .x.part* saved && "
                 "for f in old-*; do cp -p $f kept/x-${f#old-}; done && "
                 "sed -i s/old-/x-/ kept/x-manifest.json && for k in new old; do "
                 "md5sum $k-*-of-00009.tfrecord | sed s/$k-/x-/ >$k.sums; done");
}

SUITE_FIXTURE(make_sets, command_remove_folder)
