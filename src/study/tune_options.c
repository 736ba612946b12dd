/* SPDX-License-Identifier: MIT
 *
 * tune_options.c: the options that leat_tune() may change. tune_search.c calls it. Add a row to tune more, and
 * count it in tune_options.h. */
#include "tune_options.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "leat/config.h"

const leat_tune_row leat_tune_rows[LEAT_TUNE_OPTIONS] = {
    { "engine.threads", "", /* more than cores help if samples wait */
      .of_cores = { 0.01, 0.5, 1, 1.5, 2, 4, 8 }, .initial = "cores" },
    { "train.threads", "cpu", /* the step shares its cores with workers */
      .of_cores = { 0.01, 0.5, 0.75, 1 }, .initial = "" },
    { "pipeline.prefetch.batches", "", .values = { "0", "1", "2", "4", "8" }, .initial = "",
      .stage = "prefetch" },
    { "pipeline.map.device", "gpu", .values = { "cpu", "auto", "gpu" }, .initial = "" },
    { "pipeline.map.ops.decode_jpeg.device_share", "gpu", /* of nvJPEG */
      .values = { "0", "0.25", "0.5", "0.75", "1" }, .initial = "",
      .needs = "pipeline.map.ops.decode_jpeg" },
    { "pipeline.prefetch.pinned", "device", .values = { "true", "false" }, .initial = "true" },
    { "engine.jpeg_index", "", .values = { "auto", "off" }, .initial = "auto",
      .needs = "pipeline.map.ops.decode_jpeg" },
    { "engine.read_bytes", "", .values = { "4MiB", "16MiB", "64MiB" }, .initial = "" },
    { "engine.reader", "", .values = { "io_uring", "pread" }, .initial = "io_uring",
      .unless = "engine.io=direct" }, /* with pread the page cache would be used again */
};

static int set(leat_config *config, const char *text, leat_error *err)
{
    const int rc = leat_stage_name_value(config, text, err);
    return rc < 0 ? rc : leat_config_set(config, text, err);
}

static bool lacks_stage(const leat_config *config, size_t option)
{
    const char *const stage = leat_tune_rows[option].stage;
    char path[64], text[32];
    leat_text(path, sizeof path, "pipeline.%s", stage ? stage : "");
    return stage && leat_config_get(config, path, text, sizeof text, NULL) < 0;
}

void leat_tune_settings_line(const leat_config *config, size_t option, const char *value,
                             char *text, size_t size)
{
    const leat_tune_row *const row = &leat_tune_rows[option];
    if (lacks_stage(config, option))
        leat_text(text, size, "pipeline+={%s: {%s: %s}}", row->stage, strrchr(row->path, '.') + 1,
                  value);
    else
        leat_text(text, size, "%s=%s", row->path, value);
}

/* The current value, as far as it is known. */
static void value_now(const leat_tune_settings *s, const leat_config *config, size_t option,
                      int32_t cores, char text[32])
{
    const leat_tune_row *row = &leat_tune_rows[option];
    if (s->values[option][0])
        snprintf(text, 32, "%s", s->values[option]);
    else if (lacks_stage(config, option))
        strcpy(text, "0");
    else if (leat_config_get(config, row->path, text, 32, NULL) < 0 || !strcmp(text, "auto"))
        snprintf(text, 32, "%s", row->initial);
    if (!strcmp(text, "cores"))
        leat_text(text, 32, "%d", cores);
}

static bool is_set(const leat_config *config, const char *setting)
{
    const char *const equals = strchr(setting, '=');
    char path[64], now[32];
    leat_text(path, sizeof path, "%.*s", (int)(equals - setting), setting);
    return leat_config_get(config, path, now, sizeof now, NULL) >= 0 && !strcmp(now, equals + 1);
}

size_t leat_tune_settings_others(const leat_tune_settings *s, const leat_config *config,
                                 size_t option, int32_t cores, char values[LEAT_TUNE_VALUES][32])
{
    const leat_tune_row *row = &leat_tune_rows[option];
    char now[32];
    size_t n = 0;
    if (row->unless && is_set(config, row->unless))
        return 0;
    value_now(s, config, option, cores, now);
    for (size_t i = 0; i < LEAT_TUNE_VALUES; i++) {
        char text[32] = "";
        if (row->values[i])
            snprintf(text, sizeof text, "%s", row->values[i]);
        else if (row->of_cores[i] > 0)
            leat_text(text, sizeof text, "%.0f", fmax(1, floor(row->of_cores[i] * cores)));
        bool fresh = text[0] && strcmp(text, now) != 0;
        for (size_t k = 0; k < n; k++)
            fresh = fresh && strcmp(values[k], text) != 0;
        if (fresh)
            snprintf(values[n++], 32, "%s", text);
    }
    return n;
}

int leat_tune_settings_apply(const leat_tune_settings *s, leat_config *config, leat_error *err)
{
    char text[160];
    int rc = LEAT_OK;
    for (size_t i = 0; i < LEAT_TUNE_OPTIONS && rc == LEAT_OK; i++)
        if (s->values[i][0]) {
            leat_tune_settings_line(config, i, s->values[i], text, sizeof text);
            rc = set(config, text, err);
        }
    return rc;
}

void leat_tune_settings_text(const leat_tune_settings *s, const leat_config *config, char *text,
                             size_t size)
{
    text[0] = 0;
    for (size_t i = 0; i < LEAT_TUNE_OPTIONS; i++)
        if (s->values[i][0]) {
            const size_t n = strlen(text);
            leat_text(text + n, size - n, "%s", n ? "; " : "");
            leat_tune_settings_line(config, i, s->values[i], text + strlen(text),
                                    size - strlen(text));
        }
}

int leat_tune_apply(const leat_tune_result *result, leat_config *config, leat_error *err)
{
    int rc = LEAT_OK;
    if (!result || !config)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_tune_apply: result and config must be given");
    for (int32_t i = 0; i < result->n_set && rc == LEAT_OK; i++)
        rc = strchr(result->set[i], '=')
                 ? set(config, result->set[i], err)
                 : leat_fail(err, LEAT_E_ARGUMENT, "'%s' sets nothing", result->set[i]);
    return rc;
}
