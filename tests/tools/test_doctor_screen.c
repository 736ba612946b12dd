/* SPDX-License-Identifier: MIT
 *
 * test_doctor_screen.c: the screen of `leat doctor`, from results made here: it has 40 lines at most whatever it says,
 * its times and percentages add up, and what to write is right for the config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "../tools/report/doctor_report.h"
#include "../tools/report/setting.h"

static leat_doctor_result r;

/* The result as a screen; until the next call. */
static const char *screen_of(const char *path, const leat_config *config)
{
    static char text[16384];
    FILE *const to = fmemopen(text, sizeof text, "w");
    assert_non_null(to);
    leat_doctor_report_print(to, &r, path, config);
    assert_int_equal(fclose(to), 0);
    return text;
}

static leat_config *parse(const char *text)
{
    leat_config *config;
    leat_error err;
    if (leat_config_parse(text, "x.yaml", &config, &err) < 0)
        fail_msg("%s", err.message);
    return config;
}

/* --- what every screen has ---------------------------------------------------------------------- */

/* Words up to the end of the field. */
static void fill(char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        text[i] = i % 9 == 8 ? ' ' : 'w';
    text[size - 1] = 0;
}

#define FILL(field) fill(field, sizeof(field))

static void expect_a_screen(const char *text)
{
    int lines = 0;
    for (const char *at = text; *at; lines++) {
        const size_t n = strcspn(at, "\n");
        if (n > 80)
            fail_msg("%zu columns: %.*s", n, (int)n, at);
        at += n + (at[n] != 0);
    }
    if (lines > 40)
        fail_msg("%d lines:\n%s", lines, text);
}

static const char *const share_names[LEAT_DOCTOR_SHARES] = {
    "busy", "input_wait", "exposed_copy", "launch", "sync", "placement", "other_host", "unknown"
};

static void set_shares(const double *shares)
{
    for (int i = 0; i < LEAT_DOCTOR_SHARES; i++)
        r.shares[i] =
            (leat_doctor_share){ share_names[i], shares[i], shares[i] * r.measured_step_ms };
}

static void set_step(double ms)
{
    memset(&r, 0, sizeof r);
    r.measured_step_ms = r.predicted_step_ms = ms;
    r.batch = 8;
    r.rounds = 6;
    r.cores = 2;
    r.probe = -1;
    r.samples_per_s = (leat_estimate){ 8e3 / ms, 7e3 / ms, 9e3 / ms };
    strcpy(r.device, "cpu");
    strcpy(r.verdict.name, "input-bound");
}

static void longest_suggestion(leat_doctor_suggestion *s, int i, bool verified)
{
    FILL(s->title);
    FILL(s->why);
    if (!verified)
        FILL(s->not_verified);
    if (i % 2) {
        FILL(s->where);
        FILL(s->lines);
        for (size_t k = 60; k < sizeof s->lines - 1; k += 60)
            s->lines[k] = '\n';
    } else
        for (s->n_set = 0; s->n_set < LEAT_DOCTOR_MAX_SET; s->n_set++) {
            FILL(s->set[s->n_set]);
            memcpy(s->set[s->n_set], "engine.files={x: ", 17);
        }
    s->predicted_step_ms = 12.345;
    s->gain = 123456;
    s->is_verified = verified;
    s->before_step_ms = 1234.5;
    s->verified_step_ms = 0.0123;
    s->verified_gain = 99999;
    s->cores_taken = 1000;
}

static void the_longest_result_fits(void **state)
{
    (void)state;
    static const char *const kinds[] = { "loader", "first_batch", "copy",
                                         "step",   "step_queued", "shared" };
    static const struct {
        const char *name;
        size_t size; /* test_doctor.c holds their texts to it */
    } explained[] = { { "rule", 101 }, { "host_late", 77 }, { "spans", 81 }, { "placement", 90 } };
    const double shares[LEAT_DOCTOR_SHARES] = { 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.295, 0.005 };
    leat_config *config = parse("engine: {threads: 2}\n");
    char path[256];
    FILL(path);
    for (int verified = 0; verified < 2; verified++) {
        set_step(123456.789);
        set_shares(shares);
        r.simulated = 1;
        r.probe = 0.5;
        r.cores_taken = 1;
        r.uncached = 0.123;
        r.predicted_step_ms = 1;
        FILL(r.device);
        FILL(r.verdict.sentence);
        FILL(r.verdict.label);
        strcpy(r.verdict.name, verified ? "sync-bound" : "inconclusive");
        strcpy(r.verdict.also, "transfer-bound");
        strcpy(r.next_wall, "the step on the device");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            strcpy(r.capacities[r.n_capacities++].kind, kinds[i]);
        strcpy(r.capacities[r.n_capacities].kind, "stage");
        FILL(r.capacities[r.n_capacities].name);
        r.n_capacities++;
        for (r.n_suggestions = 0; r.n_suggestions < LEAT_DOCTOR_MAX_SUGGESTIONS; r.n_suggestions++)
            longest_suggestion(&r.suggestions[r.n_suggestions], r.n_suggestions + verified,
                               verified);
        for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
            strcpy(r.evidence[r.n_evidence].name, explained[i].name);
            fill(r.evidence[r.n_evidence].text, explained[i].size);
            r.n_evidence++;
        }
        for (int i = 0; i < LEAT_DOCTOR_MAX_SUGGESTIONS; i++)
            FILL(r.without_gain[r.n_without_gain++]);
        const char *const text = screen_of(path, config);
        expect_a_screen(text);
        assert_non_null(
            strstr(text, verified ? "\nwhat to change; " : "\nwhat may help, but measure again"));
    }
    leat_config_close(&config);
}

/* --- figures ------------------------------------------------------------------------------------ */

static void shares_are_divided_without_a_rest(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 2000; i++) {
        double shares[7], sum = 0;
        long out[7], given = 0;
        const int n = 1 + rand() % 7;
        const long total = i % 2 ? 100 : 100 + rand() % 900;
        for (int k = 0; k < n; k++)
            sum += shares[k] = rand() % 4 ? rand() : 0;
        for (int k = 0; k < n; k++)
            shares[k] = sum > 0 ? shares[k] / sum : 1.0 / n;
        leat_doctor_divide(shares, n, total, out);
        for (int k = 0; k < n; k++) {
            assert_true(out[k] >= 0 && fabs((double)out[k] - shares[k] * (double)total) < 1 + 1e-9);
            given += out[k];
        }
        assert_int_equal(given, total);
    }
}

/* Reads the table of shares back. */
static void what_is_printed_adds_up(void **state)
{
    (void)state;
    static const double steps[] = { 0.01234, 0.2718, 1.001, 9.996, 16.37, 99.96, 118.2, 3421 };
    static const double shares[][LEAT_DOCTOR_SHARES] = {
        { 0.302, 0.524, 0, 0, 0, 0, 0.174, 0 },
        { 0.001, 0.985, 0, 0, 0, 0, 0.014, 0 },
        { 0.985, 0.004, 0.003, 0.004, 0, 0, 0.004, 0 },
        { 1, 0, 0, 0, 0, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
            char ms[32], head[64];
            double sum = 0, part;
            int percent = 0, one, n = 0;
            set_step(steps[i]);
            set_shares(shares[k]);
            const char *const text = screen_of("x.yaml", NULL);
            snprintf(head, sizeof head, "where these %s ms go", leat_doctor_ms_text(steps[i], ms));
            const char *at = strstr(text, head);
            assert_non_null(at);
            for (at = strchr(at, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1)
                if (sscanf(at + 28, "%d %% %lf ms", &one, &part) == 2) {
                    percent += one;
                    sum += part;
                    n++;
                }
            assert_in_range(n, 1, 4);
            assert_int_equal(percent, 100);
            if (fabs(sum / atof(ms) - 1) > 1e-9)
                fail_msg("%g, not %s ms:\n%s", sum, ms, text);
            snprintf(head, sizeof head, "A step takes %s ms now", ms);
            assert_non_null(strstr(text, head));
        }
}

/* The parts that the verdict blames are marked, also those of a second one, and of a job that is too short. */
static void the_limit_is_marked(void **state)
{
    (void)state;
    static const struct {
        const char *name, *also, *label, *wall, *loader, *step;
    } cases[] = {
        { "input-bound", "", "", "the step on the device", "the limit", "next limit" },
        { "compute-bound", "", "", "the loader", "next limit", "the limit" },
        { "input-bound", "compute-bound", "", "", "the limit", "the limit" },
        { "warm-up", "compute-bound", "", "the step on the device", "", "the limit" },
        { "input-bound", "", "not-overlapped", "the loader", "next limit", "" },
        { "inconclusive", "", "", "", "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[2][128];
        set_step(10);
        set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
        strcpy(r.verdict.name, cases[i].name);
        strcpy(r.verdict.also, cases[i].also);
        strcpy(r.verdict.label, cases[i].label);
        strcpy(r.next_wall, cases[i].wall);
        r.capacities[r.n_capacities++] = (leat_doctor_capacity){ .kind = "loader", .step_ms = 9.5 };
        r.capacities[r.n_capacities++] = (leat_doctor_capacity){ .kind = "step", .step_ms = 0.123 };
        const char *const text = screen_of("x.yaml", NULL);
        snprintf(line[0], 128, " 9.5 ms%s%s\n", *cases[i].loader ? "  <- " : "", cases[i].loader);
        snprintf(line[1], 128, " 0.12 ms%s%s\n", *cases[i].step ? "  <- " : "", cases[i].step);
        if (!strstr(text, line[0]) || !strstr(text, line[1]))
            fail_msg("%zu: %s", i, text);
    }
}

static void times_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double ms;
        const char *text;
    } cases[] = {
        { 0.0128, "0.0128" }, { 0.2718, "0.272" }, { 9.996, "10.0" }, { 16.37, "16.4" },
        { 118.2, "118" },     { 3421, "3421" },    { 0, "0" },        { 1e-9, "0.000000" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        assert_string_equal(leat_doctor_ms_text(cases[i].ms, text), cases[i].text);
    }
}

static void explain(const char *name, const char *text)
{
    leat_doctor_evidence *const e = &r.evidence[r.n_evidence++];
    strcpy(e->name, name);
    strcpy(e->text, text);
}

/* The rule of the prediction, why the host is late, and what recording costs. */
static void what_explains_is_printed(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 0.9, 0, 0, 0, 0, 0, 0.1, 0 });
    r.predicted_step_ms = 8;
    explain("rule", "predicted: the slowest of loader 8, step 2 ms");
    explain("host_late", "host is late: why");
    explain("spans", "recording spans costs 1 % of a step");
    const char *text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text,
                           "\n  predicted: the slowest of loader 8, step 2 ms; 20 % less than "
                           "measured, so\n  they do not explain all\n"));
    assert_non_null(strstr(text, "\n  * host is late: why\n"));
    assert_non_null(strstr(text, "\nrecording spans costs 1 % of a step\n"));
    r.n_evidence--;
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    text = screen_of("x.yaml", NULL);
    assert_null(strstr(text, "* "));
    assert_null(strstr(text, "recording"));
}

/* Where no part is the limit, none has the same one. */
static void nothing_is_the_same_as_no_limit(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    strcpy(r.verdict.name, "inconclusive");
    r.capacities[r.n_capacities++] = (leat_doctor_capacity){ .kind = "shared", .step_ms = 9.5 };
    assert_null(strstr(screen_of("x.yaml", NULL), "limit"));
    strcpy(r.verdict.name, "input-bound");
    strcpy(r.next_wall, "the step on the device");
    r.next_wall_step_ms = 2;
    assert_non_null(strstr(screen_of("x.yaml", NULL), "<- same limit"));
}

static void no_change_has_a_reason(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "what to change: none of the changes that leat knows applies here\n"));
    r.no_trials = 1;
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "what to change: no change was tried; leave out --quick\n"));
}

static void changes_left_out_are_told(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    assert_null(strstr(screen_of("x.yaml", NULL), "left out"));
    r.n_no_memory = 2;
    const char *screen = screen_of("x.yaml", NULL);
    assert_non_null(strstr(screen, "what to change: no change could be tried\n"
                                   "  left out: 2 that did not fit in memory\n"));
    r.n_not_filled = 3;
    assert_non_null(
        strstr(screen_of("x.yaml", NULL), "memory, 3 whose cache was not filled in 5 s\n"));
    r.n_tried = 1;
    r.n_no_memory = 0;
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "1 change tried, none gains 3 % or more\n  left out: 3 whose"));
}

static void a_cache_that_is_not_full_is_told(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    assert_null(strstr(screen_of("x.yaml", NULL), "cache"));
    r.uncached = 0.75;
    assert_non_null(
        strstr(screen_of("x.yaml", NULL), "\nthe cache held 25 % of the samples when the "));
}

/* The rest of the result stands. */
static void a_change_that_could_not_be_verified_is_told(void **state)
{
    (void)state;
    leat_config *config = parse("engine: {threads: 2}\n");
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    r.n_suggestions = 1;
    r.suggestions[0] = (leat_doctor_suggestion){ .title = "Let all cores make batches",
                                                 .n_set = 1,
                                                 .set = { "engine.threads=4" },
                                                 .gain = 0.5,
                                                 .predicted_step_ms = 5 };
    const char *text = screen_of("x.yaml", config);
    assert_null(strstr(text, "not verified"));
    assert_non_null(strstr(text, "--verify measures the first"));
    strcpy(r.suggestions[0].not_verified, "its cache is not filled in 5 s");
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "only predicted"));
    assert_non_null(strstr(text, "\n     not verified: its cache is not filled in 5 s\n"));
    assert_null(strstr(text, "--verify measures the first"));
    leat_config_close(&config);
}

/* Only lines that take the place of others, and only if --set changed the list they come from. */
static void lines_of_set_are_told(void **state)
{
    (void)state;
    leat_config *file = parse("pipeline: [{map: [decode_pnm]}, {batch: 2}]\n");
    leat_config *set = parse("pipeline: [{map: [decode_pnm, normalize]}, {batch: 2}]\n");
    for (int changed = 0; changed < 2; changed++) {
        set_step(10);
        set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
        for (r.n_suggestions = 0; r.n_suggestions < 2; r.n_suggestions++) {
            leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions];
            strcpy(s->where, r.n_suggestions ? "after the `map`" : "in place of the `map`");
            strcpy(s->lines, "- cache");
            s->replaces = !r.n_suggestions;
        }
        leat_doctor_tell_of_set(file, changed ? set : file, &r);
        assert_string_equal(r.suggestions[0].where,
                            changed ? "in place of the `map`, with the values of --set"
                                    : "in place of the `map`");
        assert_string_equal(r.suggestions[1].where, "after the `map`");
        const char *const told = strstr(screen_of("x.yaml", file), "with the values of --set");
        assert_true(changed ? told != NULL : !told);
    }
    leat_config_close(&file);
    leat_config_close(&set);
}

/* A mean is said to be one, and one is not many. */
static void batches_have_whole_sizes(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    r.batch_size = 32;
    r.batch = 31.77;
    assert_non_null(
        strstr(screen_of("x.yaml", NULL), ": batches of up to 32 (31.77 on average), "));
    r.batch_size = 1;
    r.batch = 1;
    assert_non_null(strstr(screen_of("x.yaml", NULL), ": batches of 1, "));
    assert_non_null(strstr(screen_of("x.yaml", NULL), "for a step of 1 sample when"));
}

static void layers_elsewhere_are_named(void **state)
{
    (void)state;
    leat_error err;
    leat_config *config;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 0.2, 0, 0, 0, 0, 0.8, 0, 0 });
    strcpy(r.verdict.name, "placement");
    strcpy(r.verdict.label, "2.dense on cpu");
    explain("placement", "2.dense on cpu: 7 ms; 4 crossings of 262 kB: 1 ms");
    r.suggestions[r.n_suggestions++] = (leat_doctor_suggestion){
        .title = "Compute all layers on the run's own device",
        .why = "why",
        .n_set = 1,
        .set = { "train.model[2].device=\"\"" },
        .gain = 4,
        .predicted_step_ms = 2,
    };
    assert_int_equal(leat_config_parse("train: {model: [relu, relu, {dense: {units: 4, device: "
                                       "cpu}}]}",
                                       "x.yaml", &config, &err),
                     LEAT_OK);
    const char *const text = screen_of("x.yaml", config);
    expect_a_screen(text);
    assert_non_null(strstr(text, "verdict: placement (2.dense on cpu)\n"));
    assert_non_null(strstr(text, "waits for other devices **   80 %"));
    assert_non_null(strstr(text, "\n  ** 2.dense on cpu: 7 ms; 4 crossings of 262 kB: 1 ms\n"));
    assert_non_null(strstr(text, "in x.yaml, under `train.model[2]:`, leave out `device: cpu`\n"));
    assert_non_null(strstr(text, "--set 'train.model[2].device=\"\"'\n"));
    assert_null(strstr(text, "* host"));
    leat_config_close(&config);
}

static void a_change_says_why_it_was_not_tried(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "Title", .why = "why", .gain = 0.5 };
    s->predicted_step_ms = 6.67;
    strcpy(s->not_tried, "it needs other files");
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "  1. Title: +50 % samples/s, only predicted, not tried: it needs other "
                           "files\n"));
}

/* --- what to write ------------------------------------------------------------------------------ */

static void the_line_to_write_depends_on_the_config(void **state)
{
    (void)state;
    static const struct {
        const char *set, *config, *write;
    } cases[] = {
        { "engine.threads=8", "engine: {threads: 2}",
          "under `engine:`, change `threads: 2` to `threads: 8`" },
        { "engine.threads=8", "engine: {threads: 8}", /* with --threads 2 */
          "under `engine:`, `threads: 8` is there already: leave out what overrides it" },
        { "pipeline.prefetch.batches=2", "pipeline: [{prefetch: {batches: 2}}]",
          "in the list `pipeline`, in `prefetch`, `batches: 2` is there already: leave out what "
          "overrides it" },
        { "engine.threads=8", "engine:\n  io: direct", "under `engine:`, add `threads: 8`" },
        { "engine.threads=8", "seed: 1", "add the line `engine: {threads: 8}`" },
        { "engine.threads=8", "engine:", "write `engine: {threads: 8}`" },
        { "train.precision=bf16", "train:\n  epochs: 3\n",
          "under `train:`, add `precision: bf16`" },
        { "pipeline.prefetch.batches=8", "pipeline: [{prefetch: {batches: 2}}]",
          "in the list `pipeline`, in `prefetch`, change `batches: 2` to `batches: 8`" },
        { "pipeline.prefetch.pinned=true", "pipeline: [{prefetch: {batches: 2}}]",
          "in the list `pipeline`, in `prefetch`, add `pinned: true`" },
        { "pipeline.prefetch.batches=8", "pipeline:\n  - prefetch: 2\n",
          "in the list `pipeline`, change `prefetch: 2` to `prefetch: {batches: 8}`" },
        { "pipeline.prefetch.batches=8", "pipeline:\n  - prefetch\n",
          "in the list `pipeline`, change `prefetch` to `prefetch: {batches: 8}`" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        leat_config *config = parse(cases[i].config);
        assert_string_equal(leat_setting_write(config, cases[i].set, text, sizeof text),
                            cases[i].write);
        leat_config_close(&config);
    }
}

static void a_change_that_does_not_help_is_not_written(void **state)
{
    (void)state;
    leat_config *config = parse("engine: {threads: 2}");
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "Title", .why = "why", .n_set = 1, .gain = 0.5 };
    strcpy(s->set[0], "engine.threads=8");
    s->predicted_step_ms = 6.67;
    const char *text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "1. Title: +50 % samples/s, only predicted\n"));
    assert_non_null(strstr(text, "10.0 -> 6.67 ms per step, 800 -> 1,200 samples/s\n"));
    assert_non_null(
        strstr(text, "in x.yaml, under `engine:`, change `threads: 2` to `threads: 8`"));
    assert_non_null(strstr(text, "add to your command: --set engine.threads=8"));
    s->is_verified = 1;
    s->verified_gain = -0.2;
    s->before_step_ms = 20; /* the machine has become slower: only the ratio counts */
    s->verified_step_ms = 25;
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "1. Title: -20 % samples/s, measured\n"));
    assert_non_null(strstr(text, "10.0 -> 12.5 ms per step, 800 -> 640 samples/s"));
    assert_non_null(strstr(text, "it does not help: change nothing"));
    s->verified_gain = 0.02;
    s->verified_step_ms = 19.6;
    assert_non_null(strstr(screen_of("x.yaml", config), "it gains less than 3 %: change nothing"));
    s->verified_gain = 0.05;
    r.simulated = 1;
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "1. Title: +5 % samples/s, measured (simulated device)\n"));
    assert_non_null(strstr(text, "threads: 8"));
    r.simulated = 0;
    s->verified_gain = -0.2;
    s->verified_step_ms = 25;
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "side by side the job as it is took 20.0 ms"));
    assert_null(strstr(text, "while this was measured"));
    r.cores = 2;
    s->cores_taken = 0.7;
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "other processes used 0.7 of 2 CPUs while this was measured"));
    assert_null(strstr(text, "threads: 8"));
    assert_null(strstr(text, "--set"));
    leat_config_close(&config);
}

/* A step of a larger batch is another step. */
static void a_change_of_the_batch_names_both(void **state)
{
    (void)state;
    leat_config *config = parse("pipeline: [{batch: 8}]");
    set_step(10);
    set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "T", .why = "w", .n_set = 1, .gain = 3 };
    s->predicted_step_ms = 10;
    strcpy(s->set[0], "pipeline.batch.size=32");
    const char *const text = screen_of("x.yaml", config);
    assert_non_null(
        strstr(text, "10.0 -> 10.0 ms per step (of 32, not 8 samples), 800 -> 3,200 samples/s\n"));
    assert_non_null(strstr(text, "change `batch: 8` to `batch: {size: 32}`"));
    leat_config_close(&config);
}

/* In a list in brackets a stage has no dash. */
static void lines_are_written_as_the_list_is(void **state)
{
    (void)state;
    static const struct {
        const char *file, *lines;
    } cases[] = {
        { "seed: 1\npipeline:\n  - shuffle\n",
          ", in P, write\n       - map: {ops: [a]}\n       - cache\n" },
        { "pipeline: [shuffle, {batch: 2}]\n",
          ", in P, write\n       {map: {ops: [a]}},\n       cache,\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/leat-screen-XXXXXX";
        const int fd = mkstemp(path);
        assert_true(fd >= 0 && write(fd, cases[i].file, strlen(cases[i].file)) > 0);
        close(fd);
        set_step(10);
        set_shares((const double[LEAT_DOCTOR_SHARES]){ 1 });
        r.suggestions[r.n_suggestions++] =
            (leat_doctor_suggestion){ .title = "T",
                                      .why = "w",
                                      .gain = 2,
                                      .predicted_step_ms = 3,
                                      .where = "in P",
                                      .lines = "- map: {ops: [a]}\n- cache" };
        const char *const text = screen_of(path, NULL);
        unlink(path);
        if (!strstr(text, cases[i].lines))
            fail_msg("%s", text);
    }
}

/* With all rows of the tables that a job on a simulated device has, and other programs. */
static void the_first_change_is_always_told(void **state)
{
    (void)state;
    static const char *const kinds[] = { "loader", "stage", "copy", "step", "shared" };
    for (int verified = 0; verified < 2; verified++) {
        set_step(0.895);
        set_shares(
            (const double[LEAT_DOCTOR_SHARES]){ 0.03, 0.6, 0.02, 0.03, 0.02, 0, 0.28, 0.02 });
        r.simulated = 1;
        r.cores_taken = 1.3;
        r.predicted_step_ms = 0.873;
        strcpy(r.verdict.sentence,
               "The device waits for its input: batches come slower than it could use them. The "
               "slowest stage keeps the cores busy.");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            strcpy(r.capacities[r.n_capacities++].kind, kinds[i]);
        explain("rule", "predicted: the slowest of loader 0.873, CPU work 0.716, step 0.0485, "
                        "copy 0.0121 ms");
        explain("host_late", "host is late: the thread that trains had no free core");
        explain("spans", "recording 177 spans of 8.3 ns costs 0.16 % of a step (engine.spans)");
        r.suggestions[r.n_suggestions++] = (leat_doctor_suggestion){
            .title = "Decode once: keep the decoded pictures in a cache",
            .why = "each epoch decodes anew; with a cache only the first one does (the ops after "
                   "it still run, so less is gained); it takes about 45.8 MB of memory (240 "
                   "samples of 191 kB on average); 23.2 GB are free",
            .gain = 1.97,
            .is_verified = verified,
            .verified_gain = 1.97,
            .verified_step_ms = 0.301,
            .before_step_ms = 0.895,
            .predicted_step_ms = 0.301,
            .where = "in the list `pipeline`, in place of the `map` with `decode_jpeg`",
            .lines = "- map: {ops: [decode_jpeg], tensor: image}\n- cache\n- map: {ops: "
                     "[{random_crop: {pad: 4, size: [32, 32]}}, random_flip, {normalize: {mean: "
                     "[0.4914, 0.4822, 0.4465], std: [0.247, 0.2435, 0.2616]}}], tensor: image}"
        };
        r.suggestions[r.n_suggestions] = r.suggestions[0];
        r.n_suggestions++;
        const char *const text = screen_of("examples/my-pictures.yaml", NULL);
        expect_a_screen(text);
        if (!strstr(text, "- cache\n"))
            fail_msg("%s", text);
        assert_non_null(strstr(text, "and 1 more with --json FILE"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_result_fits),
        cmocka_unit_test(the_first_change_is_always_told),
        cmocka_unit_test(shares_are_divided_without_a_rest),
        cmocka_unit_test(what_is_printed_adds_up),
        cmocka_unit_test(the_limit_is_marked),
        cmocka_unit_test(times_have_three_digits),
        cmocka_unit_test(what_explains_is_printed),
        cmocka_unit_test(nothing_is_the_same_as_no_limit),
        cmocka_unit_test(no_change_has_a_reason),
        cmocka_unit_test(changes_left_out_are_told),
        cmocka_unit_test(a_cache_that_is_not_full_is_told),
        cmocka_unit_test(a_change_that_could_not_be_verified_is_told),
        cmocka_unit_test(lines_of_set_are_told),
        cmocka_unit_test(batches_have_whole_sizes),
        cmocka_unit_test(layers_elsewhere_are_named),
        cmocka_unit_test(a_change_says_why_it_was_not_tried),
        cmocka_unit_test(the_line_to_write_depends_on_the_config),
        cmocka_unit_test(a_change_that_does_not_help_is_not_written),
        cmocka_unit_test(a_change_of_the_batch_names_both),
        cmocka_unit_test(lines_are_written_as_the_list_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
