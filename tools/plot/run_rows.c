/* SPDX-License-Identifier: MIT */
#include "run_rows.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/events.h"
#include "formats/pattern.h"
#include "formats/utf8.h"
#include "formats/whole_file.h"

enum { LOG_BYTES_MOST = 1 << 30 };
static const char of_step[] = "step/", of_epoch[] = "epoch/";

static void note_damage(leat_run_rows *rows, const char *format, ...) LEAT_PRINTF(2, 3);

static void note_damage(leat_run_rows *rows, const char *format, ...)
{
    va_list args;
    if (rows->n_damaged++)
        return;
    va_start(args, format);
    vsnprintf(rows->damaged, sizeof rows->damaged, format, args);
    va_end(args);
}

static void note_time(leat_run_rows *rows, double time_s)
{
    if (isnan(rows->start_s))
        rows->start_s = time_s;
}

static json_int_t step_of(const json_t *row)
{
    return json_integer_value(json_object_get(row, "step"));
}

/* Removes the last rows: those of later steps than `step`, and of `step` itself if `also`. */
static void forget(json_t *list, json_int_t step, bool also)
{
    for (size_t n = json_array_size(list); n > 0; n--) {
        const json_int_t last = step_of(json_array_get(list, n - 1));
        if (last < step || (last == step && !also))
            return;
        json_array_remove(list, n - 1);
    }
}

static void restart(leat_run_rows *rows, json_int_t step, bool also)
{
    forget(rows->steps, step, also);
    forget(rows->epochs, step, also);
}

/* --- log.jsonl -------------------------------------------------------------------------------------*/

/* True if a line has only the evaluation that the row before it lacks; the row gets it. */
static bool completes(json_t *list, json_t *line)
{
    json_t *const last = json_array_get(list, json_array_size(list) - 1);
    const json_t *const samples = json_object_get(line, "samples");
    const char *key;
    json_t *value;
    if (!last || step_of(last) != step_of(line) || !json_is_integer(samples) ||
        json_integer_value(samples) != 0)
        return false;
    json_object_foreach(line, key, value) if (!strncmp(key, "eval_", 5))
        json_object_set(last, key, value);
    return true;
}

/* Takes ownership of the line. false: it is none of a log. */
static bool take_line(leat_run_rows *rows, json_t *line)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));
    const json_t *step = json_object_get(line, "step"), *time = json_object_get(line, "time_s");
    if (!kind || !json_is_integer(step) || !json_is_number(time)) {
        json_decref(line);
        return false;
    }
    note_time(rows, json_number_value(time));
    json_t *const list = !strcmp(kind, "step")    ? rows->steps
                         : !strcmp(kind, "epoch") ? rows->epochs
                                                  : NULL;
    if (!strcmp(kind, "run"))
        restart(rows, json_integer_value(step), false);
    else if (list && !completes(list, line)) {
        forget(list, json_integer_value(step), true);
        json_array_append(list, line);
    }
    json_decref(line);
    return true;
}

static int read_lines(const char *path, leat_run_rows *rows, leat_error *err)
{
    char *text;
    size_t n;
    leat_format_error why;
    if (leat_whole_file_read(path, LOG_BYTES_MOST, &text, &n, &why) < 0)
        return leat_files_fail(err, &why);
    long number = 1;
    for (const char *line = text + leat_utf8_mark(text, n), *const all = text + n; line < all;
         number++) {
        const char *const end = memchr(line, '\n', (size_t)(all - line));
        const size_t length = (size_t)((end ? end : all) - line);
        json_t *const json = json_loadb(line, length, 0, NULL);
        if (!json || !take_line(rows, json))
            note_damage(rows, "%s:%ld: not a line of a log", path, number);
        line += length + (end != NULL);
    }
    free(text);
    return LEAT_OK;
}

/* --- event files -----------------------------------------------------------------------------------*/

/* The row that a value belongs to: the last one if it is of the same step and lacks the key, else a new one. */
static json_t *row_for(json_t *list, const leat_summary_value *event, const char *key)
{
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    if (last && step_of(last) == event->step && !json_object_get(last, key))
        return last;
    last = json_object();
    json_object_set_new(last, "step", json_integer(event->step));
    json_object_set_new(last, "time_s",
                        isfinite(event->wall_s) ? json_real(event->wall_s) : json_null());
    json_array_append_new(list, last);
    return last;
}

static void take_event(leat_run_rows *rows, const leat_summary_value *event)
{
    const char *key = event->tag;
    json_t *list = rows->steps;
    note_time(rows, event->wall_s);
    if (event->kind == LEAT_EVENT_START)
        restart(rows, event->step, true);
    if (event->kind != LEAT_EVENT_SCALAR)
        return;
    if (!strncmp(key, of_step, sizeof of_step - 1)) {
        key += sizeof of_step - 1;
    } else if (!strncmp(key, of_epoch, sizeof of_epoch - 1)) {
        key += sizeof of_epoch - 1;
        list = rows->epochs;
    }
    if (strcmp(key, "step") != 0 && strcmp(key, "time_s") != 0)
        json_object_set_new(row_for(list, event, key), key,
                            isfinite(event->value) ? json_real((double)event->value) : json_null());
}

static int read_events(const char *path, leat_run_rows *rows, leat_error *err)
{
    leat_event_reader *reader;
    leat_summary_value event;
    leat_format_error why;
    int rc = leat_event_reader_open(&reader, path, &why);
    while (rc == LEAT_FORMAT_OK)
        if ((rc = leat_event_reader_next(reader, &event, &why)) == LEAT_FORMAT_OK)
            take_event(rows, &event);
    leat_event_reader_close(&reader);
    if (rc == LEAT_FORMAT_END)
        return LEAT_OK;
    if (rc != LEAT_FORMAT_BAD)
        return leat_files_fail(err, &why);
    note_damage(rows, "%s", why.text); /* a run that is alive may be in the middle of a record */
    return LEAT_OK;
}

/* All event files of a folder, by name, which begins with the time. */
static int read_event_files(const char *folder, leat_run_rows *rows, leat_error *err)
{
    glob_t found = { 0 };
    leat_format_error why;
    int rc = LEAT_OK;
    char *const all = leat_files_text("%s/*tfevents*", folder);
    if (!all)
        rc = leat_fail(err, LEAT_E_NOMEM, "out of memory");
    else if (leat_pattern_glob(all, 0, &found, &why) < 0)
        rc = leat_files_fail(err, &why);
    for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++)
        rc = read_events(found.gl_pathv[i], rows, err);
    if (rc == LEAT_OK && !found.gl_pathc)
        rc = leat_fail(err, LEAT_E_DATA,
                       "%s: no log.jsonl and no event file in it; `leat train --log` writes them",
                       folder);
    globfree(&found);
    free(all);
    return rc;
}

/* --- either ----------------------------------------------------------------------------------------*/

static int read_folder(const char *path, leat_run_rows *rows, leat_error *err)
{
    struct stat file;
    char *const lines = leat_files_text("%s/log.jsonl", path);
    if (!lines)
        return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    const bool may_be = stat(lines, &file) == 0 || !leat_format_is_absent(errno);
    const int rc = may_be ? read_lines(lines, rows, err) : read_event_files(path, rows, err);
    free(lines);
    return rc;
}

int leat_run_rows_read(const char *path, leat_run_rows *out, leat_error *err)
{
    struct stat file;
    int rc;
    *out = (leat_run_rows){ .steps = json_array(), .epochs = json_array(), .start_s = NAN };
    if (!out->steps || !out->epochs)
        return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    if (stat(path, &file) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(file.st_mode))
        rc = read_folder(path, out, err);
    else if (leat_event_is_name(path))
        rc = read_events(path, out, err);
    else
        rc = read_lines(path, out, err);
    if (rc == LEAT_OK && json_array_size(out->steps) + json_array_size(out->epochs) == 0)
        rc = leat_fail(err, LEAT_E_DATA, "%s: nothing was logged there%s%s", path,
                       out->n_damaged ? ": " : "", out->damaged);
    return rc;
}

void leat_run_rows_close(leat_run_rows *rows)
{
    json_decref(rows->steps);
    json_decref(rows->epochs);
    rows->steps = rows->epochs = NULL;
}

/* --- curves -----------------------------------------------------------------------------------*/

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

typedef struct place {
    double x, y;
    int number;
} place;

static int by_place(const void *a, const void *b)
{
    const place *const p = a, *const q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : p->number - q->number;
}

/* A program that began again wrote steps behind later ones. */
static void sort_line(leat_chart_line *line, leat_lines *lines)
{
    int n = 1;
    while (n < line->n && line->x[n] >= line->x[n - 1])
        n++;
    if (n >= line->n)
        return;
    place *const all = calloc((size_t)line->n, sizeof *all);
    lines->failed |= !all;
    for (int i = 0; all && i < line->n; i++)
        all[i] = (place){ line->x[i], line->y[i], i };
    if (all)
        qsort(all, (size_t)line->n, sizeof *all, by_place);
    for (int i = 0; all && i < line->n; i++) {
        line->x[i] = all[i].x;
        line->y[i] = all[i].y;
    }
    free(all);
}

static leat_chart_line *add_line(const leat_run_rows *rows, const json_t *list, const char *key,
                                 int32_t x, const char *name, leat_lines *lines)
{
    size_t i;
    json_t *row;
    if (json_array_size(list) == 0)
        return NULL;
    leat_chart_line *const line =
        leat_lines_add(lines, name, false, (int)json_array_size(list), false);
    if (!line)
        return NULL;
    json_array_foreach(list, i, row)
    {
        leat_line_point(line, place_of(rows, row, x), value_of(row, key), NAN, NAN);
        const json_t *const value = json_object_get(row, key);
        line->n_left_out +=
            (json_is_number(value) || json_is_null(value)) && isnan(value_of(row, key));
    }
    sort_line(line, lines);
    if (line->n > 0)
        return line;
    free(line->x);
    lines->n--;
    return NULL;
}

static int state_of(const json_t *list, const char *key)
{
    size_t i;
    json_t *row;
    int state = LEAT_RUN_CURVES_NO_KEY;
    json_array_foreach(list, i, row)
    {
        if (!isnan(value_of(row, key)))
            return LEAT_RUN_CURVES_NUMBERS;
        const json_t *const value = json_object_get(row, key);
        if (json_is_null(value) || json_is_number(value))
            state = LEAT_RUN_CURVES_NO_NUMBER;
    }
    return state;
}

int leat_run_curves_state(const leat_run_rows *rows, const char *key)
{
    if (!strncmp(key, of_epoch, sizeof of_epoch - 1))
        return state_of(rows->epochs, key + sizeof of_epoch - 1);
    if (!strncmp(key, of_step, sizeof of_step - 1))
        return state_of(rows->steps, key + sizeof of_step - 1);
    const int steps = state_of(rows->steps, key), epochs = state_of(rows->epochs, key);
    return steps > epochs ? steps : epochs;
}

leat_chart_line *leat_run_curves_add(const leat_run_rows *rows, const char *key, int32_t x,
                                     const char *name, leat_lines *lines)
{
    if (!strncmp(key, of_epoch, sizeof of_epoch - 1))
        return add_line(rows, rows->epochs, key + sizeof of_epoch - 1, x, name, lines);
    if (!strncmp(key, of_step, sizeof of_step - 1))
        return add_line(rows, rows->steps, key + sizeof of_step - 1, x, name, lines);
    leat_chart_line *const line = add_line(rows, rows->steps, key, x, name, lines);
    return line ? line : add_line(rows, rows->epochs, key, x, name, lines);
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

void leat_run_curves_keys(const leat_run_rows *rows, json_t *keys)
{
    add_keys(keys, rows->steps);
    add_keys(keys, rows->epochs);
}
