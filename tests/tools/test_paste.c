/* SPDX-License-Identifier: MIT
 *
 * test_paste.c: diffs that `leat doctor` shows, taken from the terminal, from JSON and from the page, are applied to the
 * config by `patch`, and give the pipeline that it tried. */
#include "doctor/doctor_report.h"
#include "doctor_screen.h"
#include "fixtures/page_fixture.h"

enum { TEXT = 8192 };

/* With comments, which stay. */
static const char in_lines[] = "# a job\n"
                               "seed: 1\n"
                               "pipeline:\n"
                               "  - cache        # of files\n"
                               "  - shuffle: {seed: 3}\n"
                               "  - map:\n"
                               "      - decode_pnm  # <b> & 'c'\n"
                               "      - resize: [8, 8]\n"
                               "      - random_crop: [4, 4]\n"
                               "  - batch: 2\n"
                               "engine:\n"
                               "  threads: 2\n";
static const char in_brackets[] =
    "seed: 1\n"
    "engine: {threads: 2}\n"
    "pipeline: [\n"
    "  cache, {shuffle: {seed: 3}}, {map: [decode_pnm, {resize: [8, 8]}, {random_crop: [4, 4]}]},\n"
    "  {batch: 2}]\n";

static const leat_doctor_suggestion changes[] = {
    { .n_set = 1, .set = { "pipeline[3]+=cache" } },
    { .n_set = 1, .set = { "pipeline+={prefetch: {batches: 2}}" } },
    { .n_set = 4,
      .set = { "pipeline[0]-", "pipeline.map[0]=[decode_pnm, {resize: [8, 8]}]",
               "pipeline[2]+={cache: {bytes: 1MB, file: \"./a <b> & 'c'\"}}",
               "pipeline[3]+={map: [{random_crop: [4, 4]}]}" } },
    { .n_set = 2, .set = { "engine.threads=8", "pipeline.batch.drop_remainder=true" } },
    { .n_set = 1, .set = { "pipeline.batch.size=32" } },
    { .n_set = 1, .set = { "pipeline.map.resize-" } },
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

/* --- where a diff is taken from ---------------------------------------------------------------- */

static void from_terminal(const char *path, const char *config, const char *set, char text[TEXT])
{
    const char *const screen = screen_with_set(path, config, set), *const at =
                                                                       strstr(screen, "\n--- ");
    if (!at)
        fail_msg("no diff in\n%s", screen);
    snprintf(text, TEXT, "%.*s", (int)diff_length(at + 1), at + 1);
}

static void from_json(const json_t *result, char text[TEXT])
{
    const json_t *const list = json_object_get(result, "suggestions");
    snprintf(text, TEXT, "%s", json_string_value(json_object_get(json_array_get(list, 0), "diff")));
}

/* What a browser copies from the block. */
static void from_page(const char *json, char text[TEXT])
{
    static const struct {
        const char *name;
        char sign;
    } signs[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&#39;", '\'' }
    };
    static const char before[] = "<pre><code>--- ";
    char *const html = page_of_json(json);
    const char *at = strstr(html, before);
    size_t n = 0;
    assert_non_null(at);
    for (at += strlen(before) - 4; strncmp(at, "</code>", 7) != 0 && n < TEXT - 1; n++) {
        text[n] = *at;
        size_t length = 1;
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
            if (!strncmp(at, signs[i].name, strlen(signs[i].name))) {
                text[n] = signs[i].sign;
                length = strlen(signs[i].name);
            }
        at += length;
    }
    text[n] = 0;
    leat_page_close(&page);
    free(html);
}

/* --- the test ---------------------------------------------------------------------------------- */

/* Applies a diff to a file of the test's folder. */
static void apply(const char *from, const char *diff, const char *text, char after[TEXT])
{
    char command[128];
    put_text("x.yaml", text);
    put_text("x.diff", diff);
    snprintf(command, sizeof command, "cd %s && patch -s x.yaml <x.diff", test_folder);
    if (system(command) != 0)
        fail_msg("%s: patch refuses\n%s", from, diff);
    FILE *const file = fopen(in_folder("x.yaml"), "r");
    assert_non_null(file);
    after[fread(after, 1, TEXT - 1, file)] = 0;
    fclose(file);
}

static void config_text(const leat_config *config, char text[TEXT])
{
    size_t n;
    leat_error err;
    if (leat_config_text(config, text, TEXT, &n, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(n < TEXT);
}

static void paste_one(const char *text, const char *set, const leat_doctor_suggestion *change)
{
    static const char *const from[] = { "terminal", "JSON", "page" };
    char diffs[3][TEXT], want[TEXT], got[TEXT], after[TEXT];
    leat_doctor_diff made[LEAT_DOCTOR_MAX_SUGGESTIONS];
    leat_error err;
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    leat_doctor_suggestion *const s = &r.suggestions[r.n_suggestions++];
    *s = *change;
    strcpy(s->title, "T");
    s->gain = s->gain_low = s->gain_high = 2;
    s->n_rounds = 3;
    s->predicted_step_ms = 3;
    from_terminal("x.yaml", text, set, diffs[0]);
    make_diffs("x.yaml", text, set, made);
    json_t *const json = leat_doctor_report_json(&r, "x.yaml", made);
    char *const dumped = json_dumps(json, 0);
    from_json(json, diffs[1]);
    from_page(dumped, diffs[2]);
    leat_config *config = parse(text);
    if ((set && leat_config_set(config, set, &err) < 0) || leat_doctor_apply(s, config, &err) < 0)
        fail_msg("%s", err.message);
    config_text(config, want);
    leat_config_close(&config);
    for (int i = 0; i < 3; i++) {
        apply(from[i], diffs[i], text, after);
        config = parse(after);
        config_text(config, got);
        leat_config_close(&config);
        if (strcmp(got, want) != 0)
            fail_msg("%s: %s\nnot %s, by\n%s", from[i], got, want, diffs[i]);
        if (strstr(text, "# a job") && !strstr(after, "# a job"))
            fail_msg("%s: a comment is lost in\n%s", from[i], after);
    }
    free_diffs(made);
    free(dumped);
    json_decref(json);
}

TEST(pasted_diffs_give_what_was_tried)
{
    static const char *const sets[] = { NULL, "pipeline.shuffle.seed=9" };
    if (system("patch --version >/dev/null 2>&1") != 0) {
        print_message("this machine has no `patch`\n");
        skip();
    }
    for (int i = 0; i < N_CHANGES; i++)
        for (int set = 0; set < 2; set++) {
            paste_one(in_lines, sets[set], &changes[i]);
            paste_one(in_brackets, sets[set], &changes[i]);
        }
}

SUITE_FIXTURE(make_folder, remove_folder)
