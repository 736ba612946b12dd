/* SPDX-License-Identifier: MIT
 *
 * test_stage.c: wrong pipelines, each refused with its place and a message that says what to do. Every
 * option of every stage and of the engine is tried by looping over the tables. */
#include "fixtures/own_folder.h"

#include "leat/leat.h"

/* A plan opens no image, so names are enough: 2 classes of 20 files. */
#define N_FILES 40

static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < N_FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/%02d.jpg", i % 2 ? "cat" : "dog", i);
        put_text(name, "P6 "); /* begins as an image does */
    }
    return 0;
}

/* No plan has put anything there. */
static int remove_files(void **state)
{
    const int is_alone = count_in_folder() == 2;
    return remove_folder(state) || !is_alone;
}

/* Opens a plan of "source: …" in line 1 and `text` from line 2 on, after an assignment (or NULL). */
static int open_plan(const char *text, const char *assignment, leat_plan **plan, leat_error *err)
{
    char all[8192];
    leat_config *config;
    *plan = NULL;
    snprintf(all, sizeof all, "source: {images: '%s'}\n%s", test_folder, text);
    int rc = leat_config_parse(all, "bad.yaml", &config, err);
    if (rc < 0)
        return rc;
    if (assignment)
        rc = leat_config_set(config, assignment, err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, plan, err);
    leat_config_close(&config);
    return rc;
}

/* `message` may end in "…" for whatever follows. */
static void expect(int want, const char *text, const char *assignment, const char *message)
{
    leat_plan *plan;
    leat_error err = { 0 };
    const int rc = open_plan(text, assignment, &plan, &err);
    leat_plan_close(&plan);
    if (rc != want)
        fail_msg("%s for\n%s", leat_code_name(rc), text);
    assert_int_equal(err.code, want);
    const char *const dots = strstr(message, "…");
    if (dots)
        err.message[dots - message] = 0;
    char wanted[1020];
    snprintf(wanted, sizeof wanted, "%.*s", dots ? (int)(dots - message) : 1000, message);
    assert_string_equal(err.message, wanted);
}

/* --- every option of every table ----------------------------------------------------------------- */

enum { STAGE, ENGINE };

/* `- NAME: {OPTION: VALUE}`, or the same in the engine's map; *column is that of key or value. */
static void write_option(int where, const char *name, const char *option, const char *value,
                         char *text, size_t size, int *key_column, int *value_column)
{
    char start[80];
    if (where == ENGINE)
        snprintf(start, sizeof start, "engine: {");
    else
        snprintf(start, sizeof start, "  - %s: {", name);
    *key_column = (int)strlen(start) + 1;
    *value_column = *key_column + (int)strlen(option) + 2;
    snprintf(text, size, "%s%s%s: %s}\n",
             where == ENGINE ? "pipeline: [{batch: 4}]\n" : "pipeline:\n", start, option, value);
}

/* A wrong value in a file and by --set: code, place, the names of stage and option. */
static void refuse(int where, const char *name, const char *option, const char *value)
{
    leat_plan *plan;
    leat_error err = { 0 };
    char text[1024], place[64], set[700];
    int key, at;
    write_option(where, name, option, value, text, sizeof text, &key, &at);
    snprintf(place, sizeof place, "bad.yaml:3:%d: %s", at,
             where == ENGINE ? "engine: " : "stage '");
    if (open_plan(text, NULL, &plan, &err) != LEAT_E_CONFIG)
        fail_msg("accepted or wrong code: %s%s", text, err.message);
    if (strncmp(err.message, place, strlen(place)) || !strstr(err.message, name) ||
        !strstr(err.message, option) || !strstr(err.message, " must be "))
        fail_msg("%sexpected to begin with '%s':\n%s", text, place, err.message);

    snprintf(text, sizeof text, "engine: {}\npipeline:\n  - %s: {}\n",
             where == ENGINE ? "batch" : name);
    snprintf(set, sizeof set, "%s%s.%s=%s", where == ENGINE ? "" : "pipeline.", name, option,
             value);
    snprintf(place, sizeof place, "--set %s%s.%s: ", where == ENGINE ? "" : "pipeline.", name,
             option);
    if (open_plan(text, set, &plan, &err) != LEAT_E_CONFIG)
        fail_msg("accepted or wrong code: --set %s: %s", set, err.message);
    if (strncmp(err.message, place, strlen(place)))
        fail_msg("expected to begin with '%s':\n%s", place, err.message);
}

static void refuse_numbers(int where, const char *name, const leat_option *row)
{
    char value[64];
    refuse(where, name, row->name, "several");
    refuse(where, name, row->name, "1.5");
    refuse(where, name, row->name, "99999999999999999999999999");
    snprintf(value, sizeof value, "%lld", (long long)row->low - 1);
    refuse(where, name, row->name, value);
    if (row->high >= (double)INT64_MAX)
        return; /* no 64-bit integer is too large; the long number above is */
    snprintf(value, sizeof value, "%lld", (long long)row->high + 1);
    refuse(where, name, row->name, value);
}

static void refuse_row(int where, const char *name, const leat_option *row)
{
    char longer[400] = "";
    if (row->type == LEAT_OPTION_TYPE_NODE)
        return; /* read by its owner: see the pipelines below */
    refuse(where, name, row->name, "{a: 1}");
    refuse(where, name, row->name, "[1, 2]");
    switch (row->type) {
    case LEAT_OPTION_TYPE_I64:
    case LEAT_OPTION_TYPE_BYTES:
        refuse_numbers(where, name, row);
        break;
    case LEAT_OPTION_TYPE_F64:
        refuse(where, name, row->name, "several");
        refuse(where, name, row->name, "nan");
        refuse(where, name, row->name, "1e999");
        break;
    case LEAT_OPTION_TYPE_STRING:
        memset(longer, 'x', 300);
        refuse(where, name, row->name, longer);
        break;
    case LEAT_OPTION_TYPE_BOOL:
    case LEAT_OPTION_TYPE_ENUM:
        refuse(where, name, row->name, "2");
        refuse(where, name, row->name, "perhaps");
        break;
    default:
        fail_msg("%s.%s: no wrong values known for this type", name, row->name);
    }
}

/* A name that is none, near to one that is. */
static void refuse_name(int where, const leat_kind *kind, const leat_option *row)
{
    leat_plan *plan;
    leat_error err = { 0 };
    char wrong[80], text[400], want[200];
    int key, at;
    snprintf(wrong, sizeof wrong, "%ss", row->name);
    if (leat_option_find(kind->options, wrong))
        return;
    write_option(where, kind->name, wrong, "1", text, sizeof text, &key, &at);
    assert_int_equal(open_plan(text, NULL, &plan, &err), LEAT_E_CONFIG);
    snprintf(want, sizeof want, "bad.yaml:3:%d: ", key);
    if (strncmp(err.message, want, strlen(want)))
        fail_msg("expected to begin with '%s':\n%s", want, err.message);
    snprintf(want, sizeof want, "has no option '%s'; did you mean '%s'?", wrong, row->name);
    if (!strstr(err.message, want))
        fail_msg("expected '%s' in:\n%s", want, err.message);
}

static void refuse_wrong_options(int where, const leat_kind *kind)
{
    for (const leat_option *row = kind->options; row->name; row++) {
        refuse_row(where, kind->name, row);
        refuse_name(where, kind, row);
    }
}

TEST(every_option_refuses_what_it_cannot_be)
{
    size_t n = 0;
    for (; leat_stage_kind(n); n++)
        refuse_wrong_options(STAGE, leat_stage_kind(n));
    assert_true(n >= 8);
    refuse_wrong_options(ENGINE, leat_engine_kind(0));
    assert_null(leat_stage_kind(n + 1));
    assert_null(leat_engine_kind(99));
}

/* What tables say about themselves can be written into a config, as it stands. */
TEST(every_initial_value_can_be_written)
{
    for (size_t i = 0; leat_stage_kind(i); i++)
        for (const leat_option *row = leat_stage_kind(i)->options; row->name; row++) {
            leat_plan *plan;
            leat_error err = { 0 };
            char text[400];
            int key, at;
            if (!row->initial || !*row->initial)
                continue;
            write_option(STAGE, leat_stage_kind(i)->name, row->name, row->initial, text,
                         sizeof text, &key, &at);
            open_plan(text, NULL, &plan, &err);
            leat_plan_close(&plan);
            if (strstr(err.message, " must be "))
                fail_msg("%s%s", text, err.message);
        }
}

/* --- stages where they may not stand --------------------------------------------------------------- */

#define DECODED "  - map: {ops: [decode_jpeg, {resize: [8, 8]}]}\n"

static const struct {
    const char *pipeline, *message;
} wrong[] = {
    { "pipeline:\n  - batchh: 4\n",
      "bad.yaml:3:5: there is no stage 'batchh'; did you mean 'batch'? There are: …" },
    { "pipeline:\n  - window\n", "bad.yaml:3:5: there is no stage 'window'. There are: …" },
    { "pipeline:\n  - decode_jpeg\n  - batch: 4\n",
      "bad.yaml:3:5: 'decode_jpeg' is an op, not a stage: put it in `map: {ops: [decode_jpeg]}`" },
    { "pipeline:\n  - map: [decode_jpg]\n", "bad.yaml:3:11: there is no op 'decode_jpg'; did you "
                                            "mean 'decode_jpeg'? `leat ops` lists them" },
    { "pipeline:\n  - map: xyzzy\n",
      "bad.yaml:3:10: there is no op 'xyzzy'. `leat ops` lists them" },
    { "pipeline:\n  - map: [decode_jpeg, {batch: 4}]\n",
      "bad.yaml:3:24: 'batch' is a stage, not an op: make it an entry of `pipeline`, beside map" },
    { "pipeline:\n  - batch: 4\n  - map: [decode_jpeg]\n",
      "bad.yaml:4:11: op 'decode_jpeg' works on samples: put its map before batch. After batch a "
      "map has: mixup, cutmix" },
    { "pipeline:\n  - prefetch: 2\n  - batch: 4\n",
      "bad.yaml:3:5: prefetch counts batches: put it after batch" },
    { "pipeline:\n  - batch: 4\n  - batch: 4\n",
      "bad.yaml:4:5: a second batch stage; the first one is in line 3: keep one of them" },
    { "pipeline:\n" DECODED "  - batch: 4\n  - prefetch\n  - prefetch: 2\n",
      "bad.yaml:6:5: a second prefetch stage; the first one is in line 5: keep one of them" },
    { "pipeline:\n  - batch: 0\n",
      "bad.yaml:3:12: stage 'batch': size must be between 1 and 16777216, got 0" },
    { "pipeline:\n  - batch\n",
      "bad.yaml:3:5: stage 'batch' needs the option 'size' (samples per batch)" },
    { "pipeline:\n  - batch: {drop_remainder: true}\n",
      "bad.yaml:3:5: stage 'batch' needs the option 'size' (samples per batch)" },
    { "pipeline:\n  - repeat\n  - shuffle\n  - batch: 4\n",
      "bad.yaml:4:5: shuffle after an endless repeat has no last element: put shuffle before "
      "repeat" },
    { "pipeline:\n  - repeat\n  - repeat: 2\n  - batch: 4\n",
      "bad.yaml:4:5: repeat after an endless repeat has no effect: remove one of them" },
    { "pipeline:\n  - shard: {count: 2, index: 2}\n",
      "bad.yaml:3:5: shard: index must be below count 2, got 2" },
    { "pipeline: []\n", "bad.yaml:2:11: the pipeline has no batch stage: add `- batch: 32`" },
    { "pipeline:\n  - shuffle\n",
      "bad.yaml:3:3: the pipeline has no batch stage: add `- batch: 32`" },
    { "", "bad.yaml:1:1: the config has no 'pipeline'" },
    { "pipeline:\n", "bad.yaml:1:1: the config has no 'pipeline'" },
    { "pipeline: {batch: 4}\n",
      "bad.yaml:2:11: pipeline must be a list of stages, each behind a dash: `- batch: 32`" },
    { "pipeline:\n  - [batch]\n",
      "bad.yaml:3:5: stage must be a name, or a name with options, not a list" },
    { "pipeline:\n  - batch:\n    size: 4\n",
      "bad.yaml:3:5: stage must be one name with its options, but this has 2: batch, size (indent "
      "the options of 'batch' further)" },
    /* nothing is left */
    { "pipeline:\n" DECODED "  - take: 0\n  - batch: 4\n",
      "bad.yaml:4:5: take removes all 40 samples" },
    { "pipeline:\n" DECODED "  - skip: 40\n  - batch: 4\n",
      "bad.yaml:4:5: skip removes all 40 samples" },
    { "pipeline:\n  - repeat\n  - take: 0\n  - batch: 4\n",
      "bad.yaml:4:5: take removes all samples" },
    { "pipeline:\n  - take: 3\n  - shard: {count: 8, index: 5}\n  - batch: 4\n",
      "bad.yaml:4:5: shard removes all 3 samples" },
    { "pipeline:\n" DECODED "  - batch: 4\n  - skip: 10\n",
      "bad.yaml:5:5: skip removes all 10 batches" },
    { "pipeline:\n" DECODED "  - batch: {size: 41, drop_remainder: true}\n",
      "bad.yaml:4:5: no batch would be full: there are 40 samples for batches of 41; lower the "
      "size or leave out drop_remainder" },
    /* shapes */
    { "pipeline:\n  - batch: 4\n", "bad.yaml:3:5: tensor 'image' has no fixed shape: uint8[?]; a "
                                   "batch needs one: if it is an image, decode it, …" },
    { "pipeline:\n  - map: decode_jpeg\n  - batch: 4\n",
      "bad.yaml:4:5: tensor 'image' has no fixed shape: uint8[?, ?, 3]; a batch needs one: resize "
      "or crop it in a map before batch" },
    { "pipeline:\n  - map: [{resize: [8, 8]}]\n",
      "bad.yaml:3:11: resize expects a uint8 or float32 image [height, width, 1 to 4 channels], "
      "got uint8[?], the bytes as stored: put decode_jpeg, decode_png or decode_raw before it" },
    { "pipeline:\n  - map: [decode_jpeg, decode_jpeg]\n",
      "bad.yaml:3:24: decode_jpeg expects bytes (uint8[n]), got uint8[?, ?, 3]" },
    /* map's own options */
    { "pipeline:\n  - map\n", "bad.yaml:3:5: stage 'map' needs the option 'ops' (list of ops, run "
                              "in this order; `leat ops` lists them)" },
    { "pipeline:\n  - map: {ops: [decode_jpeg], tensor: imag}\n",
      "bad.yaml:3:5: map: the source has no tensor 'imag'; did you mean 'image'? It has: image, "
      "label" },
    { "pipeline:\n  - map: {ops: [decode_jpeg], tensor: sound}\n",
      "bad.yaml:3:5: map: the source has no tensor 'sound'. It has: image, label" },
    { "pipeline:\n  - map: [decode_jpeg, {resize: {sizes: [8, 8]}}]\n",
      "bad.yaml:3:34: op 'resize' has no option 'sizes'; did you mean 'size'? It has: size, "
      "keep_aspect, interpolation" },
    { "pipeline:\n  - map: {ops: {decode_jpeg: {}, resize: 8}}\n",
      "bad.yaml:3:16: op must be one name with its options, but this has 2: decode_jpeg, resize" },
    /* sizes */
    { "pipeline:\n  - map: [decode_jpeg, {resize: [30000, 30000]}]\n  - repeat\n  - batch: "
      "16777216\n",
      "bad.yaml:5:5: a batch of 16777216 rows of 'image' (2700000000 bytes each) is too large" },
};

TEST(each_wrong_pipeline_says_why_and_where)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(LEAT_E_CONFIG, wrong[i].pipeline, NULL, wrong[i].message);
    expect(LEAT_E_UNSUPPORTED, "pipeline:\n  - map: {ops: [decode_png], device: gpu}\n", NULL,
           "bad.yaml:3:17: op 'decode_png' has no kernel: put it in a map with device: cpu, before "
           "the one with device: gpu");
    expect(LEAT_E_CONFIG,
           "pipeline:\n  - map: [decode_jpeg]\n  - map: {ops: [random_flip], device: gpu}\n", NULL,
           "bad.yaml:4:17: op 'random_flip' on the GPU needs rows of one shape, but gets uint8[?, "
           "?, 3]: resize or crop in a map with device: cpu before it");
    expect(LEAT_E_CONFIG,
           "pipeline:\n  - map: [decode_jpeg, {resize: 8}]\n"
           "  - map: {ops: [random_flip], device: gpu}\n"
           "  - map: {ops: [normalize], device: cpu}\n",
           NULL,
           "bad.yaml:5:5: a map with device: cpu cannot follow one with device: gpu: batches do "
           "not come back from the device");
    expect(LEAT_E_CONFIG,
           "pipeline:\n  - map: [decode_jpeg, {resize: 8}]\n"
           "  - map: {ops: [random_flip], device: gpu}\n  - batch: 4\nengine: {digest: true}\n",
           NULL,
           "bad.yaml:5:5: engine.digest reads batches in host memory, but a map with device: gpu "
           "finishes them on the device");
}

TEST(what_set_broke_is_named_by_its_path)
{
    static const char good[] = "pipeline:\n" DECODED "  - batch: 4\n  - prefetch\n";
    expect(LEAT_E_CONFIG, good, "pipeline.batch.size=0",
           "--set pipeline.batch.size: stage 'batch': size must be between 1 and 16777216, got 0");
    expect(LEAT_E_CONFIG, good, "pipeline.batch.siz=2",
           "--set pipeline.batch.siz: stage 'batch' has no option 'siz'; did you mean 'size'? It "
           "has: size, drop_remainder");
    expect(LEAT_E_CONFIG, good, "pipeline.prefetch.batches=-1",
           "--set pipeline.prefetch.batches: stage 'prefetch': batches must be between 0 and 4096, "
           "or auto, got -1");
    expect(LEAT_E_CONFIG, good, "pipeline.map.ops.resize.size=0",
           "--set pipeline.map.ops.resize.size: op 'resize': size[0] must be between 1 and 65535, "
           "got 0");
    expect(LEAT_E_CONFIG, good, "pipeline.map.ops=[decode_jpg]",
           "--set pipeline.map.ops: there is no op 'decode_jpg'; did you mean 'decode_jpeg'? `leat "
           "ops` lists them");
    expect(LEAT_E_CONFIG, good, "engine.threads=-1",
           "--set engine.threads: engine: threads must be between 0 and 1024, or auto, got -1");
    expect(LEAT_E_CONFIG, good, "engine.thread=1",
           "--set engine.thread: engine has no option 'thread'; did you mean 'threads'? …");
}

/* Else records of a validation part would be trained on from the second epoch on, without a word. */
TEST(a_part_that_changes_with_the_epoch_is_told)
{
    static const struct {
        const char *stages, *told; /* NULL: nothing */
    } rows[] = {
        { "shuffle, take: 30", "take: keeps different samples in each epoch" },
        { "shuffle: {window: 8}, skip: 30", "skip: keeps different samples in each epoch" },
        { "shuffle, skip: 5, take: 30", "skip: keeps different samples in each epoch" },
        { "shuffle, shuffle: {reshuffle: false}, skip: 5", "skip: keeps different samples" },
        { "shuffle: {reshuffle: false}, take: 30", NULL },
        { "shuffle: {reshuffle: false}, skip: 30, shuffle", NULL },
        { "take: 30, shuffle", NULL },
        { "shuffle, take: 40", NULL },
        { "shuffle, skip: 0", NULL },
        { "shuffle, repeat: 3, take: 30", "take: keeps different samples in each epoch" },
        { "shuffle, repeat, take: 30", NULL },
        { "shuffle, batch: 2, skip: 5", "skip: keeps different samples in each epoch" },
        { "shuffle, batch: 2, take: 5", NULL }, /* an epoch of five batches */
        { "batch: 2, shuffle, take: 5", "take: keeps different samples in each epoch" },
        { "shuffle: {reshuffle: false}, batch: 2, skip: 5", NULL },
        { "take: 30, shuffle, batch: 2, skip: 0", NULL },
        { "shuffle, repeat, take: 30, skip: 5", NULL },
        { "shuffle, repeat, batch: 2, take: 18, skip: 2", NULL },
        { "shuffle, batch: 2, repeat, take: 18, skip: 2", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        leat_plan *plan;
        leat_error err;
        snprintf(text, sizeof text, "pipeline: [map: [decode_jpeg, resize: 8], %s%s]\n",
                 rows[i].stages, strstr(rows[i].stages, "batch") ? "" : ", batch: 2");
        if (open_plan(text, NULL, &plan, &err) < 0)
            fail_msg("%s: %s", rows[i].stages, err.message);
        int is_told = 0;
        for (int32_t k = 0; leat_plan_note(plan, k); k++) {
            const char *const note = leat_plan_note(plan, k);
            is_told |= rows[i].told && strstr(note, rows[i].told);
            if (!rows[i].told && strstr(note, "keeps different samples"))
                fail_msg("%s: %s", rows[i].stages, note);
        }
        if (rows[i].told && !is_told)
            fail_msg("%s: nothing is told", rows[i].stages);
        leat_plan_close(&plan);
    }
}

TEST(the_longest_chains_and_lists)
{
    char text[4096] = "pipeline:\n";
    for (int i = 0; i < 17; i++)
        strcat(text, "  - take: 5\n");
    expect(LEAT_E_CONFIG, text, NULL, "bad.yaml:19:5: more than 16 stages that count or order");
    strcpy(text, "pipeline:\n  - map: [decode_jpeg");
    for (int i = 0; i < 32; i++)
        strcat(text, ", random_flip");
    strcat(text, "]\n  - batch: 4\n");
    expect(LEAT_E_CONFIG, text, NULL, "bad.yaml:3:427: too many ops: at most …");
}

TEST(batches_larger_than_the_memory)
{
    leat_plan *plan;
    leat_error err = { 0 };
    assert_int_equal(open_plan("pipeline:\n  - map: [decode_jpeg, {resize: [64, 64]}]\n"
                               "  - repeat\n  - batch: 1000000\n  - prefetch: 4096\n",
                               NULL, &plan, &err),
                     LEAT_E_CONFIG);
    assert_non_null(
        strstr(err.message, "bad.yaml:5:5: 4097 batches of 11.45 GiB do not fit in the "));
    assert_non_null(
        strstr(err.message, "GiB of memory here: lower batch.size or prefetch.batches"));
}

SUITE_FIXTURE(make_files, remove_files)
