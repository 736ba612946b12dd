/* SPDX-License-Identifier: MIT */
#include "run_curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NaN: the row has no such number that can be drawn. */
static double value_of(const json_t *row, const char *key)
{
    const json_t *const value = json_object_get(row, key);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    return fabs(number) < 1e300 ? number : NAN;
}

static double place_of(const leat_run_rows *rows, const json_t *row, int32_t x)
{
    if (x == LEAT_RUN_CURVES_TIME)
        return value_of(row, "time_s") - rows->start_s;
    return value_of(row, x == LEAT_RUN_CURVES_EPOCH ? "epochs_done" : "step");
}

static int pick(const leat_run_rows *rows, const json_t *list, const char *key, int32_t x,
                leat_curve *out)
{
    size_t i;
    json_t *row;
    out->n = 0;
    if (json_array_size(list) == 0)
        return LEAT_OK;
    out->x = malloc(json_array_size(list) * sizeof *out->x);
    out->y = malloc(json_array_size(list) * sizeof *out->y);
    if (!out->x || !out->y)
        return LEAT_E_NOMEM;
    json_array_foreach(list, i, row)
    {
        out->x[out->n] = place_of(rows, row, x);
        out->y[out->n] = value_of(row, key);
        out->n += !isnan(out->x[out->n]) && !isnan(out->y[out->n]);
    }
    return LEAT_OK;
}

int leat_run_curves_pick(const leat_run_rows *rows, const char *key, int32_t x, leat_curve *out)
{
    const char *const slash = strchr(key, '/');
    const size_t kind = slash ? (size_t)(slash - key) : 0;
    if (kind == 5 && !strncmp(key, "epoch", kind))
        return pick(rows, rows->epochs, slash + 1, x, out);
    if (kind == 4 && !strncmp(key, "step", kind))
        return pick(rows, rows->steps, slash + 1, x, out);
    const int rc = pick(rows, rows->steps, key, x, out);
    if (rc < 0 || out->n > 0)
        return rc;
    free(out->x);
    free(out->y);
    out->x = out->y = NULL;
    return pick(rows, rows->epochs, key, x, out);
}

static void add_keys(json_t *keys, const json_t *list)
{
    size_t i;
    json_t *row, *value;
    const char *key;
    json_array_foreach(list, i, row)
    {
        json_object_foreach(row, key, value)
        {
            if (json_is_number(value))
                json_object_set_new(keys, key, json_null());
        }
    }
}

json_t *leat_run_curves_keys(const leat_run_rows *rows)
{
    json_t *keys = json_object();
    add_keys(keys, rows->steps);
    add_keys(keys, rows->epochs);
    return keys;
}
