/* SPDX-License-Identifier: MIT
 *
 * test_command_tfrecord.c: `leat convert tfrecord`, and what other commands do with compressed files. */
#include <math.h>

#include "fixtures/command_fixture.h"
#include "fixtures/compressed.h"
#include "fixtures/engine_fixture.h"
#include "formats/example.h"

/* Writes a compressed twin of a file of the folder. */
static int pack(const char *from, const char *to, int zlib)
{
    char path[128];
    static uint8_t bytes[1 << 20];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, from);
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *const packed = compressed(bytes, n, zlib, zlib ? n : 5000, &size);
    snprintf(path, sizeof path, "%s/%s", folder, to);
    file = packed ? fopen(path, "wb") : NULL;
    const size_t written = file ? fwrite(packed, 1, size, file) : 0;
    free(packed);
    return file && fclose(file) == 0 && written == size ? 0 : -1;
}

/* a.tfrecord and b.tfrecord are plain, a.gz and b.z the same, compressed. */
static int make_files(void **state)
{
    if (command_make_folder(state) < 0 ||
        shell("$L synth set --n 50 --size 16 --seed 7 -q && "
              "$L convert images set -o p -q --shards 2 && "
              "mv p-00000-of-00002.tfrecord a.tfrecord && mv p-00001-of-00002.tfrecord b.tfrecord "
              "&& rm -f p-*"))
        return -1;
    return pack("a.tfrecord", "a.gz", 0) < 0 || pack("b.tfrecord", "b.z", 1) < 0 ? -1 : 0;
}

static int clean_files(void **state)
{
    (void)state;
    return shell("rm -rf x* .x*");
}

TEST(names_of_classes_are_kept)
{
    expect_success(shell("$L convert images set -o xs -q --shards 2 && "
                         "$L convert tfrecord xs-*.tfrecord -o xt --shards 3 --json=xt.json && "
                         "cmp xs-labels.txt xt-labels.txt && grep -q '\"labels\": \"xt-' xt.json"));
    expect_in(out, "; classes in xt-labels.txt");
    expect_success(shell("$L convert tfrecord xs-*.tfrecord -o xp --part 1/2 -q && "
                         "$L convert tfrecord xs-*.tfrecord -o xp --part 2/2 -q && "
                         "$L convert finish -o xp -q && cmp xs-labels.txt xp-labels.txt"));
    expect_success(shell("$L convert images set -o xi --shards 2 --part 2/2 -q --json | "
                         "grep -q '\"labels\": null'")); /* the first part has them */
    /* Two sets with the same names, with other ones, and one without. */
    expect_success(shell("$L convert tfrecord xs-*.tfrecord xt-*.tfrecord -o xu --shards 1 -q && "
                         "cmp xs-labels.txt xu-labels.txt"));
    assert_string_equal(err, "");
    expect_success(shell("sed -i 1s/^/a/ xt-labels.txt && "
                         "$L convert tfrecord xs-*.tfrecord xt-*.tfrecord -o xu --shards 1 -q && "
                         "test ! -e xu-labels.txt"));
    expect_in(err, "the names of the classes are not kept: the sets have different ones");
    expect_success(shell("$L convert tfrecord xs-*.tfrecord a.tfrecord -o xu --shards 1 -q && "
                         "test ! -e xu-labels.txt"));
    expect_in(err, "not kept: some of the sets have none");
    expect_success(
        shell("$L convert tfrecord a.tfrecord -o xu --shards 1 && test ! -e xu-labels.txt"));
    assert_string_equal(err, "");
    assert_null(strstr(out, "classes in"));
}

/* Records are more than names: the conversion goes on. */
TEST(names_that_cannot_be_read_are_not_kept)
{
    static const char *const cases[][2] = {
        { "mkdir xs-labels.txt", "not kept: xs-labels.txt: Is a directory" },
        { "truncate -s 17M xs-labels.txt", "not kept: xs-labels.txt: larger than 16 MiB" },
        { "printf 'a\\0b\\n' >xs-labels.txt", "not kept: xs-labels.txt: has a zero byte" },
        { "touch xs-labels.txt; chmod 0 xs-labels.txt", "not kept: xs-labels.txt: " },
    };
    const size_t n = sizeof cases / sizeof *cases - (geteuid() == 0); /* root reads all */
    expect_success(shell("$L convert images set -o xs -q --shards 2"));
    for (size_t i = 0; i < n; i++) {
        expect_success(shell("rm -rf xs-labels.txt; %s", cases[i][0]));
        expect_success(shell("$L convert tfrecord xs-*.tfrecord -o xt -q && "
                             "cmp xs-00001-of-00002.tfrecord xt-00001-of-00002.tfrecord && "
                             "test ! -e xt-labels.txt"));
        expect_in(err, cases[i][1]);
    }
}

/* Also of a CSV file, and of sources that are combined. */
TEST(names_of_a_source_are_kept)
{
    expect_success(shell("printf 'a,kind\\nu,cat\\nv,dog\\nu,cat\\n' >x.csv && "
                         "$L convert csv '{files: x.csv, features: {label: {columns: kind, "
                         "classes: [cat, dog]}}}' -o xc -q && "
                         "printf 'cat\\ndog\\n' | cmp - xc-labels.txt"));
    expect_success(shell("c='{csv: {files: x.csv, features: {label: {columns: kind, classes: [cat, "
                         "dog]}}}}'; echo \"source: {concat: [$c, $c]}\" >x.yaml && "
                         "$L convert config x.yaml -o xd && cmp xc-labels.txt xd-labels.txt"));
    expect_in(out, "; classes in xd-labels.txt");
    /* A labels file cannot hold such a name. */
    expect_success(
        shell("printf 'a,kind\nu,c\nv,c\n' >x3.csv && $L convert csv '{files: x3.csv, "
              "features: {label: {columns: kind, classes: [\"a\\nb\", c]}}}' -o xg -q && "
              "test ! -e xg-labels.txt && test -e xg-00000-of-00001.tfrecord"));
    expect_in(err, "not kept: class 0 has a line break in its name");
    /* Which of the two the label is, is not known, unless it has that name. */
    expect_success(shell("$L convert csv '{files: x.csv, features: {x: {columns: a, classes: [u, "
                         "v]}, y: {columns: kind, classes: [cat, dog]}}}' -o xe -q && "
                         "test ! -e xe-labels.txt && "
                         "$L convert csv '{files: x.csv, features: {x: {columns: a, classes: [u, "
                         "v]}, label: {columns: kind, classes: [cat, dog]}}}' -o xe -q && "
                         "cmp xc-labels.txt xe-labels.txt"));
    /* The same label of two sources with other names. */
    expect_failure(
        shell("c='{csv: {files: x.csv, features: {x: {columns: a, classes: [u, v]}, "
              "label: {columns: kind, classes: ['; echo \"source: {concat: [${c}cat, "
              "dog]}}}}, ${c}dog, cat]}}}}]}\" >xw.yaml && $L convert config xw.yaml -o xw "
              "-q"),
        1, "class 0 of 'label' is 'dog' in source 2 (csv:");
    /* Reading the set would take them for those of `label`; of the only number they are kept. */
    expect_success(
        shell("printf 'a,kind,y\n1.5,cat,0\n2,dog,1\n' >x4.csv; c='kind: {columns: kind, "
              "classes: [cat, dog]}'; $L convert csv \"{files: x4.csv, features: {$c, label: "
              "{columns: y, type: int64}}}\" -o xh -q && test ! -e xh-labels.txt"));
    expect_in(err,
              "the names of the classes are not kept: they are not those of `image/class/label`");
    expect_success(shell("c='kind: {columns: kind, classes: [cat, dog]}'; $L convert csv \"{files: "
                         "x4.csv, features: {$c, fine: {columns: y, type: int64}}}\" -o xh -q && "
                         "test ! -e xh-labels.txt && $L convert csv \"{files: x4.csv, features: "
                         "{$c, a: a}}\" -o xh -q && cmp xc-labels.txt xh-labels.txt"));
    /* Who reads a float `label` alone would have them for its own; an int64 `image/class/label` stands before all others. */
    expect_success(shell("c='kind: {columns: kind, classes: [cat, dog]}'; $L convert csv \"{files: "
                         "x4.csv, features: {$c, label: {columns: a}}}\" -o xh -q && test ! -e "
                         "xh-labels.txt"));
    expect_success(
        shell("c='{columns: kind, classes: [cat, dog]}, n: {columns: y, type: int64}'; $L "
              "convert csv \"{files: x4.csv, features: {image/class/label: $c}}\" -o xh "
              "-q && cmp xc-labels.txt xh-labels.txt && $L convert csv \"{files: "
              "x4.csv, features: {label: $c, image/class/label: {columns: y, type: "
              "int64}}}\" -o xh -q && test ! -e xh-labels.txt"));
    /* The same label of two sets with other names. */
    expect_failure(shell("sed 's/cat, dog/dog, cat/2' x.yaml >x2.yaml && "
                         "$L convert config x2.yaml -o xf -q"),
                   1, "class 0 of 'label' is 'dog' in source 2 (csv:");
}

TEST(a_file_is_read_once)
{
    expect_success(shell("$L convert tfrecord a.tfrecord ./a.tfrecord -o xo --shards 1 && "
                         "cmp a.tfrecord xo-00000-of-00001.tfrecord"));
    expect_in(err, "note: a.tfrecord is named twice and read once");
    expect_success(shell("$L inspect a.tfrecord >once && ln -s a.tfrecord again && "
                         "$L inspect a.tfrecord again | cmp - once && rm again once"));
    expect_in(err, "note: a.tfrecord is named twice and read once");
}

TEST(each_file_becomes_one)
{
    expect_success(shell("$L convert tfrecord a.gz b.z -o x/out"));
    expect_in(out, "50 records of 2 files");
    expect_success(shell("cmp a.tfrecord x/out-00000-of-00002.tfrecord && "
                         "cmp b.tfrecord x/out-00001-of-00002.tfrecord && "
                         "$L index --check x/*.tfrecord"));
    expect_success(shell("ls -A x | wc -l"));
    assert_int_equal(atoi(out), 5); /* two files, two indexes, the manifest, nothing else */
}

/* The manifest that a conversion writes is the one that `leat index` writes; both stand for the files. */
TEST(manifests)
{
    expect_success(shell("$L convert tfrecord a.gz b.z -o x/out && "
                         "$L index 'x/out*' --manifest x/my.manifest.json && "
                         "cmp x/out-manifest.json x/my.manifest.json && "
                         "$L index --check x/out-manifest.json && $L inspect x/my.manifest.json"));
    expect_in(out, "50 records");
    expect_success(shell("mkdir x/y && $L index x/out-*.tfrecord --manifest x/y/manifest.json && "
                         "$L index --check x/y/manifest.json && "
                         "$L convert tfrecord x/y/manifest.json -o x/again && "
                         "cmp x/again-00001-of-00002.tfrecord x/out-00001-of-00002.tfrecord"));
    expect_success(shell("touch -r x/out-00001-of-00002.tfrecord x/when && "
                         "printf '\\001' | dd of=x/out-00001-of-00002.tfrecord bs=1 seek=100 "
                         "conv=notrunc 2>x/dd && touch -r x/when x/out-00001-of-00002.tfrecord"));
    expect_failure(shell("$L index --check x/out-manifest.json >/dev/null"), 1,
                   "x/out-00001-of-00002.tfrecord: its bytes are other ones than those of the "
                   "manifest");
    /* Without a manifest size, time and the index itself are compared, as its help says. */
    expect_success(shell("$L index --check 'x/out*'"));
    expect_success(shell("printf 1 >> x/out-00000-of-00002.tfrecord"));
    expect_failure(shell("$L index --check x/out-manifest.json >/dev/null"), 1,
                   "bytes, but the manifest says");
    expect_in(err, "2 of 2 files failed the check"); /* one of them twice */
    expect_failure(shell("cd x && $L index --check ./out-00000*d out-manifest.json >/dev/null"), 1,
                   "2 of 2 files failed the check");
    expect_failure(shell("$L index a.tfrecord x/out-00000-of-00002.tfrecord --manifest "
                         "x/bad.manifest.json >/dev/null"),
                   1, "is damaged, so no manifest is written");
    expect_failure(shell("$L index a.tfrecord --manifest x/list.json"), 2,
                   "the name must be manifest.json");
    expect_failure(shell("$L index a.tfrecord --manifest x/q-manifest.json --check"), 2,
                   "--check and --manifest exclude each other");
    expect_success(shell("ls x | grep -c -e bad -e q- -e list.json || true"));
    assert_int_equal(atoi(out), 0);
}

/* Links to a file have one each, because it is found by name; a manifest lists the file once. */
TEST(each_name_has_an_index)
{
    static const char *const names[] = { "f", "o/l", "o/h", "o/h2" };
    enum { N = sizeof names / sizeof *names };
    expect_success(shell("mkdir -p x/o && cp a.tfrecord x/f.tfrecord && cd x && "
                         "ln -s ../f.tfrecord o/l.tfrecord && ln f.tfrecord o/h.tfrecord && "
                         "ln f.tfrecord o/h2.tfrecord && "
                         "$L index f.tfrecord ./f.tfrecord 'o/*.tfrecord' o/../o/h.tfrecord"));
    expect_in(err, "note: f.tfrecord is named twice, as are other files, and read once");
    for (int i = 0; i < N; i++)
        expect_failure(
            shell("cd x && rm %s.tfrecord.idx && $L index --check f.tfrecord o/*d >/dev/null; "
                  "code=$?; $L index f.tfrecord o/*d >/dev/null; exit $code",
                  names[i]),
            1, "1 of 4 files failed the check");
    expect_success(
        shell("cd x && rm *.idx o/*.idx && "
              "$L index f.tfrecord o/*.tfrecord --manifest f-manifest.json && "
              "$L index --check f.tfrecord o/*d && "
              "$L index ./f.tfrecord --manifest g-manifest.json && cmp *-manifest.json"));
    expect_in(err, "note: f.tfrecord has several names and is listed once");
}

/* One file by two names is one, as for the other commands. */
TEST(a_manifest_lists_a_file_once)
{
    expect_success(shell("$L convert tfrecord a.gz b.z -o x/out -q >/dev/null && cd x && ln -s "
                         "out-00000-of-00002.tfrecord link && $L index out-*.tfrecord "
                         "./out-00000-of-00002.tfrecord link --manifest m-manifest.json && "
                         "cmp m-manifest.json out-manifest.json"));
    expect_in(err, "note: out-00000-of-00002.tfrecord is named twice and read once");
    expect_failure(shell("$L index a.tfrecord --manifest x/n-manifest.json --json "
                         "./x/n-manifest.json"),
                   2, "--manifest and --json name the same file");
    assert_int_equal(count_files("x/n-*"), 0);
}

/* Also of files of which some are below the manifest's folder, whose names are relative there, and others are not. */
TEST(a_manifest_keeps_the_order)
{
    static const char *const reads[] = { "x/*/*.tfrecord", "x/b/all-manifest.json",
                                         "$PWD/x/b/all-manifest.json", "x/b/again-manifest.json",
                                         "x/all-manifest.json" };
    expect_success(
        shell("mkdir -p x/a x/b x/c && $L convert images set -o x/out --shards 3 -q && "
              "rm x/out-labels.txt && mv x/out-00000-of-00003.tfrecord x/a/t.tfrecord && "
              "mv x/out-00001-of-00003.tfrecord x/b/t.tfrecord && "
              "mv x/out-00002-of-00003.tfrecord x/c/t.tfrecord && "
              "for m in x/b/all x/all; do "
              "$L index 'x/*/*.tfrecord' --manifest $m-manifest.json || exit; done && "
              "$L index x/[cb]/t.tfrecord x/a/t.tfrecord --manifest "
              "x/b/again-manifest.json"));
    assert_string_equal(err, "");
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        expect_success(
            shell("f=\"%s\"; printf 'source: {tfrecord: {files: \"%%s\", features: "
                  "{image/class/label: {}}}}\npipeline: [{batch: 5}]\n' \"$f\" > x.yaml && "
                  "$L bench x.yaml --digest -q | grep '^epoch 0' > x%zu.txt && "
                  "$L inspect \"$f\" --record 20 | tail -n +2 >> x%zu.txt && "
                  "$L convert tfrecord \"$f\" -o x/one --shards 1 -q && "
                  "sha256sum < x/one-00000-of-00001.tfrecord >> x%zu.txt && "
                  "cmp x0.txt x%zu.txt",
                  reads[i], i, i, i, i));
    }
    expect_success(shell("$L index x/b/t.tfrecord --manifest x/b/one-manifest.json -q && "
                         "$L index x/[ac]/t.tfrecord --manifest x/c/two-manifest.json -q && "
                         "sed -i 's|files: [^,]*,|files: [x/b/one-manifest.json, "
                         "x/c/two-manifest.json],|' x.yaml && "
                         "$L bench x.yaml --digest -q | grep '^epoch 0' > x6.txt && "
                         "head -n1 x0.txt | cmp - x6.txt"));
    expect_success(shell("ln -s c x/0 && cd x && "
                         "$L index '[0ab]/t.tfrecord' --manifest links-manifest.json"));
    expect_in(err, "note: links-manifest.json lists real paths");
    expect_success(
        shell("cd x/b && $L index t.tfrecord ../a/t.tfrecord --manifest dots-manifest.json"));
    assert_string_equal(err, "");
    expect_success(
        shell("cd x/b && $L index t.tfrecord ../c/t.tfrecord --manifest dots-manifest.json"));
    expect_in(err, "note: dots-manifest.json lists real paths");
}

/* As the source does: a file that was cut between two records, or is of another set, is not read as if it were whole. */
TEST(a_manifest_of_other_files_is_refused)
{
    static const char *const readers[] = { "convert tfrecord x/out-manifest.json -o x/new",
                                           "index x/out-manifest.json --manifest x/manifest.json",
                                           "inspect x/out-manifest.json" };
    expect_success(shell("$L convert tfrecord a.gz b.z -o x/out -q >/dev/null && "
                         ": >x/out-00001-of-00002.tfrecord"));
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        expect_failure(shell("$L %s", readers[i]), 1,
                       "x/out-00001-of-00002.tfrecord has 0 bytes, but x/out-manifest.json says ");
    assert_int_equal(count_files("x/new*") + count_files("x/manifest.json"), 0);
}

TEST(all_images_of_a_record_are_counted)
{
    enum { N = 100 };
    static const char image[] = "P5\n3 2\n255\nabcdef";
    leat_example_value values[N];
    leat_format_error why;
    char path[128];
    snprintf(path, sizeof path, "%s/x.tfrecord", folder);
    record_writer to = open_records(path);
    for (int i = 0; i < N; i++)
        values[i] = (leat_example_value){ image, sizeof image - 1 };
    assert_int_equal(leat_example_add_bytes_list(to.builder, "frames", values, N, &why), 0);
    put_record(&to);
    close_records(&to);
    expect_success(shell("$L inspect x.tfrecord --json"));
    json_t *const json = parse_out();
    assert_int_equal(number(json_array_get(json_object_get(json, "features"), 0), "pnm"), N);
    json_decref(json);
}

TEST(shards_of_equal_numbers)
{
    expect_success(shell("$L convert tfrecord a.gz b.tfrecord -o x --shards 3 --json -"));
    json_t *const json = parse_out();
    assert_int_equal(number(json, "records"), 50);
    assert_int_equal(number(json, "files"), 2);
    assert_int_equal(json_array_size(json_object_get(json, "shards")), 3);
    json_decref(json);
    expect_success(shell("cat a.tfrecord b.tfrecord >xall; "
                         "cat x-0000?-of-00003.tfrecord | cmp - xall"));
    expect_success(shell("$L index --json - x-*.tfrecord"));
    json_t *const index = parse_out();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(number(json_array_get(json_object_get(index, "files"), i), "records"),
                         i < 2 ? 17 : 16);
    json_decref(index);
    expect_success(
        shell("rm x-*; head -c 0 a.gz >x.none; $L convert tfrecord a.gz x.none -o x "
              "--shards 2 -q && cat x-*.tfrecord | cmp - a.tfrecord && "
              "test -s x-00001-of-00002.tfrecord")); /* as many as the input files, too */
}

/* All files are read whole, also those without records, before the first shard, between two, and after the last. */
TEST(bytes_of_all_files)
{
    static const char *const ways[] = { "", "--shards 1", "--shards 3", "--shards 50",
                                        "--shards 3 --part 1/1" };
    expect_success(shell("for i in 0 1 2; do gzip -c </dev/null >x$i.gz; : >x$i.none; done; "
                         "cat x?.gz x?.none a.gz b.tfrecord | wc -c"));
    const long long bytes = atoll(out);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect_success(
            shell("$L convert tfrecord x0.gz x0.none a.gz x1.gz x1.none b.tfrecord x2.gz x2.none "
                  "-o xo %s --json -",
                  ways[i]));
        json_t *const json = parse_out();
        assert_int_equal(number(json, "files"), 8);
        assert_int_equal(number(json, "bytes_in"), bytes);
        json_decref(json);
        expect_success(shell("rm -rf xo*"));
    }
}

TEST(what_is_refused)
{
    expect_failure(shell("$L convert tfrecord a.gz -o x --shards 60"), 2,
                   "--shards 60: there are only");
    expect_failure(shell("$L convert tfrecord a.gz -o x --jpeg restart"), 2,
                   "records are written as they are");
    expect_failure(shell("$L convert images set a -o x"), 2, "images takes one folder");
    expect_failure(shell("$L convert video a -o x"), 2, "it knows: tfrecord, images, npy");
    expect_failure(shell("$L convert tfrecord missing -o x"), 1, "missing");
    expect_success(shell("cp a.gz x-00000-of-00001.tfrecord"));
    expect_failure(shell("$L convert tfrecord x-00000-of-00001.tfrecord -o x"), 2,
                   "is an input and would be overwritten");
    expect_success(shell("cmp a.gz x-00000-of-00001.tfrecord; rm x-*; head -c 3000 a.gz >x.gz"));
    expect_failure(shell("$L convert tfrecord b.z x.gz -o xout"), 1, "GZIP: truncated");
    expect_in(err, "x.gz: record ");
    assert_int_equal(count_files("*xout*"), 0);
}

TEST(other_commands)
{
    expect_success(shell("$L inspect a.tfrecord | tail -n +2 >xplain; "
                         "$L inspect a.gz | tail -n +2 | cmp - xplain"));
    expect_failure(shell("$L index a.gz"), 1, "`leat convert tfrecord a.gz -o PREFIX`");
    expect_success(
        shell("cat >x.yaml <<EOF\n"
              "source: {tfrecord: [a.gz, b.z]}\n"
              "pipeline: [shuffle: {window: 20}, map: [decode_image, resize: [16, 16]], batch: 8]\n"
              "EOF"));
    expect_success(shell("$L plan x.yaml"));
    expect_in(out, "leat convert tfrecord");
}

/* The numbers that the text of `leat inspect` has, too: whole ones with all digits, and what is no number in its place. */
TEST(inspect_json_has_the_numbers_of_its_text)
{
    static const int64_t ids[] = { 1234567890123456789, -1234567891 };
    static const float floats[] = { NAN, 0.5F };
    char path[128];
    leat_format_error error;
    snprintf(path, sizeof path, "%s/xn.tfrecord", folder);
    record_writer to = open_records(path);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &ids[i], 1, &error), 0);
        assert_int_equal(leat_example_add_floats(to.builder, "v", floats, 2, &error), 0);
        put_record(&to);
    }
    close_records(&to);
    expect_success(shell("$L inspect xn.tfrecord"));
    expect_in(out, "-1,234,567,891 to 1,234,567,890,123,456,789");
    expect_in(out, "0.5, 2 NaN");
    expect_success(shell("$L inspect xn.tfrecord --json"));
    json_t *json = parse_out();
    const json_t *const features = json_object_get(json, "features");
    const json_t *numbers = json_object_get(json_array_get(features, 0), "numbers");
    assert_int_equal(json_integer_value(json_object_get(numbers, "min")), ids[1]);
    assert_int_equal(json_integer_value(json_object_get(numbers, "max")), ids[0]);
    numbers = json_object_get(json_array_get(features, 1), "numbers");
    assert_true(json_number_value(json_object_get(numbers, "min")) == 0.5);
    assert_true(json_number_value(json_object_get(numbers, "max")) == 0.5);
    assert_true(json_number_value(json_object_get(numbers, "mean")) == 0.5);
    assert_int_equal(json_integer_value(json_object_get(numbers, "nan")), 2);
    json_decref(json);
    expect_success(shell("$L inspect xn.tfrecord --record 0 --json"));
    json = parse_out();
    const json_t *const v = json_array_get(json_object_get(json, "fields"), 1);
    assert_int_equal(json_array_size(json_object_get(v, "values")), 2);
    assert_true(json_is_null(json_array_get(json_object_get(v, "values"), 0)));
    json_decref(json);
}

/* Up to its damage a compressed file is read. */
TEST(repair_of_a_cut_file)
{
    expect_success(shell("head -c 6000 a.gz >x.gz; $L repair x.gz -o xout.tfrecord"));
    expect_in(out, "and the rest: GZIP: truncated");
    expect_success(shell("$L index --check xout.tfrecord && head -c $(stat -c %%s xout.tfrecord) "
                         "a.tfrecord | cmp - xout.tfrecord"));
    expect_success(shell("test $(stat -c %%s xout.tfrecord) -gt 5000"));
}

/* Indexes and names of classes: a pattern means the records, a full name means itself. */
TEST(side_files_are_left_out_of_patterns)
{
    expect_success(
        shell("$L convert images set -o x/p --shards 2 && $L index --jpeg x/*.tfrecord"));
    expect_success(shell("ls x | wc -l"));
    assert_int_equal(atoi(out), 8); /* two files, four indexes, the names, the manifest */
    expect_success(shell("$L index --check 'x/p*' | wc -l"));
    assert_int_equal(atoi(out), 2);
    expect_success(shell("$L inspect 'x/p*'"));
    expect_in(out, "50 records");
    expect_success(shell("$L convert tfrecord 'x/p*' -o x/q && rm x/q*"));
    expect_in(out, "50 records of 2 files");
    expect_success(shell("cat >x/c.yaml <<EOF\n"
                         "source: {tfrecord: 'x/p*'}\n"
                         "pipeline: [map: [decode_image, resize: [16, 16]], batch: 8]\n"
                         "EOF\n"
                         "$L plan x/c.yaml"));
    expect_in(out, "6 files beside record files left out");
    expect_failure(shell("$L plan x/c.yaml --set source.tfrecord='x/p*.idx'"), 1,
                   "no record file matches 'x/p*.idx', only such as x/p-0");
    expect_failure(shell("$L index 'x/*.idx'"), 1, "no record file matches");
    expect_failure(
        shell("$L plan x/c.yaml --set 'source.tfrecord=[x/p*, x/p-00001-of-00002.tfrecord.idx]'"),
        1, "this is the index of a TFRecord file");
    expect_failure(shell("$L index x/p-00001-of-00002.tfrecord.jpg.idx"), 1,
                   "this is the index of a TFRecord file");
    expect_success(shell("cp x/p-00001-of-00002.tfrecord x/alone.idx && $L index 'x/alone*'"));
}

TEST_FIXTURE(clean_files, NULL)
SUITE_FIXTURE(make_files, command_remove_folder)
