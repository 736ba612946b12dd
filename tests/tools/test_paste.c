/* SPDX-License-Identifier: MIT
 *
 * test_paste.c: lines that `leat doctor` suggests, taken from the terminal, from JSON and from the page and pasted into
 * the config, give the pipeline that it tried. */
#include "doctor/doctor_report.h"
#include "doctor_screen.h"
#include "fixtures/page_fixture.h"
#include "study/suggest/stage_lines.h"

enum { TEXT = 4096 };

static const char *const stages[] = {
    "cache",
    "shuffle: {seed: 3}",
    "map: [decode_pnm, {resize: [8, 8]}, {random_crop: [4, 4]}]",
    "batch: 2",
};
enum { N_STAGES = sizeof stages / sizeof *stages };

static const struct {
    int32_t stage, replaces;
    const char *lines;
} changes[] = {
    { 2, 0, "- cache" },
    { 4, 0, "- prefetch: {batches: 2}" },
    { 0, 3,
      "- shuffle: {seed: 3}\n- map: [decode_pnm, {resize: [8, 8]}]\n- cache: {bytes: 1MB, file: "
      "\"./a <b> & 'c'\"}\n- map: [{random_crop: [4, 4]}]" },
    { 2, 1,
      "- map: {tensor: image, ops: [decode_pnm, {resize: {size: [8, 8], filter: bilinear}}, "
      "{random_crop: {size: [4, 4], pad: 1}}, {normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, "
      "0.25, "
      "0.25]}}]}\n- cache" },
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

/* A config with one line for each stage, and `pasted` in place of some of them. */
static void write_config(bool brackets, const char *pasted, int32_t stage, int32_t replaces,
                         char text[TEXT])
{
    size_t n = (size_t)snprintf(text, TEXT, "seed: 1\npipeline:%s\n", brackets ? " [" : "");
    for (int32_t i = 0; i <= N_STAGES; i++) {
        const bool map = i < N_STAGES && strchr(stages[i], ':');
        for (const char *at = pasted; i == stage && *at; at += strcspn(at, "\n"), at += *at != 0)
            n += (size_t)snprintf(text + n, TEXT - n, "  %.*s\n", (int)strcspn(at, "\n"), at);
        if (i == N_STAGES || (i >= stage && i < stage + replaces))
            continue;
        n += (size_t)snprintf(text + n, TEXT - n,
                              !brackets ? "  - %s\n"
                              : map     ? "  {%s},\n"
                                        : "  %s,\n",
                              stages[i]);
    }
    snprintf(text + n, TEXT - n, brackets ? "]\n" : "");
}

/* --- where lines are taken from ---------------------------------------------------------------- */

static void from_terminal(const char *path, const leat_config *config, char text[TEXT])
{
    static const char before[] = ", write\n";
    const char *at = strstr(screen_of(path, config), before);
    size_t n = 0;
    assert_non_null(at);
    for (at += strlen(before); !strncmp(at, "       ", 7); at += strcspn(at, "\n") + 1)
        n += (size_t)snprintf(text + n, TEXT - n, "%.*s\n", (int)strcspn(at, "\n") - 7, at + 7);
}

static void from_json(const json_t *result, char text[TEXT])
{
    const json_t *const lines =
        json_object_get(json_array_get(json_object_get(result, "suggestions"), 0), "lines");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(lines); i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s\n",
                              json_string_value(json_array_get(lines, i)));
}

/* What a browser copies from the block after ", write". */
static void from_page(const char *json, char text[TEXT])
{
    static const struct {
        const char *name;
        char sign;
    } signs[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&#39;", '\'' }
    };
    static const char before[] = ", write</p><pre><code>";
    char *const html = page_of_json(json);
    const char *at = strstr(html, before);
    size_t n = 0;
    assert_non_null(at);
    for (at += strlen(before); strncmp(at, "</code>", 7) != 0 && n < TEXT - 1; n++) {
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

static void expect_pipeline(const char *from, const char *text, const char *want)
{
    char got[TEXT];
    leat_config *config = NULL;
    leat_error err;
    if (leat_config_parse(text, "x.yaml", &config, &err) < 0)
        fail_msg("%s: %s, in\n%s", from, err.message, text);
    assert_int_equal(leat_config_get(config, "pipeline", got, sizeof got, NULL), LEAT_OK);
    if (strcmp(got, want) != 0)
        fail_msg("%s: %s\nnot %s, by\n%s", from, got, want, text);
    leat_config_close(&config);
}

static void paste_one(bool brackets, const leat_doctor_suggestion *change)
{
    char text[TEXT], want[TEXT], lines[3][TEXT], path[] = "/tmp/leat-paste-XXXXXX";
    static const char *const from[] = { "terminal", "JSON", "page" };
    leat_error err;
    write_config(brackets, "", -1, 0, text);
    leat_config *config = parse(text);
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) > 0);
    close(fd);
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.suggestions[r.n_suggestions++] = *change;
    from_terminal(path, config, lines[0]);
    json_t *const json = leat_doctor_report_json(&r, path, config);
    char *const dumped = json_dumps(json, 0);
    unlink(path);
    from_json(json, lines[1]);
    from_page(dumped, lines[2]);
    assert_int_equal(leat_stage_lines_insert(config, change, &err), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline", want, sizeof want, NULL), LEAT_OK);
    for (int i = 0; i < 3; i++) {
        write_config(brackets, lines[i], change->stage, change->replaces, text);
        expect_pipeline(from[i], text, want);
    }
    free(dumped);
    json_decref(json);
    leat_config_close(&config);
}

TEST(pasted_lines_give_what_was_tried)
{
    for (int i = 0; i < N_CHANGES; i++)
        for (int brackets = 0; brackets < 2; brackets++) {
            leat_doctor_suggestion change = { .title = "T",
                                              .why = "w",
                                              .gain = 2,
                                              .n_rounds = 3,
                                              .gain_low = 2,
                                              .gain_high = 2,
                                              .predicted_step_ms = 3,
                                              .where = "in P",
                                              .stage = changes[i].stage,
                                              .replaces = changes[i].replaces };
            strcpy(change.lines, changes[i].lines);
            paste_one(brackets, &change);
        }
}

SUITE_FIXTURE(make_folder, remove_folder)
