/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/events.h"
#include "formats/utf8.h"
#include "formats/whole_file.h"
#include "page.h"

/* --- names -----------------------------------------------------------------------------------------*/

static char *title_of(const char *name)
{
    static const char *const ends[] = { "/log.jsonl", ".trace.json", ".json" };
    char *const whole = leat_files_text("%s", name);
    if (!whole)
        return NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (leat_files_ends_with(whole, ends[i]) && strlen(whole) > strlen(ends[i])) {
            whole[strlen(whole) - strlen(ends[i])] = 0;
            break;
        }
    const char *const slash = strrchr(whole, '/');
    if (slash && slash[1])
        memmove(whole, slash + 1, strlen(slash));
    return whole;
}

static int set_names(leat_input *in, const char *path, leat_error *err)
{
    in->name = leat_files_cut_slashes(leat_files_text("%s", path));
    in->title = in->name ? title_of(in->name) : NULL;
    return in->title ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
}

/* --- JSON ------------------------------------------------------------------------------------------*/

static int check_version(const leat_input *in, leat_error *err)
{
    const char *const version = leat_fields_text(in->json, "leat");
    const json_t *const schema = json_object_get(in->json, "schema");
    if (!version)
        return leat_fail(
            err, LEAT_E_DATA,
            "%s: no report of leat; `leat report` reads what --json, --log and --trace "
            "write",
            in->name);
    if (atoi(version) > atoi(leat_version()))
        return leat_fail(err, LEAT_E_DATA,
                         "%s: written by leat %.40s; this is leat %s, which does not "
                         "know that version",
                         in->name, version, leat_version());
    if (schema && json_integer_value(schema) != 1)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: its schema is not 1, the only one that this leat knows", in->name);
    return LEAT_OK;
}

/* `leat doctor --devices` writes a crossover and no verdict: it becomes a result of its own. */
static void lift_crossover(json_t *json)
{
    json_t *const crossover = json_object_get(json, "crossover");
    if (!json_is_object(crossover) || json_object_get(json, "verdict"))
        return;
    json_incref(crossover);
    json_object_del(json, "crossover");
    json_object_update(json, crossover);
    json_object_set_new(json, "command", json_string("crossover"));
    json_decref(crossover);
}

static int check_json(const leat_input *in, leat_error *err)
{
    char list[300];
    const int rc = check_version(in, err);
    if (rc < 0)
        return rc;
    lift_crossover(in->json);
    const char *const command = leat_fields_text_or(in->json, "command", "?");
    const leat_page_kind *const kind = leat_page_kind_of(in->json);
    if (!kind)
        return leat_fail(err, LEAT_E_DATA,
                         "%s: there is no report of `leat %.40s`; there is of: %s", in->name,
                         command, leat_page_kind_list(list, sizeof list));
    const json_t *const needed = json_object_get(in->json, kind->needs);
    if (json_array_size(needed) == 0 && json_object_size(needed) == 0 &&
        !(kind->may_be_empty && json_is_array(needed)))
        return leat_fail(err, LEAT_E_DATA,
                         "%s: a report of `leat %s` without '%s'; is the file whole?", in->name,
                         command, kind->needs);
    return LEAT_OK;
}

static int take_json(FILE *file, leat_input *in, leat_error *err)
{
    char *bytes = NULL;
    size_t n;
    json_error_t why;
    leat_format_error unread;
    int rc = leat_whole_file_rest(file, in->name, LEAT_INPUT_BYTES_MOST, &bytes, &n, &unread);
    if (rc < 0)
        return leat_files_fail(err, &unread);
    const size_t mark = leat_utf8_mark(bytes, n);
    if (n == 0)
        rc = leat_fail(err, LEAT_E_DATA, "%s: the file is empty", in->name);
    else if (!(in->json = json_loadb(bytes + mark, n - mark, JSON_REJECT_DUPLICATES, &why)))
        rc = leat_fail(err, LEAT_E_DATA, "%s:%d:%d: no JSON, or damaged: %s", in->name, why.line,
                       why.column, why.text);
    free(bytes);
    in->kind = LEAT_INPUT_JSON;
    return rc == LEAT_OK ? check_json(in, err) : rc;
}

/* --- any file --------------------------------------------------------------------------------------*/

int leat_input_take(FILE *file, const char *name, leat_input *out, leat_error *err)
{
    char head[64];
    *out = (leat_input){ 0 };
    const int rc = set_names(out, name, err);
    if (rc < 0)
        return rc;
    const size_t n = fread(head, 1, sizeof head, file);
    rewind(file);
    if (!leat_spans_is_trace(head, n))
        return take_json(file, out, err);
    out->kind = LEAT_INPUT_TRACE;
    return leat_spans_read(file, out->name, &out->spans, err);
}

int leat_input_read(const char *path, leat_input *out, leat_error *err)
{
    struct stat status;
    *out = (leat_input){ 0 };
    if (stat(path, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode) || leat_files_ends_with(path, ".jsonl") ||
        leat_event_is_name(path)) {
        const int rc = set_names(out, path, err);
        out->kind = LEAT_INPUT_LOG;
        return rc < 0 ? rc : leat_run_rows_read(path, &out->rows, err);
    }
    if (S_ISFIFO(status.st_mode)) /* its begin is read twice */
        return leat_fail(err, LEAT_E_IO, "%s is a pipe: write the report to a file first", path);
    FILE *const file = fopen(path, "rb");
    if (!file)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    const int rc = leat_input_take(file, path, out, err);
    fclose(file);
    return rc;
}

void leat_input_close(leat_input *input)
{
    if (input->kind == LEAT_INPUT_LOG)
        leat_run_rows_close(&input->rows);
    leat_spans_close(&input->spans);
    json_decref(input->json);
    free(input->name);
    free(input->title);
    *input = (leat_input){ 0 };
}
