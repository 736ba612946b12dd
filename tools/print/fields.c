/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <math.h>

static double number_of(const json_t *value)
{
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    return number == 0 || (fabs(number) < 1e300 && fabs(number) > 1e-300) ? number : NAN;
}

double leat_fields_number(const json_t *object, const char *key)
{
    return number_of(json_object_get(object, key));
}

const char *leat_fields_text(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text && *text ? text : NULL;
}

const char *leat_fields_text_or(const json_t *object, const char *key, const char *otherwise)
{
    const char *const text = leat_fields_text(object, key);
    return text ? text : otherwise;
}

bool leat_fields_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

void leat_fields_interval(const json_t *object, const char *key, double *low, double *high)
{
    const json_t *const pair = json_object_get(object, key);
    *low = number_of(json_array_get(pair, 0));
    *high = number_of(json_array_get(pair, 1));
    if (!(*low <= *high))
        *low = *high = NAN;
}

const json_t *leat_fields_list(const json_t *object, const char *key)
{
    const json_t *const list = json_object_get(object, key);
    return json_is_array(list) ? list : NULL;
}

int leat_fields_count(const json_t *list, int limit)
{
    const size_t n = json_array_size(list);
    return n < (size_t)limit ? (int)n : limit;
}
