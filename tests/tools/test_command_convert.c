/* SPDX-License-Identifier: MIT
 *
 * test_command_convert.c: `leat convert` and `leat index`: bytes, bad input, full disks, many writers. */
#include "fixtures/disturb.h"

#include <errno.h>

#include "fixtures/sanitized.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

TEST(bytes_do_not_depend_on_threads)
{
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
                             "cmp a/x-manifest.json b/x-manifest.json && "
                             "for f in a/*.tfrecord; do cmp $f b/${f#a/} || exit 1; done",
                             ways[i], ways[i]));
        expect_success(
            shell("ls -A a | grep -v -e tfrecord -e labels.txt -e manifest.json | wc -l"));
        assert_int_equal(atoi(out), 0);
    }
    assert_int_equal(shell("$L convert images images -o a/s5 --shuffle 5 && "
                           "$L convert images images -o a/s6 --shuffle 6 && "
                           "cmp -s a/s5-00000-of-00001.tfrecord a/s6-00000-of-00001.tfrecord"),
                     1);
    expect_success(shell("rm -r a b"));
}

/* Two sets number their classes on their own. */
TEST(several_names_of_one_label_are_told)
{
    expect_success(shell("mkdir -p n/1/ant n/1/cat n/2/ant n/2/dog && for d in n/1/* n/2/*; do "
                         "cp $(ls images/ring/* | head -n 2) $d; done && "
                         "$L convert images n/1 -o n/x -q && $L convert images n/2 -o n/y -q && "
                         "$L inspect n/x-*d n/y-*d"));
    expect_in(out, "several names: cat, dog");
    assert_null(strstr(out, "several names: ant"));
    expect_success(shell("$L inspect n/x-*d n/y-*d n/x-*d --json"));
    expect_in(out, "\"name\": \"several names: cat, dog\"");
    expect_success(shell("$L inspect n/x-*d && rm -r n"));
    assert_null(strstr(out, "several"));
}

/* Tasks are 32 files of a shard: more threads than tasks are not started, and not told. */
TEST(threads_told_are_those_used)
{
    static const struct {
        const char *options;
        int threads;
    } ways[] = { { "--threads 7", 7 },
                 { "--threads 20", 8 },
                 { "--threads 20 --shards 2", 8 },
                 { "--threads 20 --part 1/2 --shards 2", 4 },
                 { "--threads 0", 1 } };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_success(
            shell("mkdir a && $L convert images images -o a/x %s --json", ways[i].options));
        json_t *json = parse_out();
        assert_int_equal(number(json, "threads"), ways[i].threads);
        json_decref(json);
        expect_success(shell("rm -r a"));
    }
}

/* What is not complete yet has a hidden name: a pattern must not find what a killed process left. */
TEST(parts_are_hidden)
{
    expect_failure(shell("touch .y.part && $L convert images images -o y"), 1, ".y.part");
    expect_success(shell("rm .y.part && ls -A | grep -c y || true"));
    assert_int_equal(atoi(out), 0);
}

/* A text of the user that only has the name. */
TEST(labels_of_no_set_stay)
{
    static const char *const ways[] = { "images images", "images images --part 2/2 --shards 2",
                                        "tfrecord w-*.tfrecord" };
    expect_success(
        shell("$L convert images images -o w --shards 2 -q && echo notes >y-labels.txt"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_failure(shell("$L convert %s -o y -q", ways[i]), 2,
                       "y-labels.txt: exists and belongs to no set of records");
        expect_success(shell("grep -q notes y-labels.txt"));
        assert_int_equal(count_files("y*") + count_files(".y*"), 1);
    }
    expect_success(
        shell("rm y-labels.txt && for i in 1 2; do $L convert images images -o y -q; done; "
              "rm y-manifest.json; $L convert images images -o y -q && rm y* w*"));
}

/* The report would replace a file of the set, or its marker, by which nobody could read it. */
TEST(a_report_takes_no_name_of_the_set)
{
    expect_success(shell("$L convert images images -o y --shards 2 -q --json=y-report.json >x && "
                         "rm y-report.json x && ls y* && rm y*"));
    char names[4096];
    const int n = snprintf(names, sizeof names, "%sy.incomplete\n./y-labels.txt\n%s", out,
                           "y-00000-of-00009.tfrecord\ndangling\n");
    assert_true(n < (int)sizeof names);
    int n_names = 0;
    for (char *name = strtok(names, "\n"); name; name = strtok(NULL, "\n"), n_names++) {
        expect_failure(shell("ln -sf y.incomplete dangling; "
                             "$L convert images images -o y --shards 2 -q --json=%s",
                             name),
                       2, "is a name of the set's own files: choose another name");
        expect_in(err, name);
        assert_int_equal(count_files("y*") + count_files(".y*"), 0);
    }
    assert_int_equal(n_names, 6 + 4); /* two shards with their indexes, labels, manifest */
    expect_failure(shell("$L convert images images -o new/y -q --json=./new/y-manifest.json"), 2,
                   "is a name of the set's own files");
    expect_success(shell("rm dangling && test ! -e new"));
}

/* One that gives less than was asked for, as over FUSE, ends no file. */
TEST(short_reads)
{
    expect_success(
        shell("$L convert images images -o x --shards 2 -q; "
              "ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT
              " LEAT_FAULT_READ=300 $L convert images images -o y --shards 2 -q && for i "
              "in 0 1; do cmp x-0000$i-of-00002.tfrecord y-0000$i-of-00002.tfrecord || "
              "exit 1; done; rm x* y*"));
}

/* Where the file system has no locks, a single process works all the same. */
TEST(without_locks)
{
    static const int missing[] = { ENOSYS, EOPNOTSUPP, ENOLCK };
    static const char convert[] = "$L convert images images -o x -q";
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        expect_success(disturb(convert, "flock", 0, missing[i]));
        expect_in(err, "fault: flock");
        expect_success(shell("$L inspect x-*.tfrecord && rm x*"));
    }
    expect_failure(disturb(convert, "flock", 0, EIO), 1, "cannot lock .x.part");
    assert_int_equal(count_files("x*"), 0);
    expect_success(shell("rm -r .x.part"));
}

/* docs/json.md promises the order. */
static void assert_names(const json_t *list, const char *const *names, size_t n)
{
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "name")),
                            names[i]);
}

TEST(records_hold_the_files)
{
    static const char *const names[] = { "image/encoded",    "image/format", "image/class/label",
                                         "image/class/text", "image/height", "image/width",
                                         "image/filename" };
    expect_success(shell("$L convert images images -o x --shards 3 && cat x-labels.txt"));
    expect_in(out, "circle\ncrescent\ncross\nframe\nhourglass\nring\nsquare\nstar\nstripes\n"
                   "triangle\n");
    expect_success(shell("$L inspect 'x-*.tfrecord' --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "records"), 240);
    assert_int_equal(json_array_size(json_object_get(json, "files")), 3);
    assert_names(json_object_get(json, "features"), names, sizeof names / sizeof *names);
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
    assert_names(fields, names, sizeof names / sizeof *names);
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
TEST(images_pass_untouched)
{
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

TEST(index_files_fit_until_data_change)
{
    expect_success(shell("$L convert images images -o x --shards 2 && $L index --check "
                         "'x-*.tfrecord' && touch -d 2001-01-01 x-00001-of-00002.tfrecord"));
    assert_int_equal(shell("$L index --check 'x-*.tfrecord'"), 1);
    expect_in(err, "x-00001-of-00002.tfrecord");
    expect_in(err, "1 of 2 files failed the check");
    assert_int_equal(shell("$L index --check x-00001-of-00002.tfrecord 'x-00001*.tfrecord'"), 1);
    expect_in(err, "1 of 1 file failed the check"); /* given twice */
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

TEST(an_index_that_cannot_be_written_is_a_failure)
{
    expect_success(shell("$L convert images images -o x && rm x*.idx && $L index x-*.tfrecord"));
    expect_in(out, "240 records");
    expect_in(out, "index written (x-00000-of-00001.tfrecord.idx: missing)");
    expect_success(shell("$L index x-*.tfrecord"));
    expect_in(out, "index fits\n");
    expect_success(shell("rm x*.idx && mkdir x-00000-of-00001.tfrecord.idx"));
    expect_failure(
        shell("$L index x-*.tfrecord"), 1,
        "leat index: no index was written: x-00000-of-00001.tfrecord.idx: exists and is not "
        "a regular file; choose another name\n");
    assert_null(strstr(err, "memory"));
    expect_success(shell("$L inspect x-*.tfrecord")); /* which needs none */
    expect_success(shell("rm -r x*; echo mine >x-00000-of-00001.tfrecord.idx; "
                         "$L convert images images -q -o x && grep mine x*.idx"));
    expect_in(err, "note: no index was written: x-00000-of-00001.tfrecord.idx: exists and is not "
                   "an\n  index of leat");
}

/* More shards than descriptors are no mistake; too few for one shard beside the program's own files are. */
TEST(too_many_open_files_are_explained)
{
    static const char hint[] = "Too many open files; allow this process more of them (ulimit -n)";
    expect_success(shell("$L convert images images -o x --shards 20"));
    expect_success(shell("printf 'source: {tfrecord: {files: \"x-*d\"}}\n"
                         "pipeline: [map: [decode_image, {resize: [4, 4]}], batch: 2]\n' >x.yaml"));
    expect_success(shell("ulimit -n 16; $L plan x.yaml"));
    expect_failure(shell("ulimit -n 6; $L plan x.yaml"), 1, hint);
}

TEST(little_address_space_is_enough)
{
#ifdef SANITIZED
    skip(); /* a sanitizer reserves terabytes of address space for its shadow memory */
#else
    expect_success(shell("ulimit -v 200000; $L convert images images -o x --threads 2 -q && "
                         "$L index --jpeg x-*.tfrecord"));
#endif
}

TEST(bad_folders_are_explained)
{
    static const struct {
        const char *setup, *part;
    } cases[] = {
        { "true", "bad: cannot read the folder: No such file" },
        { "touch bad", "bad: lists no file" },
        { "mkdir bad", "it is empty" },
        { "mkdir bad && cp images/circle/* bad", "only files" },
        { "mkdir -p bad/a bad/b", "2 class folders, but no image in any of them" },
        { "mkdir bad && cp -r images bad/train && cp -r test-images bad/test",
          "did you mean bad/train?" },
        { "cp -r images bad && mkdir bad/circle/more", "--recursive" },
        { "cp -r images bad && mkfifo bad/circle/pipe", "neither a file nor a folder" },
        { "cp -r images bad && ln -s nowhere bad/circle/link",
          "bad/circle/link: a broken link; --skip-bad" },
        { "cp -r images bad && ln -s ../circle bad/star/circle && rm bad/star/*.*", "--recursive" },
        { "cp -r images bad && printf '\\377\\330\\377\\340' >bad/star/cut.jpg",
          "bad/star/cut.jpg: decode_image: decode_jpeg: no frame header" },
        { "cp -r images bad && printf '\\211PNG\\r\\n\\032\\n' >bad/star/cut.png",
          "bad/star/cut.png: decode_image: decode_png: not a PNG" },
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
            expect_failure(code, 1,
                           cases[i].part ? cases[i].part
                                         : "bad/star/00.jpg: decode_image: decode_jpeg: ");
            assert_int_equal(count_files("x*"), 0);
            assert_int_equal(count_files(".x*"), 0);
        }
    }
}

/* Of several bad files the first in order is the one named, whatever the threads. */
TEST(the_first_bad_file_is_named)
{
    expect_success(shell("cp -r images bad; for f in cross/zz ring/00 triangle/00; do "
                         "printf '\\377\\330\\377\\340' >bad/$f; done"));
    for (int threads = 1; threads <= 8; threads *= 2) {
        expect_failure(shell("$L convert images bad -o x --shards 9 --threads %d -q", threads), 1,
                       "bad/cross/zz: decode_image: decode_jpeg: no frame header");
        assert_int_equal(count_files("*x-*"), 0);
    }
}

TEST(what_is_no_image_is_left_out_and_named)
{
    expect_success(shell("cp -r images bad; echo >bad/cross/zz; echo >bad/ring/00; echo >bad/top; "
                         "$L convert images bad -o x --shards 2 --json -q"));
    expect_in(err, "left out: bad/cross/zz: no image: not JPEG, PNG, WebP, BMP, binary PGM or PPM\n"
                   "left out: bad/ring/00: no image: not JPEG, PNG, WebP, BMP, binary PGM or PPM\n"
                   "left out: 1 file directly in bad, outside of any class folder: bad/top\n");
    json_t *json = parse_out();
    assert_int_equal(number(json, "images"), 240);
    assert_int_equal(json_array_size(json_object_get(json, "skipped")), 2);
    assert_int_equal(json_array_size(json_object_get(json, "shards")), 2);
    assert_int_equal(number(json, "outside"), 1);
    json_decref(json);
    expect_success(shell("rm -rf x* bad; mkdir -p bad/a; echo >bad/a/1"));
    expect_failure(shell("$L convert images bad -o x -q"), 1, "contains no image");
    assert_int_equal(count_files("x*"), 0);
}

/* Links to nowhere, pipes that nobody writes, files that may not be read, links in a circle. */
TEST(skip_bad_leaves_out_what_cannot_be_opened)
{
    expect_success(shell("cp -r test-images bad && cd bad && ln -s nowhere circle/link && "
                         "ln -s self circle/self && mkfifo ring/pipe pipe && ln -s nowhere top && "
                         "mkdir star/in && cp star/*.* star/in && ln -s .. star/in/up && "
                         "ln -s ../.. star/in/top && ln -s . star/in/same"));
    expect_failure(shell("$L convert images bad -o x --recursive -q"), 1,
                   "--skip-bad leaves it out");
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        expect_success(
            shell("timeout 20 $L convert images bad -o x --skip-bad --recursive --json -q %s",
                  shuffle ? "--shuffle 1" : ""));
        expect_in(err, "left out: bad/circle/link: a broken link\n");
        expect_in(err, "left out: bad/circle/self: Too many levels of symbolic links\n");
        expect_in(err, "left out: bad/ring/pipe: neither a file nor a folder\n");
        expect_in(err, "left out: bad/star/in/up: a link to a folder that contains it\n");
        expect_in(err, "left out: bad/star/in/top: a link to a folder that contains it\n");
        expect_in(err, "left out: bad/star/in/same: a link to a folder that contains it\n");
        json_t *json = parse_out();
        assert_int_equal(number(json, "images"), 66);
        assert_int_equal(json_array_size(json_object_get(json, "skipped")), 8);
        assert_int_equal(number(json, "empty_classes"), 0);
        json_decref(json);
    }
    expect_failure(shell("ln -s . bad/loop && rm -rf bad/star/in bad/*/link bad/*/self bad/*/pipe "
                         "bad/pipe bad/top && $L convert images bad -o y"),
                   1, "bad/loop: a link to a folder that contains it; --skip-bad leaves it out");
}

/* A file that turns out to be none when it is opened; root may read everything, so it is a link. */
TEST(empty_classes_are_said)
{
    expect_success(
        shell("mkdir -p bad && cp -r test-images/circle bad/b && mkdir bad/a bad/c bad/d "
              "&& echo text >bad/c/1.jpg"));
    expect_success(shell("$L convert images bad -o x --skip-bad --json -q --shuffle 3"));
    expect_in(err, "3 of 4 classes have no image: the first is a (label 0)\n");
    json_t *json = parse_out();
    assert_int_equal(number(json, "empty_classes"), 3);
    json_decref(json);
    expect_success(shell("cp bad/b/* bad/c && cp bad/b/* bad/d && rm x* bad/c/1.jpg && "
                         "$L convert images bad -o x -q"));
    expect_in(err, "1 of 4 classes has no image: a (label 0)\n");
}

/* A list of the files of a folder, in the order of the folder, gives the same bytes and the same batches. */
TEST(lists_give_the_set_of_the_folder)
{
    static const char *const lists[] = { "l.csv --root test-images",
                                         "c.tsv --file name --label kind --suffix .jpg",
                                         "l.txt --root test-images --class-from '^(\\w+)/'",
                                         "test-images --class-from '(\\w+)/[^/]+$'",
                                         "- --root test-images --class-from '^(.+)/' <l.txt" };
    expect_success(shell(
        "(cd test-images && find . -name '*.jpg' | cut -c3- | LC_ALL=C sort) >l.txt && "
        "awk -F/ '{print $0 \",\" $1}' l.txt >l.csv && printf '\\357\\273\\277kind\\tname\\r\\n' "
        ">c.tsv && sed \"s,\\([^/]*\\)/\\(.*\\).jpg,\\1\\t$PWD/test-images/\\1/\\2\\r,\" l.txt "
        ">>c.tsv && "
        "$L convert images test-images -o x --shards 2 -q"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        expect_success(shell("$L convert images %s -o y --shards 2 -q", lists[i]));
        expect_success(shell("cmp x-labels.txt y-labels.txt"));
        if (i != 1) /* absolute names are stored */
            expect_success(shell("cmp x-00001-of-00002.tfrecord y-00001-of-00002.tfrecord"));
    }
    expect_failure(shell("cp l.csv l-labels.txt && $L convert images l-labels.txt --delimiter , "
                         "--root test-images -o l"),
                   2, "l-labels.txt is an input and would be overwritten");
    expect_success(shell("cmp l.csv l-labels.txt"));
    expect_success(shell("touch z-labels.txt && $L convert images l.txt --root test-images -o z -q "
                         "&& test ! -e z-labels.txt && "
                         "$L inspect z-*.tfrecord"));
    assert_null(strstr(out, "image/class"));
    expect_success(
        shell("(echo f,a,b; sed s/$/,1,-1/ l.txt) >v.csv && $L convert images v.csv --root "
              "test-images --label a --label b -o v -q && $L inspect v-*.tfrecord --record 0"));
    expect_in(out, "image/class/label");
    expect_in(out, "1 -1");
    expect_success(shell("$L inspect y-*.tfrecord v-*.tfrecord --json=v.json"));
    expect_in(out,
              "\n  60 records have no class: the feature is missing, or is not one int64 value");
    expect_success(shell("grep '\"without_label\": 60' v.json && rm v.json && "
                         "$L inspect y-*.tfrecord"));
    assert_null(strstr(out, "no class"));
    expect_success(shell("echo notes >test-images/n.txt && echo n.txt,cross >>l.csv && echo "
                         "ring,ring >>l.csv && "
                         "$L convert images l.csv --root test-images -o w -q --skip-bad"));
    expect_in(err, "test-images/n.txt: no image");
    expect_in(err, "test-images/ring: cannot read: Is a directory\n");
    expect_failure(shell("$L convert images l.csv --root test-images -o w -q; e=$?; rm "
                         "test-images/n.txt; exit $e"),
                   1, "l.csv:61: test-images/n.txt: no image");
    expect_success(shell("rm -f [vwyz]-* [lcv].txt [lcv].csv c.tsv"));
}

/* By content, every format that decode_image reads; and so does the source `images`. */
TEST(the_source_takes_the_same_files)
{
    expect_success(shell(
        "mkdir -p bad/a bad/b && cp images/circle/*0.jpg bad/a && "
        "mv bad/a/$(ls bad/a | head -1) bad/a/jpeg.txt && printf 'P6\\n2 1 255\\nabcdef' >bad/b/1 "
        "&& "
        "printf 'P5 2 1 255 ab' >bad/b/2.jpg && echo text >bad/b/3.jpg && : >bad/b/4.png && "
        "printf "
        "'BM\\072\\0\\0\\0\\0\\0\\0\\0\\066\\0\\0\\0\\050\\0\\0\\0\\001\\0\\0\\0\\001\\0\\0\\0"
        "\\001\\0\\030\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0"
        "\\0\\0abc\\0' >bad/b/5.png"));
    expect_success(shell("$L convert images bad -o x --skip-bad --verify --json -q"));
    json_t *json = parse_out();
    const int64_t n = number(json, "images");
    assert_int_equal(json_array_size(json_object_get(json, "skipped")), 2);
    json_decref(json);
    assert_true(n >= 5);
    char digest[64] = "";
    for (int of_folder = 0; of_folder < 2; of_folder++) {
        expect_success(
            shell("printf 'source: {%s}\\npipeline: [{map: [decode_image, {resize: {size: "
                  "[4, 4]}}]}, batch: 1]\\n' >y.yaml && $L plan y.yaml",
                  of_folder ? "images: bad" : "tfrecord: x-*.tfrecord"));
        if (of_folder) {
            expect_in(out, "images: left out: 1 empty file: bad/b/4.png");
            expect_in(out, "images: left out: 1 file that is no image: bad/b/3.jpg");
        }
        expect_success(shell("$L bench y.yaml --epochs 1 --digest -q | grep -o 'digest .*'"));
        if (of_folder)
            assert_string_equal(out, digest);
        snprintf(digest, sizeof digest, "%.60s", out);
    }
}

TEST(recursive_takes_inner_folders)
{
    expect_success(
        shell("mkdir -p bad/a/in bad/b && cp images/circle/* bad/a/in && "
              "cp images/ring/* bad/b && $L convert images bad -o x --recursive --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "classes"), 2);
    assert_int_equal(number(json, "images"), 48);
    json_decref(json);
}

TEST(unreadable_files_are_named)
{
    if (geteuid() == 0)
        skip(); /* root reads everything */
    expect_success(shell("cp -r images bad && chmod 0 bad/ring/*13.jpg"));
    expect_failure(shell("$L convert images bad -o x -q"), 1, "Permission denied");
    expect_success(shell("$L convert images bad -o y --skip-bad -q"));
    expect_in(err, "13.jpg: cannot open: Permission denied");
    expect_success(shell("chmod 644 bad/ring/* && chmod 0 bad/ring"));
    expect_failure(shell("$L convert images bad -o x -q"), 1, "bad/ring: cannot read the folder");
    expect_success(shell("chmod 755 bad/ring"));
    assert_int_equal(count_files("x*"), 0);
}

TEST(sets_are_not_mixed)
{
    expect_success(shell("$L convert images images -o x --shards 2 && "
                         "$L convert images images -o x --shards 2"));
    expect_failure(shell("$L convert images images -o x --shards 3"), 1,
                   "another number of shards");
    expect_success(shell("$L convert images images -o xy --shards 3"));
}

/* Two at once: one of them does it all, or both do, one after the other; never a mixed set. */
TEST(a_prefix_has_one_writer)
{
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
    expect_success(shell("rm -f x*; mkdir .x.part && touch .x.part/lock && "
                         "$L convert images images -o x -q && rm x-*"));
    assert_int_equal(count_files(".x*"), 0);
    expect_failure(shell("mkdir .x.part; flock .x.part/lock $L convert images images -o ./x -q"), 1,
                   "another leat");
    assert_int_equal(count_files("x-*"), 0);
    expect_success(shell("flock .x.part/lock $L convert images images -o xy -q && rm -r .x.part"));
}

TEST(full_disks_leave_nothing)
{
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
TEST(stopping_leaves_no_half_file)
{
    static const char *const signals[] = { "KILL", "INT", "TERM" };
    for (int i = 0; i < 18; i++) {
        const char *name = signals[i % 3];
        const int code =
            shell("timeout -s %s 0.%03d $L convert images images -o x --shards 6 -q", name, i + 1);
        const int n = count_files("x-0*.tfrecord");
        if (count_files("x.incomplete")) {
            assert_string_equal(name, "KILL");
            assert_int_equal(shell("$L inspect 'x-0*.tfrecord'"), 1);
        } else if (n) {
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
        expect_success(shell("rm -rf x* .x*"));
    }
}

/* What is open elsewhere cannot be removed over NFS and FUSE: folders stand for such files. */
TEST(a_file_that_another_process_holds_is_left)
{
    expect_success(
        shell("mkdir -p .xn.part/.nfs0001 .xn.part/old/.fuse_hidden2 && "
              "$L convert images images -o xn -q --shards 2 && "
              "$L convert images images -o xn -q --shards 2 && $L index --check 'xn-*d' && "
              "test -d .xn.part/old/.fuse_hidden2 && rm -r xn* .xn.part"));
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
