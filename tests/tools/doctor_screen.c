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

const char *screen_of(const char *path, const leat_config *config)
{
    static char text[16384];
    FILE *const to = fmemopen(text, sizeof text, "w");
    assert_non_null(to);
    leat_doctor_report_print(to, &r, path, config);
    assert_int_equal(fclose(to), 0);
    return text;
}

void expect_a_screen(const char *text)
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

leat_config *parse(const char *text)
{
    leat_config *config;
    leat_error err;
    if (leat_config_parse(text, "x.yaml", &config, &err) < 0)
        fail_msg("%s", err.message);
    return config;
}
