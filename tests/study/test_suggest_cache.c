/* SPDX-License-Identifier: MIT
 *
 * test_suggest_cache.c: where leat doctor puts a cache, in configs of several forms; and what it needs. */
#define leat_arm_run                                                                               \
    double_arm_run /* of trials: before the headers, so that they declare the double */
#include "study/suggest/suggest_try.c"
#undef leat_arm_run
int leat_arm_run(leat_arm *arm, int32_t round, leat_error *err);

#include "fixtures/own_folder.h"
#include "fixtures/record_file.h"
#include "study/facts_fixture.h"

enum { N = 4, SIDE = 12 };

static int prepare(void **state)
{
    uint8_t file[16 + SIDE * SIDE * 3];
    char name[32];
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < N; i++) {
        const int n = snprintf((char *)file, 16, "P6 %d %d 255\n", SIDE, SIDE);
        memset(file + n, i, SIDE * SIDE * 3);
        snprintf(name, sizeof name, "c%d/%d.ppm", i % 2, i);
        put_file(name, file, (size_t)n + SIDE * SIDE * 3);
    }
    return 0;
}

/* The place in a config with this source and these stages. */
static bool place_of(const char *source, const char *stages, leat_suggest_place *out)
{
    char text[1024];
    leat_config *config;
    leat_arm arm = { .sync_every = 0 };
    leat_error err = { 0 };
    snprintf(text, sizeof text, "source: {%s}\npipeline: %s\n", source, stages);
    if (leat_config_parse(text, "x.yaml", &config, &err) < 0 ||
        leat_plan_open(config, NULL, &arm.plan, &err) < 0)
        fail_msg("%s: %s", stages, err.message);
    const leat_suggest_about about = { .config = config, .arm = &arm };
    const bool found = leat_suggest_cache_place(&about, out);
    leat_plan_close(&arm.plan);
    leat_config_close(&config);
    return found;
}

static bool place_in(const char *stages, leat_suggest_place *out)
{
    char source[512];
    snprintf(source, sizeof source, "images: {path: %s}", test_folder);
    return place_of(source, stages, out);
}

/* The values of a change, with "; " behind each. */
static void expect_sets(const leat_doctor_suggestion *change, const char *want)
{
    char sets[2 * LEAT_DOCTOR_MAX_SETTING] = "";
    for (int32_t i = 0; i < change->n_set; i++)
        strcat(strcat(sets, change->set[i]), "; ");
    assert_string_equal(sets, want);
}

/* One that is there moves behind all that each epoch does again; and what is random, or on a GPU, stays behind it. */
TEST(a_cache_moves_behind_what_is_the_same)
{
    static const struct {
        const char *stages, *set; /* NULL: it stays */
        int64_t bytes;
    } cases[] = {
        { "[cache, {shuffle: {seed: 3}}, {map: [decode_pnm, {resize: [8, 8]}, {random_crop: [4, "
          "4]}]}, "
          "{batch: 2}]",
          "pipeline[0]-; pipeline.map[0]=[decode_pnm, {resize: [8, 8]}]; pipeline[2]+=cache; "
          "pipeline[3]+={map: [{random_crop: [4, 4]}]}; ",
          8 * 8 * 3 + 8 },
        { "[{map: [decode_pnm]}, {cache: {bytes: 1MB}}, {map: {ops: [{resize: [8, 8]}]}}, {map: "
          "[normalize]}, {batch: 2}]",
          "pipeline[1]-; pipeline[3]+={cache: {bytes: 1MB}}; ", 8 * 8 * 3 * 4 + 8 },
        { "[{map: [decode_pnm, {resize: [9, 9]}]}, cache, {map: [{random_crop: [8, 8]}, "
          "normalize]}, "
          "{batch: 2}]",
          NULL, 0 },
        { "[{map: [decode_pnm, {resize: [9, 9]}]}, cache, {batch: 2}]", NULL, 0 },
        { "[{map: [decode_pnm]}, {cache: {file: memory, bytes: 1MB}}, {map: [{resize: [8, 8]}, "
          "random_flip]}, {batch: 2}]",
          "pipeline[1]-; pipeline.map[1]=[{resize: [8, 8]}]; "
          "pipeline[2]+={cache: {bytes: 1MB, file: memory}}; pipeline[3]+={map: [random_flip]}; ",
          8 * 8 * 3 + 8 },
        { "[{map: [decode_pnm]}, {cache: {file: ./x}}, {map: [{resize: [8, 8]}]}, {batch: 2}]",
          NULL, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_suggest_place place;
        const bool found = place_in(cases[i].stages, &place);
        if (found != (cases[i].set != NULL))
            fail_msg("%s: %s", cases[i].stages, found ? place.change.set[0] : "no place");
        if (!found)
            continue;
        expect_sets(&place.change, cases[i].set);
        assert_true(place.moves);
        assert_int_equal(place.n_samples, N);
    }
    unlink("x");
}

TEST(the_cache_stands_behind_the_decoder)
{
    static const struct {
        const char *stages, *set;
        int64_t bytes;
        bool varies;
    } cases[] = {
        { "[shuffle, {map: [decode_pnm, {resize: [8, 8]}]}, {batch: 2}]", "pipeline[2]+=cache; ",
          8 * 8 * 3 + 8, false },
        { "[{map: {tensor: image, ops: [decode_image, {resize: [8, 8]}, normalize]}}, shuffle, "
          "{batch: {size: 2, drop_remainder: true}}, {prefetch: {batches: 2}}]",
          "pipeline[1]+=cache; ", 8 * 8 * 3 * 4 + 8, false },
        { "[{map: {tensor: label, ops: [cast: float32]}}, {map: [decode_pnm]}, {map: "
          "[{random_crop: "
          "[8, 8]}]}, {batch: 2}]",
          "pipeline[2]+=cache; ", SIDE * SIDE * 3 + 8, true },
        { "[shuffle, {map: {ops: [decode_pnm, {random_crop: {size: [8, 8], pad: 1}}, random_flip, "
          "{normalize: {mean: [0.5, 0.5, 0.5]}}]}}, {batch: 2}]",
          "pipeline.map[0].ops=[decode_pnm]; pipeline[2]+=cache; pipeline[3]+={map: {ops: "
          "[{random_crop: {pad: 1, size: [8, 8]}}, random_flip, {normalize: {mean: [0.5, 0.5, "
          "0.5]}}]}}; ",
          SIDE * SIDE * 3 + 8, true },
        { "[{map: [decode_pnm, {resize: [9, 9]}, {random_crop: [8, 8]}]}, {batch: 2}]",
          "pipeline.map[0]=[decode_pnm, {resize: [9, 9]}]; pipeline[1]+=cache; "
          "pipeline[2]+={map: [{random_crop: [8, 8]}]}; ",
          9 * 9 * 3 + 8, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_suggest_place place;
        if (!place_in(cases[i].stages, &place))
            fail_msg("%s: no place", cases[i].stages);
        expect_sets(&place.change, cases[i].set);
        if (place.varies) /* measured: with the dims, and in whole units */
            assert_in_range(place.sample_bytes, cases[i].bytes, cases[i].bytes + 200);
        else
            assert_int_equal(place.sample_bytes, cases[i].bytes);
        assert_int_equal(place.varies, cases[i].varies);
        assert_int_equal(place.n_samples, N);
        assert_true(place.share == 1 && place.left_bytes > 0);
        assert_true(place.limit_bytes >= place.left_bytes);
    }
}

/* Of two tensors that are decoded, both are in the cache, unless the first has a random op. */
TEST(the_cache_stands_behind_both_decoders)
{
    static const char left[] = "{map: {tensor: a, ops: [decode_pnm, {resize: [4, 4]}]}}, ";
    static const char right[] = "{map: {tensor: b, ops: [decode_pnm, {resize: [6, 6]}]}}, ";
    static const char flips[] =
        "{map: {tensor: a, ops: [decode_pnm, random_flip, {resize: [4, 4]}]}}, ";
    char source[512], stages[512];
    leat_suggest_place place;
    leat_format_error err;
    assert_true(make_path());
    record_writer to = open_records(path);
    for (int i = 0; i < N; i++) {
        uint8_t file[16 + SIDE * SIDE * 3] = { 0 };
        const size_t n =
            (size_t)snprintf((char *)file, 16, "P6 %d %d 255\n", SIDE, SIDE) + SIDE * SIDE * 3;
        assert_int_equal(leat_example_add_bytes(to.builder, "a", file, n, &err), 0);
        assert_int_equal(leat_example_add_bytes(to.builder, "b", file, n, &err), 0);
        put_record(&to);
    }
    close_records(&to);
    snprintf(source, sizeof source,
             "tfrecord: {files: '%s', features: {a: {type: bytes}, b: {type: bytes}}}", path);
    snprintf(stages, sizeof stages, "[shuffle, %s%s{batch: 2}]", left, right);
    assert_true(place_of(source, stages, &place));
    expect_sets(&place.change, "pipeline[3]+=cache; ");
    assert_false(place.leaves);
    assert_in_range(place.sample_bytes, (16 + 36) * 3, (16 + 36) * 3 + 200);
    snprintf(stages, sizeof stages, "[shuffle, %s%s{batch: 2}]", flips, right);
    assert_true(place_of(source, stages, &place));
    assert_true(place.leaves); /* nothing tells what half of the decoding takes */
    assert_true(place.divides);
    remove_file(NULL);
}

/* --- tried ------------------------------------------------------------------------------------- */

/* Runs of trials have planted rates, unless times are judged: what the cache of the arm lacks is made again at a quarter of
 * the speed. So a change gains only if its values were set and its cache was filled. */
int double_arm_run(leat_arm *arm, int32_t round, leat_error *err)
{
    const double again = leat_arm_has_cache(arm->plan) ? arm->out->uncached : 1;
    const int rc = leat_arm_run(arm, round, err);
    if (!unit_judges_times())
        arm->runs[round].samples_per_s = 2000 / (1 + 3 * again);
    return rc;
}

/* A loader that sleeps 4 ms per picture, in two threads, without an end, and a fast device. */
static const char job[] =
    "engine: {threads: 2}\nsource: {images: {path: %s}}\n"
    "pipeline: [repeat, {map: {tensor: image, ops: [decode_pnm, sleep: 4, {resize: [4, 4]}, "
    "normalize: {}]}}, {batch: 2}, {prefetch: {batches: 2}}]\n"
    "train:\n  device: sim:h200\n  epochs: 10\n  model: [flatten, dense: 2]\n"
    "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n";

static void open_arm(const char *text, leat_arm *arm, leat_compare_arm *out)
{
    leat_error err = { 0 };
    if (leat_arm_init(arm, out, 1, &err) < 0 ||
        leat_config_parse(text, "x.yaml", &arm->config, &err) < 0 || leat_arm_open(arm, &err) < 0)
        fail_msg("%s", err.message);
}

/* An arm of that job, and facts that say what decoding takes: the doctor itself would see that it sleeps. */
static void open_text_job(const char *text, leat_arm *arm, leat_compare_arm *out, leat_facts *f,
                          leat_verdict_found *d)
{
    leat_error err = { 0 };
    open_arm(text, arm, out);
    if (leat_arm_warm_up(arm, 10, &err) < 0)
        fail_msg("%s", err.message);
    *f = facts_of(4, 4, 0.1);
    f->rows = 2;
    f->loader = within(500, 0.01);
    f->run = within(500, 0.01);
    f->step = within(20000, 0.01);
    f->threads = f->cores = 2;
    f->loader_cores = 1.9;
    set_stage(f, 0, "image: decode_pnm", 4000, 3900);
    leat_verdict_decide(f, d);
}

static void open_job(leat_arm *arm, leat_compare_arm *out, leat_facts *f, leat_verdict_found *d)
{
    char text[1024];
    snprintf(text, sizeof text, job, test_folder);
    open_text_job(text, arm, out, f, d);
}

static const leat_doctor_suggestion *cache_of(const leat_doctor_result *r)
{
    for (int32_t i = 0; i < r->n_suggestions; i++)
        if (strstr(r->suggestions[i].set[0], "+=cache"))
            return &r->suggestions[i];
    return NULL;
}

TEST(a_cache_is_tried)
{
    static leat_doctor_result r, advice;
    static leat_facts f;
    leat_compare_arm out = { .name = "" };
    leat_arm arm = { .sync_every = 0 };
    leat_verdict_found d;
    leat_error err = { 0 };
    open_job(&arm, &out, &f, &d);
    const leat_suggest_about about = {
        .config = arm.config, .arm = &arm, .facts = &f, .diagnosis = &d, .prefetch = 2, .steps = 10
    };
    if (leat_suggest(&about, &r, &err) < 0)
        fail_msg("%s", err.message);
    const leat_doctor_suggestion *s = cache_of(&r);
    assert_non_null(s);
    assert_string_equal(s->not_tried, "");
    assert_string_equal(s->set[0], "pipeline[2]+=cache");
    assert_true(unit_judges_times() ? s->gain > 1 : fabs(s->gain - 3) < 1e-9);
    const int32_t n = r.n_suggestions;
    leat_suggest_advise(&about, &r); /* not a second time */
    for (int32_t i = n; i < r.n_suggestions; i++)
        assert_null(strstr(r.suggestions[i].set[0], "+="));

    f.loader = within(0.1, 0.01); /* a pass takes 40 s: only predicted */
    f.run = within(0.1, 0.01);
    leat_verdict_decide(&f, &d);
    leat_suggest_advise(&about, &advice);
    assert_non_null(cache_of(&advice));
    assert_string_equal(cache_of(&advice)->not_tried, "a pass over the data takes long");
    assert_true(cache_of(&advice)->gain_low < cache_of(&advice)->gain);
    assert_true(cache_of(&advice)->gain_high > cache_of(&advice)->gain);
    memset(&r, 0, sizeof r);
    assert_int_equal(leat_suggest(&about, &r, &err), LEAT_OK);
    assert_null(cache_of(&r));
    leat_arm_close(&arm);
}

/* What is measured less well, or explained less well, makes the range wider; nothing is faster than the step alone. */
TEST(a_range_follows_from_what_is_known)
{
    static leat_doctor_result r[3];
    static leat_facts f;
    leat_compare_arm out = { .name = "" };
    leat_arm arm = { .sync_every = 0 };
    leat_verdict_found d;
    open_job(&arm, &out, &f, &d);
    const leat_suggest_about about = {
        .config = arm.config, .arm = &arm, .facts = &f, .diagnosis = &d, .prefetch = 2
    };
    const leat_doctor_suggestion *s[3];
    for (int i = 0; i < 3; i++) {
        f.loader = within(0.1, i == 1 ? 0.2 : 0.01); /* a pass takes 40 s: only predicted */
        f.run = within(i == 2 ? 0.08 : 0.1, 0.01);   /* slower than all parts */
        leat_verdict_decide(&f, &d);
        leat_suggest_advise(&about, &r[i]);
        s[i] = cache_of(&r[i]);
        assert_non_null(s[i]);
        assert_true(s[i]->gain_low <= s[i]->gain && s[i]->gain <= s[i]->gain_high);
        assert_true(1 + s[i]->gain_high <=
                    f.step.high / f.run.low * (1 + LEAT_DOCTOR_LEAST_GAIN) * 1.0001);
    }
    const double width[3] = { s[0]->gain_high / s[0]->gain_low, s[1]->gain_high / s[1]->gain_low,
                              s[2]->gain_high / s[2]->gain_low };
    assert_true(width[1] > width[0] && width[2] > width[0]);
    leat_arm_close(&arm);
}

/* The ops between the decoder and the cache are left out with it, but not those behind a random one. */
TEST(a_cache_saves_the_ops_before_it)
{
    double gains[2] = { 0, 0 };
    static leat_facts f;
    for (int divided = 0; divided < 2; divided++) {
        static leat_doctor_result r;
        char text[1024], random[1024], *at;
        leat_compare_arm out = { .name = "" };
        leat_arm arm = { .sync_every = 0 };
        leat_verdict_found d;
        snprintf(text, sizeof text, job, test_folder);
        assert_non_null(at = strstr(text, "sleep: 4"));
        snprintf(random, sizeof random, "%.*srandom_flip, %s", (int)(at - text), text, at);
        open_text_job(divided ? random : text, &arm, &out, &f, &d);
        f.loader = f.run = within(0.1, 0.01); /* a pass takes 40 s: only predicted */
        static const char *const ops[] = { "image: normalize", "image: decode_pnm", "label: scale",
                                           "image: sleep", "image: resize" };
        for (int i = 0; i < 5; i++) /* not in the order of the map, where some run as one */
            set_stage(&f, i, ops[i], i == 2 ? 0 : 1000, i == 2 ? 0 : 1000);
        leat_verdict_decide(&f, &d);
        const leat_suggest_about about = {
            .config = arm.config, .arm = &arm, .facts = &f, .diagnosis = &d, .prefetch = 2
        };
        memset(&r, 0, sizeof r);
        leat_suggest_advise(&about, &r);
        for (int32_t i = 0; i < r.n_suggestions; i++)
            if (strstr(r.suggestions[i].title, "Decode once"))
                gains[divided] = r.suggestions[i].gain;
        leat_arm_close(&arm);
    }
    assert_true(gains[0] > 20);
    assert_true(fabs(gains[1] - 1 / 3.) < 0.01);
}

/* A cache saves the waits for storage, too, whoever reads. Pixels in the files would be more bytes. */
TEST(a_cache_saves_what_storage_takes)
{
    static leat_doctor_result r[3];
    static leat_facts f;
    leat_compare_arm out = { .name = "" };
    leat_arm arm = { .sync_every = 0 }, nowhere = { .plan = NULL };
    leat_verdict_found d;
    open_job(&arm, &out, &f, &d);
    leat_suggest_about about = {
        .config = arm.config, .arm = &arm, .facts = &f, .diagnosis = &d, .prefetch = 2
    };
    f.rows = 4;
    f.loader = f.run = within(0.1, 0.01); /* 40 s a step, of which storage is 36 */
    memset(f.work, 0, sizeof f.work);
    f.work[LEAT_WORK_COMPUTE] = 0.1;
    f.work[LEAT_WORK_STORAGE] = 0.9;
    f.n_stages = 0;
    set_stage(&f, 0, "image: decode_pnm", 400e3, 400e3);
    set_stage(&f, 1, "image: normalize", 400e3, 400e3);
    for (int i = 0; i < 3; i++) {
        if (i == 1) /* the worker reads */
            set_stage(&f, 2, "read", 9e6, 0);
        about.arm = i == 2 ? &nowhere : &arm;
        leat_verdict_decide(&f, &d);
        assert_int_equal(d.verdict.cause, LEAT_CAUSE_STORAGE);
        leat_suggest_advise(&about, &r[i]);
    }
    assert_int_equal(r[2].n_suggestions, 0);
    for (int i = 0; i < 2; i++) {
        assert_non_null(cache_of(&r[i]));
        if (!(fabs(cache_of(&r[i])->predicted_step_ms / 2000 - 1) < 0.1))
            fail_msg("%g ms", cache_of(&r[i])->predicted_step_ms);
    }
    leat_arm_close(&arm);
}

/* Each change that applies is counted, also the reserve of batches where loader and step share the cores. */
TEST(changes_without_time_are_counted)
{
    static leat_doctor_result r;
    static leat_facts f;
    leat_compare_arm out = { .name = "" };
    leat_arm arm = { .sync_every = 0 };
    leat_verdict_found d;
    leat_error err = { 0 };
    open_job(&arm, &out, &f, &d);
    leat_suggest_about about = { .config = arm.config,
                                 .arm = &arm,
                                 .facts = &f,
                                 .diagnosis = &d,
                                 .batch_size = 64,
                                 .prefetch = 2,
                                 .run_ns = 1,
                                 .until_ns = 1 };
    int32_t n[2];
    f.meter.input_wait = 0; /* batches come evenly */
    f.overlaps = true;
    for (int shared = 0; shared < 2; shared++) {
        d.verdict =
            (leat_verdict){ .kind = shared ? LEAT_VERDICT_SHARED_CORES : LEAT_VERDICT_INPUT_BOUND };
        memset(&r, 0, sizeof r);
        assert_int_equal(leat_suggest(&about, &r, &err), LEAT_OK);
        assert_int_equal(r.n_tried + r.n_suggestions, 0);
        n[shared] = r.n_no_time;
    }
    assert_true(n[0] > 0);
    assert_int_equal(n[1], n[0] + 1);
    leat_arm_close(&arm);
}

/* How many changes apply among the first i + 1 rows of the table. */
struct applying {
    const leat_doctor_result *of;
    int32_t n[64], n_rows;
};

static void note_row(void *user)
{
    struct applying *const rows = user;
    assert_true(rows->n_rows < 64);
    rows->n[rows->n_rows++] = rows->of->n_no_time;
}

/* What may gain most and is done soonest is tried first, for when the time ends: batches that are made while the device
 * computes, then pinned copies, then a cache, which must be filled. No time is left here, so nothing runs. */
TEST(quick_changes_are_tried_before_a_cache)
{
    enum { ALL, NO_PREFETCH, NO_PINNED, NO_CACHE, N_JOBS };
    static leat_doctor_result r;
    static leat_facts f;
    static struct applying rows[N_JOBS];
    leat_compare_arm out = { .name = "" };
    leat_arm arm = { .sync_every = 0 };
    leat_verdict_found d;
    leat_error err = { 0 };
    int32_t at[N_JOBS] = { 0 };
    open_job(&arm, &out, &f, &d);
    d.verdict = (leat_verdict){ .kind = LEAT_VERDICT_INPUT_BOUND };
    for (int i = 0; i < N_JOBS; i++) {
        static leat_facts of;
        of = f;
        of.pageable = i != NO_PINNED;
        of.n_stages = i == NO_CACHE ? 0 : f.n_stages;
        rows[i].of = &r;
        const leat_suggest_about about = { .config = arm.config,
                                           .arm = &arm,
                                           .facts = &of,
                                           .diagnosis = &d,
                                           .batch_size = 64,
                                           .prefetch = i == NO_PREFETCH ? 2 : 0,
                                           .run_ns = 1,
                                           .until_ns = 1,
                                           .progress = note_row,
                                           .user = &rows[i] };
        memset(&r, 0, sizeof r);
        assert_int_equal(leat_suggest(&about, &r, &err), LEAT_OK);
        assert_int_equal(rows[i].n_rows, leat_suggest_most());
        while (i != ALL && at[i] < rows[i].n_rows && rows[i].n[at[i]] == rows[ALL].n[at[i]])
            at[i]++; /* the row that does not apply */
    }
    assert_true(at[NO_PREFETCH] < at[NO_PINNED]);
    assert_true(at[NO_PINNED] < at[NO_CACHE]);
    assert_true(at[NO_CACHE] < leat_suggest_most());
    leat_arm_close(&arm);
}

/* Eight layers with devices of their own: none of their values is cut off. */
TEST(changes_of_many_values_are_told_apart)
{
    static leat_doctor_result r;
    leat_doctor_suggestion s = { .n_set = LEAT_DOCTOR_MAX_SET };
    memset(&r, 0, sizeof r);
    for (int i = 0; i < LEAT_DOCTOR_MAX_SET; i++)
        snprintf(s.set[i], sizeof s.set[i], "train.model[%d].device=\"\"", 9990 + i);
    r.suggestions[r.n_suggestions++] = s;
    assert_true(leat_suggest_is_listed(&s, &r));
    snprintf(s.set[LEAT_DOCTOR_MAX_SET - 1], sizeof s.set[0], "train.model[9998].device=\"\"");
    assert_false(leat_suggest_is_listed(&s, &r));
}

/* In its only epoch a job finds nothing in a cache. */
TEST(one_epoch_reuses_no_cache)
{
    static const struct {
        const char *first, *epochs;
        bool reused;
    } cases[] = { { "", "epochs: 1, ", false },
                  { "", "epochs: 2, ", true },
                  { "", "", true }, /* `leat train --epochs` says */
                  { "repeat, ", "epochs: 1, ", true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        leat_compare_arm out = { .name = "" };
        leat_arm arm = { .sync_every = 0 };
        leat_suggest_place place;
        snprintf(text, sizeof text,
                 "source: {images: {path: %s}}\npipeline: [%s{map: [decode_pnm, {resize: [4, 4]}, "
                 "normalize]}, {batch: 2}]\ntrain: {device: sim:h200, %smodel: [flatten, "
                 "dense: 2], loss: softmax_cross_entropy}\n",
                 test_folder, cases[i].first, cases[i].epochs);
        open_arm(text, &arm, &out);
        const leat_suggest_about about = { .config = arm.config, .arm = &arm };
        assert_int_equal(leat_suggest_cache_place(&about, &place), cases[i].reused);
        leat_arm_close(&arm);
    }
}

/* What a filter leaves out is never cached, whatever `repeat` adds. */
TEST(only_samples_that_pass_are_counted)
{
    static const struct {
        const char *stages;
        uint64_t n;
    } cases[] = {
        { "[{filter: {feature: label, equals: 0}}, {map: [decode_pnm, {resize: [4, 4]}]}, {batch: "
          "1}]",
          N / 2 },
        { "[{filter: {feature: label, equals: 0}}, repeat, {map: [decode_pnm, {resize: [4, 4]}]}, "
          "{batch: 1}]",
          N / 2 },
        { "[{map: [decode_pnm, {resize: [4, 4]}]}, {take: 3}, {batch: 2}]", 3 },
        { "[{repeat: 5}, {map: [decode_pnm, {resize: [4, 4]}]}, {batch: 2}]", N },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_suggest_place place;
        assert_true(place_in(cases[i].stages, &place));
        assert_int_equal(place.n_samples, cases[i].n);
    }
}

TEST(the_limit_of_memory_is_named)
{
    const leat_facts f = facts_of(10, 10, 2);
    static leat_doctor_suggestion s;
    leat_suggest_place place = { .n_samples = 1000,
                                 .sample_bytes = 1000000,
                                 .limit_bytes = 600000000,
                                 .left_bytes = 500000000,
                                 .share = 0.5 };
    leat_suggest_cache_say(&f, &place, &s);
    assert_non_null(strstr(s.why, "it takes 1.00 GB of memory (1000 samples of 1.00 MB), but gets "
                                  "500 MB of the limit of 600 MB (engine.memory): a part is "
                                  "cached; for more set engine.memory higher"));
    place.share = 1;
    place.is_auto = true;
    leat_suggest_cache_say(&f, &place, &s);
    assert_non_null(strstr(s.why, "; the limit is 600 MB (engine.memory, auto: a quarter of what "
                                  "is free)"));
    assert_null(strstr(s.why, "a part"));
}

/* Limits of the config's own are taken away, if that helps. */
TEST(a_small_cache_gets_more_room)
{
    static const struct {
        const char *cache, *set; /* NULL: it has all the room that it needs, or may have */
    } cases[] = {
        { "{cache: {bytes: 120}}", "pipeline.cache.bytes=auto" },
        { "{cache: {bytes: 1MB}}", NULL },
        { "cache", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static leat_doctor_result r;
        static leat_facts f;
        char text[1024];
        leat_compare_arm out = { .name = "" };
        leat_arm arm = { .sync_every = 0 };
        leat_verdict_found d;
        leat_error err = { 0 };
        snprintf(text, sizeof text,
                 "engine: {threads: 2}\nsource: {images: {path: %s}}\n"
                 "pipeline: [{map: [decode_pnm, sleep: 4, {resize: [4, 4]}, normalize]}, %s, "
                 "{batch: 2}, "
                 "{prefetch: {batches: 2}}]\n"
                 "train:\n  device: sim:h200\n  epochs: 10\n  model: [flatten, dense: 2]\n"
                 "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n",
                 test_folder, cases[i].cache);
        open_text_job(text, &arm, &out, &f, &d);
        const leat_suggest_about about = { .config = arm.config,
                                           .arm = &arm,
                                           .facts = &f,
                                           .diagnosis = &d,
                                           .prefetch = 2,
                                           .steps = 10 };
        memset(&r, 0, sizeof r);
        if (leat_arm_fill(&arm, 1000000000, &err) < 0 || leat_suggest(&about, &r, &err) < 0)
            fail_msg("%s", err.message);
        const bool found = r.n_suggestions > 0 && r.suggestions[0].n_set > 0 &&
                           !strncmp(r.suggestions[0].set[0], "pipeline.cache", 14);
        if (found != (cases[i].set != NULL))
            fail_msg("%s: %d suggestions, %s; %g uncached", cases[i].cache, r.n_suggestions,
                     r.suggestions[0].title, out.uncached);
        if (found) {
            assert_string_equal(r.suggestions[0].set[0], cases[i].set);
            assert_int_equal(r.suggestions[0].n_set, 1);
            assert_true(r.suggestions[0].gain > 1);
            assert_non_null(strstr(r.suggestions[0].why, " again in each epoch; it takes"));
            assert_non_null(strstr(r.suggestions[0].why, " on average); the limit is "));
        }
        leat_arm_close(&arm);
    }
}

TEST(a_second_cache_has_no_place)
{
    leat_suggest_place place;
    assert_false(place_in("[{map: [decode_pnm, {resize: [8, 8]}]}, cache, {batch: 1}]", &place));
}

SUITE_FIXTURE(prepare, remove_folder)
