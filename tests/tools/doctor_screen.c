/* SPDX-License-Identifier: MIT
 *
 * doctor_screen.c: doctor_screen.h. */
#include "doctor_screen.h"
#include "fixtures/unit.h"

leat_doctor_result r;

void set_step(double ms)
{
    memset(&r, 0, sizeof r);
    r.measured_step_ms = r.predicted_step_ms = ms;
    r.batch = 8;
    r.rounds = 6;
    r.cores = 2;
    r.probe = -1;
    r.samples_per_s = (leat_estimate){ 8e3 / ms, 7e3 / ms, 9e3 / ms };
    strcpy(r.device, "cpu");
    r.verdict.kind = LEAT_VERDICT_INPUT_BOUND;
}

void set_shares(const double *shares)
{
    memcpy(r.shares, shares, sizeof r.shares);
}

void explain(const char *name, const char *text)
{
    leat_doctor_evidence *const e = &r.evidence[r.n_evidence++];
    strcpy(e->name, name);
    strcpy(e->text, text);
}

void make_diffs(const char *path, const char *text, const char *set,
                leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS])
{
    leat_error err = { 0 };
    leat_config *file = text ? parse(text) : NULL, *config = text ? parse(text) : NULL;
    const leat_doctor_job job = { path, text, file, config };
    if (set && (leat_stage_name_value(config, set, &err) < 0 || leat_config_set(config, set, &err)))
        fail_msg("%s", err.message);
    memset(diffs, 0, LEAT_DOCTOR_MAX_SUGGESTIONS * sizeof *diffs);
    for (int32_t i = 0; i < r.n_suggestions && text; i++)
        leat_doctor_diff_make(&job, &r.suggestions[i], &diffs[i]);
    leat_config_close(&file);
    leat_config_close(&config);
}

void free_diffs(leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS])
{
    for (int i = 0; i < LEAT_DOCTOR_MAX_SUGGESTIONS; i++)
        free(diffs[i].text);
}

const char *screen_with_set(const char *path, const char *text, const char *set)
{
    static char screen[65536];
    leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS];
    make_diffs(path, text, set, diffs);
    FILE *const to = fmemopen(screen, sizeof screen, "w");
    assert_non_null(to);
    leat_doctor_report_print(to, &r, path, diffs);
    assert_int_equal(fclose(to), 0);
    free_diffs(diffs);
    return screen;
}

const char *screen_of(const char *path, const char *text)
{
    return screen_with_set(path, text, NULL);
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return at + (*at != 0);
}

size_t diff_length(const char *text)
{
    const char *at = text;
    int old, new;
    if (strncmp(at, "--- ", 4) != 0)
        return 0;
    at = next_line(next_line(at));
    while (sscanf(at, "@@ -%*d,%d +%*d,%d @@", &old, &new) == 2)
        for (at = next_line(at); old > 0 || new > 0 || *at == '\\'; at = next_line(at)) {
            assert_true(*at && strchr("-+ \\", *at));
            old -= *at == ' ' || *at == '-';
            new -= *at == ' ' || *at == '+';
        }
    return (size_t)(at - text);
}

void expect_a_screen(const char *text)
{
    int lines = 0;
    for (const char *at = text; *at; lines++) {
        at += diff_length(at);
        const size_t n = strcspn(at, "\n");
        if (!strncmp(at, "    --set '", 11)) /* for a shell: a terminal breaks it */
            lines += (int)(n - 1) / 80;
        else if (n > 80)
            fail_msg("%zu columns: %.*s", n, (int)n, at);
        at += n + (at[n] != 0);
    }
    if (lines > 40)
        fail_msg("%d lines:\n%s", lines, text);
}

leat_config *parse(const char *text)
{
    leat_config *config;
    leat_error err;
    if (leat_config_parse(text, "x.yaml", &config, &err) < 0)
        fail_msg("%s", err.message);
    return config;
}
