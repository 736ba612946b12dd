/* SPDX-License-Identifier: MIT
 *
 * test_doctor_change.c: changes on the screen of `leat doctor`: what they gain, why they were not tried or
 * verified, and the diff of the config. */

#include <stdlib.h>

#include "doctor/doctor_report.h"
#include "doctor_screen.h"
#include "fixtures/unit.h"

TEST(a_change_says_why_it_was_not_tried)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "Title",
                                   .why = "why",
                                   .gain = 0.5,
                                   .n_rounds = 3,
                                   .gain_low = 0.5,
                                   .gain_high = 0.5 };
    s->predicted_step_ms = 6.67;
    strcpy(s->not_tried, "it needs other files");
    assert_non_null(strstr(screen_of("x.yaml", NULL),
                           "  1. Title: +50 % samples/s, only predicted, not tried: it needs other "
                           "files\n"));
}

/* Also where a change has one line. */
TEST(a_change_says_what_else_it_changes)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    for (r.n_suggestions = 0; r.n_suggestions < 4; r.n_suggestions++) {
        leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions];
        *s = (leat_doctor_suggestion){ .title = "Title",
                                       .n_set = 1,
                                       .gain = 0.5,
                                       .n_rounds = 3,
                                       .gain_low = 0.5,
                                       .gain_high = 0.5 };
        snprintf(s->set[0], sizeof s->set[0], "engine.threads=%d", r.n_suggestions);
        strcpy(s->differs, r.n_suggestions % 3 ? "" : "the order is less random");
    }
    const char *const text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text, "  1. Title (the order is less random): +50 % samples/s, tried"));
    assert_non_null(strstr(text, "  2. Title: +50 % samples/s, tried"));
    assert_non_null(strstr(text, "  4. Title (the order is less random): +50 %, tried"));
}

/* No bare gain where the runs or the prediction include none; in full and in one line. Else the range stands behind it. */
TEST(a_gain_that_may_be_none_is_a_range)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    for (r.n_suggestions = 0; r.n_suggestions < 5; r.n_suggestions++) {
        leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions];
        *s = (leat_doctor_suggestion){ .title = "Title",
                                       .n_set = 2,
                                       .gain = 0.25,
                                       .n_rounds = r.n_suggestions < 4 ? 3 : 2,
                                       .gain_low = r.n_suggestions % 4 ? -0.18 : 0.18,
                                       .gain_high = r.n_suggestions == 2 ? 1.5 : 0.56,
                                       .predicted_step_ms = 8 };
        strcpy(s->not_tried, r.n_suggestions == 2 ? "it needs other files" : "");
    }
    r.suggestions[3].n_set = 1;
    strcpy(r.suggestions[3].set[0], "pipeline[2]+=cache");
    const char *text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text, "  1. Title: +25 % samples/s, tried in short runs\n"));
    assert_non_null(strstr(text, "+18 % to +56 % in single"));
    assert_non_null(strstr(text, "  2. Title: -18 % to +56 % samples/s, tried in short runs that "
                                 "disagree\n"));
    assert_non_null(strstr(text, "  3. Title: 0.82 to 2.5 times the samples/s, only predicted"));
    assert_non_null(strstr(text, "  4. Title: -18 % to +56 %, tried in short runs that disagree:\n"
                                 "     pipeline[2]+=cache\n"));
    assert_non_null(strstr(text, "  5. Title: +25 %, tried in too few short runs"));
    assert_null(strstr(strstr(text, "  2. Title"), "ms per step"));
    r.suggestions[3].n_set = 2;
    text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text, "disagree; the edit is in\n     --json FILE\n"));
}

/* The rest of the result stands. */
TEST(a_change_that_could_not_be_verified_is_told)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.n_suggestions = 1;
    r.suggestions[0] = (leat_doctor_suggestion){ .title = "Let all cores make batches",
                                                 .n_set = 1,
                                                 .set = { "engine.threads=4" },
                                                 .gain = 0.5,
                                                 .n_rounds = 3,
                                                 .gain_low = 0.5,
                                                 .gain_high = 0.5,
                                                 .predicted_step_ms = 5 };
    const char *text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_null(strstr(text, "not verified"));
    assert_non_null(strstr(text, "--verify measures the first"));
    strcpy(r.suggestions[0].not_verified, "its cache is not filled in 5 s");
    text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "tried in short runs"));
    assert_non_null(strstr(text, "\n     not verified: its cache is not filled in 5 s\n"));
    assert_null(strstr(text, "--verify measures the first"));
}

/* --fail-if judges what was measured. */
TEST(a_gain_is_the_measured_one)
{
    leat_doctor_suggestion s = { .gain = 0.15 };
    assert_true(leat_doctor_gain(&s) == 0.15);
    s.is_verified = 1;
    s.verified_gain = 0.01;
    assert_true(leat_doctor_gain(&s) == 0.01);
}

/* One change of this text: "path=value", or "" for none. */
static const char *screen_of_change(const char *change, const char *text, const char *set)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.suggestions[r.n_suggestions++] = (leat_doctor_suggestion){ .title = "T",
                                                                 .why = "w",
                                                                 .n_set = 1,
                                                                 .gain = 2,
                                                                 .n_rounds = 3,
                                                                 .gain_low = 2,
                                                                 .gain_high = 2,
                                                                 .predicted_step_ms = 3 };
    strcpy(r.suggestions[0].set[0], change);
    return screen_with_set("x.yaml", text, set);
}

/* In lines and in brackets, with values that stand alone, and with those of the command line. */
TEST(a_change_is_a_diff_of_the_file)
{
    static const char head[] = "--- x.yaml\n+++ x.yaml\n";
    static const struct {
        const char *set, *config, *diff, *with; /* with: a value of the command line */
    } cases[] = {
        { "engine.threads=8", "engine: {threads: 2} # few\n",
          "@@ -1,1 +1,1 @@\n-engine: {threads: 2} # few\n+engine: {threads: 8} # few\n", NULL },
        { "engine.threads=8", "seed: 1\n", "@@ -1,1 +1,2 @@\n seed: 1\n+engine: {threads: 8}\n",
          NULL },
        { "pipeline.prefetch.batches=8", "pipeline:\n- prefetch: 2\n",
          "@@ -1,2 +1,2 @@\n pipeline:\n-- prefetch: 2\n+- prefetch: {batches: 8}\n", NULL },
        { "pipeline.prefetch.pinned=true", "pipeline:\n- prefetch: 2\n",
          "@@ -1,2 +1,2 @@\n pipeline:\n-- prefetch: 2\n+- prefetch: {batches: 2, pinned: true}\n",
          NULL },
        { "pipeline.prefetch.batches=8", "pipeline:\n- prefetch\n",
          "@@ -1,2 +1,2 @@\n pipeline:\n-- prefetch\n+- prefetch: {batches: 8}\n", NULL },
        { "pipeline[1]+=cache", "pipeline: [shuffle, {batch: 2}]\n",
          "@@ -1,1 +1,1 @@\n-pipeline: [shuffle, {batch: 2}]\n+pipeline: [shuffle, cache, {batch: "
          "2}]\n",
          NULL },
        { "engine.threads=8", "engine: {threads: 2}\nseed: 1\n",
          "@@ -1,2 +1,2 @@\n-engine: {threads: 2}\n-seed: 1\n+engine: {threads: 8}\n+seed: 2\n",
          "seed=2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char diff[512];
        snprintf(diff, sizeof diff, "%s%s", head, cases[i].diff);
        const char *const text = screen_of_change(cases[i].set, cases[i].config, cases[i].with),
                          *const at = strstr(text, head);
        if (!at || diff_length(at) != strlen(diff) || strncmp(at, diff, strlen(diff)) != 0)
            fail_msg("%s", text);
        assert_int_equal(strstr(text, "with the other values of the command line, as") != NULL,
                         cases[i].with != NULL);
    }
}

/* Where there is no diff of the file, a sentence says so. */
TEST(other_diffs_are_told)
{
    static const char commented[] = "pipeline: [shuffle, # each epoch\n  {batch: 2}]\n";
    static const char line[] =
        "     of the config as leat writes it: no edit is known that keeps its layout\n";
    const char *text = screen_of_change("pipeline[1]+=cache", commented, NULL);
    assert_non_null(strstr(text, line));
    assert_non_null(
        strstr(text, "\n-pipeline: [shuffle, {batch: 2}]\n+pipeline: [shuffle, cache, {"));
    text = screen_of_change("engine.threads=8", "engine: {threads: 8}\n", "engine.threads=2");
    assert_non_null(strstr(text, "     x.yaml has this already: leave out what overrides it\n"));
    assert_null(strstr(text, "--- x.yaml"));
    text = screen_of_change("source.images.label=true", "source: {images: data}\n", NULL);
    assert_non_null(strstr(text, "     no diff: x.yaml:1: 'images' has a value without a name"));
}

/* Pasted behind a command, as many values as there are reach it whole. */
TEST(what_to_try_is_one_command)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "T",
                                   .gain = 2,
                                   .n_rounds = 3,
                                   .gain_low = 2,
                                   .gain_high = 2,
                                   .predicted_step_ms = 3,
                                   .n_set = 3 };
    strcpy(s->set[0], "pipeline[0]-");
    strcpy(s->set[1], "engine.threads=8");
    strcpy(s->set[2], "pipeline[2]+=");
    while (strlen(s->set[2]) < 300)
        strcat(s->set[2], "{it's  wide} ");
    const char *const text = screen_of("x.yaml", NULL),
                      *const head = "\n  to try change 1 first, add to your command:\n";
    const char *const at = strstr(text, head);
    assert_non_null(at);
    expect_a_screen(text);
    char command[2048], got[2048], want[2048];
    snprintf(command, sizeof command, "printf '%%s\\n' %s", at + strlen(head));
    char *end = strchr(command + 14, '\n');
    while (end && end[-1] == '\\')
        end = strchr(end + 1, '\n');
    assert_non_null(end);
    *end = 0;
    FILE *const shell = popen(command, "r");
    assert_non_null(shell);
    got[fread(got, 1, sizeof got - 1, shell)] = 0;
    assert_int_equal(pclose(shell), 0);
    snprintf(want, sizeof want, "--set\n%s\n--set\n%s\n--set\n%s\n", s->set[0], s->set[1],
             s->set[2]);
    assert_string_equal(got, want);
}

/* As a shell reads it. */
TEST(values_are_quoted_for_a_shell)
{
    static const char *const cases[][2] = {
        { "engine.threads=8", " --set engine.threads=8" },
        { "pipeline[1]+=cache", " --set 'pipeline[1]+=cache'" },
        { "a=it's $HOME", " --set 'a=it'\\''s $HOME'" },
        { "a='", " --set 'a='\\'''" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64] = "";
        leat_doctor_change_shell(cases[i][0], text, sizeof text);
        assert_string_equal(text, cases[i][1]);
    }
}

/* Nothing can be read a second time from a pipe. */
TEST(a_config_that_was_a_pipe_has_a_diff)
{
    leat_doctor_diff diff;
    leat_config *config = parse("engine: {threads: 2}\n");
    const leat_doctor_suggestion change = { .n_set = 1, .set = { "engine.threads=8" } };
    leat_doctor_diff_make(&(leat_doctor_job){ "a", NULL, config, config }, &change, &diff);
    assert_string_equal(diff.note, "of the config as leat writes it: it came through a pipe");
    assert_string_equal(diff.text, "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-engine: {threads: 2}\n+engine: "
                                   "{threads: 8}\n");
    free(diff.text);
    leat_config_close(&config);
}

TEST(a_change_that_does_not_help_is_not_written)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "Title",
                                   .why = "why",
                                   .n_set = 1,
                                   .gain = 0.5,
                                   .n_rounds = 3,
                                   .gain_low = 0.5,
                                   .gain_high = 0.5 };
    strcpy(s->set[0], "engine.threads=8");
    s->predicted_step_ms = 6.67;
    const char *text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "1. Title: +50 % samples/s, tried in short runs\n"));
    assert_non_null(strstr(text, "10.0 -> 6.67 ms per step, 800 -> 1,200 samples/s\n"));
    assert_non_null(strstr(text, "\n-engine: {threads: 2}\n+engine: {threads: 8}\n"));
    assert_non_null(strstr(text, "add to your command: --set engine.threads=8"));
    s->is_verified = 1;
    s->verified_gain = -0.2;
    s->before_step_ms = 20; /* the machine has become slower: only the ratio counts */
    s->verified_step_ms = 25;
    text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "1. Title: -20 % samples/s, measured\n"));
    assert_non_null(strstr(text, "10.0 -> 12.5 ms per step, 800 -> 640 samples/s"));
    assert_non_null(strstr(text, "it does not help: change nothing"));
    s->verified_gain = 0.02;
    s->verified_step_ms = 19.6;
    assert_non_null(strstr(screen_of("x.yaml", "engine: {threads: 2}\n"),
                           "it gains less than 3 %: change nothing"));
    s->verified_gain = 0.05;
    r.simulated = 1;
    text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "1. Title: +5 % samples/s, measured (simulated device)\n"));
    assert_non_null(strstr(text, "threads: 8"));
    r.simulated = 0;
    s->verified_gain = -0.2;
    s->verified_step_ms = 25;
    text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "side by side the job as it is took 20.0 ms"));
    assert_null(strstr(text, "while this was measured"));
    r.cores = 2;
    s->cores_taken = 0.7;
    text = screen_of("x.yaml", "engine: {threads: 2}\n");
    assert_non_null(strstr(text, "other processes used 0.7 of 2 CPUs while this was measured"));
    assert_null(strstr(text, "threads: 8"));
    assert_null(strstr(text, "--set"));
}

/* A step of a larger batch is another step. */
TEST(a_change_of_the_batch_names_both)
{
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    leat_doctor_suggestion *s = &r.suggestions[r.n_suggestions++];
    *s = (leat_doctor_suggestion){ .title = "T",
                                   .why = "w",
                                   .n_set = 1,
                                   .gain = 3,
                                   .n_rounds = 3,
                                   .gain_low = 3,
                                   .gain_high = 3 };
    s->predicted_step_ms = 10;
    strcpy(s->set[0], "pipeline.batch.size=32");
    const char *const text = screen_of("x.yaml", "pipeline: [{batch: 8}]\n");
    assert_non_null(strstr(text, "a step of 32 samples takes 10.0 ms, one of 8 takes 10.0 ms now"));
    assert_non_null(strstr(text, "\n-pipeline: [{batch: 8}]\n+pipeline: [{batch: {size: 32}}]\n"));
}
