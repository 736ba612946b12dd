/* SPDX-License-Identifier: MIT
 *
 * test_convert_source.c: `leat convert npy|csv|idx|cifar|config`: the config that it prints reads the same
 * batches as the source that was converted. */
#include <inttypes.h>
#include <xxhash.h>

#include "convert/paths.h"
#include "fixtures/command_fixture.h"
#include "fixtures/engine_fixture.h"

#define GOLDEN SOURCE_DIR "/tests/golden/arrays/"
#define IDX    "idx: {images: " GOLDEN "images-idx3-ubyte.gz, labels: " GOLDEN "labels-idx1-ubyte}"
#define CSV                                                                                        \
    "csv: {files: " GOLDEN                                                                         \
    "table.csv, na: NA, features: {x: [width, height], count: {columns: count, "                   \
    "type: int64, default: -1}, label: {columns: kind, classes: [ant, bee, \"cat, big\"]}}}"

/* Digest of a run over the config of a file, whose relative paths start from the test's folder. */
static uint64_t digest_of(const char *name)
{
    char path[200], here[400];
    leat_plan *plan;
    leat_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    check(leat_plan_load(path, &plan, &error), &error);
    assert_int_equal(chdir(here), 0);
    return digest_and_close(plan, 0, NULL);
}

/* The source as a config, and the arguments of convert that read it. Beside it is a set of a longer PREFIX. */
static void check_source(const char *source, const char *stages, const char *arguments)
{
    expect_success(shell("cat >direct.yaml <<'end'\n  source: {%s}\n  engine: {digest: true}\n"
                         "  pipeline: [%s{batch: 32}]\nend",
                         source, stages));
    expect_success(
        shell("rm -f out-*; $L convert %s -o out-test -q && $L convert %s -o out --shards "
              "3 -q | sed 1,2d >back.yaml && echo '  engine: {digest: true}' >>back.yaml",
              arguments, arguments));
    expect_success(shell("$L index --check out-*-of-00003.tfrecord"));
    assert_int_equal(digest_of("back.yaml"), digest_of("direct.yaml"));
}

TEST(the_printed_config_reads_the_same)
{
    check_source("npy: " GOLDEN "be_f8.npy", "", "npy " GOLDEN "be_f8.npy");
    check_source("npy: " GOLDEN "equal.npz", "", "npy " GOLDEN "equal.npz");
    check_source("npy: [" GOLDEN "le_f4.npy, " GOLDEN "be_f4.npy]", "",
                 "npy " GOLDEN "be_f4.npy " GOLDEN "le_f4.npy");
    check_source("cifar: " GOLDEN "cifar10.bin", "", "cifar " GOLDEN "cifar10.bin");
    check_source("cifar: {files: " GOLDEN "cifar100.bin, classes: 100}", "",
                 "cifar '{files: " GOLDEN "cifar100.bin, classes: 100}'");
    check_source(IDX, "",
                 "idx '{images: " GOLDEN "images-idx3-ubyte.gz, labels: " GOLDEN
                 "labels-idx1-ubyte}'");
    check_source(IDX, "{shuffle: {seed: 4}}, ",
                 "idx '{images: " GOLDEN "images-idx3-ubyte.gz, labels: " GOLDEN
                 "labels-idx1-ubyte}' --shuffle 4 --threads 3");
}

TEST(the_source_of_a_config_is_taken_alone)
{
    expect_success(shell("cat >train.yaml <<'end'\nsource: {%s}\n"
                         "pipeline: [shuffle, {repeat: 3}, {batch: 2}, {prefetch: 1}]\nend",
                         CSV));
    check_source(CSV, "", "config train.yaml");
}

/* Of a config of one process of two, too, in parts as well. */
TEST(a_rank_converts_all_records)
{
    expect_success(shell("(echo a; seq 100) >r.csv; echo 'source: {csv: {files: r.csv, features: "
                         "{x: a}}}' >one.yaml; (cat one.yaml; echo 'engine: {rank: 1, ranks: 2}') "
                         ">rank.yaml; $L convert config one.yaml -o one --shards 3 -q"));
    expect_in(out, "100 records");
    expect_success(shell("$L convert config rank.yaml -o two --shards 3 -q"));
    expect_in(out, "100 records");
    expect_success(shell("for i in 1 2; do $L convert config rank.yaml -o three --shards 3 -q "
                         "--part $i/2; done; $L convert finish -o three"));
    expect_in(out, "100 records");
    expect_success(shell("for f in one-*.tfrecord; do for to in two three; do cmp $f $to-${f#one-} "
                         "|| exit 1; done; done; rm one* two* three* r.csv rank.yaml"));
}

/* Names and a PREFIX that YAML or a pattern could take for something else. */
TEST(odd_names_read_back)
{
    static const char *const names[] = { "a: b", "it's",   "say \"hi\"", "- dash", "yes",
                                         "# x",  "[x]",    "{x}",        "1.5",    "\xc3\xb6l",
                                         "a\nb", "\033[m", "~",          "*" };
    char path[200];
    leat_plan *plan;
    leat_error error;
    snprintf(path, sizeof path, "%s/odd.yaml", folder);
    FILE *const file = fopen(path, "w");
    fprintf(file, "source: {csv: {files: t.csv, features: {");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fputs(i ? ", \"" : "\"", file);
        for (const char *c = names[i]; *c; c++)
            fprintf(file, *c == '\n' || *c == 27 ? "\\x%02x" : *c == '"' ? "\\\"" : "%c", *c);
        fputs("\": v", file);
    }
    fputs("}}}\npipeline: [batch: 32]\n", file);
    fclose(file);
    expect_success(
        shell("printf 'v\\n1\\n2\\n' >t.csv; $L convert config odd.yaml -o 'o: #[1]' -q | "
              "sed 1,2d >back.yaml"));
    assert_true(digest_of("back.yaml"));
    char here[400];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    check(leat_plan_load("back.yaml", &plan, &error), &error);
    assert_int_equal(chdir(here), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(leat_plan_tensor(plan, (int32_t)i)->name, names[i]);
    leat_plan_close(&plan);
}

TEST(errors_leave_nothing)
{
    expect_failure(shell("$L convert cifar " GOLDEN "table.csv -o bad"), 1, "no multiple");
    expect_failure(shell("$L convert npy " GOLDEN "fortran.npy -o bad"), 1, "Fortran order");
    expect_failure(
        shell("$L convert csv '{files: " GOLDEN "table.csv, features: {x: count}}' -o bad"), 1,
        "record 2");
    expect_failure(shell("$L convert npy " GOLDEN "le_f4.npy -o bad --shards 8"), 2,
                   "--shards 8: there are only 7 records");
    expect_failure(shell("$L convert npy " GOLDEN "le_f4.npy -o bad --shuffle x"), 2, "no seed");
    expect_failure(shell("$L convert npy " GOLDEN "le_f4.npy -o bad --recursive"), 2,
                   "npy takes --shards");
    expect_failure(shell("$L convert config a.yaml b.yaml -o bad"), 2, "config takes one file");
    expect_failure(shell("$L convert config none.yaml -o bad"), 1, "none.yaml");
    expect_failure(shell("$L convert config -o bad"), 2,
                   "needs config CONFIG: the file is missing");
    expect_failure(shell("$L convert x.yaml -o bad"), 2, "`leat convert config x.yaml -o PREFIX`");
    expect_failure(shell("$L convert x.npz -o bad"), 2, "`leat convert npy x.npz -o PREFIX`");
    expect_failure(shell("$L convert x -o bad"), 2, "`leat convert images x -o PREFIX`");
    expect_failure(shell("echo 'source: {concat: [{npy: " GOLDEN
                         "le_f4.npy, pipeline: [repeat]}]}' >endless.yaml; ulimit -f 2000; $L "
                         "convert config endless.yaml -o bad"),
                   2, "endless.yaml: the source has no end");
    assert_int_equal(count_files("bad*"), 0);
    assert_int_equal(count_files(".bad*"), 0);
}

/* The pipeline of a config is not read, so no op in it would help. The commands that are advised work. */
TEST(what_has_no_fixed_shape_is_converted_otherwise)
{
    static const char *const sources[] = { "images: images",
                                           "tfrecord: pic-00000-of-00001.tfrecord" };
    expect_success(shell(
        "$L synth images --n 4 --classes 2 --size 16 -q && $L convert images images -o pic -q"));
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        expect_failure(shell("echo 'source: {%s}' >shape.yaml; $L convert config shape.yaml -o bad",
                             sources[i]),
                       1,
                       "shape.yaml: tensor 'image' has no fixed shape, and the source is "
                       "converted alone, without the pipeline: for pictures write `leat convert "
                       "images DIR -o bad`, for records as they are `leat convert tfrecord FILES "
                       "-o bad`");
        assert_null(strstr(err, "in a map"));
    }
    expect_success(shell(
        "$L convert tfrecord pic-00000-of-00001.tfrecord -o bad -q && rm -rf bad* pic* images"));
}

TEST(inputs_are_not_overwritten)
{
    expect_success(
        shell("$L convert npy " GOLDEN "equal.npz -o own --shards 2 -q >/dev/null && "
              "cp " GOLDEN "be_f8.npy one-00000-of-00001.tfrecord && ln -s . here && "
              "f='{files: [\"own-*.tfrecord\"], features: {label: {shape: []}}}' && "
              "echo \"source: {tfrecord: $f}\" >plain.yaml && "
              "echo \"source: {concat: [{tfrecord: $f}, {tfrecord: $f}]}\" >bare.yaml && "
              "echo \"source: {mix: {sources: [{tfrecord: $f}, {tfrecord: $f}]}}\" >mix.yaml && "
              "cat own-* one-* | cksum >before"));
    static const char *const inputs[] = { "config plain.yaml -o own --shards 2",
                                          "config bare.yaml -o here/own --shards 2",
                                          "config mix.yaml -o own --shards 2",
                                          "npy one-00000-of-00001.tfrecord -o one",
                                          "npy '{files: one-00000-of-00001.tfrecord}' -o one",
                                          "npy '{files: [" GOLDEN "be_f8.npy], labels: "
                                          "one-00000-of-00001.tfrecord}' -o one" };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        expect_failure(shell("$L convert %s", inputs[i]), 2,
                       "is an input and would be overwritten: choose another PREFIX");
    expect_success(shell("cat own-* one-* | cksum | cmp - before && "
                         "$L convert config plain.yaml -o other -q"));
}

/* Parts of different versions differ in it, and are not put together. */
TEST(the_digest_of_a_part_holds_the_version)
{
    uint64_t digest;
    leat_plan *plan = plan_of_text("source: {npy: [" GOLDEN "le_f4.npy]}\n"
                                   "pipeline: [{batch: 32}, {prefetch: 2}]\n");
    char *file = (char[]){ GOLDEN "le_f4.npy" };
    const uint64_t source[] = { leat_plan_get_info(plan)->digest,
                                leat_paths_sample(&(leat_paths){ &file, 1 }) };
    leat_plan_close(&plan);
    expect_success(shell("$L convert npy " GOLDEN "le_f4.npy -o d --shards 2 --part 1/2 -q && cat "
                         ".d.part-1-of-2/about"));
    const char *const text = strstr(out, ", digest ");
    assert_non_null(text);
    assert_int_equal(sscanf(text, ", digest %" SCNx64, &digest), 1);
    assert_true(digest == XXH3_64bits_withSeed(leat_version(), strlen(leat_version()),
                                               XXH3_64bits(source, sizeof source)));
    expect_success(shell("rm -r .d.part*"));
}

TEST(json_says_what_was_written)
{
    expect_success(shell("$L convert npy " GOLDEN "le_f4.npy -o j --shards 2 --json -"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "records"), 7);
    assert_true(number(json, "bytes_out") > 7 * 24);
    assert_int_equal(json_array_size(json_object_get(json, "shards")), 2);
    assert_true(number(json, "part") == 1 && number(json, "parts") == 1);
    json_decref(json);
}

SUITE_FIXTURE(command_make_folder, command_remove_folder)
