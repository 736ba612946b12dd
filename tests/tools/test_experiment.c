/* SPDX-License-Identifier: MIT
 *
 * test_experiment.c: the table of experiments: every row has its config, its page and claims about arms that it
 * runs; and the arithmetic of claims. */
#include <math.h>
#include <unistd.h>

#include "experiment/experiment_rows.h"
#include "fixtures/unit.h"
#include "study/vary.h"

enum { MAX_ARMS = 200 };
static const char *const kinds[] = { "cpu", "sim:h200", "cuda:0" };

/* --- the table ---------------------------------------------------------------------------------------- */

static void assert_file(const char *format, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, format, SOURCE_DIR, name);
    if (access(path, R_OK) < 0)
        fail_msg("%s is missing", path);
}

TEST(every_row_has_config_and_page)
{
    size_t n = 0;
    for (; leat_experiment_at(n); n++) {
        const leat_experiment *e = leat_experiment_at(n);
        assert_ptr_equal(leat_experiment_find(e->name), e);
        assert_non_null(e->title);
        assert_non_null(e->expect);
        assert_true(e->run || e->parts[0].config);
        assert_file("%s/docs/why-is-my-gpu-slower/%s.md", e->name);
        for (const leat_experiment_part *p = e->parts; p->config; p++) {
            assert_file("%s/examples/gpu-vs-cpu/%s.yaml", p->config);
            assert_non_null(leat_experiment_config_text(p->config));
        }
    }
    assert_int_equal(n, 17);
    assert_null(leat_experiment_find("none"));
    assert_null(leat_experiment_config_text("none"));
}

/* --- names of arms -------------------------------------------------------------------------------------- */

struct arms {
    char names[MAX_ARMS][256];
    size_t n;
};

/* As experiment_run.c and leat_compare() name them. */
static void add_arms_of(struct arms *arms, const leat_experiment_part *part, const char *device,
                        const char *sim, bool quick)
{
    const char *const *written = quick && part->quick_vary[0] ? part->quick_vary : part->vary;
    leat_vary varies[3];
    size_t n = 0, count;
    leat_error err;
    for (; n < 3 && written[n]; n++)
        assert_int_equal(leat_vary_parse(written[n], &varies[n], &err), LEAT_OK);
    assert_int_equal(leat_vary_count(varies, n, LEAT_COMPARE_MAX_ARMS, &count, &err), LEAT_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(arms->n < MAX_ARMS);
        char *name = arms->names[arms->n++];
        int at = snprintf(name, 256, "%s%s%s%s", part->label, *part->label ? ": " : "", device,
                          sim ? sim : "");
        for (size_t v = 0; v < n; v++) {
            const leat_vary_slice value = leat_vary_value(varies, n, i, v);
            at += snprintf(name + at, 256 - (size_t)at, ", %.*s=%.*s", (int)varies[v].path.length,
                           varies[v].path.text, (int)value.length, value.text);
        }
    }
}

static void add_arms(struct arms *arms, const leat_experiment_part *part, const char *device,
                     bool quick)
{
    if (part->plain)
        add_arms_of(arms, part, device, NULL, quick);
    add_arms_of(arms, part, device, part->sim, quick);
}

static bool has_arm(const struct arms *arms, const char *name, const char *device)
{
    char wanted[256];
    const char *at = strchr(name, '@');
    snprintf(wanted, sizeof wanted, "%.*s%s%s", at ? (int)(at - name) : (int)strlen(name), name,
             at ? device : "", at ? at + 1 : "");
    for (size_t i = 0; i < arms->n; i++)
        if (!strcmp(arms->names[i], wanted))
            return true;
    return false;
}

/* Each claim finds its arms on at least one kind of device, in both sizes of the experiment. */
TEST(every_claim_is_about_arms_that_run)
{
    static struct arms arms;
    for (size_t i = 0; leat_experiment_at(i); i++)
        for (int quick = 0; quick < 2; quick++) {
            const leat_experiment *e = leat_experiment_at(i);
            arms.n = 0;
            for (const leat_experiment_part *p = e->parts; p->config; p++)
                for (size_t k = 0; k < 3; k++)
                    if (p->on & 1 << k)
                        add_arms(&arms, p, kinds[k], quick);
            for (const leat_experiment_claim *c = e->claims; c->text; c++) {
                bool found = false;
                for (size_t k = 0; k < 3; k++)
                    found |=
                        has_arm(&arms, c->a, kinds[k]) && (!c->b || has_arm(&arms, c->b, kinds[k]));
                if (!found)
                    fail_msg("%s: no arms for '%s' (%s / %s)", e->name, c->text, c->a, c->b);
                assert_true(c->low > 0 || c->high > 0);
            }
        }
}

/* --- claims ---------------------------------------------------------------------------------------------- */

TEST(an_interval_supports_contradicts_or_leaves_open)
{
    assert_int_equal(leat_experiment_holds(1.2, 1.4, 1.1, 0), 1);
    assert_int_equal(leat_experiment_holds(1.0, 1.4, 1.1, 0), -1);
    assert_int_equal(leat_experiment_holds(0.9, 1.05, 1.1, 0), 0);
    assert_int_equal(leat_experiment_holds(0.95, 1.02, 0.9, 1.1), 1);
    assert_int_equal(leat_experiment_holds(0.95, 1.2, 0.9, 1.1), -1);
    assert_int_equal(leat_experiment_holds(1.15, 1.2, 0.9, 1.1), 0);
    assert_int_equal(leat_experiment_holds(0.5, 2, 0.9, 1.1), -1);
    assert_int_equal(leat_experiment_holds(NAN, 2, 0.9, 0), -1);
    assert_int_equal(leat_experiment_holds(1.2, INFINITY, 0.9, 0), -1);
}

/* A figure without noise leaves the other's interval; equal noise widens it by the square root of two. */
TEST(ratios_have_intervals)
{
    const leat_estimate sure = { 2, 2, 2 }, noisy = { 8, 4, 16 };
    const leat_estimate one = leat_experiment_ratio(noisy, sure),
                        two = leat_experiment_ratio(noisy, noisy);
    assert_true(fabs(one.value - 4) < 1e-12 && fabs(one.low - 2) < 1e-12 &&
                fabs(one.high - 8) < 1e-12);
    assert_true(fabs(two.value - 1) < 1e-12);
    assert_true(fabs(two.low - pow(2, -sqrt(2))) < 1e-12 &&
                fabs(two.high - pow(2, sqrt(2))) < 1e-12);
    const leat_estimate back = leat_experiment_ratio(sure, noisy);
    assert_true(fabs(back.low * one.high - 1) < 1e-12 && fabs(back.high * one.low - 1) < 1e-12);
    const bool known = isfinite(leat_experiment_ratio((leat_estimate){ 0, 0, 0 }, sure).low);
    assert_true(!known);
}

static leat_compare_arm planted_arm(const char *name, double rate, double idle, bool simulated)
{
    leat_compare_arm arm = { .idle = { idle, idle - 0.01, idle + 0.01 },
                             .samples_per_s = { rate, rate * 0.98, rate * 1.02 },
                             .simulated = simulated };
    snprintf(arm.name, sizeof arm.name, "%s", name);
    arm.meter.samples_per_s = rate;
    return arm;
}

/* Only arms decide: with the figures turned round every finding turns round, too. */
TEST(findings_follow_the_arms)
{
    static const leat_experiment experiment = {
        .name = "planted",
        .claims = { { "CPU faster", LEAT_CLAIM_RATE, "cpu, a=1", "@, a=1", 1.05, 0 },
                    { "idle", LEAT_CLAIM_IDLE, "@, a=1", NULL, 0.5, 1 },
                    { "not run", LEAT_CLAIM_RATE, "@, a=2", "@, a=1", 1, 0 } },
    };
    for (int turned = 0; turned < 2; turned++) {
        leat_experiment_run *run = calloc(1, sizeof *run);
        leat_compare_arm arms[] = { planted_arm("cpu, a=1", turned ? 100 : 200, 0.1, false),
                                    planted_arm("sim:h200, a=1", turned ? 200 : 100,
                                                turned ? 0.2 : 0.8, true) };
        assert_non_null(run);
        *run = (leat_experiment_run){ .experiment = &experiment,
                                      .devices = { { "cpu", LEAT_ON_CPU },
                                                   { "sim:h200", LEAT_ON_SIM } },
                                      .n_devices = 2,
                                      .arms = arms,
                                      .n_arms = 2 };
        leat_experiment_check_claims(run);
        assert_int_equal(run->n_findings, 2);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(run->findings[i].holds, !turned);
            assert_non_null(strstr(run->findings[i].text, "sim:h200 (simulated)"));
        }
        free(run);
    }
}
