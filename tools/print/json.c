/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "terminal.h"

json_t *leat_json_open(const char *command)
{
    json_t *object = json_object();
    leat_json_text(object, "leat", leat_version());
    leat_json_text(object, "command", command);
    return object;
}

void leat_json_add(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

json_t *leat_json_string(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    char *copy = NULL;
    if (!value)
        value = json_string(leat_terminal_shown(text, &copy));
    free(copy);
    return value;
}

void leat_json_text(json_t *object, const char *key, const char *text)
{
    leat_json_add(object, key, leat_json_string(text));
}

json_t *leat_json_list(json_t *object, const char *key)
{
    leat_json_add(object, key, json_array());
    return json_object_get(object, key);
}

json_t *leat_json_object(json_t *object, const char *key)
{
    leat_json_add(object, key, json_object());
    return json_object_get(object, key);
}

json_t *leat_json_row(json_t *list)
{
    json_t *const row = json_object();
    return json_array_append_new(list, row) == 0 ? row : NULL;
}

void leat_json_append(json_t *list, const char *text)
{
    json_array_append_new(list, leat_json_string(text));
}

void leat_json_int(json_t *object, const char *key, int64_t value)
{
    leat_json_add(object, key, json_integer(value));
}

void leat_json_bool(json_t *object, const char *key, bool value)
{
    leat_json_add(object, key, json_boolean(value));
}

void leat_json_real(json_t *object, const char *key, double value)
{
    leat_json_add(object, key, isfinite(value) ? json_real(value) : json_null());
}

void leat_json_interval(json_t *object, const char *key, const leat_estimate *estimate)
{
    const double ends[2] = { estimate->low, estimate->high };
    json_t *pair = leat_json_list(object, key);
    for (int i = 0; i < 2; i++)
        json_array_append_new(pair, isfinite(ends[i]) ? json_real(ends[i]) : json_null());
}

void leat_json_estimate(json_t *object, const char *key, const char *interval,
                        const leat_estimate *estimate)
{
    leat_json_real(object, key, estimate->value);
    leat_json_interval(object, interval, estimate);
}

void leat_json_hex(json_t *object, const char *key, uint64_t value)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)value);
    leat_json_text(object, key, text);
}

bool leat_json_to_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

int leat_json_check(const char *path, leat_error *err)
{
    static const leat_output_kind ours = { "JSON of leat", "{\n  \"leat\": \"", 0 };
    if (!path || leat_json_to_stdout(path))
        return LEAT_OK;
    const int rc = leat_files_check(path, &ours, err);
    return rc < 0 ? leat_fail_in(err, rc, "--json: ") : rc;
}

int leat_json_write(json_t *object, const char *path, leat_error *err)
{
    int rc = LEAT_OK;
    char *text = NULL;
    if (path) {
        text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        if (!text)
            rc = leat_fail(err, LEAT_E_NOMEM, "JSON: out of memory");
        else if (leat_json_to_stdout(path))
            puts(text);
        else if ((rc = leat_json_check(path, err)) == LEAT_OK)
            rc = leat_files_write(path, text, strlen(text), err);
    }
    free(text);
    json_decref(object);
    return rc;
}
