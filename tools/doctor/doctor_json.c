/* SPDX-License-Identifier: MIT
 *
 * doctor_json.c: a doctor's result as JSON. Its keys are a contract with `leat report`. */
#include <math.h>

#include <string.h>

#include "doctor_report.h"

static void add_verdict(json_t *report, const leat_doctor_result *r)
{
    const leat_verdict *const v = &r->verdict;
    char label[LEAT_VERDICT_LABEL];
    json_t *json = leat_json_object(report, "verdict");
    leat_json_text(json, "class", leat_verdict_about(v->kind)->name);
    leat_json_text(json, "label", leat_verdict_label(v, label));
    leat_json_text(json, "severity", leat_verdict_severity(v->severity));
    leat_json_text(json, "also", leat_verdict_about(v->also)->name);
    leat_json_text(json, "sentence", r->sentence);
    leat_json_text(json, "beside", leat_verdict_about(r->beside.kind)->name);
    leat_json_text(json, "beside_label", leat_verdict_label(&r->beside, label));
}

static void add_evidence(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "evidence");
    for (int32_t i = 0; i < r->n_evidence; i++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", r->evidence[i].name);
        leat_json_real(one, "value", r->evidence[i].value);
        leat_json_text(one, "unit", r->evidence[i].unit);
        leat_json_text(one, "text", r->evidence[i].text);
    }
}

static void add_capacities(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "capacities");
    for (int32_t i = 0; i < r->n_capacities; i++) {
        const leat_doctor_capacity *c = &r->capacities[i];
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", c->name);
        leat_json_text(one, "kind", leat_verdict_part(c->part)->word);
        leat_json_estimate(one, "samples_per_s", "interval", &c->samples_per_s);
        leat_json_real(one, "step_ms", c->step_ms);
    }
}

static void add_shares(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "shares");
    for (leat_share i = 0; i < LEAT_N_SHARES; i++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "class", leat_verdict_share(i)->word);
        leat_json_real(one, "share", r->shares[i]);
        leat_json_real(one, "ms", r->shares[i] * r->measured_step_ms);
    }
}

leat_part leat_doctor_own_loader(const leat_doctor_result *r)
{
    return r->no_prefetch ? LEAT_PART_FIRST_BATCH : LEAT_PART_LOADER;
}

/* The loader's time alone, divided as its workers' time is. */
static void add_work(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "loader_time");
    double ms = NAN;
    for (int32_t i = 0; i < r->n_capacities; i++)
        if (r->capacities[i].part == leat_doctor_own_loader(r))
            ms = r->capacities[i].step_ms;
    for (leat_worker_time i = 0; i < LEAT_N_WORKS && r->work[LEAT_WORK_COMPUTE] > 0; i++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "class", leat_verdict_work(i)->word);
        leat_json_real(one, "share", r->work[i]);
        leat_json_real(one, "ms", r->work[i] * ms);
    }
}

static void add_costs(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "one_time");
    for (int32_t i = 0; i < r->n_one_time; i++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", r->one_time[i].name);
        leat_json_real(one, "ms", r->one_time[i].ms);
    }
}

static void add_suggestion(json_t *list, const leat_doctor_suggestion *s,
                           const leat_doctor_diff *diff)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "title", s->title);
    leat_json_text(one, "why", s->why);
    leat_json_text(one, "differs", s->differs);
    json_t *set = leat_json_list(one, "set");
    for (int32_t i = 0; i < s->n_set; i++)
        leat_json_append(set, s->set[i]);
    leat_json_text(one, "diff", diff->text ? diff->text : "");
    leat_json_text(one, "diff_note", diff->note);
    leat_json_text(one, "not_tried", s->not_tried);
    leat_json_real(one, "predicted_step_ms", s->predicted_step_ms);
    leat_json_real(one, "predicted_samples_per_s", s->predicted_samples_per_s);
    leat_json_real(one, "gain", s->gain);
    const leat_estimate range = { s->gain, s->gain_low, s->gain_high }, none = { NAN, NAN, NAN };
    leat_json_interval(one, "gain_range", range.low < range.high ? &range : &none);
    leat_json_bool(one, "sure", leat_doctor_is_sure(s));
    leat_json_text(one, "not_verified", s->not_verified);
    leat_json_real(one, "verified_step_ms", s->is_verified ? s->verified_step_ms : NAN);
    leat_json_real(one, "before_step_ms", s->is_verified ? s->before_step_ms : NAN);
    leat_json_real(one, "expected_step_ms", s->is_verified ? s->expected_step_ms : NAN);
    leat_json_real(one, "verified_gain", s->is_verified ? s->verified_gain : NAN);
    leat_json_add(one, "right", s->is_verified ? json_boolean(s->right) : json_null());
    leat_json_real(one, "cores_taken", s->is_verified ? s->cores_taken : NAN);
}

static void add_without_gain(json_t *json, const leat_doctor_result *r)
{
    json_t *list = leat_json_list(json, "tried_without_gain");
    for (int32_t i = 0; i < r->n_without_gain; i++)
        leat_json_append(list, r->without_gain[i]);
}

static void add_next_limit(json_t *report, const leat_doctor_result *r)
{
    leat_json_add(report, "next_limit", json_null());
    if (!r->next_limit)
        return;
    json_t *json = leat_json_object(report, "next_limit");
    leat_json_text(json, "name", leat_verdict_part(r->next_limit)->limit);
    leat_json_real(json, "step_ms", r->next_limit_step_ms);
}

json_t *leat_doctor_report_json(const leat_doctor_result *r, const char *path,
                                const leat_doctor_diff *diffs)
{
    json_t *json = leat_json_open("doctor");
    leat_json_int(json, "schema", 1);
    leat_json_text(json, "config", path);
    leat_json_text(json, "device", r->device);
    leat_json_real(json, "given_step_ms", r->given_step_ms);
    leat_json_bool(json, "simulated", r->simulated);
    leat_json_real(json, "batch", r->batch);
    leat_json_real(json, "uncached", r->uncached);
    leat_json_text(json, "note", r->note);
    leat_json_int(json, "threads", r->threads);
    leat_json_int(json, "rounds", r->rounds);
    leat_json_int(json, "steps", r->steps);
    leat_json_int(json, "warmup_steps", r->warmup_steps);
    add_verdict(json, r);
    add_evidence(json, r);
    add_capacities(json, r);
    add_shares(json, r);
    add_work(json, r);
    leat_json_estimate(json, "samples_per_s", "samples_per_s_interval", &r->samples_per_s);
    leat_json_real(json, "predicted_step_ms", r->predicted_step_ms);
    leat_json_real(json, "measured_step_ms", r->measured_step_ms);
    leat_json_real(json, "probe", r->probe >= 0 ? r->probe : NAN);
    add_next_limit(json, r);
    add_costs(json, r);
    leat_json_add(json, "least_epochs",
                  r->least_epochs ? json_integer(r->least_epochs) : json_null());
    leat_json_int(json, "tried", r->n_tried);
    add_without_gain(json, r);
    json_t *left_out = leat_json_object(json, "left_out"); /* changes that could not be measured */
    leat_json_int(left_out, "no_memory", r->n_no_memory);
    leat_json_int(left_out, "not_filled", r->n_not_filled);
    leat_json_int(left_out, "no_time", r->n_no_time);
    json_t *suggestions = leat_json_list(json, "suggestions");
    for (int32_t i = 0; i < r->n_suggestions; i++)
        add_suggestion(suggestions, &r->suggestions[i], &diffs[i]);
    json_t *environment = leat_json_object(json, "environment");
    leat_json_int(environment, "cores", r->cores);
    leat_json_real(environment, "cores_taken", r->cores_taken);
    leat_json_real(environment, "throttled", r->throttled);
    leat_json_real(json, "seconds", r->seconds);
    return json;
}
