/* SPDX-License-Identifier: MIT
 *
 * test_doctor_change.c: changes on the screen of `leat doctor`: what they gain, why they were not tried or
 * verified, and the line to write, which depends on the config. */

#include <sys/stat.h>
#include <unistd.h>

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

/* No bare gain where the runs or the prediction include none, or there were two runs; in full and in one line. */
TEST(a_gain_that_is_not_sure_is_a_range)
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
    r.suggestions[3].n_set = 0;
    strcpy(r.suggestions[3].lines, "- cache");
    strcpy(r.suggestions[3].where, "before `batch`");
    const char *text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text, "  1. Title: +25 % samples/s, tried in short runs\n"));
    assert_non_null(strstr(text, "  2. Title: -18 % to +56 % samples/s, tried in short runs that "
                                 "disagree\n"));
    assert_non_null(strstr(text, "  3. Title: 0.82 to 2.5 times the samples/s, only predicted"));
    assert_non_null(strstr(text, "  4. Title: -18 % to +56 %, tried in short runs that disagree: "
                                 "before `batch`,\n     write `- cache`\n"));
    assert_non_null(strstr(text, "  5. Title: +18 % to +56 %, tried in too few short runs"));
    assert_null(strstr(strstr(text, "  2. Title"), "ms per step"));
    strcpy(r.suggestions[3].lines, "- map: cast\n- cache");
    text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text, "disagree; what to write:\n     --json FILE\n"));
}

/* The rest of the result stands. */
TEST(a_change_that_could_not_be_verified_is_told)
{
    leat_config *config = parse("engine: {threads: 2}\n");
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
    const char *text = screen_of("x.yaml", config);
    assert_null(strstr(text, "not verified"));
    assert_non_null(strstr(text, "--verify measures the first"));
    strcpy(r.suggestions[0].not_verified, "its cache is not filled in 5 s");
    text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "tried in short runs"));
    assert_non_null(strstr(text, "\n     not verified: its cache is not filled in 5 s\n"));
    assert_null(strstr(text, "--verify measures the first"));
    leat_config_close(&config);
}

/* Only lines that take the place of others, and only if --set changed the list they come from. */
TEST(lines_of_set_are_told)
{
    leat_config *file = parse("pipeline: [{map: [decode_pnm]}, {batch: 2}]\n");
    leat_config *set = parse("pipeline: [{map: [decode_pnm, normalize]}, {batch: 2}]\n");
    for (int changed = 0; changed < 2; changed++) {
        set_step(10);
        set_shares((const double[LEAT_N_SHARES]){ 1 });
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

TEST(the_line_to_write_depends_on_the_config)
{
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
        { "pipeline.map[0]-", "pipeline: [{map: [{normalize: {mean: 0.5}}]}, {batch: 2}]",
          "in the list `pipeline`, leave out `map: [{normalize: {mean: 0.5}}]`" },
        { "pipeline.map[1].ops.cast-", "pipeline: [{map: [x]}, {map: {ops: [y, cast]}}]",
          "in the list `pipeline`, in `map` number 2, leave out `cast`" },
        { "source.tfrecord.features.mask-", "source: {tfrecord: {features: {mask: {}}}}",
          "under `source.tfrecord.features:`, leave out `mask`" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        leat_config *config = parse(cases[i].config);
        assert_string_equal(leat_setting_write(config, cases[i].set, text, sizeof text),
                            cases[i].write);
        leat_config_close(&config);
    }
}

TEST(a_change_that_does_not_help_is_not_written)
{
    leat_config *config = parse("engine: {threads: 2}");
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
    const char *text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "1. Title: +50 % samples/s, tried in short runs\n"));
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
TEST(a_change_of_the_batch_names_both)
{
    leat_config *config = parse("pipeline: [{batch: 8}]");
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
    const char *const text = screen_of("x.yaml", config);
    assert_non_null(strstr(text, "a step of 32 samples takes 10.0 ms, one of 8 takes 10.0 ms now"));
    assert_non_null(strstr(text, "change `batch: 8` to `batch: {size: 32}`"));
    leat_config_close(&config);
}

/* In a list in brackets a stage has no dash. */
TEST(lines_are_written_as_the_list_is)
{
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
        set_shares((const double[LEAT_N_SHARES]){ 1 });
        r.suggestions[r.n_suggestions++] =
            (leat_doctor_suggestion){ .title = "T",
                                      .why = "w",
                                      .gain = 2,
                                      .n_rounds = 3,
                                      .gain_low = 2,
                                      .gain_high = 2,
                                      .predicted_step_ms = 3,
                                      .where = "in P",
                                      .lines = "- map: {ops: [a]}\n- cache" };
        const char *const text = screen_of(path, NULL);
        unlink(path);
        if (!strstr(text, cases[i].lines))
            fail_msg("%s", text);
    }
}

/* Of a config that came through a pipe nobody knows how its list is written; its writer is gone. */
TEST(a_config_that_was_a_pipe_is_not_read_again)
{
    char path[] = "/tmp/leat-screen-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    const bool brackets = leat_doctor_brackets(path);
    alarm(0);
    unlink(path);
    assert_false(brackets);
}
