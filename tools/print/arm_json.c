/* SPDX-License-Identifier: MIT */
#include "speed.h"

void leat_arm_add(json_t *list, const leat_compare_arm *arm)
{
    const leat_meter *meter = &arm->meter;
    char label[LEAT_VERDICT_LABEL];
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", arm->name);
    leat_json_text(one, "device", arm->device);
    leat_json_bool(one, "simulated", arm->simulated);
    leat_json_estimate(one, "samples_per_s", "samples_per_s_interval", &arm->samples_per_s);
    leat_json_real(one, "step_mean_ms", (double)meter->wall_ns * 1e-6 / (double)meter->n_steps);
    leat_json_real(one, "step_p50_ms", (double)meter->step_p50_ns * 1e-6);
    leat_json_real(one, "step_p95_ms", (double)meter->step_p95_ns * 1e-6);
    leat_json_real(one, "busy", meter->busy);
    leat_json_estimate(one, "idle", "idle_interval", &arm->idle);
    leat_json_real(one, "input_wait", meter->input_wait);
    leat_json_real(one, "exposed_copy", meter->exposed_copy);
    leat_json_real(one, "other", meter->other);
    leat_speed_add(one, meter, arm->flops_per_sample);
    leat_speed_add_device(one, &arm->ceiling, &arm->recorded);
    leat_json_int(one, "steps", arm->steps);
    leat_json_int(one, "warmup_steps", arm->warmup_steps);
    leat_json_real(one, "uncached", arm->uncached);
    leat_json_real(one, "wall_s", (double)meter->wall_ns * 1e-9);
    leat_json_estimate(one, "speedup", "speedup_interval", &arm->speedup);
    leat_json_estimate(one, "loader", "loader_interval", &arm->loader);
    leat_json_estimate(one, "step", "step_interval", &arm->step);
    leat_json_estimate(one, "of_loader", "of_loader_interval", &arm->of_loader);
    leat_json_estimate(one, "of_step", "of_step_interval", &arm->of_step);
    leat_json_real(one, "copying", arm->copying);
    leat_json_real(one, "step_busy", arm->step_busy);
    leat_json_text(one, "verdict", leat_verdict_about(arm->verdict.kind)->name);
    leat_json_text(one, "label", leat_verdict_label(&arm->verdict, label));
    leat_json_text(one, "severity", leat_verdict_severity(arm->verdict.severity));
    leat_json_text(one, "also", leat_verdict_about(arm->verdict.also)->name);
    leat_json_text(one, "why", arm->why);
    leat_json_text(one, "sentence", arm->sentence);
}
