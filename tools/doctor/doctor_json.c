/* SPDX-License-Identifier: MIT
 *
 * doctor_json.c: a doctor's result as JSON. Its keys are a contract with `leat report`. */
#include <math.h>

#include <string.h>

#include "doctor_report.h"
#include "setting.h"

static json_t *verdict_json(const leat_doctor_result *r)
{
    const leat_verdict *const v = &r->verdict;
    char label[LEAT_VERDICT_LABEL];
    json_t *json = json_object();
    leat_json_text(json, "class", leat_verdict_about(v->kind)->name);
    leat_json_text(json, "label", leat_verdict_label(v, label));
    leat_json_text(json, "severity", leat_verdict_severity(v->severity));
    leat_json_text(json, "also", leat_verdict_about(v->also)->name);
    leat_json_text(json, "sentence", r->sentence);
    leat_json_text(json, "beside", leat_verdict_about(r->beside.kind)->name);
    leat_json_text(json, "beside_label", leat_verdict_label(&r->beside, label));
    return json;
}

static json_t *evidence_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < r->n_evidence; i++) {
        json_t *one = json_object();
        leat_json_text(one, "name", r->evidence[i].name);
        leat_json_real(one, "value", r->evidence[i].value);
        leat_json_text(one, "unit", r->evidence[i].unit);
        leat_json_text(one, "text", r->evidence[i].text);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *capacities_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < r->n_capacities; i++) {
        const leat_doctor_capacity *c = &r->capacities[i];
        json_t *one = json_object();
        leat_json_text(one, "name", c->name);
        leat_json_text(one, "kind", leat_verdict_part(c->part)->word);
        leat_json_estimate(one, "samples_per_s", "interval", &c->samples_per_s);
        leat_json_real(one, "step_ms", c->step_ms);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *waterfall_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    for (leat_share i = 0; i < LEAT_N_SHARES; i++) {
        json_t *one = json_object();
        leat_json_text(one, "class", leat_verdict_share(i)->word);
        leat_json_real(one, "share", r->shares[i]);
        leat_json_real(one, "ms", r->shares[i] * r->measured_step_ms);
        json_array_append_new(list, one);
    }
    return list;
}

/* The loader's time alone, divided as its workers' time is. */
static json_t *work_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    double ms = NAN;
    for (int32_t i = 0; i < r->n_capacities; i++)
        if (r->capacities[i].part == LEAT_PART_LOADER)
            ms = r->capacities[i].step_ms;
    for (leat_worker_time i = 0; i < LEAT_N_WORKS && r->work[LEAT_WORK_COMPUTE] > 0; i++) {
        json_t *one = json_object();
        leat_json_text(one, "class", leat_verdict_work(i)->word);
        leat_json_real(one, "share", r->work[i]);
        leat_json_real(one, "ms", r->work[i] * ms);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *costs_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < r->n_one_time; i++) {
        json_t *one = json_object();
        leat_json_text(one, "name", r->one_time[i].name);
        leat_json_real(one, "ms", r->one_time[i].ms);
        json_array_append_new(list, one);
    }
    return list;
}

/* What to write into the config, one text per place. */
static json_t *write_json(const leat_doctor_suggestion *s, const leat_config *config)
{
    json_t *list = json_array();
    char text[512];
    for (int32_t i = 0; i < s->n_set; i++)
        json_array_append_new(
            list, leat_json_string(leat_setting_write(config, s->set[i], text, sizeof text)));
    if (s->where[0])
        json_array_append_new(list, leat_json_string(s->where));
    return list;
}

static json_t *lines_json(const char *lines, const char *path)
{
    json_t *list = json_array();
    const bool brackets = *lines && leat_doctor_brackets(path);
    char line[sizeof((leat_doctor_suggestion *)0)->lines + 8];
    while (*lines) {
        lines = leat_doctor_line(lines, brackets, line, sizeof line);
        json_array_append_new(list, leat_json_string(line));
    }
    return list;
}

static json_t *suggestion_json(const leat_doctor_suggestion *s, const char *path,
                               const leat_config *config)
{
    json_t *one = json_object(), *set = json_array();
    for (int32_t i = 0; i < s->n_set; i++)
        json_array_append_new(set, leat_json_string(s->set[i]));
    leat_json_text(one, "title", s->title);
    leat_json_text(one, "why", s->why);
    leat_json_text(one, "differs", s->differs);
    leat_json_add(one, "set", set);
    leat_json_add(one, "write", write_json(s, config));
    leat_json_add(one, "lines", lines_json(s->lines, path));
    leat_json_text(one, "not_tried", s->not_tried);
    leat_json_real(one, "predicted_step_ms", s->predicted_step_ms);
    leat_json_real(one, "predicted_samples_per_s", s->predicted_samples_per_s);
    leat_json_real(one, "gain", s->gain);
    const leat_estimate range = { s->gain, s->gain_low, s->gain_high }, none = { NAN, NAN, NAN };
    leat_json_interval(one, "gain_range", range.low < range.high ? &range : &none);
    leat_json_text(one, "not_verified", s->not_verified);
    leat_json_real(one, "verified_step_ms", s->is_verified ? s->verified_step_ms : NAN);
    leat_json_real(one, "before_step_ms", s->is_verified ? s->before_step_ms : NAN);
    leat_json_real(one, "expected_step_ms", s->is_verified ? s->expected_step_ms : NAN);
    leat_json_real(one, "verified_gain", s->is_verified ? s->verified_gain : NAN);
    leat_json_add(one, "right", s->is_verified ? json_boolean(s->right) : json_null());
    leat_json_real(one, "cores_taken", s->is_verified ? s->cores_taken : NAN);
    return one;
}

static json_t *suggestions_json(const leat_doctor_result *r, const char *path,
                                const leat_config *config)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < r->n_suggestions; i++)
        json_array_append_new(list, suggestion_json(&r->suggestions[i], path, config));
    return list;
}

static json_t *without_gain_json(const leat_doctor_result *r)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < r->n_without_gain; i++)
        json_array_append_new(list, leat_json_string(r->without_gain[i]));
    return list;
}

/* Changes that apply, but could not be measured. */
static json_t *left_out_json(const leat_doctor_result *r)
{
    json_t *json = json_object();
    leat_json_int(json, "no_memory", r->n_no_memory);
    leat_json_int(json, "not_filled", r->n_not_filled);
    leat_json_int(json, "no_time", r->n_no_time);
    return json;
}

static json_t *next_limit_json(const leat_doctor_result *r)
{
    if (!r->next_limit)
        return json_null();
    json_t *json = json_object();
    leat_json_text(json, "name", leat_verdict_part(r->next_limit)->limit);
    leat_json_real(json, "step_ms", r->next_limit_step_ms);
    return json;
}

static json_t *environment_json(const leat_doctor_result *r)
{
    json_t *json = json_object();
    leat_json_int(json, "cores", r->cores);
    leat_json_real(json, "cores_taken", r->cores_taken);
    leat_json_real(json, "throttled", r->throttled);
    return json;
}

json_t *leat_doctor_report_json(const leat_doctor_result *r, const char *path,
                                const leat_config *config)
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
    leat_json_add(json, "verdict", verdict_json(r));
    leat_json_add(json, "evidence", evidence_json(r));
    leat_json_add(json, "capacities", capacities_json(r));
    leat_json_add(json, "waterfall", waterfall_json(r));
    leat_json_add(json, "loader_time", work_json(r));
    leat_json_estimate(json, "samples_per_s", "samples_per_s_interval", &r->samples_per_s);
    leat_json_real(json, "predicted_step_ms", r->predicted_step_ms);
    leat_json_real(json, "measured_step_ms", r->measured_step_ms);
    leat_json_real(json, "probe", r->probe >= 0 ? r->probe : NAN);
    leat_json_add(json, "next_wall", next_limit_json(r));
    leat_json_add(json, "one_time", costs_json(r));
    leat_json_add(json, "least_epochs",
                  r->least_epochs ? json_integer(r->least_epochs) : json_null());
    leat_json_int(json, "tried", r->n_tried);
    leat_json_add(json, "tried_without_gain", without_gain_json(r));
    leat_json_add(json, "left_out", left_out_json(r));
    leat_json_add(json, "suggestions", suggestions_json(r, path, config));
    leat_json_add(json, "environment", environment_json(r));
    leat_json_real(json, "seconds", r->seconds);
    return json;
}
