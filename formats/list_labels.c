/* SPDX-License-Identifier: MIT */
#include "list_labels.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* A class in the tree: `id` counts classes in the order in which they are first seen. */
typedef struct class_name {
    int64_t id;
    char text[];
} class_name;

static int fail_memory(leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "out of memory for labels");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const class_name *)a)->text, ((const class_name *)b)->text);
}

/* A number may have these around it. */
static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static int read_int(const char *text, int64_t *out)
{
    const char *const begin = skip_blanks(text);
    char *end = NULL;
    errno = 0;
    *out = strtoll(begin, &end, 10);
    return *begin && strchr("+-0123456789", *begin) && !*skip_blanks(end) && !errno;
}

/* The decimal point is a point in every locale. */
static int read_float(const char *text, float *out)
{
    char *end = NULL;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return 0;
    *out = strtof_l(text, &end, plain);
    freelocale(plain);
    return end != text && !*skip_blanks(end) && isfinite(*out) &&
           !strpbrk(text, "xX"); /* no hexadecimal */
}

/* *id: of this class, which is new or was seen before. */
static int find_class(leat_list_labels *l, const char *text, int64_t *id, leat_format_error *err)
{
    class_name *const name = malloc(sizeof *name + strlen(text) + 1);
    if (!name)
        return fail_memory(err);
    name->id = (int64_t)l->n_classes;
    strcpy(name->text, text);
    class_name **const found = tsearch(name, &l->tree, by_text);
    if (!found || *found != name) {
        *id = found ? (*found)->id : 0;
        free(name);
        return found ? LEAT_FORMAT_OK : fail_memory(err);
    }
    char **const classes = leat_grow(l->classes, l->n_classes, sizeof *classes);
    if (!classes) {
        tdelete(name, &l->tree, by_text);
        free(name);
        return fail_memory(err);
    }
    l->classes = classes;
    classes[l->n_classes++] = name->text;
    *id = name->id;
    return LEAT_FORMAT_OK;
}

static int add_int(leat_list_labels *l, const char *text, leat_format_error *err)
{
    int64_t value = 0;
    int rc = LEAT_FORMAT_OK;
    if (l->type == LEAT_LIST_CLASS && strchr(text, '\n'))
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "the class has a line break in its name");
    if (l->type == LEAT_LIST_CLASS)
        rc = find_class(l, text, &value, err);
    else if (!read_int(text, &value))
        rc = leat_format_fail(
            err, LEAT_FORMAT_BAD, 0,
            "the label '%.80s' is no whole number of 64 bits (label_type: class takes all "
            "labels as names, float32 as numbers)",
            text);
    if (rc < 0)
        return rc;
    int64_t *const ints = leat_grow(l->ints, l->n, sizeof *ints);
    if (!ints)
        return fail_memory(err);
    l->ints = ints;
    l->low = l->n == 0 || value < l->low ? value : l->low;
    l->high = l->n == 0 || value > l->high ? value : l->high;
    ints[l->n++] = value;
    return LEAT_FORMAT_OK;
}

static int add_float(leat_list_labels *l, const char *text, leat_format_error *err)
{
    float value;
    if (!read_float(text, &value))
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "the label '%.80s' is no number", text);
    float *const floats = leat_grow(l->floats, l->n, sizeof *floats);
    if (!floats)
        return fail_memory(err);
    l->floats = floats;
    floats[l->n++] = value;
    return LEAT_FORMAT_OK;
}

/* Also one that int64 cannot hold: it is no name of a class. */
static int is_whole(const char *text)
{
    const char *const begin = skip_blanks(text);
    const char *const digits = begin + (*begin == '+' || *begin == '-');
    const size_t n = strspn(digits, "0123456789");
    return n && !*skip_blanks(digits + n);
}

int leat_list_labels_add(leat_list_labels *l, const char *text, leat_format_error *err)
{
    if (!*text)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "the label is empty");
    if (l->type == LEAT_LIST_AUTO)
        l->type = is_whole(text) ? LEAT_LIST_INT64 : LEAT_LIST_CLASS;
    if (l->type == LEAT_LIST_CLASS && l->n_columns > 1)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "the label '%.80s' would be the name of a class, and several label "
                                "columns have none: they have whole numbers, such as 0 and 1, or "
                                "numbers with label_type: float32",
                                text);
    return l->type == LEAT_LIST_FLOAT32 ? add_float(l, text, err) : add_int(l, text, err);
}

/* --- the end -------------------------------------------------------------------------------------- */

static class_name *name_of(char *text)
{
    return (class_name *)(void *)(text - offsetof(class_name, text));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int leat_list_labels_end(leat_list_labels *l, leat_format_error *err)
{
    if (l->type != LEAT_LIST_CLASS || !l->n_classes)
        return LEAT_FORMAT_OK;
    int64_t *const place = malloc(l->n_classes * sizeof *place);
    if (!place)
        return fail_memory(err);
    qsort(l->classes, l->n_classes, sizeof *l->classes, by_name);
    for (size_t i = 0; i < l->n_classes; i++) {
        const int64_t id = name_of(l->classes[i])->id;
        place[id] = (int64_t)i;
    }
    for (size_t i = 0; i < l->n; i++)
        l->ints[i] = place[l->ints[i]];
    free(place);
    return LEAT_FORMAT_OK;
}

int leat_list_labels_are_numbers(const leat_list_labels *l)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return 0;
    size_t i = 0;
    for (; i < l->n_classes; i++) {
        char *end;
        strtod_l(l->classes[i], &end, plain);
        if (end == l->classes[i] || *skip_blanks(end))
            break;
    }
    freelocale(plain);
    return i && i == l->n_classes;
}

static void keep_text(void *name)
{
    (void)name;
}

void leat_list_labels_close(leat_list_labels *l)
{
    tdestroy(l->tree, keep_text);
    for (size_t i = 0; i < l->n_classes; i++)
        free(name_of(l->classes[i]));
    free(l->classes);
    free(l->ints);
    free(l->floats);
    *l = (leat_list_labels){ .type = LEAT_LIST_AUTO };
}
