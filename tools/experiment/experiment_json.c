/* SPDX-License-Identifier: MIT
 *
 * experiment_json.c: the JSON of an experiment. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "experiment_report.h"
#include "host.h"
#include "print/arm_json.h"
#include "print/json.h"

/* "AMD EPYC, 2 cores, Linux 6.1.0" */
static void machine_text(char *out, size_t size)
{
    char line[256], model[128] = "";
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !*model && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon)
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
    const bool known = uname(&system) == 0;
    snprintf(out, size, "%s, %d core%s, %s %s", *model ? model : "unknown processor",
             leat_host_cores(), leat_host_cores() == 1 ? "" : "s", known ? system.sysname : "?",
             known ? system.release : "?");
}

static json_t *point_json(const leat_point *point)
{
    json_t *json = json_object();
    leat_json_real(json, "x", point->x);
    leat_json_real(json, "y", point->y);
    leat_json_real(json, "low", point->low);
    leat_json_real(json, "high", point->high);
    return json;
}

static json_t *series_json(const leat_series *series)
{
    json_t *json = json_object(), *points = json_array();
    for (int32_t i = 0; i < series->n_points; i++)
        json_array_append_new(points, point_json(&series->points[i]));
    leat_json_text(json, "name", series->name);
    leat_json_text(json, "device", series->device);
    leat_json_bool(json, "simulated", series->simulated);
    leat_json_text(json, "x", series->x_unit);
    leat_json_text(json, "y", "time");
    leat_json_text(json, "x_unit", series->x_unit);
    leat_json_text(json, "y_unit", series->y_unit);
    leat_json_add(json, "points", points);
    return json;
}

static json_t *finding_json(const leat_finding *finding)
{
    json_t *json = json_object();
    leat_json_text(json, "text", finding->text);
    leat_json_add(json, "holds", finding->holds < 0 ? json_null() : json_boolean(finding->holds));
    return json;
}

json_t *leat_experiment_json(const leat_experiment_run *run)
{
    char machine[320];
    json_t *json = leat_json_open("experiment");
    json_t *arms = json_array(), *series = json_array(), *findings = json_array(),
           *notes = json_array();
    machine_text(machine, sizeof machine);
    for (int32_t i = 0; i < run->n_arms; i++)
        json_array_append_new(arms, leat_arm_json(&run->arms[i]));
    for (int32_t i = 0; i < run->n_series; i++)
        json_array_append_new(series, series_json(&run->series[i]));
    for (int32_t i = 0; i < run->n_findings; i++)
        json_array_append_new(findings, finding_json(&run->findings[i]));
    for (int32_t i = 0; i < run->n_notes; i++)
        json_array_append_new(notes, leat_json_string(run->notes[i]));
    leat_json_int(json, "schema", 1);
    leat_json_text(json, "name", run->experiment->name);
    leat_json_text(json, "title", run->experiment->title);
    leat_json_text(json, "expect", run->experiment->expect);
    leat_json_bool(json, "quick", run->quick);
    leat_json_text(json, "machine", machine);
    leat_json_real(json, "seconds", run->seconds);
    leat_json_add(json, "arms", arms);
    leat_json_add(json, "series", series);
    leat_json_add(json, "findings", findings);
    leat_json_add(json, "notes", notes);
    return json;
}
