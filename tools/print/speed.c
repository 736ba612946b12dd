/* SPDX-License-Identifier: MIT */
#include "speed.h"

#include <math.h>
#include <stdio.h>

#include "files.h"
#include "formats/figure.h"
#include "terminal.h"

static const char *precision_text(leat_precision precision)
{
#define TEXT(name, text) [LEAT_PRECISION_##name] = text,
    static const char *const texts[] = { LEAT_PRECISION_LIST(TEXT) };
#undef TEXT
    return texts[precision];
}

static double or_nan(double value)
{
    return value > 0 ? value : NAN;
}

static double flops_per_s(const leat_meter *meter, double flops_per_sample)
{
    return meter->samples_per_s * flops_per_sample;
}

void leat_speed_add(json_t *object, const leat_meter *meter, double flops_per_sample)
{
    const bool launches = meter && meter->launches > 0;
    leat_json_real(object, "flops_per_s", meter ? flops_per_s(meter, flops_per_sample) : NAN);
    leat_json_real(object, "copied_bytes_per_s", meter ? meter->copied_bytes_per_s : NAN);
    leat_json_real(object, "kernels", launches ? meter->kernels : NAN);
    leat_json_real(object, "launches", launches ? meter->launches : NAN);
    leat_json_real(object, "launch_ms", launches ? (double)meter->launch_p50_ns * 1e-6 : NAN);
    leat_json_real(object, "crossings", meter ? meter->crossings : NAN);
    leat_json_real(object, "crossed_bytes", meter ? meter->crossed_bytes : NAN);
    leat_json_real(object, "crossing_ms", meter ? meter->crossing_ns * 1e-6 : NAN);
    leat_json_real(object, "elsewhere_ms", meter ? meter->elsewhere_ns * 1e-6 : NAN);
}

void leat_speed_json_kernels(json_t *object, const leat_kernel_time *kernels, int32_t n)
{
    json_t *const list = leat_json_list(object, "largest");
    for (int32_t i = 0; i < n; i++) {
        json_t *const one = leat_json_row(list);
        leat_json_text(one, "name", kernels[i].name);
        leat_json_int(one, "n", kernels[i].n);
        leat_json_real(one, "seconds", kernels[i].seconds);
    }
}

void leat_speed_add_device(json_t *object, const leat_ceiling *ceiling,
                           const leat_recorded *recorded)
{
    json_t *most = leat_json_object(object, "ceiling");
    leat_json_text(most, "precision", precision_text(ceiling->precision));
    leat_json_real(most, "flops_per_s", or_nan(ceiling->flops_per_s));
    leat_json_real(most, "copied_bytes_per_s", or_nan(ceiling->copied_bytes_per_s));
    leat_json_text(most, "why", ceiling->why);
    json_t *one = leat_json_object(object, "recorded");
    const bool has = recorded->n_steps > 0;
    leat_json_int(one, "steps", recorded->n_steps);
    leat_json_real(one, "idle", has ? recorded->idle : NAN);
    leat_json_real(one, "idle_by_events", has ? recorded->idle_by_events : NAN);
    leat_json_real(one, "copying", has ? recorded->copying : NAN);
    leat_json_real(one, "host", has ? recorded->host : NAN);
    leat_json_real(one, "launch", has ? recorded->launch : NAN);
    leat_json_real(one, "unknown", has ? recorded->unknown : NAN);
    leat_json_real(one, "step_p50_ms", has ? (double)recorded->step_p50_ns * 1e-6 : NAN);
    leat_json_int(one, "dropped", recorded->dropped);
    leat_json_text(one, "why", recorded->why);
    leat_json_real(one, "kernel_seconds", has ? recorded->kernel_seconds : NAN);
    leat_speed_json_kernels(one, recorded->largest, recorded->n_largest);
}

void leat_speed_add_arm(json_t *list, const leat_compare_arm *arm)
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

/* The launch of a graph waits for the one before it, and the host's time in it has that wait. */
static const char *launches_text(const leat_meter *m, char text[160])
{
    const leat_figure ms = leat_figure_ms((double)m->launch_p50_ns * 1e-6);
    if (m->launches < m->kernels)
        snprintf(text, 160,
                 "; %.4g kernels per step in %.4g launch%s, in which the host spends %s ms, its "
                 "waits for earlier steps included",
                 m->kernels, m->launches, m->launches == 1 ? "" : "es", ms.text);
    else
        snprintf(text, 160, "; %.4g kernels per step, which take the host %s ms", m->kernels,
                 ms.text);
    return text;
}

/* ", 38 % of 119 GFLOP/s (matrix product, fp32)". No rate is above what the device reaches: a little more is noise,
 * much more means that others used the device while the ceiling was measured. */
static void share_text(double rate, double ceiling, const char *most, const char *what,
                       char text[128])
{
    if (rate > 1.05 * ceiling)
        snprintf(text, 128, " (its ceiling was measured beside other programs: %s)", most);
    else
        snprintf(text, 128, ", %.3g %% of %s%s", rate < ceiling ? 100 * rate / ceiling : 100, most,
                 what);
}

static const char *of_products(const leat_ceiling *ceiling, double flops, char text[128])
{
    char most[48], what[48];
    snprintf(most, sizeof most, "%sFLOP/s", leat_figure_scaled(ceiling->flops_per_s).text);
    snprintf(what, sizeof what, " (matrix product, %s)", precision_text(ceiling->precision));
    if (ceiling->flops_per_s > 0)
        share_text(flops, ceiling->flops_per_s, most, what, text);
    else
        snprintf(text, 128, " (no ceiling known%s%.90s)", *ceiling->why ? ": " : "", ceiling->why);
    return text;
}

static const char *copies_text(const leat_meter *m, const leat_ceiling *ceiling, char text[192])
{
    char most[48], share[128] = "";
    snprintf(most, sizeof most, "%s/s", leat_figure_bytes(ceiling->copied_bytes_per_s).text);
    if (ceiling->copied_bytes_per_s > 0)
        share_text(m->copied_bytes_per_s, ceiling->copied_bytes_per_s, most, "", share);
    snprintf(text, 192, "; %s/s to the device%s", leat_figure_bytes(m->copied_bytes_per_s).text,
             share);
    return text;
}

void leat_speed_print(const char *name, const leat_meter *m, double flops_per_sample,
                      const leat_ceiling *ceiling, bool simulated)
{
    char products[128], launches[160] = "", copies[192] = "";
    const double rate = flops_per_s(m, flops_per_sample);
    const bool says_why = *ceiling->why && ceiling->flops_per_s > 0; /* else of_products() does */
    if (m->launches > 0)
        launches_text(m, launches);
    if (m->copied_bytes_per_s > 0)
        copies_text(m, ceiling, copies);
    leat_terminal_say(2, "%s: %sFLOP/s%s%s%s%s%s%s", name, leat_figure_scaled(rate).text,
                      of_products(ceiling, rate, products), launches, copies,
                      simulated ? " (simulated)" : "", says_why ? "; " : "",
                      says_why ? ceiling->why : "");
}

/* "; most of the kernels' time: 20 % nhwc_batch_norm_bwd, 18 % leat_train_each, …" */
static void largest_text(const leat_recorded *r, char *text, size_t size)
{
    enum { MOST = 3 };
    *text = 0;
    for (int32_t i = 0; i < r->n_largest && i < MOST; i++)
        leat_files_append(text, size, "%s%.0f %% %.40s", i ? ", " : "; most of the kernels' time: ",
                          100 * r->largest[i].seconds / r->kernel_seconds,
                          leat_terminal_name(r->largest[i].name));
}

void leat_speed_print_recorded(const char *name, const leat_recorded *r, const leat_meter *meter)
{
    char dropped[64] = "", largest[240];
    if (r->n_steps == 0) {
        leat_terminal_say(2, "%s: no idle time by CUPTI: %s", name, r->why);
        return;
    }
    if (r->dropped)
        snprintf(dropped, sizeof dropped, "; %lld records are missing", (long long)r->dropped);
    largest_text(r, largest, sizeof largest);
    leat_terminal_say(2,
                      "%s: idle %.1f %% by CUPTI (copies %.1f, host %.1f, launch %.1f, unknown "
                      "%.1f), %.1f %% by events, of %lld steps that took %.2f times as long as "
                      "others%s%s",
                      name, 100 * r->idle, 100 * r->copying, 100 * r->host, 100 * r->launch,
                      100 * r->unknown, 100 * r->idle_by_events, (long long)r->n_steps,
                      (double)r->step_p50_ns / (double)(meter->step_p50_ns + !meter->step_p50_ns),
                      dropped, largest);
}

void leat_speed_print_crossings(const leat_meter *m)
{
    const double steps = (double)m->n_steps * 1e6, wall = (double)m->wall_ns;
    if (m->crossings > 0)
        leat_terminal_say(
            2,
            "of a step's %s ms, layers take %s ms on this device and %s ms on others; %.4g "
            "crossings between devices (%s) take %s ms; the rest is waiting",
            leat_figure_ms(wall / steps).text, leat_figure_ms(m->busy * wall / steps).text,
            leat_figure_ms(m->elsewhere_ns * 1e-6).text, m->crossings,
            leat_figure_bytes(m->crossed_bytes).text, leat_figure_ms(m->crossing_ns * 1e-6).text);
}

void leat_speed_add_start(json_t *object, const leat_speed_start *start)
{
    leat_json_real(object, "creation_ms", start->creation);
    leat_json_real(object, "first_step_ms", start->first_step);
    leat_json_real(object, "steady_step_ms", start->steady_step);
}

static leat_figure ms_or_unknown(double ms)
{
    leat_figure figure = { "not measured" };
    if (!isnan(ms))
        snprintf(figure.text, sizeof figure.text, "%.30s ms", leat_figure_ms(ms).text);
    return figure;
}

void leat_speed_print_start(const leat_speed_start *start)
{
    leat_terminal_say(2, "creation %s, first step %s, steady step %s",
                      ms_or_unknown(start->creation).text, ms_or_unknown(start->first_step).text,
                      ms_or_unknown(start->steady_step).text);
}
