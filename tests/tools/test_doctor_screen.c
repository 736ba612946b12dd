/* SPDX-License-Identifier: MIT
 *
 * test_doctor_screen.c: the whole screen of `leat doctor`, from results made here: it has 40 lines at most whatever
 * it says, and leaves out the right things. */

#include <math.h>

#include "doctor_screen.h"
#include "fixtures/unit.h"

/* Words up to the end of the field. */
static void fill(char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        text[i] = i % 9 == 8 ? ' ' : 'w';
    text[size - 1] = 0;
}

#define FILL(field) fill(field, sizeof(field))

static void longest_suggestion(leat_doctor_suggestion *s, int i, bool verified)
{
    FILL(s->title);
    FILL(s->why);
    if (!verified)
        FILL(s->not_verified);
    for (s->n_set = 0; s->n_set < (i % 2 ? 1 : LEAT_DOCTOR_MAX_SET); s->n_set++) {
        FILL(s->set[s->n_set]);
        memcpy(s->set[s->n_set], "engine.files=x ", 15);
    }
    s->predicted_step_ms = 12.345;
    s->gain = 123456;
    s->n_rounds = 6;
    s->gain_low = 12345;
    s->gain_high = 1234567;
    s->is_verified = verified;
    s->before_step_ms = 1234.5;
    s->verified_step_ms = 0.0123;
    s->verified_gain = 99999;
    s->cores_taken = 1000;
}

TEST(the_longest_result_fits)
{
    static const struct {
        const char *name;
        size_t size; /* test_doctor.c holds their texts to it */
    } explained[] = { { "rule", 101 }, { "host_late", 77 }, { "spans", 81 }, { "placement", 90 } };
    const double shares[LEAT_N_SHARES] = { 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.295, 0.005 };
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
        FILL(r.sentence);
        FILL(r.verdict.where);
        r.verdict.kind = verified ? LEAT_VERDICT_SYNC_BOUND : LEAT_VERDICT_ENVIRONMENT;
        if (!verified) { /* as with --anyway */
            r.beside.kind = LEAT_VERDICT_INPUT_BOUND;
            FILL(r.beside.where);
        }
        r.verdict.also = LEAT_VERDICT_TRANSFER_BOUND;
        r.next_limit = LEAT_PART_STEP;
        for (leat_part part = LEAT_PART_NONE + 1; part < LEAT_N_PARTS; part++) {
            r.capacities[r.n_capacities].part = part;
            FILL(r.capacities[r.n_capacities].name);
            r.n_capacities++;
        }
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
        const char *const text = screen_of(path, "engine: {threads: 2}\n");
        expect_a_screen(text);
        assert_true(verified || strstr(text, "\n  With other programs running: input-bound ("));
        assert_non_null(
            strstr(text, verified ? "\nwhat to change; " : "\nwhat may help, but measure again"));
    }
}

/* The lines of a diff that is not shown are no room for others. */
TEST(a_change_that_does_not_help_makes_no_room)
{
    leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS] = { 0 };
    char diff[1024] = "--- x.yaml\n+++ x.yaml\n@@ -1,0 +1,40 @@\n", screen[16384] = "";
    for (int i = 0; i < 40; i++)
        strcat(diff, "+a: 1\n");
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 });
    for (leat_part part = LEAT_PART_LOADER; part < LEAT_N_PARTS; part++)
        r.capacities[r.n_capacities++].part = part;
    for (int i = 0; i < 3; i++) {
        longest_suggestion(&r.suggestions[r.n_suggestions++], 1, true);
        r.suggestions[i].verified_gain = 0.01;
        diffs[i].text = diff;
    }
    FILE *const to = fmemopen(screen, sizeof screen, "w");
    leat_doctor_report_print(to, &r, "x.yaml", diffs);
    assert_int_equal(fclose(to), 0);
    assert_null(strstr(screen, "+a: 1"));
    expect_a_screen(screen);
}

/* With all rows of the tables that a job on a simulated device has, and other programs. */
TEST(the_first_change_is_always_told)
{
    static const leat_part parts[] = { LEAT_PART_LOADER, LEAT_PART_STAGE, LEAT_PART_COPY,
                                       LEAT_PART_STEP, LEAT_PART_SHARED };
    for (int verified = 0; verified < 2; verified++) {
        set_step(0.895);
        set_shares((const double[LEAT_N_SHARES]){ 0.03, 0.6, 0.02, 0.03, 0.02, 0, 0.28, 0.02 });
        r.simulated = 1;
        r.cores_taken = 1.3;
        r.predicted_step_ms = 0.873;
        strcpy(r.sentence,
               "The device waits for its input: batches come slower than it could use them. The "
               "slowest stage keeps the cores busy.");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            r.capacities[r.n_capacities++].part = parts[i];
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
            .n_rounds = 3,
            .gain_low = 1.97,
            .gain_high = 1.97,
            .is_verified = verified,
            .verified_gain = 1.97,
            .verified_step_ms = 0.301,
            .before_step_ms = 0.895,
            .predicted_step_ms = 0.301,
            .n_set = 2,
            .set = { "pipeline.map.ops=[decode_jpeg]",
                     "pipeline[1]+={map: {ops: [{random_crop: {pad: 4, size: [32, 32]}}, "
                     "random_flip, {normalize: {mean: [0.4914, 0.4822, 0.4465], std: [0.247, "
                     "0.2435, 0.2616]}}], tensor: image}}" }
        };
        r.suggestions[r.n_suggestions] = r.suggestions[0];
        r.n_suggestions++;
        const char *const text =
            screen_of("examples/my-pictures.yaml",
                      "pipeline:\n  - map: {ops: [decode_jpeg, random_flip], tensor: image}\n"
                      "  - batch: 2\n");
        expect_a_screen(text);
        if (!strstr(text, "\n+  - map: {ops: [{random_crop") ||
            !strstr(text, "the loader makes and copies a batch"))
            fail_msg("%s", text);
        assert_non_null(
            strstr(text, "  2. Decode once: keep the decoded pictures in a cache: 2.97 times"));
    }
}

/* Both ends have the same three digits: that is no interval. */
TEST(an_interval_has_two_ends)
{
    set_step(10.4);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    assert_non_null(strstr(screen_of("x.yaml", NULL), "certainty the mean is between"));
    r.samples_per_s = (leat_estimate){ 8e3 / 10.4, 8e3 / 10.44, 8e3 / 10.36 };
    assert_null(strstr(screen_of("x.yaml", NULL), "certainty"));
}

TEST(two_limits_are_both_told)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.verdict =
        (leat_verdict){ .kind = LEAT_VERDICT_COMPUTE_BOUND, .also = LEAT_VERDICT_INPUT_BOUND };
    r.probe = 1;
    const char *const text = screen_of("x.yaml", NULL);
    expect_a_screen(text);
    assert_null(strstr(text, "nothing; the input"));
    leat_verdict_sentence(&r.verdict, r.sentence, sizeof r.sentence);
    assert_null(strstr(r.sentence, "nothing to fix"));
    assert_non_null(
        strstr(r.sentence, "to make one faster alone gains nothing. It is input-bound"));
}

/* What does not fit in full has a line of its own, with what --set takes. */
TEST(each_change_has_a_line)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 });
    for (leat_part part = LEAT_PART_LOADER; part < LEAT_N_PARTS; part++)
        r.capacities[r.n_capacities++].part = part;
    for (int i = 0; i < 6; i++) {
        leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions++];
        *s = (leat_doctor_suggestion){ .title = "Change",
                                       .n_set = 1,
                                       .gain = 0.9 - 0.1 * i,
                                       .n_rounds = 3,
                                       .gain_low = 0.1,
                                       .gain_high = 0.1,
                                       .predicted_step_ms = 5 };
        fill(s->why, 200);
        snprintf(s->set[0], sizeof s->set[0], "engine.threads=%d", 3 + i);
    }
    const char *const text = screen_of("x.yaml", "engine: {threads: 2}\n");
    expect_a_screen(text);
    assert_non_null(strstr(text, "\n-engine: {threads: 2}\n+engine: {threads: 3}\n"));
    for (int i = 3; i < 6; i++) {
        char line[80];
        snprintf(line, sizeof line,
                 "\n  %d. Change: +%d %%, tried in short runs: engine.threads=%d\n", i + 1,
                 90 - 10 * i, 3 + i);
        if (!strstr(text, line))
            fail_msg("no %s:\n%s", line, text);
    }
}

/* A mean is said to be one, and one is not many. */
TEST(batches_have_whole_sizes)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.batch_size = 32;
    r.batch = 31.77;
    assert_non_null(
        strstr(screen_of("x.yaml", NULL), ": batches of up to 32 (31.77 on average), "));
    r.batch_size = 1;
    r.batch = 1;
    assert_non_null(strstr(screen_of("x.yaml", NULL), ": batches of 1, "));
    assert_non_null(strstr(screen_of("x.yaml", NULL), "for a step of 1 sample when"));
}

TEST(no_change_has_a_reason)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "what to change: none of the changes that leat knows applies here\n"));
    r.no_trials = 1;
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "what to change: no change was tried; leave out --quick\n"));
}

TEST(changes_left_out_are_told)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
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

TEST(a_cache_that_is_not_full_is_told)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    assert_null(strstr(screen_of("x.yaml", NULL), "cache"));
    r.uncached = 0.75;
    assert_non_null(
        strstr(screen_of("x.yaml", NULL), "\nthe cache held 25 % of the samples when the "));
}

TEST(layers_elsewhere_are_named)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 0.2, 0, 0, 0, 0, 0.8, 0, 0 });
    r.verdict.kind = LEAT_VERDICT_PLACEMENT;
    strcpy(r.verdict.where, "2.dense on cpu");
    explain("placement", "2.dense on cpu: 7 ms; 4 crossings of 262 kB: 1 ms");
    r.suggestions[r.n_suggestions++] = (leat_doctor_suggestion){
        .title = "Compute all layers on the run's own device",
        .why = "why",
        .n_set = 1,
        .set = { "train.model[2].device-" },
        .gain = 4,
        .n_rounds = 3,
        .gain_low = 4,
        .gain_high = 4,
        .predicted_step_ms = 2,
    };
    const char *const text =
        screen_of("x.yaml", "train: {model: [relu, relu, {dense: {units: 4, device: cpu}}]}");
    expect_a_screen(text);
    assert_non_null(strstr(text, "verdict: placement (2.dense on cpu)\n"));
    assert_non_null(strstr(text, "waits for other devices **   80 %"));
    assert_non_null(strstr(text, "\n  ** 2.dense on cpu: 7 ms; 4 crossings of 262 kB: 1 ms\n"));
    assert_non_null(strstr(text, "\n+train: {model: [relu, relu, {dense: {units: 4}}]}\n"));
    assert_non_null(strstr(text, "--set 'train.model[2].device-'\n"));
    assert_null(strstr(text, "* host"));
}

/* The figures on the screen of `leat doctor`: times and percentages add up, the limit is
 * marked, and what explains them stands below. */

TEST(shares_are_divided_without_a_rest)
{
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
TEST(what_is_printed_adds_up)
{
    static const double steps[] = { 0.01234, 0.2718, 1.001, 9.996, 16.37, 99.96, 118.2, 3421 };
    static const double shares[][LEAT_N_SHARES] = {
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
TEST(the_limit_is_marked)
{
    static const struct {
        leat_verdict verdict;
        leat_part next;
        const char *loader, *step;
    } cases[] = {
        { { .kind = LEAT_VERDICT_INPUT_BOUND }, LEAT_PART_STEP, "the limit", "limits next" },
        { { .kind = LEAT_VERDICT_COMPUTE_BOUND }, LEAT_PART_LOADER, "limits next", "the limit" },
        { { .kind = LEAT_VERDICT_LAUNCH_BOUND }, LEAT_PART_LOADER, "limits next", "the limit" },
        { { .kind = LEAT_VERDICT_INPUT_BOUND, .also = LEAT_VERDICT_COMPUTE_BOUND },
          LEAT_PART_NONE,
          "the limit",
          "the limit" },
        { { .kind = LEAT_VERDICT_WARM_UP, .also = LEAT_VERDICT_COMPUTE_BOUND },
          LEAT_PART_STEP,
          "",
          "the limit" },
        { { .kind = LEAT_VERDICT_INPUT_BOUND, .cause = LEAT_CAUSE_NOT_OVERLAPPED },
          LEAT_PART_LOADER,
          "limits next",
          "" },
        { { .kind = LEAT_VERDICT_INCONCLUSIVE }, LEAT_PART_NONE, "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[2][128];
        set_step(10);
        set_shares((const double[LEAT_N_SHARES]){ 1 });
        r.verdict = cases[i].verdict;
        r.next_limit = cases[i].next;
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_LOADER, .step_ms = 9.5 };
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_STEP, .step_ms = 0.123 };
        const char *const text = screen_of("x.yaml", NULL);
        snprintf(line[0], 128, " 9.5 ms%s%s\n", *cases[i].loader ? "  <- " : "", cases[i].loader);
        snprintf(line[1], 128, " 0.12 ms%s%s\n", *cases[i].step ? "  <- " : "", cases[i].step);
        if (!strstr(text, line[0]) || !strstr(text, line[1]))
            fail_msg("%zu: %s", i, text);
    }
}

/* What the workers do is of the loader that the job has. */
TEST(the_workers_are_those_of_the_job)
{
    for (int alone = 0; alone < 2; alone++) {
        set_step(10);
        set_shares((const double[LEAT_N_SHARES]){ 1 });
        r.no_prefetch = alone;
        r.work[LEAT_WORK_COMPUTE] = 0.5;
        explain("workers", "of the workers' time: half");
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_LOADER, .step_ms = 4 };
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_FIRST_BATCH, .step_ms = 8 };
        const char *const text = screen_of("x.yaml", NULL), *const line = strstr(text, "half"),
                          *const first = strstr(text, " 8.0 ms");
        assert_true(line && strstr(text, " 4.0 ms") && (first != NULL) == alone);
        assert_true(!alone || first < line);
        json_t *const json = leat_doctor_report_json(&r, "x.yaml", NULL),
                      *const one = json_array_get(json_object_get(json, "loader_time"), 0);
        assert_true(json_number_value(json_object_get(one, "ms")) == (alone ? 4 : 2));
        json_decref(json);
    }
}

TEST(times_have_three_digits)
{
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

/* The rule of the prediction, why the host is late, and what recording costs. */
TEST(what_explains_is_printed)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 0.9, 0, 0, 0, 0, 0, 0.1, 0 });
    r.predicted_step_ms = 8;
    explain("rule", "predicted: the slowest of loader 8, step 2 ms");
    explain("host_late", "host is late: why");
    explain("spans", "recording spans costs 1 % of a step");
    const char *text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text,
                           "\n  predicted: the slowest of loader 8, step 2 ms; the parts explain "
                           "8.00 of 10.0\n  ms\n"));
    assert_non_null(strstr(text, "\n  * host is late: why\n"));
    assert_non_null(strstr(text, "\nrecording spans costs 1 % of a step\n"));
    r.n_evidence--;
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    text = screen_of("x.yaml", NULL);
    assert_null(strstr(text, "* "));
    assert_null(strstr(text, "recording"));
}

/* Where no part is the limit, none has the same one. */
TEST(nothing_is_the_same_as_no_limit)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.verdict.kind = LEAT_VERDICT_INCONCLUSIVE;
    r.capacities[r.n_capacities++] =
        (leat_doctor_capacity){ .part = LEAT_PART_SHARED, .step_ms = 9.5 };
    assert_null(strstr(screen_of("x.yaml", NULL), "limit"));
    r.verdict.kind = LEAT_VERDICT_INPUT_BOUND;
    r.next_limit = LEAT_PART_STEP;
    r.next_limit_step_ms = 2;
    assert_non_null(strstr(screen_of("x.yaml", NULL), "<- the reason"));
}
