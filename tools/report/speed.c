/* SPDX-License-Identifier: MIT */
#include "speed.h"

#include <math.h>
#include <stdio.h>

#include "files.h"
#include "terminal.h"

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

/* "45.3 G" */
static const char *scaled_text(double value, char text[32])
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t i = 0;
    for (; value >= 999.5 && i < 5; i++)
        value /= 1000;
    snprintf(text, 32,
             value < 9.995   ? "%.2f %s"
             : value < 99.95 ? "%.1f %s"
                             : "%.0f %s",
             value, prefixes[i]);
    return text;
}

static const char *launches_text(const leat_meter *m, char text[160])
{
    char ms[32], all[48] = "";
    if (m->launches < m->kernels)
        snprintf(all, sizeof all, " in %.4g launch%s", m->launches, m->launches == 1 ? "" : "es");
    snprintf(text, 160, "; %.4g kernels per step%s, which take the host %s ms", m->kernels, all,
             leat_files_ms_text((double)m->launch_p50_ns * 1e-6, ms));
    return text;
}

void leat_speed_print(const char *name, const leat_meter *m, double flops_per_sample,
                      bool simulated)
{
    char flops[32], launches[160] = "", bytes[32], copies[64] = "";
    if (m->launches > 0)
        launches_text(m, launches);
    if (m->copied_bytes_per_s > 0)
        snprintf(copies, sizeof copies, "; %s/s to the device",
                 leat_files_bytes_text(m->copied_bytes_per_s, bytes));
    leat_terminal_say(2, "%s: %sFLOP/s%s%s%s", name,
                      scaled_text(flops_per_s(m, flops_per_sample), flops), launches, copies,
                      simulated ? " (simulated)" : "");
}

void leat_speed_print_crossings(const leat_meter *m)
{
    char bytes[32], copies[32], elsewhere[32], here[32], step[32];
    const double steps = (double)m->n_steps * 1e6, wall = (double)m->wall_ns;
    if (m->crossings > 0)
        leat_terminal_say(
            2,
            "of a step's %s ms, layers take %s ms on this device and %s ms on others, and %.4g "
            "copies of %s between them %s ms; the rest is waiting",
            leat_files_ms_text(wall / steps, step),
            leat_files_ms_text(m->busy * wall / steps, here),
            leat_files_ms_text(m->elsewhere_ns * 1e-6, elsewhere), m->crossings,
            leat_files_bytes_text(m->crossed_bytes, bytes),
            leat_files_ms_text(m->crossing_ns * 1e-6, copies));
}

void leat_speed_add_start(json_t *object, const leat_speed_start *start)
{
    leat_json_real(object, "creation_ms", start->creation);
    leat_json_real(object, "first_step_ms", start->first_step);
    leat_json_real(object, "steady_step_ms", start->steady_step);
}

static const char *or_unknown(double ms, char text[40])
{
    char number[32];
    if (isnan(ms))
        return "not measured";
    snprintf(text, 40, "%s ms", leat_files_ms_text(ms, number));
    return text;
}

void leat_speed_print_start(const leat_speed_start *start)
{
    char creation[40], first[40], steady[40];
    leat_terminal_say(2, "creation %s, first step %s, steady step %s",
                      or_unknown(start->creation, creation), or_unknown(start->first_step, first),
                      or_unknown(start->steady_step, steady));
}
