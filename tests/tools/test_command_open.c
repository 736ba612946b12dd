/* SPDX-License-Identifier: MIT
 *
 * test_command_open.c: what the command finds before the first step: mistakes of `train` and `eval`, raw pixels, labels
 * that are no class, the size of a model without data, and too little memory for oneDNN. */
#include "fixtures/command_fixture.h"
#include "fixtures/sanitized.h"

static const char pictures[] = "source: {tfrecord: data/t-*.tfrecord}\n"
                               "pipeline:\n"
                               "  - shuffle: {seed: 1}\n"
                               "  - map: [decode_jpeg, {resize: [16, 16]}]\n"
                               "  - batch: 16\n"
                               "train:\n"
                               "  model: [{conv2d: {filters: 4, kernel: 3}}, relu, "
                               "global_avg_pool, {dense: 10}]\n"
                               "  loss: softmax_cross_entropy\n"
                               "eval:\n"
                               "  source: {tfrecord: data/t-*.tfrecord}\n"
                               "  pipeline:\n"
                               "    - map: [decode_jpeg, {resize: [16, 16]}]\n"
                               "    - batch: 16\n";

#define CSV(file)                                                                                  \
    "{csv: {files: " file ", features: {x: {columns: [a, b], type: float32}, "                     \
    "label: {columns: [label], type: int64}}}}"
static const char table[] = "source: " CSV("bad.csv") "\n"
                                                      "pipeline:\n"
                                                      "  - shuffle: {seed: 1}\n"
                                                      "  - batch: 8\n"
                                                      "train:\n"
                                                      "  input: x\n"
                                                      "  model: [{dense: 4}]\n"
                                                      "  loss: softmax_cross_entropy\n";

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST(plan_finds_mistakes_of_train_and_eval)
{
    static const struct {
        const char *change, *said;
    } cases[] = {
        { "train.loss=softmax", "did you mean 'softmax_cross_entropy'" },
        { "train.optimizer={adan: {}}", "did you mean 'adam'" },
        { "train.epoch=3", "'epoch'" },
        { "train.target=lable", "gives no tensor 'lable'" },
        { "train.device=simm", "device 'simm'" },
        { "train.model=[{conv2d: {filters: 4, kernel: 3}}]", "softmax_cross_entropy" },
        { "train.checkpoint={every: 3}", "every" },
        { "train.accumulate=99999", "no weight would change" },
        { "eval.pipeline=[{map: [decode_jpeg, {resize: [8, 8]}]}, {batch: 16}]",
          "eval: the model's input is uint8[16, 16, 3]" },
        { "eval.source={tfrecord: gone-*.tfrecord}", "gone-" },
        { "eval.pipeline=[{bach: 16}]", "did you mean 'batch'" },
    };
    expect_success(shell("$L plan x.yaml"));
    expect_success(shell("$L plan x.yaml --set train.device=cuda:0")); /* here or elsewhere */
    expect_success(shell("$L plan x.yaml --set engine.rank=0 --set engine.ranks=2"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_failure(shell("$L plan x.yaml --set '%s'", cases[i].change), 1, cases[i].said);
    expect_success(shell("$L plan x.yaml --section eval --set train.loss=softmax"));
}

/* What a program wrote into it was read; another look at it would wait for another writer. */
TEST(a_pipe_is_opened_once)
{
    expect_failure(shell("mkfifo pipe; echo 'source: [x}' >pipe & timeout 20 $L plan pipe"), 1,
                   "pipe:1:");
    expect_failure(shell("timeout 20 $L report pipe -o r.html"), 1, "pipe is a pipe: write");
    expect_failure(shell("cp data/t-00000-of-00001.tfrecord data/p-00000-of-00001.tfrecord; "
                         "mkfifo data/p-labels.txt; seq 10 >data/p-labels.txt & "
                         "timeout 20 $L plan x.yaml --set source.tfrecord='data/p-*.tfrecord'"),
                   1, "class 0 is 'circle' there, but '1' in the source of training");
    expect_success(shell("rm pipe data/p-*"));
}

TEST(a_small_stack_is_enlarged_or_refused)
{
#ifdef SANITIZED
    skip(); /* it needs more of the stack before main() */
#else
    /* The environment and the arguments stand on the stack, too. */
    expect_success(
        shell("ulimit -S -s 100; env -i HOME=. PATH=/usr/bin:/bin $L train x.yaml --steps 2 -q"));
    expect_failure(shell("ulimit -s 100; env -i $L train x.yaml --steps 2 -q"), 1,
                   "the stack is limited to 100 kB, and leat needs 512 kB");
    expect_success(shell("ulimit -s 100; env -i $L --version && env -i $L help train"));
#endif
}

TEST(raw_pixels_are_told)
{
    static const char note[] = "'image' reaches the model as uint8";
    static const char *const commands[] = { "plan x.yaml", "train x.yaml --steps 1 -q",
                                            "doctor x.yaml --quick --rounds 1 --steps 1 -q" };
    static const char *const scaled[] = {
        "pipeline.map=[decode_jpeg, {resize: [16, 16]}, {normalize: {mean: 0.5, std: 0.25}}]",
        "pipeline.map=[decode_jpeg, {resize: [16, 16]}, {cast: float32}]",
        "train.normalize={mean: 0.5, std: 0.25}",
        "train.model=[batch_norm, flatten, {dense: 10}]",
        "train.model=[flatten, layer_norm, {dense: 10}]",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_success(shell("$L %s", commands[i]));
        expect_in(out, note);
        expect_success(shell("$L %s --json", commands[i]));
        if (i != 1) { /* as it stands, also in a list in brackets */
            expect_in(out, note);
            expect_in(out, "the op `{normalize: {mean: 0.5, std: 0.25}}` to the end of its map");
        }
    }
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        expect_success(
            shell("sed '/^eval/,$d' x.yaml >y.yaml; $L plan y.yaml --set '%s'", scaled[i]));
        assert_null(strstr(out, note));
    }
}

TEST(labels_are_checked_at_open)
{
    static const char said[] =
        "bad.csv, line 11 (record 9, byte 64): 'label' is 7, but the model has 4 "
        "classes (0 to 3)";
    expect_failure(shell("$L plan t.yaml"), 1, said);
    expect_failure(shell("$L train t.yaml -q"), 1, said);
    /* of evaluation too, before the first epoch */
    expect_failure(
        shell("$L train t.yaml -q --set 'source=" CSV("good.csv") "' --set 'eval={source: " CSV(
            "bad.csv") ", pipeline: [{batch: 8}]}'"),
        1, said);
    /* rows that take no part, and rows that a policy allows */
    expect_success(shell("$L train t.yaml -q --set 'pipeline=[{take: 9}, {batch: 8}]'"));
    expect_success(
        shell("$L train t.yaml -q --set 'pipeline=[{on_error: {policy: mask}}, {batch: 8}]'"));
    expect_success(shell("$L train t.yaml -q --set 'train.model=[{dense: 8}]'"));
    expect_success(shell("sed 's/7$/-1/' bad.csv > low.csv"));
    expect_failure(shell("$L train t.yaml -q --set 'source=" CSV("low.csv") "'"), 1,
                   "'label' is -1, but the model has 4 classes (0 to 3): labels count from 0");
    /* a pass without end, and the first epoch of many */
    expect_failure(shell("$L train t.yaml -q --steps 1 --set 'pipeline=[repeat, {batch: 8}]'"), 1,
                   said);
}

TEST(a_summary_needs_no_data)
{
    static const char *const wrong[] = { "32x32x", "x",     "",    "32x-1x3",
                                         "0x3",    "3 x 3", "1e3", "9999999x9999999x9999999" };
    expect_success(shell("$L train x.yaml --summary --json"));
    json_t *json = parse_out();
    const int64_t parameters = number(json, "parameters");
    json_decref(json);
    expect_success(shell("$L train x.yaml --summary --input 16x16x3 --json --set "
                         "'source={tfrecord: gone}'"));
    json = parse_out();
    assert_int_equal(number(json, "parameters"), parameters);
    json_decref(json);
    expect_success(
        shell("$L train x.yaml --summary --input 16x16x3 --set 'train.loss=mean_squared_error'"));
    expect_in(out, "memory of the loader: not known without data; batches of 16");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_failure(shell("$L train x.yaml --summary --input '%s'", wrong[i]), 2,
                       "such as 32x32x3");
    expect_failure(shell("$L train x.yaml --input 16x16x3"), 2, "--input is for --summary");
    expect_failure(shell("$L train x.yaml --summary --input 2x2x3"), 1, "conv2d");
}

/* From limits where nothing fits up to one where training works, a run ends by itself and says why. */
TEST(short_address_space_is_told)
{
#ifdef SANITIZED
    skip(); /* a sanitizer reserves terabytes of address space for its shadow memory */
#else
    static const char *const models[] = {
        "[flatten, {dense: 10}]",
        "[{conv2d: {filters: 4, kernel: 3}}, relu, global_avg_pool, {dense: 10}]"
    };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        int code = 1;
        for (int kb = 40000; code != 0; kb += 3000) {
            if (kb > 1000000)
                fail_msg("training does not work with 1 GB: %s", err);
            code = shell("ulimit -c 0; ulimit -v %d; exec $L train x.yaml --steps 2 --threads 1 -q "
                         "--set 'train.model=%s'",
                         kb, models[m]);
            if (code != 0 && code != 1 && code != 127) /* 127: the dynamic linker cannot start it */
                fail_msg("ulimit -v %d: exit code %d: %s", kb, code, err);
            if (code == 1)
                expect_in(err, "leat train: ");
        }
    }
#endif
}

/* Records are tried in what a limit leaves, so that the least memory is known there, too. */
TEST(short_address_space_has_the_same_minimum)
{
#ifdef SANITIZED
    skip();
#else
    expect_success(shell(
        "$L synth big --n 4 --size 900 -q && echo 'source: {images: big}\npipeline: [{map: "
        "[decode_image, {resize: 8}]}, {batch: 2}]\nengine: {threads: 1}' >big.yaml && "
        "$L plan big.yaml --json=- | grep least_bytes >1 && test -s 1 && (ulimit -v 2000000 && "
        "$L plan big.yaml --json=- | grep least_bytes >2) && cmp 1 2"));
#endif
}

static int make_set(void **state)
{
    char text[1024] = "a,b,label\n";
    if (command_make_folder(state) < 0)
        return -1;
    expect_success(
        shell("$L synth set --n 60 --size 16 --seed 7 -q && $L convert images set -o data/t -q"));
    write_text("x.yaml", pictures);
    write_text("t.yaml", table);
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), 16, "%d,%d,2\n", i % 10, i % 3);
    write_text("good.csv", text);
    text[10 + 9 * 6 + 4] = '7';
    write_text("bad.csv", text);
    return 0;
}

SUITE_FIXTURE(make_set, command_remove_folder)
